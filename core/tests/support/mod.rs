//! What the suites that use real workers share: pools of the deeds in `workers/deeds.py`, and waiting for what must come.

#![allow(dead_code, reason = "each suite uses its part")]
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

pub(crate) mod groups;
pub(crate) mod streams;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use ganger::events::Event;
use ganger::options::{CallOptions, PoolOptions, Surface};
use ganger::{Call, Input, Outcome, Pool};
use serde_json::{Value, json};

/// Longer than anything may take on a machine that is busy with other work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Tells the library where the parts lie in this repository.
pub(crate) fn parts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(programs().join("ganger-shim").is_file(), "build it first: cargo build -p ganger-shim");
        ganger::shim::set_native_module(&programs().join("native"));
        ganger::set_home(root.join("worker-sdk"));
    });
}

/// Where cargo puts programs: `target/debug` for `target/debug/deps/suite-…`.
pub(crate) fn programs() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_path_buf()
}

pub(crate) fn deeds() -> String {
    worker("deeds.py")
}

/// A worker in `workers/` for Node.
pub(crate) fn node_worker(file: &str) -> String {
    worker(file)
}

fn worker(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers").join(file).display().to_string()
}

/// A pool of deeds with these options, spelled as in Rust.
pub(crate) fn pool(options: Value) -> Pool {
    pool_of("deeds.py", options)
}

/// The same of another worker in `workers/`.
pub(crate) fn pool_of(file: &str, options: Value) -> Pool {
    let mut all = json!({ "python": worker(file), "workers": 1 });
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    made(&all)
}

/// A pool of the behaviour suite's worker in Rust.
pub(crate) fn rust_pool(options: Value) -> Pool {
    let program = programs().join("behavior-worker");
    assert!(program.is_file(), "build it first: cargo build -p behavior-worker");
    let mut all = json!({ "command": [program.display().to_string()], "workers": 1 });
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    made(&all)
}

pub(crate) fn made(options: &Value) -> Pool {
    parts();
    Pool::new(PoolOptions::parse(options.as_object().unwrap(), Surface::Rust).unwrap()).unwrap()
}

/// A call of a deed. The input is given as JSON and sent as MessagePack.
pub(crate) fn asked(function: &str, input: &Value, options: &Value) -> Call {
    let options = CallOptions::parse(options.as_object().unwrap(), Surface::Rust).unwrap();
    Call { options, ..Call::new(function, Input::message_pack(message_pack(input))) }
}

pub(crate) fn call(pool: &Pool, function: &str, input: Value) -> Outcome {
    pool.call_blocking(asked(function, &input, &json!({})))
}

pub(crate) fn call_with(pool: &Pool, function: &str, input: Value, options: Value) -> Outcome {
    pool.call_blocking(asked(function, &input, &options))
}

/// A call whose outcome comes later.
pub(crate) fn submit(pool: &Pool, function: &str, input: Value, options: Value) -> Receiver<Outcome> {
    let (sender, receiver) = channel();
    pool.submit(asked(function, &input, &options), Box::new(move |outcome| sender.send(outcome).unwrap()));
    receiver
}

pub(crate) fn outcome(receiver: &Receiver<Outcome>) -> Outcome {
    receiver.recv_timeout(PATIENCE).expect("every call is settled")
}

pub(crate) fn code(outcome: Outcome) -> String {
    outcome.expect_err("it should have failed").code.to_string()
}

pub(crate) fn integer(outcome: Outcome) -> i64 {
    let reply = outcome.unwrap();
    let value = ganger_protocol::Value::decode(&reply.payload).unwrap().to_json();
    value.as_i64().unwrap_or_else(|| panic!("{value} is no integer"))
}

pub(crate) fn text(outcome: Outcome) -> String {
    let value = ganger_protocol::Value::decode(&outcome.unwrap().payload).unwrap().to_json();
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

pub(crate) fn message_pack(value: &Value) -> Vec<u8> {
    use ganger_protocol::Value as Wire;
    fn wire(value: &Value) -> Wire {
        match value {
            Value::Null => Wire::Nil,
            Value::Bool(flag) => Wire::Bool(*flag),
            Value::Number(number) if number.is_f64() => Wire::Float(number.as_f64().unwrap()),
            Value::Number(number) => Wire::Integer(number.as_i64().unwrap()),
            Value::String(text) => Wire::String(text.clone()),
            Value::Array(items) => Wire::List(items.iter().map(wire).collect()),
            Value::Object(fields) => {
                Wire::Map(fields.iter().map(|(key, value)| (key.clone(), wire(value))).collect())
            }
        }
    }
    wire(value).encode()
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut test: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !test() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Everything that a pool tells.
pub(crate) fn events(pool: &Pool) -> Arc<Mutex<Vec<Event>>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    pool.subscribe(Box::new(move |event| into.lock().unwrap().push(event.clone())));
    heard
}

/// The processes of a pool's ready workers.
pub(crate) fn pids(pool: &Pool) -> Vec<u32> {
    pool.stats().details.iter().filter(|worker| worker.ready).filter_map(|worker| worker.pid).collect()
}

/// A zombie counts as gone.
pub(crate) fn runs(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

pub(crate) fn kill(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(status.unwrap().success(), "kill -{signal} {pid}");
}
