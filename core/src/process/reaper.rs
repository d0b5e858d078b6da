//! The host's side of `ganger-shim reap`: one a host process, told every worker's group, restarted when it dies.
//!
//! It reads its end of a socket; when the host is gone, however it went, that ends and the reaper kills what it knows.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
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
    match REAPER.get_or_try_init(Reaper::start) {
        Ok(reaper) => reaper.change(group, Change::Watch),
        Err(error) => tracing::warn!(%error, "no reaper: if this process is killed, stuck workers may stay"),
    }
}

/// The group has ended. Before its leader is reaped: after that its number may be a stranger's.
pub(super) fn forget(group: i32) {
    if let Ok(reaper) = REAPER.get_or_try_init(|| Err(())) {
        reaper.change(group, Change::Forget);
    }
}

struct Reaper {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    groups: BTreeSet<i32>,
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

    fn change(&self, group: i32, change: Change) {
        let mut state = self.lock();
        let sign = match change {
            Change::Watch => state.groups.insert(group).then_some('+'),
            Change::Forget => state.groups.remove(&group).then_some('-'),
        };
        if let (Some(sign), Some(running)) = (sign, &state.running) {
            running.tell(&format!("{sign}{group}\n"));
        }
    }

    fn launch(&self) {
        let mut state = self.lock();
        state.running = match Running::start() {
            Ok(running) => {
                let lines: String = state.groups.iter().map(|group| format!("+{group}\n")).collect();
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
    fn tell(&self, lines: &str) {
        let sent = send(self.pipe.as_raw_fd(), lines.as_bytes(), NO_SIGNAL);
        if sent != Ok(lines.len()) {
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }
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
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
static REAPER: PerProcess<Reaper> = PerProcess::new();

/// The reaper's process id.
#[cfg(test)]
pub(super) fn running() -> Option<i32> {
    let reaper = REAPER.get_or_try_init(|| Err(())).ok()?;
    reaper.lock().running.as_ref().map(|running| running.pid)
}

/// The groups it knows.
#[cfg(test)]
pub(super) fn watched() -> BTreeSet<i32> {
    REAPER.get_or_try_init(|| Err(())).map(|reaper| reaper.lock().groups.clone()).unwrap_or_default()
}
