//! Outlives the host and ends what it left: told process groups and files of endpoints on stdin, kills and removes them all when
//! stdin ends.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, SigSet, Signal, killpg, signal};
use nix::unistd::{Pid, chdir, read, setsid};

use crate::descriptors;
use crate::ledger::{Identity, Ledger};

/// Runs until stdin ends; returns an exit code.
pub(crate) fn reap() -> i32 {
    detach();
    let ledger = listen(std::io::stdin().as_fd());
    for group in ledger.groups() {
        // One that is gone already is what we want.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    for (path, identity) in ledger.files() {
        remove(path, identity);
    }
    0
}

/// A socket or an empty directory, and nothing else, unless another has taken its place.
fn remove(path: &Path, identity: Identity) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    if (Identity { device: found.dev(), inode: found.ino() }) != identity {
        return;
    }
    let kind = found.file_type();
    if kind.is_socket() {
        let _ = fs::remove_file(path);
    } else if kind.is_dir() {
        let _ = fs::remove_dir(path);
    }
}

/// Leaves the host's session, terminal, directory and descriptors, so that nothing that ends the host ends the
/// reaper and nobody waits for the reaper. The host starts it with all signals blocked, so there is no gap.
fn detach() {
    for ignored in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGPIPE] {
        // SAFETY: ignoring a signal runs no code of ours.
        let _ = unsafe { signal(ignored, SigHandler::SigIgn) };
    }
    SigSet::empty().thread_set_mask().expect("an empty mask is valid");
    // Refused to the leader of a group (a reaper started by hand in a shell); it then stays in its session.
    let _ = setsid();
    let _ = chdir("/");
    descriptors::silence();
    // With nothing to keep there is nothing that could be missing.
    let _ = descriptors::close_all_but(&[]);
}

fn listen(stdin: impl AsFd) -> Ledger {
    let mut ledger = Ledger::default();
    let mut bytes = [0; 4096];
    loop {
        match read(&stdin, &mut bytes) {
            Ok(0) => return ledger,
            Ok(count) => ledger.feed(&bytes[..count]),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => wait(&stdin),
            Err(_) => return ledger,
        }
    }
}

/// Somebody made stdin non-blocking; that is no reason to kill anyone.
fn wait(stdin: &impl AsFd) {
    let _ = poll(&mut [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
}
