//! Runs a session: threads that read the data lane and run calls, one thread for control, and one lock in the
//! middle.
//!
//! The thread that reads a call also runs it: there is no hop between them. Before it does, it sees to it
//! that another one waits to read, unless the worker runs one call at a time. Threads that are done wait to
//! read again, so they are reused. A call that was handed over ahead begins where the one before it has ended.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;

use ganger_protocol::message::{ErrorReport, Welcome, code};
use ganger_protocol::{Bytes, Kind, Lane};

use crate::arena::Arenas;
use crate::context::{CallState, Context, Place};
use crate::error::report_panic;
use crate::function::{Body, Input};
use crate::session::{Effect, Outcome, Run, Session};
use crate::state::Shared;
use crate::transport::{LaneReader, LaneWriter};
use crate::worker::{Load, Shutdown, Startup};

const STACK_LENGTH: usize = 8 * 1024 * 1024;

/// A worker that runs.
pub(crate) struct Engine {
    state: Mutex<State>,
    /// Rung when a stream may have credit, or a call was cancelled.
    credit: Condvar,
    data_reader: Mutex<LaneReader>,
    data_writer: Mutex<LaneWriter>,
    control_writer: Mutex<LaneWriter>,
    /// Threads that wait to read, or read.
    readers: AtomicUsize,
    /// Threads that read or run calls, the main one included.
    threads: AtomicUsize,
    functions: OnceLock<BTreeMap<String, Body>>,
    shutdown: Mutex<Vec<Shutdown>>,
    place: OnceLock<Place>,
    arenas: OnceLock<Arenas>,
    shared: OnceLock<Shared>,
    #[cfg(feature = "async")]
    runtime: OnceLock<tokio::runtime::Runtime>,
}

struct State {
    session: Session,
    /// Calls that run, for who hears of their cancels.
    calls: BTreeMap<u64, Arc<CallState>>,
    /// Those whose turn came with the end of another: for the thread that ended it.
    next: VecDeque<Next>,
}

/// A call to run.
type Next = (Work, Arc<CallState>);

/// What a step leads to, outside the lock.
#[derive(Default)]
struct Steps {
    todo: Vec<Todo>,
    /// Whether there is something to write.
    writes: bool,
    /// Answers that must be told to be written.
    answers: u32,
}

/// What is left to do after a step, outside the lock.
enum Todo {
    Load(Box<Welcome>),
    Run(Work, Arc<CallState>),
    Shutdown,
    Exit { code: i32, complaint: Option<String> },
    Vanish,
}

/// What a thread that reads has got to run.
enum Work {
    Alone(Box<Run>),
    Together(Vec<Run>),
}

impl State {
    /// Lists a call, or those of a batch as one, before anything else can be heard of it.
    fn begin(&mut self, mut work: Work) -> Todo {
        let call = Arc::new(match &mut work {
            Work::Alone(run) => CallState::new(run),
            Work::Together(runs) => CallState::of_batch(runs),
        });
        let runs = match &work {
            Work::Alone(run) => std::slice::from_ref(&**run),
            Work::Together(runs) => runs,
        };
        self.calls.extend(runs.iter().map(|run| (run.seq, Arc::clone(&call))));
        Todo::Run(work, call)
    }

    /// A call that has ended hears nothing.
    fn tell(&self, seq: u64, news: impl FnOnce(&CallState)) {
        if let Some(call) = self.calls.get(&seq) {
            news(call);
        }
    }
}

impl Engine {
    pub(crate) fn start(
        session: Session,
        data: UnixStream,
        control: UnixStream,
        load: Load,
        startup: Vec<Startup>,
        shutdown: Vec<Shutdown>,
    ) -> ! {
        let twin = |stream: &UnixStream| stream.try_clone().expect("a descriptor can be copied");
        let engine = Arc::new(Self {
            state: Mutex::new(State { session, calls: BTreeMap::new(), next: VecDeque::new() }),
            credit: Condvar::new(),
            data_reader: Mutex::new(LaneReader::new(twin(&data))),
            data_writer: Mutex::new(LaneWriter::new(twin(&data))),
            control_writer: Mutex::new(LaneWriter::new(twin(&control))),
            readers: AtomicUsize::new(0),
            threads: AtomicUsize::new(1),
            functions: OnceLock::new(),
            shutdown: Mutex::new(shutdown),
            place: OnceLock::new(),
            arenas: OnceLock::new(),
            shared: OnceLock::new(),
            #[cfg(feature = "async")]
            runtime: OnceLock::new(),
        });
        engine.act(|_| {});
        let welcome = engine.listen(control, data);
        engine.load(&welcome, load, startup);
        engine.serve()
    }

