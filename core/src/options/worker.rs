//! What a worker is: the one of `python`, `node`, `wasm` and `command` that a pool was given.

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
    /// WebAssembly modules.
    Wasm {
        /// A file or folder.
        target: String,
        /// The `ganger-wasm` to use; `None` is the installed one.
        program: Option<String>,
        /// The most bytes that one instance of a module may have; `None` is the program's own default.
        memory: Option<u64>,
        /// Whether each call has an instance of its own.
        fresh: bool,
    },
}

impl WorkerCommand {
    /// What the pool is called if nobody says: `prices` for `workers/prices.py`.
    pub(crate) fn default_name(&self) -> String {
        let target = match self {
            WorkerCommand::Command { argv } => argv.first().map_or("", String::as_str),
            WorkerCommand::Node { target, .. } | WorkerCommand::Wasm { target, .. } => target,
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
    pub(crate) wasm: Option<String>,
    pub(crate) wasm_memory: Option<u64>,
    pub(crate) wasm_fresh: bool,
    pub(crate) command: Option<Vec<String>>,
    pub(crate) interpreter: Option<String>,
}

impl WorkerDraft {
    pub(crate) fn resolve(self, surface: Surface) -> Result<WorkerCommand, OptionError> {
        self.one_kind(surface)?;
        self.what_goes_together(surface)?;
        let interpreter = self.interpreter;
        Ok(match (self.python, self.node, self.wasm) {
            (Some(target), ..) => WorkerCommand::Python { target, interpreter },
            (_, Some(target), _) => WorkerCommand::Node { target, executable: interpreter },
            (.., Some(target)) => WorkerCommand::Wasm {
                target,
                program: interpreter,
                memory: self.wasm_memory,
                fresh: self.wasm_fresh,
            },
            (None, None, None) => WorkerCommand::Command { argv: self.command.unwrap_or_default() },
        })
    }

    fn one_kind(&self, surface: Surface) -> Result<(), OptionError> {
        let kinds = [
            ("python", self.python.is_some()),
            ("node", self.node.is_some()),
            ("wasm", self.wasm.is_some()),
            ("command", self.command.is_some()),
        ];
        let mut given = kinds.into_iter().filter_map(|(name, given)| given.then_some(name));
        match (given.next(), given.next()) {
            (Some(_), None) => Ok(()),
            (Some(one), Some(other)) => {
                let problem = format!("options {one:?} and {other:?} exclude each other");
                Err(OptionError::conflict(other, surface, problem))
            }
            (None, _) => {
                let problem = "a pool needs one of the options \"python\", \"node\", \"wasm\" or \"command\"";
                Err(OptionError::conflict("python", surface, problem.to_owned()))
            }
        }
    }

    fn what_goes_together(&self, surface: Surface) -> Result<(), OptionError> {
        let astray = |name: &str, where_it_goes: &str| {
            let problem = format!("option {:?} goes with {where_it_goes}", surface.spell(name));
            Err(OptionError::conflict(name, surface, problem))
        };
        if self.interpreter.is_some() && self.command.is_some() {
            return astray("interpreter", "\"python\", \"node\" or \"wasm\", not with \"command\"");
        }
        if self.wasm.is_none() && self.wasm_memory.is_some() {
            return astray("wasm_memory", "\"wasm\"");
        }
        if self.wasm.is_none() && self.wasm_fresh {
            return astray("wasm_fresh", "\"wasm\"");
        }
        Ok(())
    }
}
