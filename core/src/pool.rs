//! What an app holds of a pool.

mod streaming;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use bytes::Bytes;
use ganger_protocol::message::Contract;
use ganger_scheduler::{CallId, Input as News, PoolPhase};
use tokio::sync::oneshot;

use crate::arena::{Reservation, SHARED_MEMORY_THRESHOLD};
use crate::call::{Call, Completion, Encoding, Gathered, Input, Outcome, Shape, Waiter};
use crate::endpoint::{Endpoint, Invitation};
use crate::error::Error;
use crate::events::{Observer, SubscriptionId};
use crate::gathering::Gathering;
use crate::options::{PoolOptions, usable_cpus};
use crate::process::ProcessTag;
use crate::reactor::{LoopSeat, Seat};
use crate::runtime;
use crate::shared::{Closed, Condition, Newcomer, Shared, Streams, WaitId};
use crate::stats::{CallInfo, Stats};
use crate::watch::Watch;

/// A pool of worker processes with one queue. Clones are handles of the same pool; when the last one is dropped, the pool is
/// terminated.
///
/// In a forked child of the process that made it, every method fails with `FORKED` or does nothing.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    /// None once the pool ends: nobody may join it any more.
    endpoint: Mutex<Option<Endpoint>>,
    /// None once the pool ends.
    watch: Mutex<Option<Watch>>,
    made_in: ProcessTag,
}

impl Pool {
    /// Makes a pool. It starts no worker before there is a call.
    ///
    /// # Errors
    /// `INVALID_OPTION` if the endpoint cannot be opened, `START_FAILED` if the system has no thread left for the pool.
    pub fn new(options: PoolOptions) -> Result<Self, Error> {
        let runtime = runtime::handle()
            .map_err(|error| Error::start_failed(format!("no thread for the pool's work: {error}")))?;
        let workers = options.workers.unwrap_or_else(|| default_workers(&options));
        let shared = Shared::new(options, workers, runtime);
        let endpoint = Endpoint::open(&shared)?;
        let endpoint = Mutex::new(endpoint);
        let watch = Mutex::new(Watch::begin(&shared)?);
        Ok(Self(Arc::new(Handle { shared, endpoint, watch, made_in: ProcessTag::here() })))
    }

    /// Makes a call. `completion` gets its outcome, exactly once, possibly before this returns.
    pub fn submit(&self, call: Call, completion: Completion) -> Option<CallId> {
        self.submit_noting(call, completion, None)
    }

    /// Makes a call and says when it has got room to wait: with the option `when_full` `wait` that may take a while. `admitted` is called
    /// exactly once, possibly before this returns, and also for a call that is settled without.
    pub fn submit_noting(
        &self,
        call: Call,
        completion: Completion,
        admitted: Option<Box<dyn FnOnce() + Send>>,
    ) -> Option<CallId> {
        self.enter(call, completion, admitted, Streams::default())
    }

    /// A block of shared memory to fill with an input: for [`Input::shared`], which copies it no more. None: there is no room, or no shared memory.
    pub fn reserve(&self, bytes: usize) -> Option<Reservation> {
        if self.is_here() { self.0.shared.reserve(bytes) } else { None }
    }

    /// Bytes as an input: copied once, to shared memory if they are long enough and there is room. The same bytes from the same place are not
    /// copied again as long as a call or a result holds them there.
    pub fn copied(&self, encoding: Encoding, shape: Shape, bytes: &[u8]) -> Input {
        let long = bytes.len() >= SHARED_MEMORY_THRESHOLD;
        if long
            && self.is_here()
            && let Some(block) = self.0.shared.hold(bytes)
        {
            return Input::shared(encoding, shape, block);
        }
        let input = Input::new(encoding, shape, Bytes::copy_from_slice(bytes));
        if long { input.without_room() } else { input }
    }

    /// Makes one call on every worker that is ready now, before the calls that wait. `done` gets the worker's place in the pool and the outcome
    /// of each, in the order of places; none if no worker is ready. Returns the calls, for [`Pool::cancel_all`].
    pub fn broadcast(&self, call: &Call, done: Gathered) -> Vec<CallId> {
        if !self.is_here() {
            done(Vec::new());
            return Vec::new();
        }
        let gathering = Gathering::new(done);
        let calls = self.0.shared.broadcast(call, |worker, nth| gathering.place(worker, nth));
        gathering.expect(calls.len());
        calls
    }

    /// Starts workers ahead of calls. `done` is told when so many are ready (the pool's size if that is less), or why they will not be.
    pub fn warm(&self, workers: u32, done: Waiter) -> Option<WaitId> {
        let workers = workers.min(self.0.shared.workers);
        self.await_condition(Condition::Warm(workers), Some(News::Warm { workers }), done)
    }

