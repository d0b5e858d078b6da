//! The host's side of `ganger-shim reap`: one a host process, told every worker's group and every endpoint's file, restarted when
//! it dies.
//!
//! It reads its end of a socket; when the host is gone, however it went, that ends and the reaper kills and removes what it knows.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::Metadata;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{MsgFlags, send};
use nix::unistd::Pid;

use super::descriptors::{Registered, socket_pair};
use super::fork::{ForkGate, PerProcess};
use super::start::{Standing, start};
use super::{exit, launch, shim_path, signals};

/// From now on the group dies with the host. The first call starts the reaper.
pub(super) fn watch(group: i32) {
    keep_in_mind(of_group(group));
}

/// The group has ended. Before its leader is reaped: after that its number may be a stranger's.
pub(super) fn forget(group: i32) {
    put_out_of_mind(&of_group(group));
}

/// A socket or directory that goes with the host, until this is dropped.
#[derive(Debug)]
pub(crate) struct WatchedFile(Charge);

impl WatchedFile {
    /// None if there is no such file, or none whose path fits into a line.
    pub(crate) fn new(path: &Path) -> Option<WatchedFile> {
        let charge = of_file(path, &path.symlink_metadata().ok()?)?;
        keep_in_mind(charge.clone());
        Some(WatchedFile(charge))
    }
}

impl Drop for WatchedFile {
    fn drop(&mut self) {
        put_out_of_mind(&self.0);
    }
}

/// A process group or a file, as the reaper is told of it.
type Charge = Vec<u8>;

fn of_group(group: i32) -> Charge {
    group.to_string().into_bytes()
}

fn of_file(path: &Path, found: &Metadata) -> Option<Charge> {
    let path = path.as_os_str().as_bytes();
    let fits = path.len() <= LONGEST_PATH && path.starts_with(b"/") && !path.contains(&b'\n');
    fits.then(|| [format!("{}:{}", found.dev(), found.ino()).as_bytes(), path].concat())
}

fn keep_in_mind(charge: Charge) {
    match REAPER.get_or_try_init(Reaper::start) {
        Ok(reaper) => reaper.change(charge, Change::Watch),
        Err(error) => tracing::warn!(%error, "no reaper: if this process is killed, stuck workers may stay"),
    }
}

fn put_out_of_mind(charge: &Charge) {
    if let Ok(reaper) = REAPER.get_or_try_init(|| Err(())) {
        reaper.change(charge.clone(), Change::Forget);
    }
}

struct Reaper {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    charges: BTreeSet<Charge>,
    running: Option<Running>,
}

struct Running {
    pid: i32,
    /// Closed only after the reaper's end, for its end of file means "kill them all".
    pipe: Registered<UnixStream>,
}

#[derive(Clone, Copy)]
enum Change {
    Watch,
    Forget,
}

impl Reaper {
    /// The reaper runs when this returns, unless it could not be started: its keeper then goes on trying.
    fn start() -> io::Result<Reaper> {
        std::thread::Builder::new().name("ganger-reaper".into()).spawn(keep)?;
        let reaper = Reaper { state: Mutex::default() };
        reaper.launch();
        Ok(reaper)
    }

    fn change(&self, charge: Charge, change: Change) {
        let mut state = self.lock();
        let line = match change {
            Change::Watch => line(b'+', &charge),
            Change::Forget => line(b'-', &charge),
        };
        let changed = match change {
            Change::Watch => state.charges.insert(charge),
            Change::Forget => state.charges.remove(&charge),
        };
        if let (true, Some(running)) = (changed, &state.running) {
            running.tell(&line);
        }
    }

    fn launch(&self) {
        let mut state = self.lock();
        state.running = match Running::start() {
            Ok(running) => {
                let lines: Vec<u8> = state.charges.iter().flat_map(|charge| line(b'+', charge)).collect();
                running.tell(&lines);
                Some(running)
            }
            Err(error) => {
                tracing::warn!(%error, "cannot start the reaper; trying again");
                None
            }
        };
    }

    /// Blocks until the running reaper has ended.
    fn wait(&self) {
        let Some(pid) = self.lock().running.as_ref().map(|running| running.pid) else { return };
        exit::wait(pid);
        // Under the lock: `tell` may be about to kill this number.
        let mut state = self.lock();
        state.running = None;
        exit::reap(pid);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn start() -> io::Result<Running> {
        let shim = shim_path::find().map_err(io::Error::other)?;
        let (pipe, stdin) = {
            let gate = ForkGate::shut();
            socket_pair(&gate)?
        };
        let variables = launch::joined(launch::host_variables())?;
        let arguments = vec![CString::from(c"reap")];
        let pid = start(&shim, arguments, &variables, &[(stdin.as_fd(), 0)], Standing::Shielded)?;
        Ok(Running { pid, pipe })
    }

    /// Never waits. A reaper that does not take a line is stuck or gone: killed, it is started anew and told all.
    fn tell(&self, lines: &[u8]) {
        let sent = send(self.pipe.as_raw_fd(), lines, NO_SIGNAL);
        if sent != Ok(lines.len()) {
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }
}

fn line(sign: u8, charge: &Charge) -> Vec<u8> {
    [&[sign], charge.as_slice(), b"\n"].concat()
}

/// The keeper's thread: for as long as the host lives there is a reaper.
fn keep() {
    signals::block_on_this_thread();
    let Ok(reaper) = REAPER.get_or_try_init(|| Err(())) else { return };
    let mut pause = SHORTEST_PAUSE;
    loop {
        let began = Instant::now();
        reaper.wait();
        pause = if began.elapsed() > LONGEST_PAUSE { SHORTEST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        if began.elapsed() < LONGEST_PAUSE {
            std::thread::sleep(pause);
        }
        reaper.launch();
    }
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
const NO_SIGNAL: MsgFlags = MsgFlags::MSG_NOSIGNAL;
/// Elsewhere the standard library sets SO_NOSIGPIPE on every socket it makes.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
const NO_SIGNAL: MsgFlags = MsgFlags::empty();
/// Beyond what the path of a socket can have, and within what the reaper reads as a line.
const LONGEST_PATH: usize = 200;
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
static REAPER: PerProcess<Reaper> = PerProcess::new();

/// The reaper's process id.
#[cfg(test)]
pub(super) fn running() -> Option<i32> {
    let reaper = REAPER.get_or_try_init(|| Err(())).ok()?;
    reaper.lock().running.as_ref().map(|running| running.pid)
}

/// Whether it knows the group.
#[cfg(test)]
pub(super) fn watches(group: i32) -> bool {
    REAPER.get_or_try_init(|| Err(())).is_ok_and(|reaper| reaper.lock().charges.contains(&of_group(group)))
}
