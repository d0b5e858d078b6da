//! A worker as the operating system has it: waited for, killed with its group, reaped.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use tokio::io::Interest;

use super::descriptors::{Registered, watch};
use super::exit::{self, Exit};
use super::fork::ProcessTag;
use super::{reaper, signals};

/// A worker's process, which leads a group of the same number. Dropped before its end it is killed.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    pid: i32,
    pidfd: Option<Registered<OwnedFd>>,
    /// Held while a signal is sent or the process is reaped: after that the number may be a stranger's.
    ended: Mutex<Option<Exit>>,
    tag: ProcessTag,
}

impl WorkerProcess {
    /// Takes charge of a child just started.
    pub(super) fn new(pid: i32) -> WorkerProcess {
        WorkerProcess { pid, pidfd: open_pidfd(pid), ended: Mutex::new(None), tag: ProcessTag::here() }
    }

    /// Its process id, which is its group's too.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Kills it and whatever it started. Nothing if it has been reaped, or in a forked child of the host.
    pub(crate) fn kill_group(&self) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_none() && self.tag.is_here() {
            signals::kill_group(self.pid);
        }
    }

    /// Waits for its end, then kills what is left of its group and reaps it. Never hangs on a child that somebody
    /// else has reaped. May be given up and begun again; must run on a runtime with its io driver on.
    pub(crate) async fn wait_exit(&self) -> Exit {
        match &self.pidfd {
            Some(pidfd) if readable(pidfd).await => {}
            Some(_) | None => wait_on_a_thread(self.pid).await,
        }
        self.finish(exit::peek(self.pid).unwrap_or(Exit::UNKNOWN))
    }

    /// The order matters: while the zombie lies there nobody else can get its number.
    fn finish(&self, exit: Exit) -> Exit {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended.get_or_insert_with(|| {
            signals::kill_group(self.pid);
            reaper::forget(self.pid);
            Exit { peak_bytes: exit::reap(self.pid), ..exit }
        })
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ended.is_some() || !self.tag.is_here() {
            return;
        }
        let pid = self.pid;
        signals::kill_group(pid);
        let _ = std::thread::Builder::new().name("ganger-wait".into()).spawn(move || {
            exit::wait(pid);
            reaper::forget(pid);
            exit::reap(pid);
        });
    }
}

/// True once the process has ended; false if the reactor does not take the descriptor.
async fn readable(pidfd: &Registered<OwnedFd>) -> bool {
    match watch(pidfd.as_fd(), Interest::READABLE) {
        Ok(watched) => watched.readable().await.is_ok(),
        Err(_) => false,
    }
}

async fn wait_on_a_thread(pid: i32) {
    // It fails only when the runtime shuts down, which ours never does.
    let _ = tokio::task::spawn_blocking(move || exit::wait(pid)).await;
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
fn open_pidfd(pid: i32) -> Option<Registered<OwnedFd>> {
    use std::os::fd::FromRawFd;

    use nix::libc;

    use super::fork::ForkGate;

    let gate = ForkGate::shut();
    // SAFETY: takes two numbers and returns a new descriptor, close-on-exec by itself. By number, because older C
    // libraries lack the function.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: just made, and owned by nobody else.
    Some(Registered::new(unsafe { OwnedFd::from_raw_fd(fd) }, &gate))
}

#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
fn open_pidfd(_pid: i32) -> Option<Registered<OwnedFd>> {
    None
}
