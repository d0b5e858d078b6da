//! Finds `ganger-wasm`, the program that runs WebAssembly modules, and says how it is started. It is no part of the library: an app
//! that runs no such modules need not have it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::interpreter::find_on_path;
use crate::home::{homes, list};
use crate::process::shim_path::executable;

/// There is no `ganger-wasm` here.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{FILE_NAME}, which runs WebAssembly modules, is not installed: `cargo install {FILE_NAME}` puts it on PATH, GANGER_WASM or the \
     option \"interpreter\" may name it; looked for {}",
    list(tried)
)]
pub(crate) struct WasmMissing {
    tried: Vec<PathBuf>,
}

/// The program asked for, or `GANGER_WASM` if set, and then nothing else; else beside the library, then on the path.
pub(super) fn program(asked_for: Option<&str>) -> Result<PathBuf, WasmMissing> {
    let of_environment = std::env::var_os("GANGER_WASM");
    search(asked_for.map(OsStr::new).or(of_environment.as_deref()), &homes())
}

pub(super) fn argv(program: PathBuf, target: OsString, memory: Option<u64>, fresh: bool) -> Vec<OsString> {
    let memory = memory.map(|bytes| format!("--memory={bytes}").into());
    let fresh = fresh.then(|| "--fresh".into());
    [program.into()].into_iter().chain(memory).chain(fresh).chain(["--".into(), target]).collect()
}

fn search(wanted: Option<&OsStr>, homes: &[PathBuf]) -> Result<PathBuf, WasmMissing> {
    if let Some(wanted) = wanted {
        let path = wanted.to_str().and_then(find_on_path).unwrap_or_else(|| wanted.into());
        return if executable(&path) { Ok(path) } else { Err(WasmMissing { tried: vec![path] }) };
    }
    let mut tried: Vec<PathBuf> = homes.iter().map(|home| home.join(FILE_NAME)).collect();
    if let Some(program) = tried.iter().find(|path| executable(path)) {
        return Ok(program.clone());
    }
    tried.push(Path::new("PATH").to_path_buf());
    find_on_path(FILE_NAME).filter(|path| executable(path)).ok_or(WasmMissing { tried })
}

const FILE_NAME: &str = "ganger-wasm";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_wanted_program_is_the_only_one_tried() {
        assert_eq!(search(Some(OsStr::new("/bin/sh")), &[]), Ok("/bin/sh".into()));
        let missing = search(Some(OsStr::new("/nowhere/ganger-wasm")), &["/bin".into()]).unwrap_err();
        assert_eq!(missing.tried, [PathBuf::from("/nowhere/ganger-wasm")]);
        let text = missing.to_string();
        assert!(text.contains("not installed") && text.contains("GANGER_WASM"), "{text}");
    }

    #[test]
    fn the_one_beside_the_library_comes_before_the_path() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join(FILE_NAME);
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(search(None, &["/nowhere".into(), home.path().into()]), Ok(program));
    }

    #[test]
    fn a_module_whose_name_begins_with_a_dash_is_no_option() {
        let plain = argv("/bin/ganger-wasm".into(), "-x.wasm".into(), None, false);
        assert_eq!(plain, ["/bin/ganger-wasm", "--", "-x.wasm"]);
        let limited = argv("/bin/ganger-wasm".into(), "/x.wasm".into(), Some(1 << 20), true);
        assert_eq!(limited, ["/bin/ganger-wasm", "--memory=1048576", "--fresh", "--", "/x.wasm"]);
    }
}
