//! Processes become workers of a pool, and cease to be.

mod death;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use ganger_scheduler::{CallId, Exit as ExitNews, Input as News, Timestamp, WorkerId};
use tokio::sync::Notify;
use tokio::time::timeout;

use self::death::Remains;
use crate::arena::{InputArena, ResultArena};
use crate::capture::Capture;
use crate::error::{Error, WorkerDeath};
use crate::events::LogSource;
use crate::launch::device_variables;
use crate::link::{Link, Listener, Tasks};
use crate::process::{self, Child, Claims, Exit, Registered, WorkerProcess};
use crate::shared::{
    Aftermath, Ahead, Books, Handshake, Loans, Member, Obituary, Process, Shared, WorkerNews,
};

/// How long a process may live on after it closed its lanes before that is a violation.
const LANELESS: Duration = Duration::from_secs(1);
/// How long to wait for the rest of a dead worker's lanes and prints, should a stranger hold them open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Starts a process for a worker that the scheduler has seated.
pub(crate) fn start(shared: &Shared, worker: WorkerId) {
    let news = shared.about(worker);
    match shared.launch() {
        Ok(launch) => process::spawn(bound(launch, shared, worker), move |outcome| match outcome {
            Ok(child) => started(&news, child),
            Err(error) => not_started(&news, error.to_string()),
        }),
        // Not on this stack: the caller may be in the middle of a step's aftermath.
        Err(missing) => {
            let message = missing.to_string();
            shared.runtime.spawn(async move { not_started(&news, message) });
        }
    }
}

/// The launch of one worker, bound to its device if it has one.
fn bound(launch: &process::Launch, shared: &Shared, worker: WorkerId) -> process::Launch {
    let mut launch = launch.clone();
    let mut books = shared.books();
    let Some(member) = books.crew.get_mut(&worker) else { return launch };
    if let Some(device) = member.device.clone() {
        launch.environment.extend(device_variables(&device));
    }
    if let Some((inputs, results)) = arenas(shared) {
        launch.inherit = vec![Arc::clone(inputs.for_readers()), Arc::clone(results.for_worker())];
        member.loans = Loans::of(inputs, results);
    }
    if let Some(claims) = Claims::new().filter(|_| shared.options.concurrency.get() == 1) {
        launch.inherit.push(claims.descriptor());
        member.ahead = Ahead::of(claims);
    }
    launch
}

/// Of the pool and of one more worker; none if payloads go through the socket.
fn arenas(shared: &Shared) -> Option<(InputArena, Arc<ResultArena>)> {
    let inputs = shared.arena()?;
    let results = ResultArena::new(inputs.size()).ok()?;
    Some((inputs, results))
}

/// Two lanes of a process that came by itself become a worker's.
pub(crate) fn take_in(shared: &Shared, worker: WorkerId, lanes: Lanes) {
    let news = shared.about(worker);
    let _runtime = shared.runtime.enter();
    let leave = Arc::new(Notify::new());
    let joined = shared.step(|books, _, _| {
        let link = Link::new(lanes.data, lanes.control, shared.options.concurrency.get(), None);
        let tasks = link.serve(shared.limits(), &listener(&news), &shared.reactor)?;
        if let Some(member) = books.crew.get_mut(&worker) {
            if let Process::Coming { killed: true } = member.process {
                leave.notify_one();
            }
            member.process = Process::Attached { pid: None, link, leave: Arc::clone(&leave) };
        }
        io::Result::Ok(tasks)
    });
    match joined {
        Ok(tasks) => drop(shared.runtime.spawn(watch_attached(news, tasks, leave))),
        Err(error) => not_started(&news, format!("cannot listen to an attached worker: {error}")),
    }
}

/// The host's ends of the lanes of a process that came by itself.
#[derive(Debug)]
pub(crate) struct Lanes {
    pub(crate) data: Registered<UnixStream>,
    pub(crate) control: Registered<UnixStream>,
}

/// Runs on the spawner's thread. If the pool is gone, dropping the child kills it.
fn started(news: &WorkerNews, child: Child) {
    let Some(shared) = news.pool() else { return };
    let _runtime = shared.runtime.enter();
    let Child { process, data, control, stdout, stderr } = child;
    let process = Arc::new(process);
    let joined = shared.step(|books, _, aftermath| {
        let claims = books.crew.get(&news.worker()).and_then(|member| member.ahead.claims().cloned());
        let link = Link::new(data, control, shared.options.concurrency.get(), claims);
        // Under the lock, so that its first frame finds the worker in the books.
        let tasks = link.serve(shared.limits(), &listener(news), &shared.reactor)?;
        if let Some(member) = books.crew.get_mut(&news.worker()) {
            if let Process::Coming { killed: true } = member.process {
                process.kill_group();
            }
            member.process = Process::Own { process: Arc::clone(&process), link };
        }
        aftermath.emit(books.told_start(news.worker(), process.pid()));
        io::Result::Ok(tasks)
    });
    match joined.and_then(|tasks| Ok((tasks, Prints::capture(stdout, stderr, news)?))) {
        Ok((tasks, prints)) => drop(shared.runtime.spawn(watch_own(news.clone(), process, tasks, prints))),
        Err(error) => not_started(news, format!("cannot listen to the worker: {error}")),
    }
}

