//! From a pool's options to what is executed.

mod interpreter;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use interpreter::{Language, set_own_interpreter};

use crate::home::{SdkMissing, sdk_file};
use crate::options::{PoolOptions, WorkerCommand};
use crate::process::Launch;

/// What is executed for one worker of a pool with these options.
pub(crate) fn launch(options: &PoolOptions) -> Result<Launch, SdkMissing> {
    let variables = options.env.iter();
    Ok(Launch {
        argv: argv(&options.worker)?,
        directory: options.cwd.clone(),
        environment: variables
            .map(|(name, value)| (name.into(), value.as_ref().map(OsString::from)))
            .collect(),
        memory_limit: options.memory_limit,
        ..Launch::default()
    })
}

fn argv(worker: &WorkerCommand) -> Result<Vec<OsString>, SdkMissing> {
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
