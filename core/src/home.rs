//! Where the parts lie that come with the library: the shim and the worker SDKs that start `python:` and `node:` workers.
//!
//! In a wheel or an npm package they lie beside the native module, whose binding calls [`set_home`]. `GANGER_HOME` overrides it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static HOME: OnceLock<PathBuf> = OnceLock::new();

/// Says where the parts lie. The first call counts.
pub fn set_home(directory: impl Into<PathBuf>) {
    let directory = directory.into();
    crate::process::shim_path::set_native_module(&directory.join("native"));
    let _ = HOME.set(directory);
}

/// A file of a worker SDK, given the places it may have below a home.
pub(crate) fn sdk_file(candidates: &[&str]) -> Result<PathBuf, SdkMissing> {
    let homes = homes();
    let tried: Vec<PathBuf> =
        homes.iter().flat_map(|home| candidates.iter().map(move |candidate| home.join(candidate))).collect();
    tried.iter().find(|path| path.is_file()).cloned().ok_or(SdkMissing { tried })
}

/// The worker SDK is not where it should be.
#[derive(Debug, thiserror::Error)]
#[error("the worker SDK is missing; looked for {}", list(tried))]
pub(crate) struct SdkMissing {
    tried: Vec<PathBuf>,
}

/// The directories that parts may lie in, in the order in which they are tried.
pub(crate) fn homes() -> Vec<PathBuf> {
    let of_environment = std::env::var_os("GANGER_HOME").map(PathBuf::from);
    let beside_program =
        || std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_path_buf));
    of_environment.into_iter().chain(HOME.get().cloned()).chain(beside_program()).collect()
}

pub(crate) fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
