//! From the scheduler's events to what apps are told: pids, names and milliseconds are added here.

use ganger_protocol::message::Log;
use ganger_scheduler::{
    CallId, DeathCause, Event as Fact, Exit, ExitReason as Reason, RecycleReason as Why, WorkerId,
};

use super::books::Books;
use super::settling::cause;
use crate::capture::Line;
use crate::error::Signal;
use crate::events::{
    CallRetry, Event, ExitReason, LogSource, QueueDrain, QueueFull, RecycleReason, Reload, Warning,
    WorkerExit, WorkerLog, WorkerReady, WorkerRecycle, WorkerStart, WorkerUnresponsive,
};
use crate::options::size;

impl Books {
    /// None for what apps are told at another moment.
    pub(super) fn told(&self, fact: Fact) -> Option<Event> {
        let pool = self.pool.to_string();
        Some(match fact {
            // Told when there is a process to name.
            Fact::WorkerStart { .. } => return None,
            Fact::WorkerReady { worker, started_in } => {
                let (pid, started_in) = (self.pid(worker).unwrap_or(0), started_in.as_secs_f64() * 1e3);
                WorkerReady { pool, worker: worker.index, pid, started_in }.into()
            }
            Fact::WorkerExit { worker, exit, running, calls, reason, cause } => {
                self.told_exit(worker, exit, running, calls, (reason, cause)).into()
            }
            Fact::CallRetry { call, attempt, retries, worker } => {
                let r#fn = self.function_of(call).unwrap_or_default();
                CallRetry { pool, worker: worker.index, pid: self.pid(worker), r#fn, attempt, retries }.into()
            }
            Fact::QueueFull { waiting, bytes } => {
                QueueFull { pool, queued: waiting as u64, queued_bytes: bytes }.into()
            }
            Fact::QueueDrain => QueueDrain { pool }.into(),
            Fact::WorkerRecycle { worker, reason, memory, calls, cold } => {
                let pid = self.pid(worker).unwrap_or(0);
                WorkerRecycle { pool, worker: worker.index, pid, reason: why(reason), memory, calls, cold }
                    .into()
            }
            Fact::WorkerUnresponsive { worker, timeout } => {
                let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                WorkerUnresponsive { pool, worker: worker.index, pid: self.pid(worker).unwrap_or(0), timeout }
                    .into()
            }
            Fact::Reload { replaced } => {
                Reload { pool, files: self.changed_files.clone(), replaced: replaced as u64 }.into()
            }
            Fact::ReplacementFailed { worker, .. } => self.told_replacement_failed(worker).into(),
            Fact::MemoryFloor { worker, memory } => self.told_memory_floor(worker, memory).into(),
        })
    }

    fn told_exit(
        &self,
        worker: WorkerId,
        exit: Exit,
        running: usize,
        calls: u64,
        (reason, of): (Reason, DeathCause),
    ) -> WorkerExit {
        WorkerExit {
            pool: self.pool.to_string(),
            error: self.start_failure(reason),
            worker: worker.index,
            pid: self.pid(worker),
            code: code(exit),
            signal: signal(exit),
            running: running as u64,
            calls,
            reason: word(reason),
            cause: self.obituary.as_ref().map_or_else(|| cause(of), |obituary| obituary.cause(of)),
        }
    }

    fn told_replacement_failed(&self, stays: WorkerId) -> Warning {
        let failure = self.start_failure(Reason::StartFailed).unwrap_or_default();
        let message = format!("worker {stays} serves on, because its replacement could not start: {failure}");
        Warning { pool: self.pool.to_string(), message }
    }

    fn told_memory_floor(&self, worker: WorkerId, memory: u64) -> Warning {
        let message = format!(
            "worker {worker} uses {} before it has run a call, more than max_memory: workers are no longer replaced for their memory",
            size::text(memory),
        );
        tracing::warn!(pool = %self.pool, message);
        Warning { pool: self.pool.to_string(), message }
    }

    /// What the worker whose end is being told had to say, if it is gone because it could not start.
    fn start_failure(&self, reason: Reason) -> Option<String> {
        let failure = self.obituary.as_ref()?.start_failure.as_ref()?;
        (reason == Reason::StartFailed).then(|| failure.account())
    }

    pub(crate) fn told_start(&self, worker: WorkerId, pid: u32) -> Event {
        WorkerStart { pool: self.pool.to_string(), worker: worker.index, pid }.into()
    }

    pub(super) fn told_log(&self, worker: WorkerId, call: Option<CallId>, log: Log) -> Event {
        WorkerLog {
            pool: self.pool.to_string(),
            worker: worker.index,
            pid: self.pid(worker).unwrap_or(0),
            source: LogSource::Log,
            level: Some(log.level.as_str().to_owned()),
            logger: Some(log.logger),
            message: log.message,
            fields: log.fields.map_or(serde_json::Value::Null, |fields| fields.to_json()),
            r#fn: call.and_then(|call| self.function_of(call)),
        }
        .into()
    }

    /// A printed line belongs to a call when the worker has only that one.
    pub(crate) fn told_line(&self, worker: WorkerId, source: LogSource, line: Line) -> Event {
        let running = self.crew.get(&worker).map(|member| &member.in_flight);
        let only = running.filter(|calls| calls.len() == 1).and_then(|calls| calls.values().next());
        WorkerLog {
            pool: self.pool.to_string(),
            worker: worker.index,
            pid: self.pid(worker).unwrap_or(0),
            source,
            level: None,
            logger: None,
            message: line.text,
            fields: serde_json::Value::Null,
            r#fn: only.and_then(|flight| self.function_of(flight.call)),
        }
        .into()
    }

    /// The process of a worker, also while its end is being told.
    fn pid(&self, worker: WorkerId) -> Option<u32> {
        match self.crew.get(&worker) {
            Some(member) => member.pid(),
            None => self.obituary.as_ref().and_then(|obituary| obituary.record.pid),
        }
    }

    fn function_of(&self, call: CallId) -> Option<String> {
        self.calls.get(&call).map(|pending| pending.call.function.to_string())
    }
}

fn code(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(_) | Exit::Unknown | Exit::NotStarted | Exit::Detached => None,
    }
}

fn signal(exit: Exit) -> Option<Signal> {
    match exit {
        Exit::Signal(number) => Some(Signal(number)),
        Exit::Code(_) | Exit::Unknown | Exit::NotStarted | Exit::Detached => None,
    }
}

fn word(reason: Reason) -> ExitReason {
    match reason {
        Reason::Crash => ExitReason::Crash,
        Reason::Recycled => ExitReason::Recycled,
        Reason::Unresponsive => ExitReason::Unresponsive,
        Reason::StartFailed => ExitReason::StartFailed,
        Reason::Shutdown => ExitReason::Shutdown,
    }
}

fn why(reason: Why) -> RecycleReason {
    match reason {
        Why::Age => RecycleReason::Age,
        Why::Calls => RecycleReason::Calls,
        Why::Memory => RecycleReason::Memory,
        Why::Reload => RecycleReason::Reload,
    }
}
