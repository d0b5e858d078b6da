//! The one tokio runtime of a host process, shared by all pools.
//!
//! One worker thread: two halve the rate of calls on two cores. A forked child gets a runtime of its own; its copy of the
//! parent's has no threads and stays unused.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::process::{PerProcess, signals};

/// This process's runtime, started at the first call and never stopped. Fails if the system gives it no thread.
pub(crate) fn handle() -> io::Result<Handle> {
    RUNTIME.get_or_try_init(start).map(|runtime| runtime.handle().clone())
}

fn start() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .thread_name("ganger")
        .on_thread_start(signals::block_on_this_thread)
        .enable_io()
        .enable_time()
        .build()
}

/// Started as needed. Without pidfds each worker has one that waits for its end.
const MAX_BLOCKING_THREADS: usize = 4096;
static RUNTIME: PerProcess<Runtime> = PerProcess::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_runtime_with_one_named_worker() {
        let (first, second) = (handle().unwrap(), handle().unwrap());
        assert_eq!(first.id(), second.id());
        assert_eq!(first.metrics().num_workers(), 1);
        let (told, name) = std::sync::mpsc::channel();
        first.spawn(async move { told.send(std::thread::current().name().map(str::to_owned)) });
        assert_eq!(name.recv().unwrap().as_deref(), Some("ganger"));
    }
}