    /// `done` is told as soon as a call that is made now would find room; at once if it would already.
    pub fn ready(&self, done: Waiter) -> Option<WaitId> {
        self.await_condition(Condition::Room, None, done)
    }

    /// `done` is told as soon as no call waits or runs; at once if none does.
    pub fn drained(&self, done: Waiter) -> Option<WaitId> {
        self.await_condition(Condition::Drained, None, done)
    }

    /// Gives up waiting for the pool to be warm, ready or drained: `done` is dropped untold, unless it is being told already.
    pub fn stop_waiting(&self, wait: WaitId) {
        if self.is_here() {
            drop(self.0.shared.step(|books, _, _| books.stop_waiting(wait)));
        }
    }

    /// Has every worker replaced by one that loads the code anew. The replacement is ready first; code that cannot start keeps the old workers.
    pub fn reload(&self) {
        if self.is_here() {
            // Who is replaced by hand only is not looked at otherwise.
            self.0.shared.sample();
            self.0.shared.reload(Vec::new());
        }
    }

    /// Makes a call and waits for its outcome. Dropping the future cancels the call.
    ///
    /// # Errors
    /// Whatever became of the call.
    pub async fn call(&self, call: Call) -> Outcome {
        let (sender, receiver) = oneshot::channel();
        let id = self.submit(call, Box::new(move |outcome| drop(sender.send(outcome))));
        let mut guard = CancelOnDrop { pool: self, call: id };
        let outcome = receiver.await.unwrap_or_else(|_| Err(Box::new(Error::pool_closed())));
        guard.call = None;
        outcome
    }

    /// Makes a call and blocks until its outcome. Not for the threads of an async runtime.
    ///
    /// # Errors
    /// Whatever became of the call.
    pub fn call_blocking(&self, call: Call) -> Outcome {
        let (seat, told) = (self.seat(), Arc::new(OnceLock::new()));
        let completion = {
            let (seat, told) = (Arc::clone(&seat), Arc::clone(&told));
            Box::new(move |outcome| {
                told.set(outcome).expect("a call is settled once");
                seat.wake();
            })
        };
        self.submit(call, completion);
        while told.get().is_none() {
            seat.wait(Duration::MAX, || told.get().is_some());
        }
        told.get().cloned().expect("it was waited for")
    }

    /// A place for this thread to wait at for what it has begun; waiting there, it does what the pool's own thread would have to be woken for.
    pub fn seat(&self) -> Arc<Seat> {
        Seat::new(Arc::clone(&self.0.shared.reactor))
    }

    /// The same for an event loop.
    pub fn loop_seat(&self) -> LoopSeat {
        LoopSeat::new(Arc::clone(&self.0.shared.reactor))
    }

    /// Gives a call up: it is settled with `CANCELLED` now, and its worker is asked to stop it. A call that is settled is left
    /// as it is.
    pub fn cancel(&self, call: CallId) {
        if self.is_here() {
            self.0.shared.tell(News::Cancel { call });
        }
    }

    /// Gives several calls up at once.
    pub fn cancel_all(&self, calls: &[CallId]) {
        if self.is_here() {
            self.0.shared.step(|books, now, aftermath| {
                for &call in calls {
                    books.tell(now, News::Cancel { call }, aftermath);
                }
            });
        }
    }

    /// What the pool does now and has done. All zero in a forked child.
    pub fn stats(&self) -> Stats {
        if self.is_here() { self.0.shared.stats() } else { Stats::default() }
    }

    /// The calls that run or wait now, oldest first.
    pub fn calls(&self) -> Vec<CallInfo> {
        if self.is_here() { self.0.shared.call_infos() } else { Vec::new() }
    }

    /// The last 10 000 things that the pool's scheduler was told, as text: for a report of what went wrong, and, while the beginning is among
    /// them, to play it again (`ganger_scheduler::Recording`). Names of functions and payloads are not in it. Empty in a forked child.
    pub fn flight_record(&self) -> String {
        if self.is_here() { self.0.shared.recording().to_string() } else { String::new() }
    }

    /// The functions that workers offer; none before the first worker was ready.
    pub fn functions(&self) -> Option<Arc<[Contract]>> {
        if self.is_here() { self.0.shared.books().functions() } else { None }
    }

    /// Has `observer` told of every event, on a thread of its own.
    pub fn subscribe(&self, observer: Observer) -> SubscriptionId {
        self.0.shared.observers.subscribe(observer)
    }

    /// Ends a subscription. False if there is none such.
    pub fn unsubscribe(&self, subscription: SubscriptionId) -> bool {
        self.0.shared.observers.unsubscribe(subscription)
    }