    pub(crate) fn place(&self) -> &Place {
        self.place.get().expect("calls and hooks come after WELCOME")
    }

    /// Keeps what all calls share. A worker loads it once.
    pub(crate) fn share(&self, shared: Shared) {
        drop(self.shared.set(shared));
    }

    pub(crate) fn shared(&self) -> Option<&Shared> {
        self.shared.get()
    }

    /// Sends LOG of the worker itself, or of a call: of a batch, that of the first which still runs.
    pub(crate) fn log(&self, seqs: &[u64], body: Vec<u8>) {
        let body = Bytes::from(body);
        self.act(|state| {
            let _is_heard = seqs.iter().any(|&seq| state.session.say(Kind::Log, seq, body.clone()));
        });
    }

    /// Sends PROGRESS of a call: of a batch, that of all.
    pub(crate) fn progress(&self, seqs: &[u64], body: Vec<u8>) {
        let body = Bytes::from(body);
        self.act(|state| {
            for &seq in seqs {
                state.session.say(Kind::Progress, seq, body.clone());
            }
        });
    }

    /// Starts the control thread; gives what WELCOME said.
    fn listen(self: &Arc<Self>, control: UnixStream, data: UnixStream) -> Box<Welcome> {
        let (sender, receiver) = mpsc::channel();
        let engine = Arc::clone(self);
        let control_loop = move || {
            let mut reader = LaneReader::new(control);
            loop {
                let arrival = reader.next_or_end_of(&data);
                for todo in engine.arrived(Lane::Control, arrival) {
                    if let Todo::Load(welcome) = todo {
                        drop(sender.send(welcome));
                    } else {
                        engine.perform(todo);
                    }
                }
                if let Some(next) = engine.next_in_line() {
                    engine.run_apart(next);
                }
            }
        };
        spawn("ganger-control", control_loop);
        receiver.recv().expect("the control thread never ends before the process")
    }

