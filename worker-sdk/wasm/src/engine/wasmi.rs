//! The interpreter. It runs on fuel: a portion at a time, and between two portions it is asked whether the instance may go on.

use std::sync::LazyLock;

use wasmi::{
    Caller, Config, Engine, Error, Extern, ExternType, Linker, Memory, ResourceLimiter, ResumableCall, Store,
    TrapCode, Val, ValType,
};
use wasmi_core::LimiterError;

use super::{MAX_STACK_LENGTH, Signature, define_imports, signature};
use crate::failure::{Ended, Fault};
use crate::host::Host;
use crate::ration::Ration;

/// What `--version` says.
pub(crate) const NAME: &str = "wasmi";

/// Some milliseconds.
const PORTION: u64 = 1_000_000;

/// What a module's start function may burn: it cannot be interrupted. Some tenths of a second.
const START_PORTION: u64 = 100_000_000;

const MAX_DEPTH: usize = 10_000;

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::default();
    config.consume_fuel(true).set_max_stack_height(MAX_STACK_LENGTH).set_max_recursion_depth(MAX_DEPTH);
    config.wasm_multi_memory(false).wasm_custom_page_sizes(false).ignore_custom_sections(true);
    Engine::new(&config)
});

/// A compiled module.
pub(crate) struct Module {
    module: wasmi::Module,
    linker: Linker<Host>,
}

impl Module {
    pub(crate) fn compile(binary: &[u8]) -> Result<Self, String> {
        let module = wasmi::Module::new(&ENGINE, binary).map_err(|error| error.to_string())?;
        let linker = linker().map_err(|error| error.to_string())?;
        Ok(Self { module, linker })
    }

    pub(crate) fn imports(&self) -> Vec<(String, String)> {
        self.module.imports().map(|import| (import.module().to_owned(), import.name().to_owned())).collect()
    }

    pub(crate) fn export(&self, name: &str) -> Option<Signature> {
        Some(match self.module.get_export(name)? {
            ExternType::Memory(_) => Signature::Memory,
            ExternType::Func(function) => signature(&names(function.params()), &names(function.results())),
            ExternType::Table(_) | ExternType::Global(_) => Signature::Other,
        })
    }

    pub(crate) fn instantiate(&self, host: Host) -> Result<Instance, Ended> {
        let mut store = Store::new(&ENGINE, host);
        store.limiter(|host| &mut host.ration);
        store.set_fuel(START_PORTION).map_err(ended)?;
        let instance = self.linker.instantiate_and_start(&mut store, &self.module).map_err(ended)?;
        let memory = instance.get_memory(&store, "memory").ok_or_else(no_memory)?;
        Ok(Instance { store, instance, memory })
    }
}

/// A module with a memory of its own.
pub(crate) struct Instance {
    store: Store<Host>,
    instance: wasmi::Instance,
    memory: Memory,
}

impl Instance {
    /// Runs an exported function. Gives its result, or 0 if it has none.
    pub(crate) fn run(&mut self, name: &str, arguments: &[i32]) -> Result<i64, Ended> {
        let function = self.instance.get_func(&self.store, name).ok_or_else(|| missing(name))?;
        let arguments: Vec<Val> = arguments.iter().copied().map(Val::I32).collect();
        let mut results: Vec<Val> =
            function.ty(&self.store).results().iter().map(|kind| Val::default_for_ty(*kind)).collect();
        let mut call =
            self.burn(PORTION, |store| function.call_resumable(store, &arguments, &mut results))?;
        loop {
            match call {
                ResumableCall::Finished => return Ok(number(results.first())),
                ResumableCall::HostTrap(trap) => return Err(ended(trap.into_host_error())),
                ResumableCall::OutOfFuel(paused) => {
                    let portion = PORTION.saturating_add(paused.required_fuel());
                    call = self.burn(portion, |store| paused.resume(store, &mut results))?;
                }
            }
        }
    }

    pub(crate) fn memory(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        self.store.data_mut()
    }

    fn burn(
        &mut self,
        fuel: u64,
        go: impl FnOnce(&mut Store<Host>) -> Result<ResumableCall, Error>,
    ) -> Result<ResumableCall, Ended> {
        self.store.data_mut().go_on()?;
        self.store.set_fuel(fuel).map_err(ended)?;
        go(&mut self.store).map_err(ended)
    }
}

impl ResourceLimiter for Ration {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool, LimiterError> {
        Ok(maximum.is_none_or(|maximum| desired <= maximum) && self.memory(current, desired))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool, LimiterError> {
        Ok(maximum.is_none_or(|maximum| desired <= maximum) && self.table(current, desired))
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        100
    }

    fn memories(&self) -> usize {
        1
    }
}

impl wasmi::errors::HostError for Fault {}

fn linker() -> Result<Linker<Host>, Error> {
    let mut linker = Linker::<Host>::new(&ENGINE);
    define_imports!(linker, Caller, view, Error::host);
    Ok(linker)
}

fn view<'a>(caller: &'a mut Caller<'_, Host>) -> Result<(&'a mut [u8], &'a mut Host), Error> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(Error::host(Fault("it has no memory".to_owned())));
    };
    Ok(memory.data_and_store_mut(caller))
}

fn ended(error: Error) -> Ended {
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return Ended::Fault(fault.clone());
    }
    let kind = error.as_trap_code().map_or("other", kind);
    Ended::Trap { kind, message: error.to_string(), traceback: None }
}

const fn kind(code: TrapCode) -> &'static str {
    match code {
        TrapCode::UnreachableCodeReached => "unreachable",
        TrapCode::MemoryOutOfBounds => "memory-out-of-bounds",
        TrapCode::TableOutOfBounds => "table-out-of-bounds",
        TrapCode::IndirectCallToNull => "indirect-call-to-null",
        TrapCode::IntegerDivisionByZero => "integer-division-by-zero",
        TrapCode::IntegerOverflow => "integer-overflow",
        TrapCode::BadConversionToInteger => "bad-conversion-to-integer",
        TrapCode::StackOverflow => "stack-overflow",
        TrapCode::BadSignature => "bad-signature",
        TrapCode::OutOfFuel => "start-too-long",
        TrapCode::GrowthOperationLimited | TrapCode::OutOfSystemMemory => "out-of-memory",
    }
}

fn names(types: &[ValType]) -> Vec<&'static str> {
    let name = |kind: &ValType| match kind {
        ValType::I32 => "i32",
        ValType::I64 => "i64",
        ValType::F32 => "f32",
        ValType::F64 => "f64",
        ValType::V128 => "v128",
        ValType::FuncRef => "funcref",
        ValType::ExternRef => "externref",
    };
    types.iter().map(name).collect()
}

fn number(value: Option<&Val>) -> i64 {
    match value {
        Some(Val::I32(number)) => (*number).into(),
        Some(Val::I64(number)) => *number,
        _ => 0,
    }
}

fn no_memory() -> Ended {
    missing("memory")
}

/// Exports are checked before, so this is never seen.
fn missing(name: &str) -> Ended {
    Ended::Fault(Fault(format!("it does not export {name}")))
}
