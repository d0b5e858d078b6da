//! The options of a pool.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::table::{Field, OptionDefault, OptionKind, OptionRow, OptionValue, field};
use super::worker::WorkerDraft;
use super::{CALL_FIELDS, OptionError, Surface, WorkerCommand, read};

/// The options of a pool, all of them valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    /// What a worker is.
    pub worker: WorkerCommand,
    /// What events, errors and workers call the pool.
    pub name: String,
    /// The most workers; `None` is one for each usable CPU.
    pub workers: Option<u32>,
    /// The fewest workers once calls or `warm` have started so many.
    pub min_workers: u32,
    /// How long a worker may have no calls before it is stopped.
    pub idle_timeout: Option<Duration>,
    /// Slots of a worker.
    pub concurrency: NonZeroU32,
    /// The most calls that may wait.
    pub max_queue: u32,
    /// The most bytes of input that may wait.
    pub max_queue_bytes: u64,
    /// What a full queue does with another call.
    pub when_full: WhenFull,
    /// The longest that a call may wait for room in a full queue.
    pub full_timeout: Option<Duration>,
    /// How often workers without calls are asked whether they live.
    pub health_interval: Option<Duration>,
    /// How long they may take to answer.
    pub health_timeout: Duration,
    /// A worker that has answered so many calls is replaced.
    pub max_calls: Option<u64>,
    /// A worker that uses so many bytes is replaced.
    pub max_memory: Option<u64>,
    /// A worker that has lived so long is replaced.
    pub max_age: Option<Duration>,
    /// The most workers that are replaced at once.
    pub max_replacing: u32,
    /// How many threads numerical libraries may use in a worker.
    pub inner_threads: Option<u32>,
    /// Devices, one a worker.
    pub devices: Vec<String>,
    /// What is watched for changes that reload the workers.
    pub watch: Option<Watch>,
    /// The longest that one attempt may run.
    pub timeout: Option<Duration>,
    /// The longest that a call may wait for its first attempt.
    pub queue_timeout: Option<Duration>,
    /// The longest that a call may take in all.
    pub deadline: Option<Duration>,
    /// How long a call may take to stop when asked to, before its worker is killed.
    pub cancel_grace: Duration,
    /// How long `close` lets calls run on.
    pub close_timeout: Duration,
    /// How long a worker may take to exit when asked to.
    pub stop_timeout: Duration,
    /// How long a worker may take from its start to ready.
    pub start_timeout: Duration,
    /// How often an idempotent call may run again.
    pub retries: u32,
    /// The largest input or result, in bytes.
    pub max_payload: u64,
    /// The most memory that the system gives a worker process, in bytes.
    pub memory_limit: Option<u64>,
    /// Bytes of each arena of shared memory; 0: none.
    pub shared_memory: u64,
    /// Variables that workers get beside the host's; `None` removes one of the host's.
    pub env: BTreeMap<String, Option<String>>,
    /// Where workers run; `None` is where the host does.
    pub cwd: Option<PathBuf>,
    /// Whether workers that a person starts by hand may attach, and where.
    pub endpoint: Option<Endpoint>,
}

/// What a full queue does with another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// It fails at once with `QUEUE_FULL`.
    #[default]
    Reject,
    /// It waits for room, in the order of submission.
    Wait,
}

/// What is watched for changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// The worker's own file or folder.
    Target,
    /// This path.
    At(PathBuf),
}

/// Where workers attach that a person starts by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// At this path.
    At(PathBuf),
    /// In a private directory of the pool's choosing.
    Private,
}

impl PoolOptions {
    /// A pool of such workers with every option at its default.
    pub fn new(worker: WorkerCommand) -> PoolOptions {
        let draft = PoolDraft::new();
        PoolOptions { name: worker.default_name(), worker, ..draft.options }
    }

    /// Reads the options of a pool from a plain map.
    ///
    /// # Errors
    /// An option that is unknown, of the wrong type or out of range; no worker kind or several; `workers: 0` without an endpoint.
    pub fn parse(map: &Map<String, Value>, surface: Surface) -> Result<PoolOptions, OptionError> {
        let mut draft = PoolDraft::new();
        read::fill(&mut draft, map, surface, POOL_FIELDS, (CALL_FIELDS, "a call, not of a pool"))?;
        let worker = draft.worker.resolve(surface)?;
        let options = draft.options;
        if let Some((option, problem)) = contradiction(&options) {
            let problem = format!("option {:?} {problem}", surface.spell(option));
            return Err(OptionError::conflict(option, surface, problem));
        }
        let name = draft.name.unwrap_or_else(|| worker.default_name());
        Ok(PoolOptions { worker, name, ..options })
    }
}

