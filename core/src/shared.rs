//! What all threads of a pool share, and the one way to change it: a step.
//!
//! Whoever has news (a caller, a lane's reader, the clock, the exit watcher) takes the lock, tells the scheduler, carries out its
//! actions on the tables, lets go of the lock, and only then does what may take time: writes, starts and kills processes,
//! settles callers, tells observers.

mod actions;
mod aftermath;
mod ahead;
mod books;
mod declaring;
mod frames;
mod in_flight;
mod items;
mod loans;
mod looking;
mod past;
mod settling;
mod streaming;
mod tally;
mod telling;
mod waits;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ganger_protocol::Limits;
use ganger_scheduler::{CallId, CallSpec, Input as News, Timestamp, WorkerId};
use tokio::runtime::Handle;

pub(crate) use aftermath::Aftermath;
pub(crate) use ahead::Ahead;
pub(crate) use books::{Books, Closed, Handshake, Member, Newcomer, Obituary, Process, Streams};
pub(crate) use frames::WorkerNews;
pub(crate) use loans::{Lender, Loans};
pub(crate) use waits::Condition;
pub use waits::WaitId;

use crate::arena::{Block, InputArena, Reservation, SHARED_MEMORY_THRESHOLD};
use crate::call::{Call, Completion, Input};
use crate::crew::Lanes;
use crate::error::Error;
use crate::events::Observers;
use crate::launch::{PartMissing, launch};
use crate::options::PoolOptions;
use crate::process::Launch;
use crate::reactor::Reactor;
use crate::recorder;
use crate::sampler::{self, Sampler};
use crate::sampling;
use crate::timer::Timer;

pub(crate) struct Shared {
    pub(crate) options: PoolOptions,
    /// Workers at most, as found out when the pool was made.
    pub(crate) workers: u32,
    pub(crate) runtime: Handle,
    /// What a worker is started with, once that can be said.
    launch: OnceLock<Launch>,
    /// Where large inputs lie, if they may and the system can. None once the pool has ended.
    arena: Mutex<Option<InputArena>>,
    pub(crate) observers: Observers,
    pub(crate) sampler: Mutex<Box<dyn Sampler>>,
    pub(crate) reactor: Arc<Reactor>,
    timer: Arc<Timer>,
    books: Mutex<Books>,
    /// For tasks that must not keep the pool alive.
    myself: Weak<Shared>,
}

impl Shared {
    pub(crate) fn new(options: PoolOptions, workers: u32, runtime: Handle) -> Arc<Self> {
        let books = Books::new(&options, workers);
        let launch = launch(&options).map_or_else(|_| OnceLock::new(), OnceLock::from);
        let arena = Mutex::new(input_arena(&options));
        let observers = Observers::new();
        let timer = Arc::new(Timer::new());
        let shared = Arc::new_cyclic(|myself| Self {
            options,
            workers,
            runtime,
            launch,
            arena,
            observers,
            sampler: Mutex::new(sampler::for_this_system()),
            reactor: Reactor::new(),
            timer,
            books: Mutex::new(books),
            myself: myself.clone(),
        });
        shared.runtime.spawn(Timer::run(Arc::downgrade(&shared)));
        if let Some(interval) = sampling::interval(&shared.options) {
            shared.runtime.spawn(sampling::run(Arc::downgrade(&shared), interval));
        }
        if let Some(folder) = recorder::folder() {
            shared.write_down_at_end(folder);
        }
        if shared.options.min_workers > 0 {
            shared.tell(News::Warm { workers: shared.options.min_workers });
        }
        shared
    }

    /// What a worker is started with. A part that was missing may have come since.
    pub(crate) fn launch(&self) -> Result<&Launch, PartMissing> {
        match self.launch.get() {
            Some(launch) => Ok(launch),
            None => launch(&self.options).map(|launch| self.launch.get_or_init(|| launch)),
        }
    }

    pub(crate) fn arena(&self) -> Option<InputArena> {
        self.lock_arena().clone()
    }

