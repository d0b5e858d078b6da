//! Flight records: what is written is read back, and what was recorded of a pool happens again. `records/` holds records of real
//! runs, each with the actions that follow from it; `UPDATE=1` writes those anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ganger_scheduler::{
    Action, Batch, CallId, CallSpec, Config, Counters, Declaration, Entry, Exit, Heard, Input, Recording,
    Scheduler, Timestamp, WhenFull, WorkerId,
};

use crate::properties::history_of;
use crate::simulator::{Stimulus, describe};

const CALL: CallId = CallId(7);
const WORKER: WorkerId = WorkerId { index: 3, generation: 11 };
const HISTORIES: u64 = 200;

#[test]
fn every_input_is_read_as_it_was_written() {
    let entries: Vec<Entry> = every_input()
        .into_iter()
        .map(Heard::Input)
        .chain([Heard::Clock])
        .enumerate()
        .map(|(index, heard)| Entry {
            at: Timestamp::from_elapsed(Duration::from_nanos(index as u64)),
            heard,
        })
        .collect();
    for config in configs() {
        let counters = Counters { submitted: 3, recycled_age: 9, ..Counters::default() };
        let recording = Recording { config, lost: 2, entries: entries.clone(), counters };
        let text = recording.to_string();
        assert_eq!(text.lines().count(), entries.len() + 4, "one line each");
        let read: Recording = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(format!("{read:?}"), format!("{recording:?}"));
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn what_was_written_stays_readable() {
    let text = "ganger-flight-record 1\n\
        config workers=2 min_workers=0 concurrency=1 max_queue=10 max_queue_bytes=1000 wait_when_full full_timeout=1500ms \
        start_timeout=60s stop_timeout=5s health_timeout=10s memory_samples=2 jitter_percent=10 max_replacing=1 seed=5\n\
        lost 0\n\
        5 submit 1 bytes=10 slots=2 idempotent retries=1 timeout=7ns grace=2s pinned=0.1\n\
        6 exited 0.1 signal:9 unwritten=1,2\n\
        counted submitted=1\n";
    let recording: Recording = text.parse().unwrap();
    assert_eq!(recording.config.when_full, WhenFull::Wait { timeout: Some(Duration::from_millis(1_500)) });
    let Heard::Input(Input::Submit { call: CallId(1), spec }) = &recording.entries[0].heard else {
        panic!("{:?}", recording.entries[0])
    };
    assert_eq!((spec.slots, spec.timeout), (2, Some(Duration::from_nanos(7))));
    assert_eq!(recording.counters.submitted, 1);
}

#[test]
fn what_is_no_record_is_refused_with_its_line() {
    let good = Recording {
        config: Config::default(),
        lost: 0,
        entries: vec![Entry { at: Timestamp::ZERO, heard: Heard::Input(Input::Cancel { call: CALL }) }],
        counters: Counters::default(),
    }
    .to_string();
    let after_header = |from: &str, to: &str| good.replacen(from, to, 1);
    for (text, line, message) in [
        (String::new(), 1, "does not begin"),
        (after_header("record 1", "record 2"), 1, "does not begin"),
        (after_header(" seed=0", ""), 2, "seed is missing"),
        (after_header(" seed=0", " seed=0 mood=good"), 2, "mood=good"),
        (after_header("workers=1", "workers=-1"), 2, "workers=-1"),
        (after_header("lost 0", "lost"), 3, "ends early"),
        (after_header("cancel 7", "cancel"), 4, "ends early"),
        (after_header("cancel 7", "cancel x"), 4, "no number"),
        (after_header("cancel 7", "cancel 7 8"), 4, "\"8\" is not known"),
        (after_header("cancel 7", "forget 7"), 4, "\"forget\""),
        (after_header("cancel 7", "exited 1.0 code:x"), 4, "no way to end"),
        (after_header("cancel 7", "ready 1"), 4, "no worker"),
        (after_header("counted", "clock"), 5, "no number"),
        (good.lines().take(4).collect::<Vec<_>>().join("\n"), 5, "ends early"),
        (format!("{good}more\n"), 6, "nothing may follow"),
    ] {
        let error = text.parse::<Recording>().expect_err(&text);
        assert_eq!(error.line, line, "{error}: {text}");
        assert!(error.message.contains(message), "{error} does not say {message:?}");
    }
}

#[test]
fn random_histories_happen_again_from_their_records() {
    for seed in 0..HISTORIES {
        let (config, history) = history_of(seed);
        let entries = history.steps().iter().map(|step| Entry {
            at: step.at,
            heard: match &step.stimulus {
                Stimulus::Input(input) => Heard::Input(input.clone()),
                Stimulus::Clock => Heard::Clock,
            },
        });
        let recording =
            Recording { config, lost: 0, entries: entries.collect(), counters: Counters::default() };
        let read: Recording = recording.to_string().parse().unwrap();
        let mut told = Vec::new();
        Scheduler::replay(&read, |_, actions| told.push(actions)).unwrap();
        let acted: Vec<_> = history.steps().iter().map(|step| step.actions.clone()).collect();
        assert_eq!(told, acted, "seed {seed}");
    }
}

#[test]
fn a_record_without_its_beginning_is_not_played() {
    let recording =
        Recording { config: Config::default(), lost: 5, entries: Vec::new(), counters: Counters::default() };
    let error = Scheduler::replay(&recording, |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("first 5 entries"), "{error}");
}

#[test]
fn records_of_real_runs_happen_again() {
    let records = records();
    assert!(!records.is_empty());
    for path in records {
        let recording: Recording =
            fs::read_to_string(&path).unwrap().parse().unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let mut told = String::new();
        let scheduler =
            Scheduler::replay(&recording, |entry, actions| tell(&mut told, entry, &actions)).unwrap();
        let end = recording.entries.last().map_or(Timestamp::ZERO, |entry| entry.at);
        assert_eq!(scheduler.stats(end).counters, recording.counters, "{path:?}");
        compare(&path.with_extension("actions"), &told);
    }
}

/// An entry and below it what follows from it.
fn tell(told: &mut String, entry: &Entry, actions: &[Action]) {
    if !actions.is_empty() {
        let words: Vec<String> = actions.iter().map(describe).collect();
        writeln!(told, "{entry}\n    {}", words.join("\n    ")).expect("a text takes all");
    }
}

#[expect(clippy::disallowed_methods, reason = "whether to write is the runner's choice, not the scheduler's")]
fn compare(path: &Path, told: &str) {
    if std::env::var("UPDATE").is_ok_and(|value| value == "1") {
        fs::write(path, told).expect("it can be written");
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == told,
        "{} is not what follows from the record; if that is meant, run this with UPDATE=1. It follows:\n{told}",
        path.display()
    );
}

fn records() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    let files = fs::read_dir(folder).expect("there are records").flatten().map(|entry| entry.path());
    let mut records: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "txt")).collect();
    records.sort();
    records
}

