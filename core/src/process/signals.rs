//! Signals: killing a group, keeping the host's handlers off our threads.

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;

/// Kills every process of a group, at once and for certain. A group that is gone is fine.
pub(crate) fn kill_group(group: i32) {
    // 0 would be our own group, 1 or less everybody.
    if group > 1 {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// Leaves the host's signals to the host's own threads. Faults stay open: a blocked one would kill without a report.
pub(crate) fn block_on_this_thread() {
    let mut blocked = SigSet::all();
    for open in FAULTS {
        blocked.remove(open);
    }
    let _ = blocked.thread_block();
}

const FAULTS: [Signal; 7] = [
    Signal::SIGABRT,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGPROF,
    Signal::SIGSEGV,
    Signal::SIGTRAP,
];
