//! From a pool's options to what is executed.

mod interpreter;
mod wasm;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use interpreter::{Language, set_own_interpreter};

use crate::home::{SdkMissing, sdk_file};
use crate::launch::wasm::WasmMissing;
use crate::options::{PoolOptions, WorkerCommand};
use crate::process::Launch;

/// A part that comes with the library, or beside it, is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PartMissing {
    #[error(transparent)]
    Sdk(#[from] SdkMissing),
    #[error(transparent)]
    Wasm(#[from] WasmMissing),
}

/// What is executed for one worker of a pool with these options.
pub(crate) fn launch(options: &PoolOptions) -> Result<Launch, PartMissing> {
    let variables = options.env.iter().map(|(name, value)| (name.into(), value.as_ref().map(OsString::from)));
    Ok(Launch {
        argv: argv(&options.worker)?,
        directory: options.cwd.clone(),
        // The pool's own variables come last: they may say otherwise.
        environment: inner_threads(options).chain(fresh_code(options)).chain(variables).collect(),
        memory_limit: options.memory_limit,
        ..Launch::default()
    })
}

/// What binds a worker to its device.
pub(crate) fn device_variables(device: &str) -> Vec<(OsString, Option<OsString>)> {
    let own = ("GANGER_DEVICE".into(), Some(device.into()));
    let cuda =
        device.strip_prefix("cuda:").map(|number| ("CUDA_VISIBLE_DEVICES".into(), Some(number.into())));
    [own].into_iter().chain(cuda).collect()
}

/// The variables that numerical libraries read before they start threads.
const THREAD_VARIABLES: [&str; 6] = [
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
];

/// Python takes byte code for current if its source has the same size and second: a file that is changed twice in a second would run
/// as it was. Watched workers write none.
fn fresh_code(options: &PoolOptions) -> Option<(OsString, Option<OsString>)> {
    let watched = options.watch.is_some() && matches!(options.worker, WorkerCommand::Python { .. });
    watched.then(|| ("PYTHONDONTWRITEBYTECODE".into(), Some("1".into())))
}

fn inner_threads(options: &PoolOptions) -> impl Iterator<Item = (OsString, Option<OsString>)> + use<> {
    let threads = options.inner_threads.map(|threads| threads.to_string());
    let names = threads.is_some().then_some(THREAD_VARIABLES).into_iter().flatten();
    names.map(move |name| (name.into(), threads.clone().map(OsString::from)))
}

/// The file or folder that a worker's code is in, if it is known to be one.
pub(crate) fn code(options: &PoolOptions) -> Option<PathBuf> {
    let target = match &options.worker {
        WorkerCommand::Python { target, .. }
        | WorkerCommand::Node { target, .. }
        | WorkerCommand::Wasm { target, .. } => target,
        WorkerCommand::Command { argv } => argv.first()?,
    };
    let path = PathBuf::from(absolute(target));
    path.exists().then_some(path)
}

fn argv(worker: &WorkerCommand) -> Result<Vec<OsString>, PartMissing> {
    match worker {
        WorkerCommand::Python { target, interpreter } => {
            let program = interpreter::program(Language::Python, interpreter.as_deref());
            let start = sdk_file(&["python/ganger_worker_start.py"])?;
            Ok(vec![program, start.into(), absolute(target)])
        }
        WorkerCommand::Node { target, executable } => {
            let program = interpreter::program(Language::Node, executable.as_deref());
            let start = sdk_file(&["node/main.js", "node/dist/main.js"])?;
            Ok(vec![program, start.into(), absolute(target)])
        }
        WorkerCommand::Wasm { target, program, memory, fresh } => {
            let program = wasm::program(program.as_deref())?;
            Ok(wasm::argv(program, absolute(target), *memory, *fresh))
        }
        WorkerCommand::Command { argv } => Ok(argv.iter().map(OsString::from).collect()),
    }
}

/// Workers may run in another directory, but paths are the app's. What names no file is left as it is: the name of a module.
fn absolute(target: &str) -> OsString {
    let path = Path::new(target);
    if path.exists() || target.contains('/') {
        return std::path::absolute(path).map_or_else(|_| target.into(), PathBuf::into_os_string);
    }
    target.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_names_stay_and_paths_become_absolute() {
        assert_eq!(absolute("my.workers"), OsString::from("my.workers"));
        assert!(Path::new(&absolute("src")).is_absolute());
        assert!(Path::new(&absolute("not/there.py")).is_absolute());
    }
}
