//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::ration::Limits;

/// What the program was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To be a worker.
    Serve(Settings),
    /// To look whether modules can be served, and say what they offer.
    Check(Settings),
    /// To print something.
    Say(String),
}

/// What to run, and what it may use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) target: PathBuf,
    pub(crate) limits: Limits,
}

/// Reads the arguments behind the program's name.
pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<Asked, String> {
    let mut limits = Limits::default();
    let (mut check, mut target, mut only_files) = (false, None, false);
    for argument in arguments {
        match argument.to_str() {
            Some("--") if !only_files => only_files = true,
            Some("--help") if !only_files => return Ok(Asked::Say(USAGE.to_owned())),
            Some("--version") if !only_files => return Ok(Asked::Say(version())),
            Some("--fresh") if !only_files => limits.fresh = true,
            Some("--check") if !only_files => check = true,
            Some(option) if option.starts_with("--") && !only_files => {
                let size =
                    option.strip_prefix("--memory=").ok_or(format!("unknown option {option}\n{USAGE}"))?;
                limits.memory = bytes(size).ok_or(format!("{size:?} is no size such as 64MiB\n{USAGE}"))?;
            }
            _ if target.is_some() => return Err(format!("one module or folder at a time\n{USAGE}")),
            _ => target = Some(PathBuf::from(argument)),
        }
    }
    let settings = Settings { target: target.ok_or(format!("no module\n{USAGE}"))?, limits };
    Ok(if check { Asked::Check(settings) } else { Asked::Serve(settings) })
}

const USAGE: &str = "\
usage: ganger-wasm [--memory=128MiB] [--fresh] [--check] MODULE|FOLDER

Serves the functions of WebAssembly modules to the pool that starts it.

  --memory=SIZE  what one instance of a module may have at most
  --fresh        each call has an instance of its own
  --check        only looks whether the modules can be served, and prints their functions
";

fn version() -> String {
    format!("ganger-wasm {} ({})\n", env!("CARGO_PKG_VERSION"), crate::engine::NAME)
}

/// A whole number of bytes, or of a unit.
fn bytes(size: &str) -> Option<usize> {
    let digits = size.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(size.len());
    let factor = match size[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    size[..digits].parse::<usize>().ok()?.checked_mul(factor).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &[&str]) -> Result<Asked, String> {
        read(arguments.iter().map(OsString::from))
    }

    fn settings(target: &str, memory: usize, fresh: bool) -> Settings {
        Settings { target: target.into(), limits: Limits { memory, fresh } }
    }

    #[test]
    fn limits_and_target_are_read() {
        let plain = Ok(Asked::Serve(settings("a.wasm", 128 << 20, false)));
        assert_eq!(asked(&["a.wasm"]), plain);
        let limited = Ok(Asked::Serve(settings("--a", 3_000_000, true)));
        assert_eq!(asked(&["--memory=3mb", "--fresh", "--", "--a"]), limited);
        assert_eq!(asked(&["--check", "x", "--memory=7"]), Ok(Asked::Check(settings("x", 7, false))));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (arguments, said) in [
            (&[][..], "no module"),
            (&["a", "b"], "one module"),
            (&["--memroy=1", "a"], "--memroy=1"),
            (&["--memory=many", "a"], "many"),
            (&["--memory=0", "a"], "size"),
            (&["--memory=99999999999gib", "a"], "size"),
        ] {
            let problem = asked(arguments).unwrap_err();
            assert!(problem.contains(said) && problem.contains("usage:"), "{problem}");
        }
    }
}
