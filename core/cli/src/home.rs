//! Where the worker SDKs lie: beside this program in a wheel or an npm package; with `cargo install` where the user's own language has them.

use std::path::{Path, PathBuf};

use ganger::{Language, set_home, set_own_interpreter};

/// Says to the library where its parts are, and which Python this command was installed for.
pub(crate) fn find(own_python: Option<PathBuf>) {
    if let Some(folder) = beside() {
        set_home(folder);
    }
    if let Some(python) = own_python {
        set_own_interpreter(Language::Python, python);
    }
}

/// How a Python worker is started with the SDK that its Python has installed. None: the library finds its own.
pub(crate) fn python_command(target: &str, interpreter: Option<&str>) -> Option<Vec<String>> {
    if is_here("python/ganger_worker_start.py") {
        return None;
    }
    Some([interpreter.unwrap_or("python3"), "-m", "ganger_worker", target].map(str::to_owned).to_vec())
}

/// The same for Node.js, with the nearest `ganger-worker` that is installed.
pub(crate) fn node_command(target: &str, executable: Option<&str>) -> Option<Vec<String>> {
    if is_here("node/main.js") || is_here("node/dist/main.js") {
        return None;
    }
    let start = std::path::absolute(target).ok()?;
    let main = start.ancestors().map(|folder| folder.join(INSTALLED_FOR_NODE)).find(|main| main.is_file())?;
    Some([executable.unwrap_or("node"), main.to_str()?, target].map(str::to_owned).to_vec())
}

const INSTALLED_FOR_NODE: &str = "node_modules/ganger-worker/dist/main.js";

fn is_here(file: &str) -> bool {
    let of_environment = std::env::var_os("GANGER_HOME").map(PathBuf::from);
    of_environment.into_iter().chain(beside()).any(|home| home.join(file).is_file())
}

/// A package manager may have put a link in its place.
fn beside() -> Option<PathBuf> {
    let program = std::env::current_exe().and_then(|program| program.canonicalize()).ok()?;
    program.parent().map(Path::to_owned)
}
