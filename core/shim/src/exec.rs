//! Becomes a worker: leaves behind what the host passed on by accident, then executes the program.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::SigSet;
use nix::unistd::execvp;

use crate::arguments::Order;
use crate::{CANNOT_START_EXIT, NOT_FOUND_EXIT, complain, descriptors};

/// Returns only if the worker was not started: an exit code. What went wrong is on stderr in one line.
pub(crate) fn become_worker(order: &Order) -> i32 {
    if let Err(reason) = prepare(order) {
        complain(&format!("cannot start {}: {reason}", described(order)));
        return CANNOT_START_EXIT;
    }
    if !bind_to_parent(order.parent) {
        return 0;
    }
    // Last of all, for from here on any allocation may fail.
    if let Err(reason) = order.limits.iter().try_for_each(|limit| limit.apply()) {
        complain(&format!("cannot start {}: {reason}", described(order)));
        return CANNOT_START_EXIT;
    }
    let Err(error) = execvp(&order.argv[0], &order.argv);
    complain(&format!("cannot start {}: {}", described(order), explained(error, &order.argv[0])));
    if error == Errno::ENOENT { NOT_FOUND_EXIT } else { CANNOT_START_EXIT }
}

fn prepare(order: &Order) -> Result<(), String> {
    reset_signals();
    descriptors::close_all_but(&order.keep).map_err(|fd| format!("descriptor {fd} is not open"))?;
    match &order.directory {
        Some(directory) => std::env::set_current_dir(directory)
            .map_err(|error| format!("cannot enter its directory: {error}")),
        None => Ok(()),
    }
}

/// An ignored signal stays ignored across `exec`, and so does the mask: a host that ignores SIGPIPE, or a
/// runtime that does it for the shim, would change how every worker behaves.
fn reset_signals() {
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: sets a disposition to the default. SIGKILL, SIGSTOP and numbers that do not exist are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    SigSet::empty().thread_set_mask().expect("an empty mask is valid");
}

/// Ties this process to its parent's life. False if the parent is gone already.
fn bind_to_parent(parent: Option<i32>) -> bool {
    let Some(parent) = parent else { return true };
    die_with_parent();
    // Only after the signal is armed: a parent that ends in between would be missed for ever.
    nix::unistd::getppid().as_raw() == parent
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
fn die_with_parent() {
    // SAFETY: sets one number in this process; no memory is involved. It survives `exec`.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0) };
}

#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
fn die_with_parent() {}

fn described(order: &Order) -> String {
    let program = OsStr::from_bytes(order.argv[0].as_bytes());
    let directory = order.directory.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    format!("{program:?} in {directory:?}")
}

/// ENOENT of a file that exists means its interpreter, which the bare message hides.
fn explained(error: Errno, program: &CString) -> String {
    let path = std::path::Path::new(OsStr::from_bytes(program.as_bytes()));
    let named_by_path = program.as_bytes().contains(&b'/');
    let hint = if error != Errno::ENOENT {
        ""
    } else if !named_by_path {
        " (searched in PATH)"
    } else if path.exists() {
        " (the file exists, its interpreter does not)"
    } else {
        ""
    };
    format!("{}{hint}", std::io::Error::from(error))
}

/// The highest signal number of any system that this runs on.
const LAST_SIGNAL: libc::c_int = 64;