/// Options that are right each for itself and not together: the one that has to change, and why.
fn contradiction(options: &PoolOptions) -> Option<(&'static str, &'static str)> {
    let workers = options.workers?;
    let devices = options.devices.len();
    if workers == 0 && options.endpoint.is_none() {
        Some(("workers", "is 0, but must be at least 1 unless \"endpoint\" lets workers attach"))
    } else if options.min_workers > workers {
        Some(("min_workers", "is more than \"workers\""))
    } else if devices > 0 && workers as usize > devices {
        Some(("workers", "is more than there are \"devices\"; name one twice if two workers are to share it"))
    } else {
        None
    }
}

/// Every option of a pool, in the order of the reference page.
pub fn pool_options() -> impl Iterator<Item = &'static OptionRow> {
    POOL_FIELDS.iter().map(|field| &field.row)
}

/// Options while they are read: the worker's kind and name are known only when all are.
pub(crate) struct PoolDraft {
    worker: WorkerDraft,
    name: Option<String>,
    options: PoolOptions,
}

impl PoolDraft {
    /// Every row at its default. The values here only fill the gaps until the table has spoken.
    fn new() -> PoolDraft {
        let options = PoolOptions {
            worker: WorkerCommand::Command { argv: Vec::new() },
            name: String::new(),
            workers: None,
            min_workers: 0,
            idle_timeout: None,
            full_timeout: None,
            health_interval: None,
            health_timeout: Duration::ZERO,
            max_calls: None,
            max_memory: None,
            max_age: None,
            max_replacing: 0,
            inner_threads: None,
            devices: Vec::new(),
            watch: None,
            concurrency: NonZeroU32::MIN,
            max_queue: 0,
            max_queue_bytes: 0,
            when_full: WhenFull::Reject,
            timeout: None,
            queue_timeout: None,
            deadline: None,
            cancel_grace: Duration::ZERO,
            close_timeout: Duration::ZERO,
            stop_timeout: Duration::ZERO,
            start_timeout: Duration::ZERO,
            retries: 0,
            max_payload: 0,
            memory_limit: None,
            shared_memory: 0,
            env: BTreeMap::new(),
            cwd: None,
            endpoint: None,
        };
        let mut draft = PoolDraft { worker: WorkerDraft::default(), name: None, options };
        for field in POOL_FIELDS {
            if let Some(value) = field.row.default.value() {
                (field.set)(&mut draft, value);
            }
        }
        draft
    }
}

const NONE: OptionDefault = OptionDefault::Absent("none");
const SIZE: OptionKind = OptionKind::Size { zero: false };
const LIMIT: OptionKind = OptionKind::Duration { zero: false, never: true };
const PATIENCE: OptionKind = OptionKind::Duration { zero: true, never: false };

