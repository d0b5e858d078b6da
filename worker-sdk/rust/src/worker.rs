//! The worker that a program builds and runs.

use std::io::Write;

use ganger_protocol::VERSION;
use ganger_protocol::message::{Attach, ErrorReport, Hello, code};

use crate::context::StartContext;
use crate::engine::Engine;
use crate::error::{BoxError, LANGUAGE, report_of, watch_panics};
use crate::function::{Function, Handler, Output};
use crate::items::Items;
use crate::session::Session;
use crate::transport::{self, Lanes};

pub(crate) type Startup = Box<dyn FnOnce(&StartContext<'_>) -> Result<(), (BoxError, &'static str)> + Send>;
pub(crate) type Shutdown = Box<dyn FnOnce() + Send>;

/// Gives the functions of a worker, when its code is loaded.
pub(crate) type Load = Box<dyn FnOnce(&StartContext<'_>) -> Result<Vec<Function>, Box<ErrorReport>> + Send>;

/// A worker: its functions and its hooks.
#[derive(Default)]
#[must_use = "a worker does nothing until it runs"]
pub struct Worker {
    pub(crate) identity: Identity,
    pub(crate) load: Option<Load>,
    functions: Vec<Function>,
    pub(crate) startup: Vec<Startup>,
    pub(crate) has_state: bool,
    shutdown: Vec<Shutdown>,
}

impl Worker {
    /// A worker without functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Offers a function with the usual promises. For others, see [`offer`](Self::offer).
    pub fn function<H, M, N>(self, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: Output<N>,
    {
        self.offer(Function::new(name, handler))
    }

    /// Offers a function that answers with many values; see [`Function::stream`].
    pub fn stream<H, M, N, L, T>(self, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: Items<L, Item = T>,
        T: Output<N>,
    {
        self.offer(Function::stream(name, handler))
    }

    /// Offers an asynchronous function; see [`Function::new_async`].
    #[cfg(feature = "async")]
    pub fn async_function<H, M, N>(self, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: Future<Output: Output<N>> + Send + 'static,
    {
        self.offer(Function::new_async(name, handler))
    }

    /// Offers an asynchronous function that answers with many values; see [`Function::stream_async`].
    #[cfg(feature = "async")]
    pub fn async_stream<H, M, N: 'static, T>(self, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: futures_core::Stream<Item = T> + Send + 'static,
        T: Output<N> + Send + 'static,
    {
        self.offer(Function::stream_async(name, handler))
    }

    /// Offers a function.
    ///
    /// # Panics
    /// If there is one of that name.
    pub fn offer(mut self, function: Function) -> Self {
        let name = &function.contract.name;
        assert!(
            self.functions.iter().all(|other| other.contract.name != *name),
            "two functions named {name:?}"
        );
        self.functions.push(function);
        self
    }

    /// Runs something before the first call, in the order given. If it fails, the worker does not start, and
    /// callers see the error.
    pub fn startup<F, O, N>(mut self, hook: F) -> Self
    where
        F: FnOnce(&StartContext<'_>) -> O + Send + 'static,
        O: Output<N>,
    {
        self.startup.push(Box::new(move |start| hook(start).into_result().map(drop)));
        self
    }

    /// Runs something after the last call, in the order given. There is no promise that it runs: a worker may
    /// be killed.
    pub fn shutdown(mut self, hook: impl FnOnce() + Send + 'static) -> Self {
        self.shutdown.push(Box::new(hook));
        self
    }

    /// Joins the pool that started this process, and serves it until the process ends. Call it first thing in
    /// `main`: it changes the environment, which other threads must not read meanwhile.
    pub fn run(self) -> ! {
        let lanes = match transport::connect() {
            Ok(lanes) => lanes,
            Err(error) => {
                // Nobody to report to but the terminal.
                drop(writeln!(std::io::stderr(), "ganger-worker: {error}"));
                std::process::exit(1)
            }
        };
        watch_panics();
        let Lanes { data, control, attach } = lanes;
        let session = Session::new(hello(self.identity, attach.is_none()), attach);
        let functions = self.functions;
        let load = self.load.unwrap_or_else(|| Box::new(|_| Ok(functions)));
        Engine::start(session, data, control, load, self.startup, self.shutdown)
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Worker").field("functions", &self.functions).finish_non_exhaustive()
    }
}

/// What a worker says of itself.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) language: &'static str,
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
}

impl Default for Identity {
    fn default() -> Self {
        Self { language: LANGUAGE, program: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") }
    }
}

/// The report of a start-up hook that failed.
pub(crate) fn start_report(error: &BoxError, type_name: &'static str) -> ErrorReport {
    ErrorReport { code: code::START_FAILED.to_owned(), ..report_of(error, type_name) }
}

pub(crate) fn attach_with(token: String) -> Attach {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let session = format!("{}-{:x}", std::process::id(), now.as_nanos());
    Attach { token, lane: None, session }
}

/// A worker that joins by itself has inherited nothing.
fn hello(identity: Identity, inherits: bool) -> Hello {
    Hello {
        min_version: VERSION,
        max_version: VERSION,
        sdk: identity.program.to_owned(),
        sdk_version: identity.version.to_owned(),
        language: identity.language.to_owned(),
        pid: std::process::id().into(),
        shared_memory: inherits,
        ahead: inherits && cfg!(target_os = "linux"),
    }
}
