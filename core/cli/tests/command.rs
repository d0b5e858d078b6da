//! `ganger call` and `ganger functions` as a shell sees them: what they print where, and their exit codes.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PRICES: &str = r#"
import os, sys, time
from collections.abc import Iterator
from ganger_worker import action, context

@action(idempotent=True, timeout=5, summary="Converts a price")
def convert(amount: float, rate: float = 1.1) -> float:
    return round(amount * rate, 2)

@action
def count(to: int):
    yield from range(to)

@action
def total(numbers: Iterator[int]) -> int:
    return sum(numbers)

@action
def double(numbers: Iterator[int]) -> Iterator[int]:
    for number in numbers:
        yield 2 * number

@action
def echo(value):
    return value

@action
def fail(reason: str) -> None:
    raise ValueError(reason)

@action
def leave(code: int) -> None:
    os._exit(code)

@action
def say(text: str) -> None:
    print(text)
    context.log.warning("logged " + text)

@action
def wait(path: str) -> str:
    open(path, "w").close()
    while not context.cancelled:
        time.sleep(0.002)
    open(path + ".stopped", "w").close()
    return "stopped"
"#;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        std::fs::write(folder.path().join("prices.py"), PRICES).expect("it can be written");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let sdks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worker-sdk");
        let mut command = Command::new(env!("CARGO_BIN_EXE_ganger"));
        command.args(arguments).current_dir(self.folder.path()).env("GANGER_HOME", sdks);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().expect("it runs").into()
    }

    fn call(&self, arguments: &[&str]) -> Ran {
        self.run(&[&["call", "prices.py"], arguments].concat())
    }
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    #[track_caller]
    fn gives(self, stdout: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(0), stdout), "{}", self.stderr);
    }

    #[track_caller]
    fn fails(self, code: i32, parts: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} in {}", self.stderr);
        }
    }
}

