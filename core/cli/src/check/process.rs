//! One worker process under check: its lanes on descriptors 3 and 4, its prints collected, its end in any case.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ganger::shim::MARKER;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(Signal),
}

/// A running worker. It is killed with its group when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    exit: Option<Exit>,
    stdout: Collected,
    stderr: Collected,
}

/// What a worker is started with.
#[derive(Debug, Default)]
pub(super) struct Start<'a> {
    pub(super) argv: &'a [String],
    pub(super) variables: Vec<(&'static str, String)>,
    /// They become 3, 4 and so on.
    pub(super) descriptors: Vec<BorrowedFd<'a>>,
}

impl Process {
    /// Starts the program through the shim that this very program is, so that it does not outlive it.
    pub(super) fn start(start: &Start<'_>) -> io::Result<Self> {
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        let ends = [stdout_writer.as_fd(), stderr_writer.as_fd()];
        let pid = spawn(start, ends)?;
        Ok(Self { pid, exit: None, stdout: Collected::of(stdout), stderr: Collected::of(stderr) })
    }

    /// How it ended, if it has.
    pub(super) fn exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.exit = match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, code)) => Some(Exit::Code(code)),
                Ok(WaitStatus::Signaled(_, signal, _)) => Some(Exit::Signal(signal)),
                Ok(_) | Err(_) => None,
            };
        }
        self.exit
    }

    /// Waits for its end.
    pub(super) fn wait(&mut self, limit: Duration) -> Option<Exit> {
        let until = Instant::now() + limit;
        while self.exit().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.exit
    }

    /// What it printed so far; all of it once it has ended.
    pub(super) fn stdout(&mut self) -> String {
        let ended = self.exit().is_some();
        self.stdout.text(ended)
    }

    /// The same of its stderr.
    pub(super) fn stderr(&mut self) -> String {
        let ended = self.exit().is_some();
        self.stderr.text(ended)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The group may live on when its leader is gone.
        let _ = killpg(self.pid, Signal::SIGKILL);
        if self.exit.is_none() {
            let _ = waitpid(self.pid, None);
        }
    }
}

/// A pipe that is read to its end.
#[derive(Debug)]
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Collected {
    fn of(mut pipe: PipeReader) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..length]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    /// A grandchild may hold the pipe open: what has come after a moment is what there is.
    fn text(&mut self, ended: bool) -> String {
        let until = Instant::now() + Duration::from_secs(1);
        while ended
            && self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn spawn(start: &Start<'_>, prints: [BorrowedFd<'_>; 2]) -> io::Result<Pid> {
    let own = c_string(std::env::current_exe()?.into_os_string())?;
    let numbers = 3..3 + start.descriptors.len() as i32;
    let mut arguments: Vec<OsString> = [MARKER, "exec", "--parent"].iter().map(OsString::from).collect();
    arguments.push(std::process::id().to_string().into());
    if !start.descriptors.is_empty() {
        let kept: Vec<String> = numbers.clone().map(|number| number.to_string()).collect();
        arguments.extend(["--keep".into(), kept.join(",").into()]);
    }
    arguments.push("--".into());
    arguments.extend(start.argv.iter().map(OsString::from));
    let argv: Vec<CString> = std::iter::once(Ok(own.clone()))
        .chain(arguments.into_iter().map(c_string))
        .collect::<Result<_, _>>()?;
    let mut actions = PosixSpawnFileActions::init()?;
    actions.add_open(0, "/dev/null", OFlag::O_RDONLY, Mode::empty())?;
    let theirs = prints.into_iter().zip(1..3).chain(start.descriptors.iter().copied().zip(numbers));
    for (ours, theirs) in theirs {
        actions.add_dup2(ours.as_raw_fd(), theirs)?;
    }
    Ok(posix_spawn(own.as_c_str(), &actions, &attributes()?, &argv, &variables(start)?)?)
}

fn attributes() -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETPGROUP | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK)?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    attributes.set_sigmask(&SigSet::empty())?;
    Ok(attributes)
}

fn variables(start: &Start<'_>) -> io::Result<Vec<CString>> {
    let mut all: BTreeMap<OsString, OsString> =
        std::env::vars_os().filter(|(name, _)| !NOT_PASSED_ON.iter().any(|not| name == not)).collect();
    all.insert("PYTHONUNBUFFERED".into(), "1".into());
    all.extend(start.variables.iter().map(|(name, value)| ((*name).into(), value.into())));
    let pairs = all.into_iter().map(|(name, value)| [name.into_vec(), value.into_vec()].join(&b'='));
    pairs.map(|pair| Ok(CString::new(pair)?)).collect()
}

fn c_string(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

const NOT_PASSED_ON: [&str; 5] =
    ["GANGER_CHECK", "GANGER_CONTROL_FD", "GANGER_DATA_FD", "GANGER_ENDPOINT", "GANGER_TOKEN"];

/// Fills the low numbers, which are those of the worker's own descriptors: ours must not be among them while they are put in place.
pub(super) fn keep_low_descriptors_free() {
    LazyLock::force(&LOW);
}

static LOW: LazyLock<Vec<OwnedFd>> = LazyLock::new(|| {
    let mut low = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        let number = file.as_raw_fd();
        low.push(file.into());
        if number > 16 {
            break;
        }
    }
    low
});
