//! What a worker is: the one of `python`, `node` and `command` that a pool was given.

use std::path::Path;

use super::{OptionError, Surface};

/// What a pool starts when it needs a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerCommand {
    /// A program built with a worker SDK.
    Command {
        /// The program and its arguments, never empty.
        argv: Vec<String>,
    },
    /// Code for Node.js.
    Node {
        /// A file or folder.
        target: String,
        /// The Node.js to use; `None` is the app's own if it is one, else `node` on PATH.
        executable: Option<String>,
    },
    /// Code for Python.
    Python {
        /// A file, folder or module name.
        target: String,
        /// The Python to use; `None` is the app's own if it is one, else `python3` on PATH.
        interpreter: Option<String>,
    },
}

impl WorkerCommand {
    /// What the pool is called if nobody says: `prices` for `workers/prices.py`.
    pub(crate) fn default_name(&self) -> String {
        let target = match self {
            WorkerCommand::Command { argv } => argv.first().map_or("", String::as_str),
            WorkerCommand::Node { target, .. } => target,
            // A module's name has dots that are no file extension.
            WorkerCommand::Python { target, .. }
                if !target.contains(['/', '\\']) && !target.ends_with(".py") =>
            {
                return if target.starts_with('.') { "pool".to_owned() } else { target.clone() };
            }
            WorkerCommand::Python { target, .. } => target,
        };
        let stem = Path::new(target).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.unwrap_or_else(|| "pool".to_owned())
    }
}

/// The options that together say what a worker is.
#[derive(Default)]
pub(crate) struct WorkerDraft {
    pub(crate) python: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) command: Option<Vec<String>>,
    pub(crate) interpreter: Option<String>,
}

impl WorkerDraft {
    pub(crate) fn resolve(self, surface: Surface) -> Result<WorkerCommand, OptionError> {
        let interpreter = self.interpreter;
        let conflict =
            |name: &str, problem: &str| Err(OptionError::conflict(name, surface, problem.to_owned()));
        match (self.python, self.node, self.command) {
            (Some(target), None, None) => Ok(WorkerCommand::Python { target, interpreter }),
            (None, Some(target), None) => Ok(WorkerCommand::Node { target, executable: interpreter }),
            (None, None, Some(_)) if interpreter.is_some() => conflict(
                "interpreter",
                "option \"interpreter\" goes with \"python\" or \"node\", not with \"command\"",
            ),
            (None, None, Some(argv)) => Ok(WorkerCommand::Command { argv }),
            (None, None, None) => {
                conflict("python", "a pool needs one of the options \"python\", \"node\" or \"command\"")
            }
            (Some(_), Some(_), _) => conflict("node", "options \"python\" and \"node\" exclude each other"),
            (Some(_), _, Some(_)) => {
                conflict("command", "options \"python\" and \"command\" exclude each other")
            }
            (_, Some(_), Some(_)) => {
                conflict("command", "options \"node\" and \"command\" exclude each other")
            }
        }
    }
}
