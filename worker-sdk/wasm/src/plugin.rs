//! A module with its functions, and the instances of it that are at rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ganger_protocol::message::ErrorReport;
use ganger_protocol::{Encoding, Value};
use ganger_worker::{Context, Encoded, StartContext};

use crate::contract::{self, Declared};
use crate::engine::Module;
use crate::failure::{PluginError, report};
use crate::guest::{self, Guest};
use crate::host::Host;
use crate::ration::{Limits, MAX_MODULE_LENGTH, Ration};
use crate::schema;
use crate::values::{Codec, invalid_input};

/// A module that can be called. Every call has an instance to itself; instances that are done wait for the next.
pub(crate) struct Plugin {
    module: Module,
    limits: Limits,
    /// It asks whether it should stop, and so has some time to do it.
    looks: bool,
    spare: Mutex<Vec<Guest>>,
}

impl Plugin {
    /// Reads, checks and loads a module.
    pub(crate) fn open(
        path: &Path,
        limits: Limits,
        start: Option<&StartContext<'_>>,
    ) -> Result<(Self, Vec<Declared>), PluginError> {
        let failed = |problem: String| PluginError::new(path, problem);
        let module = Module::compile(&binary(path).map_err(failed)?).map_err(failed)?;
        guest::check(&module).map_err(failed)?;
        let looks = module.imports().iter().any(|(_, name)| name == "cancelled");
        let mut host = Host::new(Ration::new(limits.memory));
        host.start();
        let mut guest =
            Guest::new(&module, host).map_err(|ended| failed(starting(&ended.to_string(), limits)))?;
        let bytes = guest.contract().map_err(|ended| failed(starting(&ended.to_string(), limits)))?;
        for (level, message) in guest.host().said() {
            if let Some(start) = start {
                start.log().write(level, &message, None);
            }
        }
        let declared = contract::read(&bytes).map_err(failed)?;
        let spare = if limits.fresh { Vec::new() } else { vec![guest] };
        Ok((Self { module, limits, looks, spare: Mutex::new(spare) }, declared))
    }

    /// Runs a function for a call.
    pub(crate) fn call(
        &self,
        index: u32,
        codec: Codec,
        fitting: Option<&Value>,
        input: Encoded,
        context: &Context,
    ) -> Result<Encoded, Box<ErrorReport>> {
        if let Some(schema) = fitting {
            check_input(&input, schema)?;
        }
        let input = codec.input(input)?;
        let mut guest = self.instance(codec, context)?;
        let ended = guest.call(index, &input);
        let failure = guest.host().leave();
        match (ended, failure) {
            (Ok((result, is_sound)), failure) => {
                if is_sound && !self.limits.fresh {
                    self.spare().push(guest);
                }
                failure.map_or_else(|| codec.output(result), Err)
            }
            // A module that cannot unwind fails and then traps: what it said is more than the trap says.
            (Err(crate::failure::Ended::Trap { .. }), Some(failure)) => Err(failure),
            (Err(ended), _) => Err(Box::new(report(&ended, &guest.host().ration))),
        }
    }

    /// One that is at rest, or a new one.
    fn instance(&self, codec: Codec, context: &Context) -> Result<Guest, Box<ErrorReport>> {
        let spare = self.spare().pop();
        if let Some(mut guest) = spare {
            guest.host().enter(context, codec, self.looks);
            return Ok(guest);
        }
        let ration = Ration::new(self.limits.memory);
        let mut host = Host::new(ration);
        host.enter(context, codec, self.looks);
        Guest::new(&self.module, host)
            .map_err(|ended| Box::new(report(&ended, &Ration::new(self.limits.memory))))
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The modules of a target, each with what goes before the names of its functions.
pub(crate) fn files(target: &Path) -> Result<Vec<(String, PathBuf)>, PluginError> {
    if !target.is_dir() {
        return Ok(vec![(String::new(), target.to_owned())]);
    }
    let mut found = Vec::new();
    gather(target, "", &mut found).map_err(|error| PluginError::new(target, error.to_string()))?;
    found.sort();
    Ok(found)
}

fn gather(folder: &Path, prefix: &str, found: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let ending = path.extension().unwrap_or_default();
        if stem.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            gather(&path, &format!("{prefix}{stem}."), found)?;
        } else if ending == "wasm" || ending == "wat" {
            found.push((format!("{prefix}{stem}."), path));
        }
    }
    Ok(())
}

/// A module's bytes; those that its text stands for if it is text.
fn binary(path: &Path) -> Result<Vec<u8>, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > MAX_MODULE_LENGTH {
        return Err(format!("{length} bytes are more than the {MAX_MODULE_LENGTH} that a module may have"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    if bytes.starts_with(COMPONENT) {
        return Err("it is a component, and this runs core modules; see ABI.md".to_owned());
    }
    match wat::parse_bytes(&bytes) {
        Ok(binary) if binary.starts_with(b"\0asm") => Ok(binary.into_owned()),
        Ok(_) => Err("it is no WebAssembly module".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn starting(problem: &str, limits: Limits) -> String {
    format!("it does not start: {problem} (it may have {} bytes of memory)", limits.memory)
}

fn check_input(input: &Encoded, fitting: &Value) -> Result<(), Box<ErrorReport>> {
    let value = match input.encoding {
        Encoding::MessagePack => Value::decode(&input.payload).unwrap_or_default(),
        // Only what it is and how long it is can matter.
        Encoding::Raw | Encoding::Pickle5 => Value::Bytes(input.payload.to_vec()),
    };
    schema::check(&value, fitting, "$").map_err(|misfit| invalid_input(&misfit.path, &misfit.message))
}
