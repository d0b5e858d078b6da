//! What a function sees of its call: whether to stop, how long it may take, where it runs, and ways to say
//! something.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ganger_protocol::Value;
use ganger_protocol::message::{CancelReason, Level, Log, Progress, Welcome};

use crate::engine::Engine;
use crate::error::Cancelled;
use crate::inbox::Inbox;
use crate::session::Run;

/// What a function sees of its call. A clone sees the same call.
#[derive(Clone)]
pub struct Context {
    pub(crate) call: Arc<CallState>,
    pub(crate) engine: Arc<Engine>,
}

/// Where a worker is: its pool, its number there, and its device.
#[derive(Clone, Debug)]
pub struct Place {
    /// The pool's name.
    pub pool: String,
    /// The worker's index in the pool.
    pub worker: u32,
    /// How many workers had this index before.
    pub generation: u32,
    /// How many calls may run side by side.
    pub concurrency: u32,
    /// How long a call that is asked to stop may take, before the worker is killed.
    pub cancel_grace: Duration,
    /// The device that this worker is bound to.
    pub device: Option<String>,
}

/// What a start-up hook sees.
#[derive(Clone, Copy)]
pub struct StartContext<'a> {
    pub(crate) engine: &'a Engine,
}

/// A call that runs, shared between its function and the thread that hears of cancels.
#[derive(Debug)]
pub(crate) struct CallState {
    pub(crate) seq: u64,
    /// Of all calls that its function is given together.
    seqs: Vec<u64>,
    pub(crate) function: String,
    pub(crate) attempt: u32,
    deadline: Option<Instant>,
    trace: BTreeMap<String, String>,
    /// Held by who sends an item.
    pub(crate) sending: Mutex<()>,
    /// What came of its input stream and was not read.
    pub(crate) inbox: Inbox,
    /// Set once, when the call is asked to stop.
    cancelled: OnceLock<CancelReason>,
    #[cfg(feature = "async")]
    pub(crate) cancel_notice: tokio::sync::Notify,
    #[cfg(feature = "async")]
    pub(crate) credit_notice: tokio::sync::Notify,
}

/// Writes log records that reach the host's logger.
pub struct Logger<'a> {
    engine: &'a Engine,
    seqs: &'a [u64],
    /// None outside of calls.
    function: Option<&'a str>,
}

impl Context {
    /// Whether the call was asked to stop. A function that takes long should look now and then.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Why the call was asked to stop, if it was.
    #[must_use]
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.call.cancelled.get().copied()
    }

    /// [`is_cancelled`](Self::is_cancelled) for the question mark.
    ///
    /// # Errors
    /// [`Cancelled`] when the call was asked to stop.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The time that is left of this attempt, if it has a limit.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.call.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Which try this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.call.attempt
    }

    /// The call's number on this worker's link.
    #[must_use]
    pub fn call(&self) -> u64 {
        self.call.seq
    }

    /// The name that the function was called by.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.call.function
    }

    /// W3C trace context and the app's own strings.
    #[must_use]
    pub fn trace(&self) -> &BTreeMap<String, String> {
        &self.call.trace
    }

    /// Where this worker is.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.engine.place()
    }

    /// The device that this worker is bound to.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        self.place().device.as_deref()
    }

    /// The log of this call.
    #[must_use]
    pub fn log(&self) -> Logger<'_> {
        Logger { engine: &self.engine, seqs: &self.call.seqs, function: Some(&self.call.function) }
    }

    /// Tells the caller how far the call is, in the function's own unit.
    pub fn progress(&self, done: f64, total: Option<f64>, note: Option<&str>) {
        let progress = Progress { done, total, note: note.map(str::to_owned) };
        self.engine.progress(&self.call.seqs, progress.encode());
    }

    /// Waits until the call is asked to stop.
    #[cfg(feature = "async")]
    pub async fn cancelled(&self) {
        self.call.until_cancelled().await;
    }
}

