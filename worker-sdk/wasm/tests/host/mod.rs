//! A small host for one `ganger-wasm`, and modules for it: text is put around what a test wants of one.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ganger_protocol::message::{Call, Cancel, ErrorReport, Ready, Welcome};
use ganger_protocol::{Decoder, Encoding, Frame, Kind, Limits, Value};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Far beyond what anything takes: a test that waits for nothing fails in the end.
const PATIENCE: Duration = Duration::from_secs(120);

/// While a worker starts, its ends of the lanes are inheritable: no other worker may start meanwhile.
static STARTING: Mutex<()> = Mutex::new(());

pub(crate) struct Lane {
    stream: UnixStream,
    decoder: Decoder,
}

pub(crate) struct Host {
    pub(crate) data: Lane,
    pub(crate) control: Lane,
    pub(crate) child: Child,
    seq: u64,
}

impl Lane {
    fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, decoder: Decoder::new(Limits::default()) }
    }

    pub(crate) fn send(&mut self, frame: &Frame) {
        self.stream.write_all(&frame.to_bytes()).unwrap();
    }

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
    /// Starts a worker for a module and shakes hands with it.
    pub(crate) fn start(module: &Path) -> Self {
        Self::start_with(&[], module, 1).0
    }

    pub(crate) fn start_with(options: &[&str], module: &Path, concurrency: u32) -> (Self, Ready) {
        let mut host = Self::spawn(options, module, concurrency);
        let ready = Ready::decode(&host.data.expect(Kind::Ready).body).unwrap();
        (host, ready)
    }

    /// Why a module is not served.
    pub(crate) fn refusal(options: &[&str], module: &Path) -> String {
        let mut host = Self::spawn(options, module, 1);
        let report = host.error(0);
        assert_eq!((report.code.as_str(), report.language.as_str()), ("START_FAILED", "wasm"));
        assert_eq!(host.child.wait().unwrap().code(), Some(1));
        report.message
    }

    /// Starts a worker and welcomes it.
    pub(crate) fn spawn(options: &[&str], module: &Path, concurrency: u32) -> Self {
        let (data, their_data) = UnixStream::pair().unwrap();
        let (control, their_control) = UnixStream::pair().unwrap();
        let starting = STARTING.lock().unwrap();
        for theirs in [&their_data, &their_control] {
            fcntl(theirs, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        }
        let child = program()
            .args(options)
            .arg(module)
            .env("GANGER_DATA_FD", their_data.as_raw_fd().to_string())
            .env("GANGER_CONTROL_FD", their_control.as_raw_fd().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop((their_data, their_control, starting));
        let mut host = Self { data: Lane::new(data), control: Lane::new(control), child, seq: 0 };
        let welcome = Welcome { version: 1, concurrency, max_payload: 64 << 20, ..Welcome::default() };
        host.control.send(&Frame::new(Kind::Welcome, 0).with_body(welcome.encode()));
        host
    }

    /// Sends a call; gives its seq.
    pub(crate) fn call(&mut self, function: &str, input: impl Into<Value>) -> u64 {
        self.call_with(&Call::new(function), Encoding::MessagePack, input.into().encode())
    }

    pub(crate) fn call_bytes(&mut self, function: &str, input: &[u8]) -> u64 {
        self.call_with(&Call::new(function), Encoding::Raw, input.to_vec())
    }

    pub(crate) fn call_with(&mut self, call: &Call<'_>, encoding: Encoding, payload: Vec<u8>) -> u64 {
        self.seq += 1;
        let frame = Frame::new(Kind::Call, self.seq).with_body(call.encode()).with_payload(encoding, payload);
        self.data.send(&frame);
        self.seq
    }

    pub(crate) fn cancel(&mut self, seq: u64) {
        self.control.send(&Frame::new(Kind::Cancel, seq).with_body(Cancel::default().encode()));
    }

    /// The result of a call as JSON.
    pub(crate) fn result(&mut self, seq: u64) -> serde_json::Value {
        let frame = self.data.expect(Kind::Result);
        assert_eq!((frame.seq, frame.flags.encoding()), (seq, Some(Encoding::MessagePack)));
        Value::decode(&frame.payload).unwrap().to_json()
    }

    /// The result of a call that gives bytes.
    pub(crate) fn bytes(&mut self, seq: u64) -> Vec<u8> {
        let frame = self.data.expect(Kind::Result);
        assert_eq!((frame.seq, frame.flags.encoding()), (seq, Some(Encoding::Raw)));
        frame.payload.to_vec()
    }

    /// The result of a call that gives one little-endian number.
    pub(crate) fn number(&mut self, seq: u64) -> u32 {
        u32::from_le_bytes(self.bytes(seq).try_into().unwrap())
    }

    /// The error of a call.
    pub(crate) fn error(&mut self, seq: u64) -> ErrorReport {
        let frame = self.data.expect(Kind::Error);
        assert_eq!(frame.seq, seq);
        ErrorReport::decode(&frame.body).unwrap()
    }

    /// Bytes of memory that the worker has.
    pub(crate) fn resident(&self) -> usize {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ganger-wasm"))
}

/// A module in a file of its own.
pub(crate) fn file(content: impl AsRef<[u8]>) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::SeqCst);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("module.wat");
    std::fs::write(&path, content).unwrap();
    path
}

