//! An instance as the ABI sees it: bytes go in, a function is called, bytes come out. What the module says is checked before it is
//! believed.

use crate::engine::{Instance, Module, Signature};
use crate::failure::{Ended, Fault};
use crate::host::{self, Host, Slice};
use crate::ration::MAX_CONTRACT_LENGTH;

/// An empty input. Its pointer is not null, which not every language takes for nothing.
const NOTHING: Slice = Slice { pointer: 16, length: 0 };

/// What a module must export, and what it may.
const EXPORTS: &[(&str, &str, bool)] = &[
    ("ganger_alloc", "(i32) -> i32", true),
    ("ganger_free", "(i32, i32) -> ()", false),
    ("ganger_contract", "() -> i64", true),
    ("ganger_call", "(i32, i32, i32) -> i64", true),
    ("_initialize", "() -> ()", false),
];

/// Whether a module follows the ABI, as far as that can be seen without running it.
pub(crate) fn check(module: &Module) -> Result<(), String> {
    for (from, name) in module.imports() {
        if !crate::engine::IMPORTS.contains(&(from.as_str(), name.as_str())) {
            return Err(foreign_import(&from, &name));
        }
    }
    if module.export("memory") != Some(Signature::Memory) {
        return Err("it does not export its \"memory\"".to_owned());
    }
    for (name, signature, is_needed) in EXPORTS {
        match module.export(name) {
            Some(Signature::Function(actual)) if actual == *signature => {}
            Some(actual) => return Err(format!("its export {name} is {actual}, but must be {signature}")),
            None if *is_needed => return Err(format!("it does not export {name}: {signature}; see ABI.md")),
            None => {}
        }
    }
    Ok(())
}

fn foreign_import(from: &str, name: &str) -> String {
    let hint = if from.starts_with("wasi") {
        ": there is no WASI here, build it for a target without a system, such as wasm32-unknown-unknown"
    } else {
        ", which is nothing that a module may have; see ABI.md"
    };
    format!("it imports {from}.{name}{hint}")
}

/// An instance and what the ABI says of it.
pub(crate) struct Guest {
    instance: Instance,
    frees: bool,
}

impl Guest {
    /// A new instance, ready to be called.
    pub(crate) fn new(module: &Module, host: Host) -> Result<Self, Ended> {
        let mut instance = module.instantiate(host)?;
        if module.export("_initialize").is_some() {
            instance.run("_initialize", &[])?;
        }
        Ok(Self { instance, frees: module.export("ganger_free").is_some() })
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        self.instance.host()
    }

    /// What the module says of its functions.
    pub(crate) fn contract(&mut self) -> Result<Vec<u8>, Ended> {
        let place = Slice::unpacked(self.instance.run("ganger_contract", &[])?);
        if place.length as usize > MAX_CONTRACT_LENGTH {
            return Err(Fault(format!("ganger_contract: {} bytes are too many", place.length)).into());
        }
        Ok(host::slice("ganger_contract", self.instance.memory(), place)?.to_vec())
    }

    /// Calls a function. The second value is whether the instance can be used again.
    pub(crate) fn call(&mut self, function: u32, input: &[u8]) -> Result<(Vec<u8>, bool), Ended> {
        let given = self.give(input)?;
        let arguments = [function, given.pointer, given.length].map(u32::cast_signed);
        let place = Slice::unpacked(self.instance.run("ganger_call", &arguments)?);
        let result = host::slice("ganger_call", self.instance.memory(), place)?.to_vec();
        // The result is here, whatever happens now.
        let kept = place.pointer == given.pointer || place.length == 0;
        let freed = self.free(given).and_then(|()| if kept { Ok(()) } else { self.free(place) });
        Ok((result, freed.is_ok()))
    }

    /// Puts an input into the module's memory.
    fn give(&mut self, input: &[u8]) -> Result<Slice, Ended> {
        if input.is_empty() {
            return Ok(NOTHING);
        }
        let no_room = Ended::NoRoom { length: input.len() };
        let Ok(length) = i32::try_from(input.len()) else { return Err(no_room) };
        let pointer = self.instance.run("ganger_alloc", &[length])? as i32;
        if pointer == 0 {
            return Err(no_room);
        }
        let place = Slice::new(pointer, length);
        // Checked as any other pointer of the module.
        host::slice("ganger_alloc", self.instance.memory(), place)?;
        let begin = place.pointer as usize;
        self.instance.memory()[begin..begin + input.len()].copy_from_slice(input);
        Ok(place)
    }

    fn free(&mut self, place: Slice) -> Result<(), Ended> {
        if self.frees && place.length > 0 {
            self.instance.run("ganger_free", &[place.pointer, place.length].map(u32::cast_signed))?;
        }
        Ok(())
    }
}
