//! Which worker is meant: from `workers/prices.py` or `-- ./hasher` to the options of a pool.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ganger::options::{OptionError, PoolOptions, Surface};
use serde_json::{Map, Value, json};

use crate::arguments::WorkerOptions;
use crate::home;

/// Why it is not clear which worker is meant, and what to do about it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error("there is neither a file nor a folder {0:?}; a module is `python:{0}`, a program `-- {0}`")]
    NotThere(String),
    #[error("there is no file or folder {0:?}")]
    NoSuchPath(String),
    #[error(
        "{0:?} ends neither in .py, .mjs, .js, .cjs or .ts nor in .wasm and is no program; say what it is: `python:{0}` or `node:{0}`"
    )]
    NotCode(String),
    #[error("the folder {0:?} has no Python, JavaScript or WebAssembly files")]
    EmptyFolder(String),
    #[error(
        "the folder {0:?} has files of several languages; say which are meant: `python:{0}` or `node:{0}`"
    )]
    MixedFolder(String),
    #[error("{option} wants NAME=VALUE, not {written:?}")]
    NoPair { option: &'static str, written: String },
    #[error(transparent)]
    Option(#[from] OptionError),
}

/// The options of a pool of one such worker.
pub(crate) fn pool_options(
    target: Option<&str>,
    options: &WorkerOptions,
) -> Result<PoolOptions, WorkerError> {
    let mut map = Map::new();
    for written in &options.option {
        let (name, value) = pair("--option", written)?;
        map.insert(name.to_owned(), plain(value));
    }
    let mut interpreter = options.interpreter.as_deref();
    let (kind, value) = match target {
        Some(target) => of_target(target)?.option(&mut interpreter),
        None => ("command", json!(options.command)),
    };
    let given = [
        (kind, Some(value)),
        ("workers", Some(json!(1))),
        ("interpreter", interpreter.map(Value::from)),
        ("cwd", options.directory.as_deref().map(Value::from)),
        ("start_timeout", options.start_timeout.as_deref().map(Value::from)),
        ("concurrency", options.concurrency.map(Value::from)),
        ("env", variables(&options.env)?),
    ];
    map.extend(given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Ok(PoolOptions::parse(&map, Surface::Rust)?)
}

fn variables(written: &[String]) -> Result<Option<Value>, WorkerError> {
    let pairs = written.iter().map(|written| pair("--env", written));
    let map: Map<String, Value> = pairs
        .map(|pair| pair.map(|(name, value)| (name.to_owned(), json!(value))))
        .collect::<Result<_, _>>()?;
    Ok((!map.is_empty()).then(|| map.into()))
}

/// What a target turns out to be.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Python(String),
    Node(String),
    Wasm(String),
    Program(PathBuf),
}

impl Kind {
    /// The pool's option that says so. It may use the interpreter up: then that is a part of it.
    fn option(self, interpreter: &mut Option<&str>) -> (&'static str, Value) {
        let (name, target, command) = match self {
            Kind::Program(path) => return ("command", json!([path])),
            Kind::Wasm(target) => return ("wasm", json!(target)),
            Kind::Python(target) => {
                let command = home::python_command(&target, *interpreter);
                ("python", target, command)
            }
            Kind::Node(target) => {
                let command = home::node_command(&target, *interpreter);
                ("node", target, command)
            }
        };
        match command {
            Some(command) => {
                *interpreter = None;
                ("command", json!(command))
            }
            None => (name, json!(target)),
        }
    }
}

fn of_target(target: &str) -> Result<Kind, WorkerError> {
    if let Some(target) = target.strip_prefix("python:") {
        return Ok(Kind::Python(target.to_owned()));
    }
    if let Some(target) = target.strip_prefix("node:") {
        return Ok(Kind::Node(target.to_owned()));
    }
    if let Some(target) = target.strip_prefix("wasm:") {
        return Ok(Kind::Wasm(target.to_owned()));
    }
    let path = Path::new(target);
    if path.is_dir() {
        return of_folder(target);
    }
    let owned = || target.to_owned();
    match (language(path), fs::metadata(path)) {
        (_, Err(_)) if target.contains('/') || language(path).is_some() => {
            Err(WorkerError::NoSuchPath(owned()))
        }
        (_, Err(_)) => Err(WorkerError::NotThere(owned())),
        (Some(Language::Python), Ok(_)) => Ok(Kind::Python(owned())),
        (Some(Language::Node), Ok(_)) => Ok(Kind::Node(owned())),
        (Some(Language::Wasm), Ok(_)) => Ok(Kind::Wasm(owned())),
        // A bare name would be looked for in PATH.
        (None, Ok(found)) if found.permissions().mode() & 0o111 != 0 => {
            Ok(Kind::Program(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())))
        }
        (None, Ok(_)) => Err(WorkerError::NotCode(owned())),
    }
}

