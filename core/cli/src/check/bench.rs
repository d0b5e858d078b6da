//! Starts the worker under check, as often as trials need it, and brings it as far as they want it.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use ganger_protocol::message::{Attach, Contract, Hello, Ready, Welcome};
use ganger_protocol::{Frame, Kind, Lane, VERSION};

use super::arenas::Arenas;
use super::breach::{Breach, Kept, ensure};
use super::describe::describe;
use super::ledger::Ledger;
use super::link::Link;
use super::process::{Process, Start, keep_low_descriptors_free};
use super::tokens::Tokens;
use super::wire::listen;

/// The command under check, and what is known of it.
#[derive(Debug)]
pub(super) struct Bench {
    argv: Vec<String>,
    pub(super) patience: Duration,
    pub(super) hello: Hello,
    pub(super) functions: Vec<Contract>,
    /// Whether its stream sends items; none if it has no stream to ask.
    pub(super) streams: Option<bool>,
}

/// How a worker is to be started and greeted.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) welcome: Welcome,
    /// What conformance functions look for at the start.
    pub(super) fail_at_start: bool,
    pub(super) shared_memory: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let welcome = Welcome { version: VERSION, pool: "check".to_owned(), ..Welcome::default() };
        Self { welcome, fail_at_start: false, shared_memory: false }
    }
}

impl Setup {
    /// With room for some calls at once.
    pub(super) fn roomy() -> Self {
        let mut setup = Self::default();
        setup.welcome.concurrency = 4;
        setup
    }
}

impl Bench {
    pub(super) fn new(argv: Vec<String>, patience: Duration) -> Self {
        keep_low_descriptors_free();
        let (hello, functions) = (Hello::default(), Vec::new());
        Self { argv, patience, hello, functions, streams: None }
    }

    /// The name under which the worker has a conformance function.
    pub(super) fn named(&self, function: &str) -> Option<&str> {
        let names = self.functions.iter().map(|contract| contract.name.as_str());
        names.into_iter().find(|name| name.rsplit('.').next() == Some(function))
    }

    /// The same, where the trial says that it needs it.
    pub(super) fn function(&self, function: &str) -> String {
        self.named(function).unwrap_or(function).to_owned()
    }

    /// A process with nothing said yet.
    pub(super) fn started(&self, setup: &Setup) -> Kept<Link> {
        let cannot = |error: io::Error| Breach::new(11, "a worker that can be started", error.to_string());
        let arenas = if setup.shared_memory { Some(Arenas::new().map_err(cannot)?) } else { None };
        let tokens = if self.hands_ahead(setup) { Some(Tokens::new().map_err(cannot)?) } else { None };
        let (data, workers_data) = UnixStream::pair().map_err(cannot)?;
        let (control, workers_control) = UnixStream::pair().map_err(cannot)?;
        let mut descriptors = vec![workers_data.as_fd(), workers_control.as_fd()];
        descriptors.extend(arenas.iter().flat_map(Arenas::descriptors));
        descriptors.extend(tokens.iter().map(Tokens::descriptor));
        let mut variables = vec![("GANGER_DATA_FD", "3".to_owned()), ("GANGER_CONTROL_FD", "4".to_owned())];
        if setup.fail_at_start {
            variables.push(("GANGER_CHECK", "fail".to_owned()));
        }
        let start = Start { argv: &self.argv, variables, descriptors };
        let process = Process::start(&start).map_err(cannot)?;
        self.linked(process, (data, control), Ledger::new(setup.welcome.max_payload, arenas, tokens))
    }

    /// As hosts do, once the worker has said that it can.
    fn hands_ahead(&self, setup: &Setup) -> bool {
        self.hello.ahead && setup.welcome.concurrency == 1
    }

