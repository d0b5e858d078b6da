//! Finds `ganger-shim`, without which no worker starts.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the shim is executed: a program, and what goes before the shim's own arguments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Shim {
    pub(crate) program: PathBuf,
    pub(crate) marker: Option<&'static str>,
}

/// No shim anywhere.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("ganger-shim is missing or not executable; tried {}", listed(tried))]
pub(crate) struct ShimMissing {
    /// Where it was looked for, in that order.
    pub(crate) tried: Vec<PathBuf>,
}

/// A binding says where its native module lies; the shim is packaged beside it. The first call counts.
pub(crate) fn set_native_module(module: &Path) {
    let _ = NATIVE_MODULE.set(module.to_owned());
}

/// The app's own executable calls `run_if_asked` and so may serve as the shim.
pub(crate) fn serve_from_own_executable() {
    OWN_EXECUTABLE.store(true, Ordering::Release);
}

/// `GANGER_SHIM` if set (and then nothing else), beside the native module, beside the executable, the executable
/// itself if it offered that. Looked for at every start, so that an upgrade in place is no obstacle.
pub(crate) fn find() -> Result<Shim, ShimMissing> {
    let own = std::env::current_exe().ok();
    search(&Places {
        wanted: std::env::var_os("GANGER_SHIM"),
        native_module: NATIVE_MODULE.get().cloned(),
        own_serves: OWN_EXECUTABLE.load(Ordering::Acquire),
        own,
    })
}

struct Places {
    wanted: Option<OsString>,
    native_module: Option<PathBuf>,
    own: Option<PathBuf>,
    own_serves: bool,
}

fn search(places: &Places) -> Result<Shim, ShimMissing> {
    let tried = match &places.wanted {
        Some(wanted) => vec![PathBuf::from(wanted)],
        None => [&places.native_module, &places.own]
            .into_iter()
            .flatten()
            .map(|neighbour| neighbour.with_file_name(FILE_NAME))
            .collect(),
    };
    if let Some(program) = tried.iter().find(|path| executable(path)) {
        return Ok(Shim { program: program.clone(), marker: None });
    }
    match &places.own {
        Some(own) if places.own_serves && places.wanted.is_none() => {
            Ok(Shim { program: own.clone(), marker: Some(ganger_shim::MARKER) })
        }
        Some(_) | None => Err(ShimMissing { tried }),
    }
}

pub(crate) fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

const FILE_NAME: &str = "ganger-shim";
static NATIVE_MODULE: OnceLock<PathBuf> = OnceLock::new();
static OWN_EXECUTABLE: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> Places {
        Places {
            wanted: None,
            native_module: Some("/ganger/nowhere/ganger.node".into()),
            own: Some("/ganger/elsewhere/app".into()),
            own_serves: false,
        }
    }

    #[test]
    fn a_missing_shim_names_every_place() {
        let missing = search(&nowhere()).unwrap_err();
        let text = missing.to_string();
        assert!(text.ends_with("tried /ganger/nowhere/ganger-shim, /ganger/elsewhere/ganger-shim"), "{text}");
    }

    #[test]
    fn a_wanted_shim_is_the_only_one_tried() {
        let places = Places { wanted: Some("/ganger/mine".into()), own_serves: true, ..nowhere() };
        assert_eq!(search(&places).unwrap_err().tried, [PathBuf::from("/ganger/mine")]);
        let places = Places { wanted: Some("/bin/sh".into()), ..nowhere() };
        assert_eq!(search(&places).unwrap(), Shim { program: "/bin/sh".into(), marker: None });
    }

    #[test]
    fn neighbours_come_first_then_the_app_itself_if_it_offered() {
        let folder = std::env::temp_dir().join(format!("ganger-shim-path-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let shim = folder.join(FILE_NAME);
        std::fs::write(&shim, "").unwrap();
        let places = Places { native_module: Some(folder.join("ganger.so")), own_serves: true, ..nowhere() };
        let own = Shim { program: "/ganger/elsewhere/app".into(), marker: Some("--ganger-shim") };
        assert_eq!(search(&places).unwrap(), own, "a file that cannot be executed is no shim");
        std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(search(&places).unwrap(), Shim { program: shim, marker: None });
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
