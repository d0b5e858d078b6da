//! How an app helps Ganger find `ganger-shim`, through which every worker is started.

use std::path::Path;

/// The first argument that makes an app act as its own shim.
pub use ganger_shim::MARKER;

/// Makes this app its own shim, so that no `ganger-shim` has to be installed beside it. Call it before anything else in
/// `main`: a process that Ganger starts from this executable acts as the shim in there and never returns.
pub fn run_if_asked() {
    ganger_shim::run_if_asked();
    #[cfg(unix)]
    crate::process::shim_path::serve_from_own_executable();
}

/// For bindings: where their native module lies. `ganger-shim` is looked for beside it. The first call counts.
pub fn set_native_module(module: &Path) {
    #[cfg(unix)]
    crate::process::shim_path::set_native_module(module);
    #[cfg(not(unix))]
    let _ = module;
}