impl StartContext<'_> {
    /// Where this worker is.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.engine.place()
    }

    /// The device that this worker is bound to.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        self.place().device.as_deref()
    }

    /// The log of the worker itself, outside any call.
    #[must_use]
    pub fn log(&self) -> Logger<'_> {
        Logger { engine: self.engine, seqs: &[0], function: None }
    }
}

impl std::fmt::Debug for StartContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("StartContext").field(self.place()).finish()
    }
}

impl std::fmt::Debug for Logger<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Logger")
            .field("seqs", &self.seqs)
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Context").field(&self.call).finish()
    }
}

impl Logger<'_> {
    /// For who looks for a fault.
    pub fn debug(&self, message: &str) {
        self.write(Level::Debug, message, None);
    }

    /// The usual.
    pub fn info(&self, message: &str) {
        self.write(Level::Info, message, None);
    }

    /// Something that should be looked at.
    pub fn warning(&self, message: &str) {
        self.write(Level::Warning, message, None);
    }

    /// Something failed.
    pub fn error(&self, message: &str) {
        self.write(Level::Error, message, None);
    }

    /// A record of any level, with fields: a map.
    pub fn write(&self, level: Level, message: &str, fields: Option<Value>) {
        let logger =
            self.function.map_or_else(|| "ganger".to_owned(), |function| format!("ganger.{function}"));
        let log = Log { level, logger, message: message.to_owned(), fields };
        self.engine.log(self.seqs, log.encode());
    }
}

impl From<&Welcome> for Place {
    fn from(welcome: &Welcome) -> Self {
        Self {
            pool: welcome.pool.clone(),
            worker: welcome.worker,
            generation: welcome.generation,
            concurrency: welcome.concurrency,
            cancel_grace: Duration::from_millis(welcome.cancel_grace_ms),
            device: welcome.device.clone(),
        }
    }
}

impl CallState {
    pub(crate) fn new(run: &mut Run) -> Self {
        let timeout = run.timeout_ms.map(Duration::from_millis);
        Self {
            seq: run.seq,
            seqs: vec![run.seq],
            function: std::mem::take(&mut run.function),
            attempt: run.attempt,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            trace: std::mem::take(&mut run.context),
            sending: Mutex::new(()),
            inbox: Inbox::default(),
            cancelled: OnceLock::new(),
            #[cfg(feature = "async")]
            cancel_notice: tokio::sync::Notify::new(),
            #[cfg(feature = "async")]
            credit_notice: tokio::sync::Notify::new(),
        }
    }

    /// The calls that its function runs for.
    pub(crate) fn seqs(&self) -> &[u64] {
        &self.seqs
    }

    /// Of calls that run together: it shows their function the first of them, and the longest of their limits.
    pub(crate) fn of_batch(runs: &mut [Run]) -> Self {
        let limits: Option<Vec<u64>> = runs.iter().map(|run| run.timeout_ms).collect();
        runs[0].timeout_ms = limits.and_then(|limits| limits.into_iter().max());
        Self { seqs: runs.iter().map(|run| run.seq).collect(), ..Self::new(&mut runs[0]) }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.get().is_some()
    }

    pub(crate) fn cancel(&self, reason: CancelReason) {
        self.cancelled.get_or_init(|| reason);
        self.inbox.close();
        #[cfg(feature = "async")]
        self.cancel_notice.notify_waiters();
    }

    /// The caller has room for more items.
    pub(crate) fn credit(&self) {
        #[cfg(feature = "async")]
        self.credit_notice.notify_waiters();
    }

    #[cfg(feature = "async")]
    pub(crate) async fn until_cancelled(&self) {
        let notice = self.cancel_notice.notified();
        tokio::pin!(notice);
        // Registered before the flag is read: a cancel between the two still wakes it.
        notice.as_mut().enable();
        if !self.is_cancelled() {
            notice.await;
        }
    }
}