    /// A block of shared memory. None: there is no room, or no shared memory.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<Reservation> {
        self.arena()?.reserve(bytes)
    }

    /// Bytes in shared memory. None: as above.
    pub(crate) fn hold(&self, bytes: &[u8]) -> Option<Block> {
        self.arena()?.hold(bytes)
    }

    /// A large input moves to shared memory, if there is room: on the caller's thread, once for all attempts.
    pub(crate) fn in_shared_memory(&self, input: Input) -> Input {
        let Input { encoding, shape, payload, block, refused, view } = &input;
        if block.is_none()
            && !refused
            && payload.len() >= SHARED_MEMORY_THRESHOLD
            && let Some(block) = self.hold(payload)
        {
            return Input { view: *view, ..Input::shared(*encoding, *shape, block) };
        }
        input
    }

    /// The pool has ended. What is still looked at stays where it is.
    fn leave_arena(&self) {
        drop(self.lock_arena().take());
    }

    fn lock_arena(&self) -> MutexGuard<'_, Option<InputArena>> {
        self.arena.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_down_at_end(&self, folder: PathBuf) {
        let pool = self.weak();
        let write_down = move || {
            let Some(shared) = pool.upgrade() else { return };
            let name = &shared.options.name;
            if let Err(error) = recorder::write_down(&shared.recording(), name, &folder) {
                tracing::warn!(pool = name, %error, folder = %folder.display(), "the flight record cannot be written");
            }
        };
        if let Closed::NotYet(waiting) = &mut self.books().closed {
            waiting.push(Box::new(write_down));
        }
    }

    /// One step: news in, actions out. `tell` changes the books; what must wait for the lock's end is collected and done here.
    pub(crate) fn step<T>(&self, tell: impl FnOnce(&mut Books, Timestamp, &mut Aftermath) -> T) -> T {
        let mut aftermath = Aftermath::default();
        let (told, next) = {
            let mut books = self.books();
            let now = self.timer.now();
            let told = tell(&mut books, now, &mut aftermath);
            books.look_at_waits(&mut aftermath);
            aftermath.tell(&self.observers);
            (told, books.scheduler.poll_timeout())
        };
        self.timer.arm(next);
        aftermath.carry_out(self);
        told
    }

    /// A call enters. `admitted` is told when it has got room to wait, or is settled without.
    pub(crate) fn submit(&self, newcomer: Newcomer, admitted: Option<Box<dyn FnOnce() + Send>>) -> CallId {
        self.step(|books, now, aftermath| {
            let asked = self.spec(&newcomer.call, books, !newcomer.streams.is_none());
            // What was yielded, or read, cannot be taken back.
            let retries = if newcomer.streams.is_none() { asked.retries } else { 0 };
            let spec = CallSpec { retries, ..asked };
            let call = books.enter(newcomer, now);
            books.tell(now, News::Submit { call, spec }, aftermath);
            if let Some(admitted) = admitted {
                books.tell_when_admitted(call, admitted, aftermath);
            }
            call
        })
    }

    /// One call for every worker that is ready now. Each outcome comes by itself.
    pub(crate) fn broadcast(
        &self,
        asked: &Call,
        completion: impl Fn(u32, usize) -> Completion,
    ) -> Vec<CallId> {
        self.step(|books, now, aftermath| {
            let mut calls = Vec::new();
            for (nth, worker) in books.scheduler.ready_workers().into_iter().enumerate() {
                let spec = CallSpec { pinned: Some(worker), retries: 0, ..self.spec(asked, books, false) };
                let completion = completion(worker.index, nth);
                let newcomer = Newcomer { call: asked.clone(), completion, streams: Streams::default() };
                let call = books.enter(newcomer, now);
                books.tell(now, News::Submit { call, spec }, aftermath);
                calls.push(call);
            }
            calls
        })
    }

    pub(crate) fn tell(&self, news: News) {
        self.step(|books, now, aftermath| books.tell(now, news, aftermath));
    }

    /// A call is cancelled, and settled with `error` if there is one.
    pub(crate) fn give_up(&self, call: CallId, error: Option<Box<Error>>) {
        self.step(|books, now, aftermath| books.give_up(call, error, now, aftermath));
    }

    pub(crate) fn clock_struck(&self) {
        self.step(|books, now, aftermath| books.strike(now, aftermath));
    }

    /// A process that came by itself, with both its lanes.
    pub(crate) fn attach(&self, lanes: Lanes) {
        self.step(|books, now, aftermath| {
            books.next_attachment += 1;
            let attachment = books.next_attachment;
            books.attachments.insert(attachment, lanes);
            books.tell(now, News::Attach { attachment }, aftermath);
        });
    }

    /// The app let go of the pool: everything ends now, and this lives until the last worker is gone.
    pub(crate) fn outlive_workers(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        self.step(|books, now, aftermath| {
            if let Closed::NotYet(waiting) = &mut books.closed {
                waiting.push(Box::new(move || drop(shared)));
                books.tell(now, News::Terminate, aftermath);
            }
        });
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.timer.now()
    }

    pub(crate) fn timer_handle(&self) -> Arc<Timer> {
        Arc::clone(&self.timer)
    }

    pub(crate) fn weak(&self) -> Weak<Self> {
        self.myself.clone()
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits { max_payload: self.options.max_payload, ..Limits::default() }
    }

    /// The news of a worker's lanes and process, as long as the pool lives.
    pub(crate) fn about(&self, worker: WorkerId) -> WorkerNews {
        WorkerNews::new(self.weak(), worker)
    }
}

fn input_arena(options: &PoolOptions) -> Option<InputArena> {
    let size = usize::try_from(options.shared_memory).ok().filter(|size| *size >= SHARED_MEMORY_THRESHOLD)?;
    match InputArena::new(size) {
        Ok(arena) => Some(arena),
        Err(error) => {
            tracing::info!(pool = options.name, %error, "no shared memory; payloads go through the socket");
            None
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("pool", &self.options.name).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The clock's task looks once more, finds nobody, and ends.
        self.timer.ring();
        self.reactor.close();
    }
}
