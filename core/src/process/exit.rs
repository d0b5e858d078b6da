//! How a process ended, and waiting for that without taking it from the system yet.

use std::io;

use nix::libc;
use nix::sys::resource::{UsageWho, getrusage};

/// How a worker ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Exit {
    /// The exit code, if it exited.
    pub(crate) code: Option<i32>,
    /// The signal, if one killed it.
    pub(crate) signal: Option<i32>,
    /// False if another part of the host waited for our child (`waitpid(-1)`) and so took its status.
    pub(crate) status_known: bool,
    /// The most physical memory that it ever had, shared or not, in bytes; none where that cannot be told.
    pub(crate) peak_bytes: Option<u64>,
}

impl Exit {
    pub(super) const UNKNOWN: Exit = Exit { code: None, signal: None, status_known: false, peak_bytes: None };
}

/// Blocks until the process has ended. It stays a zombie, so that its id and group stay its own.
pub(super) fn wait(pid: i32) -> Exit {
    observe(pid, libc::WNOWAIT).unwrap_or(Exit::UNKNOWN)
}

/// How it ended, if it has; it stays a zombie.
pub(super) fn peek(pid: i32) -> Option<Exit> {
    observe(pid, libc::WNOWAIT | libc::WNOHANG)
}

/// Takes the zombie away and tells the peak of its memory.
pub(super) fn reap(pid: i32) -> Option<u64> {
    // SAFETY: all zeros is a valid rusage.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: both live longer than the call.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut used) };
    let peak = in_bytes(used.ru_maxrss);
    // A spawned process begins with its parent's memory: a peak no higher than the host's own may be just that.
    let host = getrusage(UsageWho::RUSAGE_SELF).map_or(u64::MAX, |usage| in_bytes(usage.max_rss()));
    (reaped == pid && peak > host).then_some(peak)
}

/// Apple counts bytes, everybody else kibibytes.
fn in_bytes(maxrss: libc::c_long) -> u64 {
    maxrss.unsigned_abs() * if cfg!(target_vendor = "apple") { 1 } else { 1024 }
}

/// None if it still runs.
fn observe(pid: i32, options: libc::c_int) -> Option<Exit> {
    loop {
        // SAFETY: all zeros is a valid siginfo_t.
        let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `found` outlives the call.
        let status =
            unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut found, libc::WEXITED | options) };
        if status == 0 {
            return ended(&found);
        }
        // ECHILD: no longer our child, so it has ended and somebody else knows how.
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Some(Exit::UNKNOWN);
        }
    }
}

fn ended(found: &libc::siginfo_t) -> Option<Exit> {
    // SAFETY: waitid fills these fields; with WNOHANG and nothing to report they are zero still.
    let (pid, status) = unsafe { (found.si_pid(), found.si_status()) };
    let known = Exit { status_known: true, ..Exit::UNKNOWN };
    match (pid, found.si_code) {
        (0, _) => None,
        (_, libc::CLD_EXITED) => Some(Exit { code: Some(status), ..known }),
        (_, _) => Some(Exit { signal: Some(status), ..known }),
    }
}
