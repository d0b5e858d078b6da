//! Which Python or Node.js runs a worker.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

/// A language whose workers the library starts itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// CPython.
    Python,
    /// Node.js.
    Node,
}

impl Language {
    fn program(self) -> &'static str {
        match self {
            Self::Python => "python3",
            Self::Node => "node",
        }
    }

    fn ask_for_itself(self) -> [&'static str; 2] {
        match self {
            Self::Python => ["-c", "import sys; print(sys.executable, end='')"],
            Self::Node => ["-e", "process.stdout.write(process.execPath)"],
        }
    }
}

static OWN_PYTHON: OnceLock<PathBuf> = OnceLock::new();
static OWN_NODE: OnceLock<PathBuf> = OnceLock::new();

/// Says which interpreter the app itself runs in: its workers of that language run in the same. The first call counts.
pub fn set_own_interpreter(language: Language, program: impl Into<PathBuf>) {
    let _ = own(language).set(program.into());
}

/// The program to execute: the one asked for, the app's own, or the one on the path.
pub(super) fn program(language: Language, asked_for: Option<&str>) -> OsString {
    if let Some(program) = asked_for {
        return resolve(language, program).into();
    }
    if let Some(program) = own(language).get() {
        return program.clone().into();
    }
    resolve(language, language.program()).into()
}

fn own(language: Language) -> &'static OnceLock<PathBuf> {
    match language {
        Language::Python => &OWN_PYTHON,
        Language::Node => &OWN_NODE,
    }
}

/// Version managers put a shell script where an interpreter should be, which costs every start 100 ms: such a script is asked
/// once for the program it stands for.
fn resolve(language: Language, program: &str) -> PathBuf {
    static RESOLVED: Mutex<Vec<(String, PathBuf)>> = Mutex::new(Vec::new());
    let mut resolved = RESOLVED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, path)) = resolved.iter().find(|(name, _)| name == program) {
        return path.clone();
    }
    let path = match find_on_path(program) {
        Some(path) if is_script(&path) => ask(language, &path).unwrap_or(path),
        Some(path) => path,
        None => return program.into(),
    };
    resolved.push((program.to_owned(), path.clone()));
    path
}

pub(super) fn find_on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return std::path::absolute(program).ok();
    }
    find_in(&std::env::var_os("PATH")?, program)
}

/// Absolute, for a worker may run in another directory than the app.
fn find_in(directories: &OsStr, program: &str) -> Option<PathBuf> {
    let mut files = std::env::split_paths(directories).map(|directory| directory.join(program));
    std::path::absolute(files.find(|file| file.is_file())?).ok()
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

fn ask(language: Language, script: &Path) -> Option<PathBuf> {
    let answer = Command::new(script)
        .args(language.ask_for_itself())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?);
    (answer.status.success() && path.is_file()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_relative_directory_is_found_from_anywhere() {
        // Tests run in the folder of their crate.
        let found = find_in(OsStr::new("nowhere:src"), "lib.rs").unwrap();
        assert_eq!(found, Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    }
}