    /// Where a worker that is started by hand attaches, and with which one-time token; none without the option `endpoint`.
    pub fn invite(&self) -> Option<Invitation> {
        if self.is_here() { self.endpoint().as_ref().map(Endpoint::invite) } else { None }
    }

    /// Takes no more calls, finishes those it has within `timeout` (none: as long as they take), then stops its workers.
    /// `done` is called when the last worker is gone; it may run on the IO thread and must be quick.
    pub fn close(&self, timeout: Option<Duration>, done: Box<dyn FnOnce() + Send>) {
        self.end(News::Close { timeout }, done);
    }

    /// Settles every call with `POOL_CLOSED` and kills every worker now.
    pub fn terminate(&self, done: Box<dyn FnOnce() + Send>) {
        self.end(News::Terminate, done);
    }

    /// Closes and blocks until the last worker is gone.
    pub fn close_blocking(&self, timeout: Option<Duration>) {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.close(timeout, Box::new(move || sender.send(()).expect("this thread waits below")));
        let _ = receiver.recv();
    }

    /// Terminates and blocks until the last worker is gone.
    pub fn terminate_blocking(&self) {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.terminate(Box::new(move || sender.send(()).expect("this thread waits below")));
        let _ = receiver.recv();
    }

    /// Whether the pool takes no more calls.
    pub fn is_closed(&self) -> bool {
        !self.is_here() || self.0.shared.books().scheduler.phase() != PoolPhase::Running
    }

    /// The options it was made with.
    pub fn options(&self) -> &PoolOptions {
        &self.0.shared.options
    }

    /// Waits until observers have been told of everything so far, at most for `limit`.
    pub fn flush_events(&self, limit: Duration) -> bool {
        self.is_here() && self.0.shared.observers.flush(limit)
    }

    /// False in a forked child, where not even a lock may be touched: its holder does not exist there.
    fn is_here(&self) -> bool {
        self.0.made_in.is_here()
    }

    /// The one way in for calls of an app.
    fn enter(
        &self,
        mut call: Call,
        completion: Completion,
        admitted: Option<Box<dyn FnOnce() + Send>>,
        streams: Streams,
    ) -> Option<CallId> {
        let bytes = call.input.payload.len() as u64;
        let refused = if !self.is_here() {
            Some(Error::forked())
        } else if bytes > self.options().max_payload {
            Some(Error::payload_too_large("input", bytes, self.options().max_payload))
        } else if streams.supply.is_some() && self.0.shared.books().reads_no_inputs(&call.function) {
            Some(Error::reads_no_inputs(&call.function))
        } else {
            None
        };
        if let Some(error) = refused {
            completion(Err(Box::new(Error { function: Some(call.function), ..error })));
            if let Some(admitted) = admitted {
                admitted();
            }
            return None;
        }
        call.input = self.0.shared.in_shared_memory(call.input);
        Some(self.0.shared.submit(Newcomer { call, completion, streams }, admitted))
    }

    /// `news` may help it to become so. None in a forked child, where `done` has been told why.
    fn await_condition(&self, condition: Condition, news: Option<News>, done: Waiter) -> Option<WaitId> {
        if !self.is_here() {
            done(Err(Box::new(Error::forked())));
            return None;
        }
        Some(self.0.shared.step(|books, now, aftermath| {
            if let Some(news) = news {
                books.tell(now, news, aftermath);
            }
            books.await_condition(condition, done, aftermath)
        }))
    }

    fn endpoint(&self) -> MutexGuard<'_, Option<Endpoint>> {
        self.0.endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, news: News, done: Box<dyn FnOnce() + Send>) {
        if !self.is_here() {
            return done();
        }
        drop(self.endpoint().take());
        drop(self.0.watch.lock().unwrap_or_else(PoisonError::into_inner).take());
        let late = self.0.shared.step(|books, now, aftermath| match &mut books.closed {
            Closed::Yes => Some(done),
            Closed::NotYet(waiting) => {
                waiting.push(done);
                books.tell(now, news, aftermath);
                None
            }
        });
        if let Some(done) = late {
            done();
        }
    }
}

/// One worker a device, else one a usable CPU.
fn default_workers(options: &PoolOptions) -> u32 {
    match u32::try_from(options.devices.len()) {
        Ok(0) | Err(_) => usable_cpus().get(),
        Ok(devices) => devices,
    }
}

/// Who drops the future of a call no longer wants it.
struct CancelOnDrop<'a> {
    pool: &'a Pool,
    call: Option<CallId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            self.pool.cancel(call);
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.made_in.is_here() {
            self.shared.outlive_workers();
        } else {
            // Its locks may be held by threads that do not exist here: the copy stays in memory, untouched.
            std::mem::forget(Arc::clone(&self.shared));
        }
    }
}