/// One of each, with and without what may be left out.
fn every_input() -> Vec<Input> {
    let span = Some(Duration::from_millis(1_500));
    let plain = CallSpec {
        bytes: 0,
        priority: 0,
        slots: 1,
        weight: 1,
        idempotent: false,
        retries: 1,
        queue_timeout: None,
        timeout: None,
        deadline: None,
        cancel_grace: Duration::from_secs(2),
        affinity: None,
        exclusive: false,
        pinned: None,
        batch: None,
        ahead: false,
    };
    let full = CallSpec {
        bytes: u64::MAX,
        priority: i32::MIN,
        slots: 4,
        weight: 100,
        idempotent: true,
        retries: 0,
        queue_timeout: span,
        timeout: Some(Duration::ZERO),
        deadline: Some(Duration::MAX),
        cancel_grace: Duration::from_nanos(1),
        affinity: Some(u64::MAX),
        exclusive: true,
        pinned: Some(WORKER),
        batch: Some(Box::new(Batch { key: u64::MAX, max: 1, wait: Duration::ZERO })),
        ahead: true,
    };
    let batch = Some(Batch { key: 3, max: 32, wait: Duration::from_millis(10) });
    let declared = Declaration { idempotent: true, timeout: span, slots: Some(2), exclusive: true, batch };
    let undeclared =
        Declaration { idempotent: false, timeout: None, slots: None, exclusive: false, batch: None };
    let exits = [Exit::Code(-1), Exit::Signal(9), Exit::Unknown, Exit::NotStarted, Exit::Detached];
    let mut inputs = vec![
        Input::Submit { call: CALL, spec: plain },
        Input::Submit { call: CallId(u64::MAX), spec: full },
        Input::Declare { call: CALL, declaration: declared },
        Input::Declare { call: CALL, declaration: undeclared },
        Input::Cancel { call: CALL },
        Input::Close { timeout: None },
        Input::Close { timeout: span },
        Input::Terminate,
        Input::Warm { workers: 4 },
        Input::Reload,
        Input::Sample { worker: WORKER, memory: 5 },
        Input::Headroom { memory: None },
        Input::Headroom { memory: Some(6) },
        Input::Pong { worker: WORKER },
        Input::Attach { attachment: 1 },
        Input::Claims { worker: WORKER },
        Input::TakenBack { worker: WORKER, asked: 3, taken: 2 },
        Input::Ready { worker: WORKER },
        Input::Heard { worker: WORKER, call: CALL },
        Input::Answered { worker: WORKER, call: CALL },
        Input::Violated { worker: WORKER },
        Input::Exited { worker: WORKER, exit: Exit::Code(0), unwritten: vec![CALL, CallId(8)] },
    ];
    inputs.extend(exits.map(|exit| Input::Exited { worker: WORKER, exit, unwritten: Vec::new() }));
    for input in &inputs {
        assert_listed(input);
    }
    inputs
}

/// A new input has to be given a line above before this compiles.
fn assert_listed(input: &Input) {
    match input {
        Input::Submit { .. }
        | Input::Declare { .. }
        | Input::Cancel { .. }
        | Input::Close { .. }
        | Input::Terminate
        | Input::Warm { .. }
        | Input::Reload
        | Input::Sample { .. }
        | Input::Headroom { .. }
        | Input::Pong { .. }
        | Input::Attach { .. }
        | Input::Claims { .. }
        | Input::TakenBack { .. }
        | Input::Ready { .. }
        | Input::Heard { .. }
        | Input::Answered { .. }
        | Input::Violated { .. }
        | Input::Exited { .. } => {}
    }
}

fn configs() -> [Config; 3] {
    let span = Some(Duration::from_micros(3));
    let full = Config {
        min_workers: 1,
        idle_timeout: span,
        when_full: WhenFull::Wait { timeout: span },
        health_interval: span,
        max_calls: Some(1),
        max_age: span,
        max_memory: Some(2),
        jitter_percent: 10,
        seed: u64::MAX,
        ..Config::default()
    };
    [Config::default(), Config { when_full: WhenFull::Wait { timeout: None }, ..Config::default() }, full]
}
