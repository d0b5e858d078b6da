//! Starts the shim with `posix_spawn`, never fork: copying a 4 GiB host's page tables takes 0.2 seconds.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStringExt;

use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::sys::stat::Mode;
use nix::unistd::Pid;

use super::shim_path::Shim;

/// How a new process stands to signals.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Standing {
    /// Its own process group, nothing blocked, everything at its default: a worker.
    OwnGroup,
    /// The host's group until it leaves by itself, everything blocked until then: the reaper.
    Shielded,
}

/// A descriptor of ours (`descriptors::LOWEST` or above) and its number in the new process.
pub(super) type Placed<'fd> = (BorrowedFd<'fd>, RawFd);

/// Returns once the shim runs (its program has been executed) or could not be. 0, 1 and 2 are /dev/null unless placed.
pub(super) fn start(
    shim: &Shim,
    arguments: Vec<CString>,
    variables: &[CString],
    placed: &[Placed<'_>],
    standing: Standing,
) -> io::Result<i32> {
    let program = c_string(shim.program.clone().into_os_string())?;
    let marker = shim.marker.map(|marker| c_string(marker.into())).transpose()?;
    let argv: Vec<CString> = [program.clone()].into_iter().chain(marker).chain(arguments).collect();
    let actions = file_actions(placed)?;
    let attributes = attributes(standing)?;
    let pid = posix_spawn(program.as_c_str(), &actions, &attributes, &argv, variables)?;
    Ok(pid.as_raw())
}

fn file_actions(placed: &[Placed<'_>]) -> io::Result<PosixSpawnFileActions> {
    let mut actions = PosixSpawnFileActions::init()?;
    for fd in 0..=2 {
        actions.add_open(fd, "/dev/null", OFlag::O_RDWR, Mode::empty())?;
    }
    for (ours, theirs) in placed {
        actions.add_dup2(ours.as_raw_fd(), *theirs)?;
    }
    Ok(actions)
}

fn attributes(standing: Standing) -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    let signals = PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    attributes.set_sigdefault(&SigSet::all())?;
    match standing {
        Standing::OwnGroup => {
            attributes.set_flags(signals | PosixSpawnFlags::POSIX_SPAWN_SETPGROUP)?;
            attributes.set_pgroup(Pid::from_raw(0))?;
            attributes.set_sigmask(&SigSet::empty())?;
        }
        Standing::Shielded => {
            attributes.set_flags(signals)?;
            attributes.set_sigmask(&SigSet::all())?;
        }
    }
    Ok(attributes)
}

fn c_string(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}