/// Functions that take and give bytes, and the code that serves them: `$call` is given the number of the function and the input, `$pack`
/// makes one number of pointer and length.
pub(crate) fn module(functions: &[&str], code: &str) -> PathBuf {
    let entries: Vec<_> = functions.iter().map(|name| serde_json::json!({ "name": name })).collect();
    let contract = serde_json::json!({ "ganger": 1, "encoding": "bytes", "functions": entries });
    file(text(&contract, code))
}

/// The text of a module with this contract. It keeps texts below 4096; what is allocated lies above and is never given back.
pub(crate) fn text(contract: &serde_json::Value, code: &str) -> String {
    let contract = contract.to_string();
    let (length, contract) = (contract.len(), contract.replace('\\', "\\\\").replace('"', "\\\""));
    let imports = IMPORTS.iter().filter(|import| code.contains(import.split(' ').nth(4).unwrap()));
    let imports: String = imports.copied().collect();
    format!(
        r#"(module {imports}
        (memory (export "memory") 2)
        (data (i32.const 65536) "{contract}")
        (global $top (mut i32) (i32.const 4096))
        (func $pack (param i32 i32) (result i64)
          (i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32)) (i64.extend_i32_u (local.get 1))))
        (func $number (param i32) (result i64)
          (i32.store (i32.const 64) (local.get 0)) (call $pack (i32.const 64) (i32.const 4)))
        (func (export "ganger_alloc") (param $length i32) (result i32)
          (if (i32.gt_u (local.get $length) (i32.const 61440)) (then (return (i32.const 0))))
          (i32.const 4096))
        (func (export "ganger_contract") (result i64) (call $pack (i32.const 65536) (i32.const {length})))
        (func (export "ganger_call") (param $function i32) (param $at i32) (param $length i32) (result i64)
          (call $call (local.get $function) (local.get $at) (local.get $length)))
        {code})"#
    )
}

const IMPORTS: &[&str] = &[
    r#"(import "ganger" "log" (func $log (param i32 i32 i32)))"#,
    r#"(import "ganger" "progress" (func $progress (param f64 f64 i32 i32)))"#,
    r#"(import "ganger" "cancelled" (func $cancelled (result i32)))"#,
    r#"(import "ganger" "remaining" (func $remaining (result i64)))"#,
    r#"(import "ganger" "about" (func $about (param i32 i32) (result i32)))"#,
    r#"(import "ganger" "fail" (func $fail (param i32 i32 i32 i32)))"#,
    r#"(import "ganger" "property" (func $property (param i32 i32 i32 i32)))"#,
    r#"(import "ganger" "refuse" (func $refuse (param i32 i32 i32 i32)))"#,
    r#"(import "ganger" "item" (func $item (param i32 i32) (result i32)))"#,
    r#"(import "env" "abort" (func $abort (param i32 i32 i32 i32)))"#,
];
