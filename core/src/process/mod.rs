//! The operating system's side of a worker: everything unsafe about processes lives here.
//!
//! - [`spawn`] starts a worker on the spawner's thread and hands back a [`Child`]: its [`WorkerProcess`], the host's ends of
//!   both lanes and of stdout and stderr. Each is [`Registered`]; [`Registered::watch`] hands it to the reactor.
//! - [`WorkerProcess::kill_group`], and [`WorkerProcess::wait_exit`], which also kills what is left of the group.
//! - [`ProcessTag`] and [`PerProcess`] for whatever must notice a fork. In a forked child, what belongs to the parent must be
//!   forgotten and not dropped: a lock in it, or in its runtime, may be held there for ever.
//! - [`fork::ForkGate`] for whoever opens a descriptor that a forked child must not keep.
//! - [`shim_path`] finds `ganger-shim`.

mod claims;
pub(crate) mod descriptors;
mod exit;
pub(crate) mod fork;
mod launch;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
pub(crate) mod poll_set;
mod reaper;
mod receive;
pub(crate) mod shim_path;
pub(crate) mod signals;
mod spawner;
mod start;
mod worker_process;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use claims::Claims;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
pub(crate) use descriptors::clear_of_low;
pub(crate) use descriptors::{Registered, duplicate, watch};
pub(crate) use exit::Exit;
pub(crate) use fork::{PerProcess, ProcessTag};
pub(crate) use launch::{FIRST_INHERITED_FD, Launch};
pub(crate) use reaper::WatchedFile;
pub(crate) use receive::receive;
pub(crate) use spawner::{Child, spawn};
pub(crate) use worker_process::WorkerProcess;