#[test]
fn a_result_is_json_on_stdout() {
    let place = Place::new();
    place.call(&["convert", r#"{"amount": 3}"#]).gives("3.3\n");
    place.call(&["prices.convert", r#"{"amount": 3, "rate": 2.5}"#]).gives("7.5\n");
    place.call(&["echo", r#"{"$bytes": "00ff"}"#]).gives("{\"$bytes\":\"00ff\"}\n");
    place.call(&["echo", "-5"]).gives("-5\n");
    place.call(&["--raw", "echo", "as it is"]).gives("as it is");
}

#[test]
fn a_stream_is_a_line_an_item() {
    let place = Place::new();
    place.call(&["count", "3"]).gives("0\n1\n2\n");
    place.call(&["prices.count", "2"]).gives("0\n1\n");
}

#[test]
fn items_go_in_a_line_each() {
    let place = Place::new();
    std::fs::write(place.path("items.jsonl"), "1\n2\n\n3\n").unwrap();
    place.call(&["total", "--items", "items.jsonl"]).gives("6\n");
    let mut child = place
        .command(&["call", "prices.py", "double", "--items", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        writeln!(stdin, "{number}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{}\n", 2 * number), "an item comes before the next is sent");
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    std::fs::write(place.path("items.jsonl"), "1\ntwo\n").unwrap();
    place.call(&["total", "--items", "items.jsonl"]).fails(2, &["line 2 of the items is no JSON"]);
    place.call(&["total", "--items", "nowhere"]).fails(2, &["nowhere"]);
    place.call(&["total", "-", "--items", "-"]).fails(2, &["both"]);
}

#[test]
fn a_reader_who_leaves_ends_an_endless_stream() {
    let place = Place::new();
    let mut child = place.command(&["call", "prices.py", "count", "1000000000"]).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    drop(reader);
    assert_eq!(line, "0\n");
    assert_eq!(child.wait().unwrap().code(), Some(141), "whoever read has gone");
}

#[test]
fn input_comes_from_a_file_or_stdin_too() {
    let place = Place::new();
    std::fs::write(place.path("input.json"), "[1, 2]").unwrap();
    place.call(&["echo", "@input.json"]).gives("[1,2]\n");
    let mut child = place.command(&["call", "prices.py", "echo", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\"piped\"").unwrap();
    Ran::from(child.wait_with_output().unwrap()).gives("\"piped\"\n");
}

#[test]
fn what_the_worker_says_goes_to_stderr() {
    let place = Place::new();
    let ran = place.call(&["say", "\"hello\""]);
    assert!(
        ran.stderr.contains("hello\n") && ran.stderr.contains("[warning] logged hello"),
        "{}",
        ran.stderr
    );
    ran.gives("null\n");
    let quiet = place.call(&["--quiet", "say", "\"hello\""]);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn exit_codes_tell_whose_fault_it_was() {
    let place = Place::new();
    place
        .call(&["fail", "\"no such price\""])
        .fails(1, &["CALL_FAILED ValueError: no such price", "raise ValueError"]);
    place.call(&["convrt"]).fails(2, &["NO_SUCH_FUNCTION", "convert", "ganger functions"]);
    place.call(&["echo", "hello"]).fails(2, &["no JSON", "'\"hello\"'"]);
    place.call(&["echo", "--timeout", "5"]).fails(2, &["timeout", "\"10s\""]);
    place.call(&["echo", "--option", "max_paylod=1mb"]).fails(2, &["max_payload"]);
    place.call(&["leave", "7"]).fails(3, &["WORKER_CRASHED", "exited with code 7"]);
    place.run(&["call", "echo", "--", "false"]).fails(3, &["START_FAILED", "code 1"]);
    place.run(&["call", "prices.pi", "echo"]).fails(2, &["python:prices.pi"]);
    place.run(&["call", "prices.py"]).fails(2, &["which function"]);
}

#[test]
fn a_call_that_takes_too_long_is_stopped() {
    let place = Place::new();
    let path = place.path("began").display().to_string();
    let input = json!(path).to_string();
    place.call(&["wait", &input, "--timeout", "700ms"]).fails(124, &["TIMEOUT", "--timeout"]);
}

#[test]
fn ctrl_c_cancels_the_call_and_the_worker_stops() {
    let place = Place::new();
    let began = place.path("began");
    let input = json!(began.display().to_string()).to_string();
    let child = place.command(&["call", "prices.py", "wait", &input]).spawn().unwrap();
    until(|| began.exists());
    interrupt(&child);
    Ran::from(child.wait_with_output().unwrap()).fails(130, &["interrupted"]);
    assert!(place.path("began.stopped").exists(), "the function was not asked to stop");
}

#[test]
fn what_a_pool_recorded_happens_again() {
    let place = Place::new();
    let recorded = |arguments: &[&str]| {
        let mut command = place.command(&[&["call", "prices.py"], arguments].concat());
        command.env("GANGER_FLIGHT_RECORDER", place.path("flights")).output().expect("it runs")
    };
    assert!(recorded(&["convert", r#"{"amount": 3}"#]).status.success());
    let [flight] = &std::fs::read_dir(place.path("flights")).unwrap().flatten().collect::<Vec<_>>()[..]
    else {
        panic!("one pool, one record")
    };
    let record = std::fs::read_to_string(flight.path()).unwrap();
    let played = place.run(&["replay", flight.path().to_str().unwrap()]);
    assert_eq!(played.code, Some(0), "{}", played.stderr);
    for part in [
        "\n    spawn 0.0\n",
        "\n    assign 1 to 0.0, attempt 1",
        "settle 1: answered, attempts 1",
        "    closed\n",
    ] {
        assert!(played.stdout.contains(part), "{part:?} in {}", played.stdout);
    }
    let damaged = record.replacen("answered=1", "answered=2", 1);
    std::fs::write(place.path("damaged"), damaged).unwrap();
    place.run(&["replay", "damaged"]).fails(1, &["counted otherwise"]);
    place.run(&["replay", "prices.py"]).fails(1, &["no flight record: line 1"]);
    place.run(&["replay", "missing"]).fails(2, &["missing"]);
}

#[test]
fn functions_are_listed_for_people_and_for_programs() {
    let place = Place::new();
    let listed = place.run(&["functions", "prices.py"]);
    let line = listed.stdout.lines().next().unwrap().to_owned();
    for part in [
        "convert(amount: number, rate: number = 1.1) -> number",
        "idempotent, timeout 5s",
        "Converts a price",
    ] {
        assert!(line.contains(part), "{part:?} in {line}");
    }
    let listed = place.run(&["functions", "--json", "prices.py"]);
    let functions: Value = serde_json::from_str(&listed.stdout).unwrap();
    let names: Vec<_> =
        functions.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["convert", "count", "double", "echo", "fail", "leave", "say", "total", "wait"]);
    assert_eq!(functions[0]["input"]["properties"]["amount"]["type"], "number");
    assert_eq!(functions[1]["kind"], "stream");
}

fn interrupt(child: &Child) {
    let status =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
    assert!(status.success());
}

#[track_caller]
fn until(condition: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < limit, "it never became so");
        std::thread::sleep(Duration::from_millis(2));
    }
}
