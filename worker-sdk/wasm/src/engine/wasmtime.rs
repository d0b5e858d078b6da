//! The compiler. Compiled code looks at an epoch wherever it loops or calls; while an instance runs, a thread turns the epoch, and at
//! each turn the instance is asked whether it may go on.

use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::{
    Caller, Config, Engine, Error, Extern, Linker, Memory, OptLevel, ResourceLimiter, Store, Trap,
    UpdateDeadline, Val, WasmBacktrace,
};

use super::{MAX_STACK_LENGTH, Signature, define_imports, signature};
use crate::failure::{Ended, Fault, Stopped};
use crate::host::Host;
use crate::ration::Ration;

/// What `--version` says.
pub(crate) const NAME: &str = "wasmtime";

/// How often a running instance is asked.
const TURN: Duration = Duration::from_millis(5);

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    config.epoch_interruption(true).max_wasm_stack(MAX_STACK_LENGTH).cranelift_opt_level(OptLevel::Speed);
    config.wasm_multi_memory(false).wasm_memory64(false);
    Engine::new(&config).expect("the settings go together")
});

/// A compiled module.
pub(crate) struct Module {
    module: wasmtime::Module,
    linker: Linker<Host>,
}

impl Module {
    pub(crate) fn compile(binary: &[u8]) -> Result<Self, String> {
        let module = wasmtime::Module::new(&ENGINE, binary).map_err(|error| format!("{error:#}"))?;
        let linker = linker().map_err(|error| error.to_string())?;
        Ok(Self { module, linker })
    }

    pub(crate) fn imports(&self) -> Vec<(String, String)> {
        self.module.imports().map(|import| (import.module().to_owned(), import.name().to_owned())).collect()
    }

    pub(crate) fn export(&self, name: &str) -> Option<Signature> {
        let export = self.module.get_export(name)?;
        let Some(function) = export.func() else {
            return Some(export.memory().map_or(Signature::Other, |_| Signature::Memory));
        };
        let parameters: Vec<String> = function.params().map(|kind| kind.to_string()).collect();
        let results: Vec<String> = function.results().map(|kind| kind.to_string()).collect();
        Some(signature(&texts(&parameters), &texts(&results)))
    }

    pub(crate) fn instantiate(&self, host: Host) -> Result<Instance, Ended> {
        let mut store = Store::new(&ENGINE, host);
        store.limiter(|host| &mut host.ration);
        store.epoch_deadline_callback(|mut store| {
            store.data_mut().go_on()?;
            Ok(UpdateDeadline::Continue(1))
        });
        store.set_epoch_deadline(1);
        let _turning = Turning::begin();
        let instance = self.linker.instantiate(&mut store, &self.module).map_err(ended)?;
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(|| missing("memory"))?;
        Ok(Instance { store, instance, memory })
    }
}

/// A module with a memory of its own.
pub(crate) struct Instance {
    store: Store<Host>,
    instance: wasmtime::Instance,
    memory: Memory,
}

impl Instance {
    /// Runs an exported function. Gives its result, or 0 if it has none.
    pub(crate) fn run(&mut self, name: &str, arguments: &[i32]) -> Result<i64, Ended> {
        let function = self.instance.get_func(&mut self.store, name).ok_or_else(|| missing(name))?;
        let arguments: Vec<Val> = arguments.iter().copied().map(Val::I32).collect();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        self.store.data_mut().go_on()?;
        self.store.set_epoch_deadline(1);
        let _turning = Turning::begin();
        function.call(&mut self.store, &arguments, &mut results).map_err(ended)?;
        Ok(match results.first() {
            Some(Val::I32(number)) => (*number).into(),
            Some(Val::I64(number)) => *number,
            _ => 0,
        })
    }

    pub(crate) fn memory(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        self.store.data_mut()
    }
}

/// As long as one of these is there, the epoch turns. Otherwise its thread sleeps.
struct Turning;

static RUNNING: Mutex<usize> = Mutex::new(0);
static BEGUN: Condvar = Condvar::new();

impl Turning {
    fn begin() -> Self {
        static THREAD: LazyLock<()> = LazyLock::new(|| {
            let turn = thread::Builder::new().name("ganger-epoch".to_owned()).spawn(turn);
            turn.expect("a thread can be started");
        });
        LazyLock::force(&THREAD);
        *running() += 1;
        BEGUN.notify_one();
        Self
    }
}

impl Drop for Turning {
    fn drop(&mut self) {
        *running() -= 1;
    }
}

fn turn() {
    loop {
        let idle = BEGUN.wait_while(running(), |running| *running == 0);
        drop(idle);
        thread::sleep(TURN);
        ENGINE.increment_epoch();
    }
}

fn running() -> MutexGuard<'static, usize> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ResourceLimiter for Ration {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(maximum.is_none_or(|maximum| desired <= maximum) && self.memory(current, desired))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
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

fn linker() -> wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::<Host>::new(&ENGINE);
    define_imports!(linker, Caller, view, Error::new);
    Ok(linker)
}

fn view<'a>(caller: &'a mut Caller<'_, Host>) -> wasmtime::Result<(&'a mut [u8], &'a mut Host)> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(Error::new(Fault("it has no memory".to_owned())));
    };
    Ok(memory.data_and_store_mut(caller))
}

fn ended(error: Error) -> Ended {
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return Ended::Fault(fault.clone());
    }
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return Ended::Stopped(*stopped);
    }
    let traceback = error.downcast_ref::<WasmBacktrace>().map(ToString::to_string);
    match error.downcast_ref::<Trap>() {
        Some(trap) => Ended::Trap { kind: kind(*trap), message: trap.to_string(), traceback },
        None => Ended::Trap { kind: "other", message: error.root_cause().to_string(), traceback },
    }
}

fn kind(trap: Trap) -> &'static str {
    const NAMES: &[(Trap, &str)] = &[
        (Trap::UnreachableCodeReached, "unreachable"),
        (Trap::MemoryOutOfBounds, "memory-out-of-bounds"),
        (Trap::HeapMisaligned, "memory-out-of-bounds"),
        (Trap::TableOutOfBounds, "table-out-of-bounds"),
        (Trap::IndirectCallToNull, "indirect-call-to-null"),
        (Trap::IntegerDivisionByZero, "integer-division-by-zero"),
        (Trap::IntegerOverflow, "integer-overflow"),
        (Trap::BadConversionToInteger, "bad-conversion-to-integer"),
        (Trap::StackOverflow, "stack-overflow"),
        (Trap::BadSignature, "bad-signature"),
        (Trap::AllocationTooLarge, "out-of-memory"),
    ];
    NAMES.iter().find(|(known, _)| *known == trap).map_or("other", |(_, name)| name)
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Exports are checked before, so this is never seen.
fn missing(name: &str) -> Ended {
    Ended::Fault(Fault(format!("it does not export {name}")))
}