    /// A process that has been welcomed.
    pub(super) fn greeted(&self, setup: &Setup) -> Kept<(Link, Hello)> {
        let mut link = self.started(setup)?;
        let hello = hear_hello(&mut link)?;
        let mut welcome = setup.welcome.clone();
        if setup.shared_memory {
            welcome.shared_memory = Some(Arenas::described());
        }
        if self.hands_ahead(setup) {
            welcome.claims_fd = Some(if setup.shared_memory { 7 } else { 5 });
        }
        link.send(Lane::Control, &Frame::new(Kind::Welcome, 0).with_body(welcome.encode()));
        Ok((link, hello))
    }

    /// A process that is ready for calls.
    pub(super) fn ready(&self, setup: &Setup) -> Kept<Link> {
        let (mut link, _) = self.greeted(setup)?;
        hear_ready(&mut link)?;
        Ok(link)
    }

    /// A process that joined an endpoint, before HELLO.
    pub(super) fn attached(&self) -> Kept<Link> {
        let cannot = |error: io::Error| Breach::new(11, "a worker that can attach", error.to_string());
        let folder = tempfile::tempdir().map_err(cannot)?;
        let address = folder.path().join("endpoint");
        let listener = UnixListener::bind(&address).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let variables =
            vec![("GANGER_ENDPOINT", address.display().to_string()), ("GANGER_TOKEN", TOKEN.to_owned())];
        let start = Start { argv: &self.argv, variables, descriptors: Vec::new() };
        let mut process = Process::start(&start).map_err(cannot)?;
        let first = super::attach::accept(&listener, &mut process, self.patience)?;
        let second = super::attach::accept(&listener, &mut process, self.patience)?;
        let lanes = lanes_of(first, second)?;
        self.linked(process, lanes, Ledger::new(Setup::default().welcome.max_payload, None, None))
    }

    fn linked(&self, process: Process, lanes: (UnixStream, UnixStream), ledger: Ledger) -> Kept<Link> {
        let (sender, heard) = channel();
        for (lane, stream) in [(Lane::Data, &lanes.0), (Lane::Control, &lanes.1)] {
            let cannot = |error: io::Error| Breach::new(11, "a lane", error.to_string());
            stream.set_write_timeout(Some(self.patience)).map_err(cannot)?;
            listen(lane, stream.try_clone().map_err(cannot)?, sender.clone());
        }
        Ok(Link::new(process, ledger, lanes, heard, self.patience))
    }
}

pub(super) fn hear_hello(link: &mut Link) -> Kept<Hello> {
    let frame = link.wait(11, "HELLO on control", |_, frame| frame.kind == Kind::Hello)?;
    Ok(Hello::decode(&frame.body).unwrap_or_default())
}

pub(super) fn hear_ready(link: &mut Link) -> Kept<Vec<Contract>> {
    let wanted =
        |_: Lane, frame: &Frame| frame.kind == Kind::Ready || (frame.kind == Kind::Error && frame.seq == 0);
    let frame = link.wait(13, "READY on data", wanted)?;
    ensure(frame.kind == Kind::Ready, 13, "READY on data", || describe(&frame))?;
    Ok(Ready::decode(&frame.body).unwrap_or_default().functions)
}

/// Which connection is which lane, as their ATTACH frames say.
fn lanes_of(first: super::attach::Joined, second: super::attach::Joined) -> Kept<(UnixStream, UnixStream)> {
    let (a, b): (&Attach, &Attach) = (&first.attach, &second.attach);
    let alike = a.token == TOKEN && b.token == TOKEN && a.session == b.session && !a.session.is_empty();
    let came = || format!("{a:?} and {b:?}");
    ensure(alike, 11, "ATTACH twice, with the token and one session", came)?;
    match (a.lane, b.lane) {
        (Some(Lane::Data), Some(Lane::Control)) => Ok((first.stream, second.stream)),
        (Some(Lane::Control), Some(Lane::Data)) => Ok((second.stream, first.stream)),
        _ => Err(Breach::new(11, "ATTACH for each lane once", came())),
    }
}

const TOKEN: &str = "one-time-token";