    /// Reads calls and runs them, until the process ends.
    fn serve(self: &Arc<Self>) -> ! {
        loop {
            self.readers.fetch_add(1, Ordering::SeqCst);
            let (work, call) = self.next_call();
            if self.readers.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.add_reader(matches!(&work, Work::Alone(run) if run.reads));
            }
            self.run_on((work, call));
        }
    }

    /// Runs a call, and those whose turn comes with its end.
    fn run_on(self: &Arc<Self>, first: Next) {
        let mut next = Some(first);
        while let Some((work, call)) = next {
            match work {
                Work::Alone(run) => self.run(*run, call),
                Work::Together(runs) => self.run_together(runs, call),
            }
            next = self.next_in_line();
        }
    }

    /// The same for threads that must not be kept.
    fn run_apart(self: &Arc<Self>, next: Next) {
        let engine = Arc::clone(self);
        spawn("ganger-calls", move || engine.run_on(next));
    }

    fn next_in_line(&self) -> Option<Next> {
        lock(&self.state).next.pop_front()
    }

    /// Starts a thread to read on. One more than the host has calls here is always enough: with that many, one is about to be done. A worker
    /// that runs one call at a time needs it only while that call has items to read.
    fn add_reader(self: &Arc<Self>, call_reads: bool) {
        let most = self.place().concurrency.saturating_add(1) as usize;
        let more = |threads| ((most > 2 || call_reads) && threads < most).then_some(threads + 1);
        if self.threads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok() {
            let engine = Arc::clone(self);
            spawn("ganger-calls", move || engine.serve());
        }
    }

    fn next_call(&self) -> Next {
        let mut reader = lock(&self.data_reader);
        loop {
            let arrival = reader.next();
            for todo in self.arrived(Lane::Data, arrival) {
                if let Todo::Run(work, call) = todo {
                    return (work, call);
                }
                self.perform(todo);
            }
        }
    }

    fn run(self: &Arc<Self>, run: Run, call: Arc<CallState>) {
        let body = self.body(&call);
        if matches!(body, Body::Together(_)) {
            return self.run_together(vec![run], call);
        }
        let context = Context { call: Arc::clone(&call), engine: Arc::clone(self) };
        let run = match self.bring_in(run) {
            Ok(run) => run,
            Err(outcome) => return self.finish(call.seq, outcome),
        };
        match body {
            Body::Blocking(body) => {
                let outcome = catch_unwind(AssertUnwindSafe(|| body(Input::of(run), &context)))
                    .unwrap_or_else(|panic| Outcome::Failed(Box::new(report_panic(&*panic))));
                self.finish(call.seq, outcome);
            }
            #[cfg(feature = "async")]
            Body::Async(body) => {
                let running = catch_unwind(AssertUnwindSafe(|| body(Input::of(run), &context)))
                    .unwrap_or_else(|panic| Err(Outcome::Failed(Box::new(report_panic(&*panic)))));
                self.run_async(running, context);
            }
            Body::Together(_) => unreachable!("it is run with the calls of its batch"),
        }
    }

    fn body(&self, call: &CallState) -> &Body {
        let body = self.functions.get().and_then(|functions| functions.get(&call.function));
        body.expect("the session knows the same names")
    }

    /// A call with its input, wherever that lay.
    fn bring_in(&self, mut run: Run) -> Result<Run, Outcome> {
        if let (Some(reference), Some(arenas)) = (run.shared, self.arenas.get()) {
            run.payload = arenas.read(reference).map_err(|error| {
                let message = format!("the input cannot be read from shared memory: {error}");
                Outcome::Failed(Box::new(ErrorReport::new(code::INVALID_INPUT, "", message)))
            })?;
        }
        Ok(run)
    }

    fn step(&self, step: impl FnOnce(&mut State)) -> Steps {
        let mut state = lock(&self.state);
        step(&mut state);
        let effects = std::mem::take(&mut state.session.effects);
        Steps {
            todo: effects.into_iter().filter_map(|effect| self.settle(effect, &mut state)).collect(),
            writes: !(state.session.data_out.is_empty() && state.session.control_out.is_empty()),
            answers: state.session.new_answers(),
        }
    }

    /// What must happen under the lock: a cancel must find the call that came before it.
    fn settle(&self, effect: Effect, state: &mut State) -> Option<Todo> {
        match effect {
            Effect::Run(run) => return Some(state.begin(Work::Alone(run))),
            Effect::RunTogether(runs) => return Some(state.begin(Work::Together(runs))),
            Effect::Cancel { seq, reason } => {
                state.tell(seq, |call| call.cancel(reason));
                self.credit.notify_all();
            }
            Effect::Credit { seq } => {
                state.tell(seq, CallState::credit);
                self.credit.notify_all();
            }
            Effect::Input { seq, item } => state.tell(seq, |call| call.inbox.put(item)),
            Effect::InputEnd { seq } => state.tell(seq, |call| call.inbox.end()),
            Effect::Released(offsets) => {
                if let Some(arenas) = self.arenas.get() {
                    arenas.release(&offsets);
                }
            }
            Effect::Load(welcome) => return Some(Todo::Load(welcome)),
            Effect::Shutdown => return Some(Todo::Shutdown),
            Effect::Exit { code, complaint } => return Some(Todo::Exit { code, complaint }),
            Effect::Vanish => return Some(Todo::Vanish),
        }
        None
    }

    fn perform(&self, todo: Todo) {
        match todo {
            Todo::Shutdown => self.shut_down(),
            Todo::Exit { code, complaint } => self.exit(code, complaint),
            Todo::Vanish => std::process::exit(0),
            Todo::Run(work, call) => lock(&self.state).next.push_back((work, call)),
            Todo::Load(_) => unreachable!("only the control lane's own thread gets this"),
        }
    }

    fn shut_down(&self) {
        for hook in std::mem::take(&mut *lock(&self.shutdown)) {
            // A hook that panics has been heard on stderr; the others still run.
            drop(catch_unwind(AssertUnwindSafe(hook)));
        }
        self.act(|state| state.session.hooks_done());
    }

    fn exit(&self, code: i32, complaint: Option<String>) -> ! {
        if let Some(complaint) = complaint {
            drop(writeln!(std::io::stderr(), "ganger-worker: {complaint}"));
        }
        // Another thread may be amid a write of what it took from the queue (R24).
        let _writers = (lock(&self.data_writer), lock(&self.control_writer));
        std::process::exit(code)
    }
}

#[cfg(feature = "async")]
mod asynchronous;
mod finishing;
mod loading;
mod streaming;
mod together;
mod writing;

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) {
    let builder = thread::Builder::new().name(name.to_owned()).stack_size(STACK_LENGTH);
    if let Err(error) = builder.spawn(body) {
        drop(writeln!(std::io::stderr(), "ganger-worker: cannot start a thread: {error}"));
        std::process::exit(1);
    }
}

/// Functions run outside all locks, so a panic never leaves one in disorder.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
