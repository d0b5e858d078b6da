//! The small program between a Ganger host and its workers, in two modes.
//!
//! `ganger-shim exec … -- ARGV…` becomes a worker: it undoes whatever the host's process would pass on by accident
//! (signal dispositions, stray descriptors), sets what the pool asked for (directory, limits, death with the
//! host) and executes the program. It exists because the host must start processes with `posix_spawn`: code between
//! `fork` and `exec` costs a large host hundreds of milliseconds a start.
//!
//! `ganger-shim reap` outlives the host by a moment: told process groups on its stdin, it kills them all when
//! stdin ends, however the host ended.
//!
//! An app written in Rust may be its own shim: it calls [`run_if_asked`] first thing in `main`.

#[cfg(unix)]
mod arguments;
#[cfg(unix)]
mod descriptors;
#[cfg(unix)]
mod exec;
#[cfg(unix)]
mod ledger;
#[cfg(unix)]
mod limits;
#[cfg(unix)]
mod reap;

use std::ffi::OsString;

/// The first argument that turns an app into its own shim; the shim's own arguments follow it.
pub const MARKER: &str = "--ganger-shim";

/// The exit code for arguments that make no sense (`EX_USAGE`).
pub const USAGE_EXIT: i32 = 64;

/// The exit code when the program to execute does not exist, as a shell has it.
pub const NOT_FOUND_EXIT: i32 = 127;

/// The exit code when a worker could not be started for any other reason.
pub const CANNOT_START_EXIT: i32 = 126;

/// Acts as the shim, and does not return, if this process was started as one (its first argument is
/// [`MARKER`]). Otherwise does nothing. Call it before anything else in `main`, while there is one thread.
pub fn run_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == MARKER) {
        std::process::exit(run(arguments));
    }
}

/// Does what `arguments` (without the program's name) say. Returns an exit code, unless it became a worker.
#[cfg(unix)]
pub fn run(arguments: impl Iterator<Item = OsString>) -> i32 {
    match arguments::Mode::parse(arguments) {
        Ok(arguments::Mode::Exec(order)) => exec::become_worker(&order),
        Ok(arguments::Mode::Reap) => reap::reap(),
        Err(mistake) => {
            complain(&mistake);
            USAGE_EXIT
        }
    }
}

/// Without Unix processes there is nothing that a shim could do.
#[cfg(not(unix))]
pub fn run(_arguments: impl Iterator<Item = OsString>) -> i32 {
    USAGE_EXIT
}

/// One line on stderr, which the host captures. Nobody is left to tell when writing it fails.
#[cfg(unix)]
fn complain(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "ganger-shim: {line}");
}