#[rustfmt::skip] // A row is read across: what it is, then what it means.
pub(crate) static POOL_FIELDS: &[Field<PoolDraft>] = &[
    field("python", OptionKind::Path, NONE, |d, v| d.worker.python = Some(v.text()),
        "Workers written in Python: a file, a folder whose files are modules, or the name of a module. A pool has one worker kind."),
    field("node", OptionKind::Path, NONE, |d, v| d.worker.node = Some(v.text()),
        "Workers written for Node.js: a file, or a folder whose files are modules. A pool has one worker kind."),
    field("wasm", OptionKind::Path, NONE, |d, v| d.worker.wasm = Some(v.text()),
        "Workers that run WebAssembly: a module, or a folder of them. They may come from somebody who is not trusted: a module sees its input and \
         nothing else. It takes the program `ganger-wasm`. A pool has one worker kind."),
    field("wasm_memory", SIZE, OptionDefault::Absent("128MiB"), |d, v| d.worker.wasm_memory = Some(v.size()),
        "The most memory that one instance of a WebAssembly module may have. An allocation beyond it fails inside the module. A worker has as many \
         instances as it runs calls at once."),
    field("wasm_fresh", OptionKind::Flag, OptionDefault::Absent("false"), |d, v| d.worker.wasm_fresh = v.flag(),
        "Gives each call a new instance of its WebAssembly module, so that nothing of one call is left for the next. Otherwise an instance serves \
         one call after the other."),
    field("command", OptionKind::Argv, NONE, |d, v| d.worker.command = Some(v.list()),
        "Workers that are a program of their own, built with any worker SDK: the program and its arguments. No shell reads it."),
    field("interpreter", OptionKind::Path, OptionDefault::Absent("the app's own if it is of that language, else the one on PATH; the installed `ganger-wasm`"),
        |d, v| d.worker.interpreter = Some(v.text()),
        "The Python or Node.js that runs `python` or `node` workers, or the `ganger-wasm` that runs `wasm` workers."),
    field("name", OptionKind::Text, OptionDefault::Absent("from the worker's file or module"), |d, v| d.name = Some(v.text()),
        "What events, errors and workers call the pool."),
    field("workers", OptionKind::Count { min: 0, max: 4_096 }, OptionDefault::Absent("usable CPUs"), |d, v| d.options.workers = Some(v.count()),
        "The most worker processes. They start as calls need them; each costs its memory. By default one for each CPU that the app may use, by \
         affinity and container quota. 0 is allowed with `endpoint`: then only attached workers run calls."),
    field("concurrency", OptionKind::Count { min: 1, max: 65_536 }, OptionDefault::Count(1),
        |d, v| d.options.concurrency = NonZeroU32::new(v.count()).expect("the row begins at 1"),
        "How many calls a worker runs at once. More than 1 suits calls that wait, and languages with real threads; a crash then costs all of them."),
    field("min_workers", OptionKind::Count { min: 0, max: 4_096 }, OptionDefault::Count(0), |d, v| d.options.min_workers = v.count(),
        "The fewest workers: so many are started with the pool, and `idle_timeout` stops none of them."),
    field("idle_timeout", LIMIT, NONE, |d, v| d.options.idle_timeout = v.limit().duration(),
        "How long a worker may have no calls before it is stopped, down to `min_workers`. By default workers stay."),
    field("max_queue", OptionKind::Count { min: 0, max: 10_000_000 }, OptionDefault::Count(10_000), |d, v| d.options.max_queue = v.count(),
        "The most calls that may wait, beyond those that workers have room for. What is more is handled as `when_full` says."),
    field("max_queue_bytes", SIZE, OptionDefault::Bytes(256 << 20), |d, v| d.options.max_queue_bytes = v.size(),
        "The most bytes of input that may wait. One call is admitted to an empty queue whatever its size."),
    field("when_full", OptionKind::Choice(&["reject", "wait"]), OptionDefault::Choice("reject"), |d, v| d.options.when_full = WhenFull::from_word(v.choice()),
        "What a full queue does with another call. `reject` fails it at once with `QUEUE_FULL`; `wait` lets it wait for room, in the order of \
         submission, at most `full_timeout`."),
    field("full_timeout", LIMIT, NONE, |d, v| d.options.full_timeout = v.limit().duration(),
        "The longest that a call may wait for room in a full queue with `when_full` `wait`. Then it fails with `QUEUE_FULL`."),
    field("timeout", LIMIT, NONE, |d, v| d.options.timeout = v.limit().duration(),
        "The longest that one attempt of a call may run. Then the caller gets `TIMEOUT` at once, the worker is asked to stop the call, and is \
         killed if it does not within `cancel_grace`."),
    field("queue_timeout", LIMIT, NONE, |d, v| d.options.queue_timeout = v.limit().duration(),
        "The longest that a call may wait for its first attempt. Then it fails with `QUEUE_TIMEOUT` and has not run."),
    field("deadline", LIMIT, NONE, |d, v| d.options.deadline = v.limit().duration(),
        "The longest that a call may take in all, waiting and retries included. Then it fails with `DEADLINE_EXCEEDED`."),
    field("cancel_grace", PATIENCE, OptionDefault::Milliseconds(2_000), |d, v| d.options.cancel_grace = v.duration(),
        "How long a call that was cancelled or timed out may take to stop. Then its worker is killed, and the calls beside it fail with \
         `WORKER_CRASHED`."),
    field("close_timeout", PATIENCE, OptionDefault::Milliseconds(10_000), |d, v| d.options.close_timeout = v.duration(),
        "How long closing the pool lets queued and running calls go on. What is left then fails with `POOL_CLOSED`."),
    field("stop_timeout", PATIENCE, OptionDefault::Milliseconds(5_000), |d, v| d.options.stop_timeout = v.duration(),
        "How long a worker that was asked to stop may take for its shutdown hooks. Then it is killed."),
    field("start_timeout", OptionKind::Duration { zero: false, never: false }, OptionDefault::Milliseconds(60_000),
        |d, v| d.options.start_timeout = v.duration(),
        "How long a worker may take from its start until it is ready, start-up hooks included. Then it is killed and the start has failed."),
    field("health_interval", OptionKind::Duration { zero: false, never: true }, OptionDefault::Milliseconds(10_000), |d, v| d.options.health_interval = v.limit().duration(),
        "How often a worker without calls is asked whether it lives. Busy and starting workers are never asked: their calls' clocks protect them."),
    field("health_timeout", OptionKind::Duration { zero: false, never: false }, OptionDefault::Milliseconds(10_000), |d, v| d.options.health_timeout = v.duration(),
        "How long a worker without calls may take to answer the health check. Then it is killed and replaced at once."),
    field("max_calls", OptionKind::Count { min: 1, max: 1_000_000_000_000 }, NONE, |d, v| d.options.max_calls = Some(v.count()),
        "A worker that has answered so many calls, give or take 10 %, is replaced: the replacement is ready first, then the old one finishes \
         what it has and leaves. No call fails or waits for it."),
    field("max_memory", SIZE, NONE, |d, v| d.options.max_memory = Some(v.size()),
        "A worker whose processes use so much memory, give or take 10 %, is replaced in the same way. It is a soft limit: current memory, \
         without what is shared, seen twice in a row, a second apart."),
    field("max_age", LIMIT, NONE, |d, v| d.options.max_age = v.limit().duration(),
        "A worker that has lived so long, give or take 10 %, is replaced in the same way."),
    field("max_replacing", OptionKind::Count { min: 1, max: 4_096 }, OptionDefault::Count(1), |d, v| d.options.max_replacing = v.count(),
        "The most workers that are replaced at once. Each costs the memory of one more worker while its replacement starts, and \
         until the old one is gone; but one with a call left to finish, which may take hours, holds up no other."),
    field("inner_threads", OptionKind::Count { min: 1, max: 4_096 }, OptionDefault::Absent("as the libraries do"), |d, v| d.options.inner_threads = Some(v.count()),
        "How many threads numerical libraries may use in a worker: sets the variables of OpenMP, OpenBLAS, MKL, BLIS, NumExpr and Accelerate."),
    field("devices", OptionKind::Texts, OptionDefault::Absent("none"), |d, v| d.options.devices = v.list(),
        "Devices, one a worker: each worker has one that no other has, in the variable `GANGER_DEVICE` and as `context.device`. A device \
         `cuda:N` also sets `CUDA_VISIBLE_DEVICES`. By default there are as many workers as devices, and there may not be more; one that is \
         named twice has two workers."),
    field("watch", OptionKind::FlagOrPath, OptionDefault::Absent("false"), |d, v| d.options.watch = Watch::from_option(v),
        "Reloads the workers when their code changes: `true` watches the worker's file or folder, a path watches that. Workers are replaced one \
         by one, ready before the old ones leave; code that cannot start keeps the old workers."),
    field("retries", OptionKind::Count { min: 0, max: 1_000 }, OptionDefault::Count(1), |d, v| d.options.retries = v.count(),
        "How often an idempotent call may run again after its worker died. It concerns no other calls: those never repeat."),
    field("max_payload", SIZE, OptionDefault::Bytes(4 << 30), |d, v| d.options.max_payload = v.size(),
        "The largest input or result. A larger one fails its call with `PAYLOAD_TOO_LARGE` and nothing else."),
    field("shared_memory", OptionKind::Size { zero: true }, OptionDefault::Bytes(1 << 30), |d, v| d.options.shared_memory = v.size(),
        "Payloads of 128 KiB and more travel in memory that the app and its workers share: one arena of so many bytes for inputs, and one for the results of \
         each worker. Memory is taken as payloads need it. What finds no room goes through the socket, as all does with 0."),
    field("memory_limit", SIZE, NONE, |d, v| d.options.memory_limit = Some(v.size()),
        "The most memory that the operating system gives one worker process. An allocation beyond it fails inside the worker, which may end it."),
    field("env", OptionKind::Env, NONE, |d, v| d.options.env = v.env(),
        "Variables for the workers, beside those of the app. Null removes one that they would inherit."),
    field("cwd", OptionKind::Path, OptionDefault::Absent("the app's"), |d, v| d.options.cwd = Some(v.text().into()),
        "The directory that workers run in. Paths of worker files are those of the app, not relative to it."),
    field("endpoint", OptionKind::FlagOrPath, OptionDefault::Absent("false"), |d, v| d.options.endpoint = Endpoint::from_option(v),
        "Lets workers attach that you start by hand, under a debugger for example. `true` listens in a private directory, a path there."),
];

impl WhenFull {
    fn from_word(word: &str) -> WhenFull {
        if word == "wait" { WhenFull::Wait } else { WhenFull::Reject }
    }
}

impl Watch {
    fn from_option(value: super::table::OptionValue) -> Option<Watch> {
        if let super::table::OptionValue::Flag(on) = value {
            return on.then_some(Watch::Target);
        }
        Some(Watch::At(value.text().into()))
    }
}

impl Endpoint {
    fn from_option(value: OptionValue) -> Option<Endpoint> {
        if let OptionValue::Flag(on) = value {
            return on.then_some(Endpoint::Private);
        }
        Some(Endpoint::At(value.text().into()))
    }
}
