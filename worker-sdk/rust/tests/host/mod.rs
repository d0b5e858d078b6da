//! A small host for one worker: starts the example, speaks the protocol with it, waits for its end.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use ganger_protocol::message::{Call, Cancel, ErrorReport, Welcome};
use ganger_protocol::{Decoder, Encoding, Frame, Kind, Limits, Value};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Far beyond what anything takes: a test that waits for nothing fails in the end.
const PATIENCE: Duration = Duration::from_secs(60);

/// While a worker starts, its ends of the lanes are inheritable: no other worker may start meanwhile.
static STARTING: Mutex<()> = Mutex::new(());

pub(crate) struct Lane {
    pub(crate) stream: UnixStream,
    decoder: Decoder,
}

pub(crate) struct Host {
    pub(crate) data: Lane,
    pub(crate) control: Lane,
    pub(crate) child: Child,
    seq: u64,
}

impl Lane {
    pub(crate) fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, decoder: Decoder::new(Limits::default()) }
    }

    pub(crate) fn send(&mut self, frame: &Frame) {
        self.stream.write_all(&frame.to_bytes()).unwrap();
    }

    /// The next frame, or `None` at the end of the lane.
    pub(crate) fn receive(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.next().unwrap() {
                return Some(frame);
            }
            let mut piece = [0; 16 * 1024];
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.decoder.buffer().extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    pub(crate) fn expect(&mut self, kind: Kind) -> Frame {
        let frame = self.receive().unwrap_or_else(|| panic!("the lane ended, {kind} was expected"));
        assert_eq!(frame.kind, kind, "{:?}", ErrorReport::decode(&frame.body));
        frame
    }
}

impl Host {
    /// Starts the example and shakes hands with it.
    pub(crate) fn start(concurrency: u32) -> Self {
        let mut host = Self::spawn(&[]);
        host.control.expect(Kind::Hello);
        host.welcome(concurrency);
        host.data.expect(Kind::Log);
        host.data.expect(Kind::Ready);
        host
    }

    /// Starts the example and says nothing.
    pub(crate) fn spawn(arguments: &[&str]) -> Self {
        Self::spawn_program(example(), arguments)
    }

    /// Starts another example and says nothing.
    pub(crate) fn spawn_example(name: &str, arguments: &[&str]) -> Self {
        Self::spawn_program(example_named(name), arguments)
    }

    fn spawn_program(program: Command, arguments: &[&str]) -> Self {
        Self::spawn_with(program, arguments, None)
    }

    /// The worker inherits one more descriptor, under its number here.
    pub(crate) fn spawn_with(
        mut program: Command,
        arguments: &[&str],
        inherits: Option<BorrowedFd<'_>>,
    ) -> Self {
        let (data, their_data) = UnixStream::pair().unwrap();
        let (control, their_control) = UnixStream::pair().unwrap();
        let starting = STARTING.lock().unwrap();
        let theirs = [their_data.as_fd(), their_control.as_fd()].into_iter().chain(inherits);
        for theirs in theirs {
            fcntl(theirs, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        }
        let child = program
            .args(arguments)
            .env("GANGER_DATA_FD", their_data.as_raw_fd().to_string())
            .env("GANGER_CONTROL_FD", their_control.as_raw_fd().to_string())
            .spawn()
            .unwrap();
        if let Some(ours) = inherits {
            fcntl(ours, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        drop((their_data, their_control, starting));
        Self { data: Lane::new(data), control: Lane::new(control), child, seq: 0 }
    }

    pub(crate) fn welcome(&mut self, concurrency: u32) {
        self.welcome_with(Welcome { concurrency, ..Welcome::default() });
    }

    pub(crate) fn welcome_with(&mut self, more: Welcome) {
        let welcome = Welcome {
            version: 1,
            pool: "test".to_owned(),
            max_payload: 64 * 1024 * 1024,
            device: Some("cuda:1".to_owned()),
            ..more
        };
        self.control.send(&Frame::new(Kind::Welcome, 0).with_body(welcome.encode()));
    }

    /// Sends a call; gives its seq.
    pub(crate) fn call(&mut self, function: &str, input: impl Into<Value>) -> u64 {
        self.call_with(&Call::new(function), Encoding::MessagePack, input.into().encode())
    }

    pub(crate) fn call_with(&mut self, call: &Call<'_>, encoding: Encoding, payload: Vec<u8>) -> u64 {
        let frame = self.call_frame(call, encoding, payload);
        self.data.send(&frame);
        frame.seq
    }

    pub(crate) fn call_frame(&mut self, call: &Call<'_>, encoding: Encoding, payload: Vec<u8>) -> Frame {
        self.seq += 1;
        Frame::new(Kind::Call, self.seq).with_body(call.encode()).with_payload(encoding, payload)
    }

    pub(crate) fn ping(&mut self) -> u64 {
        self.seq += 1;
        self.data.send(&Frame::new(Kind::Ping, self.seq));
        self.seq
    }

    pub(crate) fn cancel(&mut self, seq: u64) {
        self.control.send(&Frame::new(Kind::Cancel, seq).with_body(Cancel::default().encode()));
    }

    /// The result of a call.
    pub(crate) fn result(&mut self, seq: u64) -> serde_json::Value {
        let frame = self.data.expect(Kind::Result);
        assert_eq!(frame.seq, seq);
        Value::decode(&frame.payload).unwrap().to_json()
    }

    /// The error of a call.
    pub(crate) fn error(&mut self, seq: u64) -> ErrorReport {
        let frame = self.data.expect(Kind::Error);
        assert_eq!(frame.seq, seq);
        ErrorReport::decode(&frame.body).unwrap()
    }

    /// Closes nothing; waits for the worker's end. Gives its code and what it wrote to stderr.
    pub(crate) fn wait(&mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The command of the usual example.
pub(crate) fn example() -> Command {
    example_named("numbers")
}

/// The command of an example, which lies beside the folder of this test.
fn example_named(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "`cargo test -p ganger-worker` builds the example; with `--tests` it does not");
    let mut command = Command::new(path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}
