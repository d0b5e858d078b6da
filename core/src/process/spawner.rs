//! The one thread that starts workers, for as long as the host lives.
//!
//! One thread, and never a short-lived one: on Linux a worker gets its parent-death signal when the *thread* that
//! started it ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::descriptors::{Registered, duplicate, output_pipe, socket_pair};
use super::fork::{ForkGate, PerProcess};
use super::launch::{CONTROL_FD, DATA_FD, FIRST_INHERITED_FD, Launch};
use super::shim_path::{self, ShimMissing};
use super::start::{Placed, Standing, start};
use super::worker_process::WorkerProcess;
use super::{reaper, signals};

/// A worker that was started, and the host's ends of what connects them: close-on-exec, non-blocking.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) process: WorkerProcess,
    pub(crate) data: Registered<UnixStream>,
    pub(crate) control: Registered<UnixStream>,
    pub(crate) stdout: Registered<OwnedFd>,
    pub(crate) stderr: Registered<OwnedFd>,
}

/// Why no process came to be. A program that does not exist is no such error: the shim reports it on stderr and
/// exits with `ganger_shim::NOT_FOUND_EXIT`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    /// There is no shim to start it through.
    #[error(transparent)]
    Shim(#[from] ShimMissing),
    /// The system has no thread for the spawner.
    #[error("cannot start the thread that starts workers: {0}")]
    Thread(#[source] io::Error),
    /// An argument or variable contains a zero byte.
    #[error("a worker's argument or environment variable contains a zero byte")]
    ZeroByte(#[from] std::ffi::NulError),
    /// The system has no descriptors left for lanes and pipes.
    #[error("cannot connect a worker: {0}")]
    Connect(#[source] io::Error),
    /// The shim is there but was not started.
    #[error("cannot execute {program}: {error}", program = program.display())]
    Execute {
        program: std::path::PathBuf,
        #[source]
        error: io::Error,
    },
}

/// Starts a worker and calls `done` on the spawner's thread, which must not be kept waiting there.
pub(crate) fn spawn(launch: Launch, done: impl FnOnce(Result<Child, SpawnError>) + Send + 'static) {
    match SPAWNER.get_or_try_init(start_thread) {
        Ok(orders) => {
            let order = Order { launch, done: Box::new(done) };
            orders.send(order).expect("the spawner's thread never ends");
        }
        Err(error) => done(Err(SpawnError::Thread(error))),
    }
}

struct Order {
    launch: Launch,
    done: Box<dyn FnOnce(Result<Child, SpawnError>) + Send>,
}

fn start_thread() -> io::Result<Sender<Order>> {
    let (orders, incoming) = channel();
    std::thread::Builder::new().name("ganger-spawner".into()).spawn(move || serve(&incoming))?;
    Ok(orders)
}

fn serve(incoming: &Receiver<Order>) {
    signals::block_on_this_thread();
    while let Ok(order) = incoming.recv() {
        // A panic that ended this thread would end every worker.
        let outcome = catch_unwind(AssertUnwindSafe(|| (order.done)(start_worker(&order.launch))));
        if outcome.is_err() {
            tracing::error!("a panic while a worker was started");
        }
    }
}

fn start_worker(launch: &Launch) -> Result<Child, SpawnError> {
    let shim = shim_path::find()?;
    let (arguments, variables) = (launch.shim_arguments()?, launch.variables()?);
    let (host, worker) = connect(&launch.inherit).map_err(SpawnError::Connect)?;
    let placed = worker.placed();
    let pid = start(&shim, arguments, &variables, &placed, Standing::OwnGroup)
        .map_err(|error| SpawnError::Execute { program: shim.program, error })?;
    // Should the host die before this line, the shim's own check of its parent ends the worker.
    reaper::watch(pid);
    let HostEnds { data, control, stdout, stderr } = host;
    Ok(Child { process: WorkerProcess::new(pid), data, control, stdout, stderr })
}

struct HostEnds {
    data: Registered<UnixStream>,
    control: Registered<UnixStream>,
    stdout: Registered<OwnedFd>,
    stderr: Registered<OwnedFd>,
}

/// Closed in the host as soon as the worker has its copies.
struct WorkerEnds {
    data: Registered<OwnedFd>,
    control: Registered<OwnedFd>,
    stdout: Registered<OwnedFd>,
    stderr: Registered<OwnedFd>,
    inherited: Vec<Registered<OwnedFd>>,
}

impl WorkerEnds {
    fn placed(&self) -> Vec<Placed<'_>> {
        let own = [(&self.stdout, 1), (&self.stderr, 2), (&self.data, DATA_FD), (&self.control, CONTROL_FD)];
        let own = own.into_iter().map(|(end, number)| (end.as_fd(), number));
        let inherited = self.inherited.iter().map(AsFd::as_fd).zip(FIRST_INHERITED_FD..);
        own.chain(inherited).collect()
    }
}

fn connect(inherit: &[Arc<OwnedFd>]) -> io::Result<(HostEnds, WorkerEnds)> {
    let gate = ForkGate::shut();
    let (host_data, data) = socket_pair(&gate)?;
    let (host_control, control) = socket_pair(&gate)?;
    let (host_stdout, stdout) = output_pipe(&gate)?;
    let (host_stderr, stderr) = output_pipe(&gate)?;
    let inherited = inherit.iter().map(|fd| duplicate(fd, &gate)).collect::<io::Result<_>>()?;
    let host = HostEnds { data: host_data, control: host_control, stdout: host_stdout, stderr: host_stderr };
    Ok((host, WorkerEnds { data, control, stdout, stderr, inherited }))
}

static SPAWNER: PerProcess<Sender<Order>> = PerProcess::new();