fn of_folder(target: &str) -> Result<Kind, WorkerError> {
    let entries = fs::read_dir(target).map_err(|_| WorkerError::NoSuchPath(target.to_owned()))?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let any = |wanted| {
        let direct = paths.iter().any(|path| language(path) == Some(wanted));
        direct || (wanted == Language::Python && paths.iter().any(|path| path.join("__init__.py").is_file()))
    };
    match (any(Language::Python), any(Language::Node), any(Language::Wasm)) {
        (true, false, false) => Ok(Kind::Python(target.to_owned())),
        (false, true, false) => Ok(Kind::Node(target.to_owned())),
        (false, false, true) => Ok(Kind::Wasm(target.to_owned())),
        (false, false, false) => Err(WorkerError::EmptyFolder(target.to_owned())),
        _ => Err(WorkerError::MixedFolder(target.to_owned())),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Python,
    Node,
    Wasm,
}

fn language(path: &Path) -> Option<Language> {
    match path.extension()?.to_str()? {
        "py" => Some(Language::Python),
        "mjs" | "js" | "cjs" | "ts" | "mts" => Some(Language::Node),
        "wasm" | "wat" => Some(Language::Wasm),
        _ => None,
    }
}

fn pair<'a>(option: &'static str, written: &'a str) -> Result<(&'a str, &'a str), WorkerError> {
    let pair = written.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.ok_or_else(|| WorkerError::NoPair { option, written: written.to_owned() })
}

/// A number or yes or no as such, anything else as text.
fn plain(value: &str) -> Value {
    match serde_json::from_str(value) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        Ok(_) | Err(_) => json!(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn kind(folder: &tempfile::TempDir, name: &str) -> Result<Kind, WorkerError> {
        of_target(folder.path().join(name).to_str().unwrap())
    }

    #[test]
    fn files_folders_and_prefixes_say_what_a_worker_is() {
        let place = folder(&[
            "prices.py",
            "shout.mjs",
            "p/a.py",
            "n/a.js",
            "w/a.wat",
            "a.wasm",
            "pkg/inner/__init__.py",
        ]);
        assert!(matches!(kind(&place, "prices.py"), Ok(Kind::Python(_))));
        assert!(matches!(kind(&place, "shout.mjs"), Ok(Kind::Node(_))));
        assert!(matches!(kind(&place, "p/"), Ok(Kind::Python(_))));
        assert!(matches!(kind(&place, "n"), Ok(Kind::Node(_))));
        assert!(matches!(kind(&place, "pkg"), Ok(Kind::Python(_))));
        assert!(matches!(kind(&place, "w"), Ok(Kind::Wasm(_))));
        assert!(matches!(kind(&place, "a.wasm"), Ok(Kind::Wasm(_))));
        assert_eq!(of_target("python:my.workers"), Ok(Kind::Python("my.workers".into())));
        assert_eq!(of_target("node:w/"), Ok(Kind::Node("w/".into())));
        assert_eq!(of_target("wasm:w/"), Ok(Kind::Wasm("w/".into())));
        assert!(matches!(of_target("/bin/sh"), Ok(Kind::Program(_))));
    }

    #[test]
    fn what_is_not_clear_is_refused_with_what_to_do() {
        let place = folder(&["mixed/a.py", "mixed/b.mjs", "empty/notes.txt", "notes.txt"]);
        let says = |name: &str| kind(&place, name).unwrap_err().to_string();
        assert!(says("mixed").contains("`python:"), "{}", says("mixed"));
        assert!(says("empty").contains("no Python, JavaScript or WebAssembly"));
        assert!(says("notes.txt").contains("node:"));
        assert!(says("nowhere.py").contains("no file or folder"));
        assert!(of_target("my.workers").unwrap_err().to_string().contains("`python:my.workers`"));
    }

    #[test]
    fn pairs_and_plain_values_are_read() {
        assert_eq!(pair("--env", "A=b=c"), Ok(("A", "b=c")));
        assert!(pair("--env", "A").is_err() && pair("--env", "=x").is_err());
        assert_eq!((plain("3"), plain("true"), plain("64mb")), (json!(3), json!(true), json!("64mb")));
    }
}