fn listener(news: &WorkerNews) -> Arc<dyn Listener> {
    Arc::new(news.clone())
}

fn not_started(news: &WorkerNews, message: String) {
    let Some(shared) = news.pool() else { return };
    shared.step(|books, now, aftermath| {
        if let Some(member) = books.crew.get_mut(&news.worker()) {
            member.start_error = Some(Error::start_failed(message));
        }
        books.bury(news.worker(), Remains::of(ExitNews::NotStarted), now, aftermath);
    });
}

/// What a worker prints.
struct Prints {
    stdout: Capture,
    stderr: Capture,
}

impl Prints {
    fn capture(
        stdout: Registered<OwnedFd>,
        stderr: Registered<OwnedFd>,
        news: &WorkerNews,
    ) -> io::Result<Self> {
        let start = |pipe, source: LogSource| {
            let news = news.clone();
            Capture::start(pipe, move |line| {
                if let Some(shared) = news.pool() {
                    let event = shared.books().told_line(news.worker(), source, line);
                    shared.observers.emit(event);
                }
            })
        };
        Ok(Self { stdout: start(stdout, LogSource::Stdout)?, stderr: start(stderr, LogSource::Stderr)? })
    }

    /// Returns the end of stderr when every line has been told.
    async fn drain(self) -> String {
        let (_, stderr_tail) = tokio::join!(self.stdout.drain(LAST_WORDS), self.stderr.drain(LAST_WORDS));
        stderr_tail
    }
}

/// From the first breath to the last word. What a worker sent and printed before its death counts before the death does.
async fn watch_own(news: WorkerNews, process: Arc<WorkerProcess>, mut tasks: Tasks, prints: Prints) {
    let exit = tokio::select! {
        exit = process.wait_exit() => exit,
        () = tasks.ended() => match timeout(LANELESS, process.wait_exit()).await {
            Ok(exit) => exit,
            Err(_) => {
                closed_its_lanes(&news);
                process.wait_exit().await
            }
        },
    };
    let _ = timeout(LAST_WORDS, tasks.ended()).await;
    let stderr_tail = prints.drain().await;
    buried(&news, Remains { exit: exit_news(exit), stderr_tail, peak_bytes: exit.peak_bytes });
}

async fn watch_attached(news: WorkerNews, mut tasks: Tasks, leave: Arc<Notify>) {
    tokio::select! {
        () = tasks.ended() => {}
        () = leave.notified() => {}
    }
    drop(tasks);
    buried(&news, Remains::of(ExitNews::Detached));
}

fn closed_its_lanes(news: &WorkerNews) {
    if let Some(shared) = news.pool() {
        shared.step(|books, now, aftermath| {
            books.violated(news.worker(), "it closed its lanes and lived on".to_owned(), now, aftermath);
        });
    }
}

fn buried(news: &WorkerNews, remains: Remains) {
    if let Some(shared) = news.pool() {
        shared.step(|books, now, aftermath| books.bury(news.worker(), remains, now, aftermath));
    }
}

impl Books {
    /// The one way out of the books for every worker.
    fn bury(&mut self, worker: WorkerId, remains: Remains, now: Timestamp, aftermath: &mut Aftermath) {
        let Some(member) = self.crew.remove(&worker) else { return };
        let unwritten = begun_by_none(&member);
        let exit = remains.exit;
        let record = death::record(worker, &member, remains, now);
        let was_ready = matches!(member.handshake, Handshake::Ready(..));
        let start_failure = (!was_ready).then(|| Arc::new(start_failure(&member, &record)));
        if start_failure.is_some() {
            self.last_start_failure.clone_from(&start_failure);
        }
        let Member { violation, asked, .. } = member;
        self.obituary = Some(Obituary { record, violation, start_failure, asked });
        self.tell(now, News::Exited { worker, exit, unwritten }, aftermath);
        self.obituary = None;
    }
}

/// Calls that were not written, or not claimed: the worker cannot have begun them.
fn begun_by_none(member: &Member) -> Vec<CallId> {
    let Some(link) = member.link() else { return Vec::new() };
    let (unwritten, unclaimed) = (link.close(), link.take_back(usize::MAX));
    let seqs = unwritten.into_iter().chain(member.ahead.unclaimed(unclaimed));
    let mut calls: Vec<CallId> =
        seqs.filter_map(|seq| member.in_flight.get(&seq)).map(|flight| flight.call).collect();
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// The worker's own words, if it had any, with how its process ended.
fn start_failure(member: &Member, record: &WorkerDeath) -> Error {
    let unsaid = || match &member.violation {
        Some(violation) => format!("the worker broke the protocol before it was ready: {violation}"),
        None if member.too_slow => record.sentence(),
        None => match record.stderr_tail.trim_end().lines().last() {
            Some(last_words) => format!("{} before it was ready: {last_words}", record.sentence()),
            None => format!("{} before it was ready", record.sentence()),
        },
    };
    let error = member.start_error.clone().unwrap_or_else(|| Error::start_failed(unsaid()));
    error.with_worker(record.clone())
}

fn exit_news(exit: Exit) -> ExitNews {
    match (exit.code, exit.signal) {
        (_, Some(signal)) => ExitNews::Signal(signal),
        (Some(code), None) => ExitNews::Code(code),
        (None, None) => ExitNews::Unknown,
    }
}
