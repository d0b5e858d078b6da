//! What the suites that use real workers share: pools of the deeds in `workers/deeds.py`, and waiting for what must come.

#![allow(dead_code, reason = "each suite uses its part")]
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use ganger::events::Event;
use ganger::options::{CallOptions, PoolOptions, Surface};
use ganger::{CallRequest, Input, Outcome, Pool};
use serde_json::{Value, json};

/// Longer than anything may take on a machine that is busy with other work.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Tells the library where the parts lie in this repository.
pub fn parts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(programs().join("ganger-shim").is_file(), "build it first: cargo build -p ganger-shim");
        ganger::shim::set_native_module(&programs().join("native"));
        ganger::set_home(root.join("worker-sdk"));
    });
}

/// Where cargo puts programs: `target/debug` for `target/debug/deps/suite-…`.
pub fn programs() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_path_buf()
}

pub fn deeds() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers/deeds.py").display().to_string()
}

/// A pool of deeds with these options, spelled as in Rust.
pub fn pool(options: Value) -> Pool {
    let mut all = json!({ "python": deeds(), "workers": 1 });
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    made(&all)
}

pub fn made(options: &Value) -> Pool {
    parts();
    Pool::new(PoolOptions::parse(options.as_object().unwrap(), Surface::Rust).unwrap()).unwrap()
}

/// A call of a deed. The input is given as JSON and sent as MessagePack.
pub fn request(function: &str, input: &Value, options: &Value) -> CallRequest {
    let options = CallOptions::parse(options.as_object().unwrap(), Surface::Rust).unwrap();
    CallRequest { options, ..CallRequest::new(function, Input::message_pack(message_pack(input))) }
}

pub fn call(pool: &Pool, function: &str, input: Value) -> Outcome {
    pool.call_blocking(request(function, &input, &json!({})))
}

pub fn call_with(pool: &Pool, function: &str, input: Value, options: Value) -> Outcome {
    pool.call_blocking(request(function, &input, &options))
}

/// A call whose outcome comes later.
pub fn submit(pool: &Pool, function: &str, input: Value, options: Value) -> Receiver<Outcome> {
    let (sender, receiver) = channel();
    pool.submit(request(function, &input, &options), Box::new(move |outcome| sender.send(outcome).unwrap()));
    receiver
}

pub fn outcome(receiver: &Receiver<Outcome>) -> Outcome {
    receiver.recv_timeout(PATIENCE).expect("every call is settled")
}

pub fn code(outcome: Outcome) -> String {
    outcome.expect_err("it should have failed").code.to_string()
}

pub fn integer(outcome: Outcome) -> i64 {
    let reply = outcome.unwrap();
    match ganger_protocol::Value::decode(&reply.payload).unwrap().to_json() {
        Value::Number(number) => number.as_i64().unwrap(),
        other => panic!("{other} is no integer"),
    }
}

pub fn text(outcome: Outcome) -> String {
    match ganger_protocol::Value::decode(&outcome.unwrap().payload).unwrap().to_json() {
        Value::String(text) => text,
        other => panic!("{other} is no text"),
    }
}

pub fn message_pack(value: &Value) -> Vec<u8> {
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
pub fn until(what: &str, mut test: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !test() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Everything that a pool tells.
pub fn events(pool: &Pool) -> Arc<Mutex<Vec<Event>>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    pool.subscribe(Box::new(move |event| into.lock().unwrap().push(event.clone())));
    heard
}

/// The processes of a pool's ready workers.
pub fn pids(pool: &Pool) -> Vec<u32> {
    pool.stats().details.iter().filter(|worker| worker.ready).filter_map(|worker| worker.pid).collect()
}

/// A zombie counts as gone.
pub fn runs(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

pub fn kill(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(status.unwrap().success(), "kill -{signal} {pid}");
}
