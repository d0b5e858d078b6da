//! What every input does in every state, written to `transitions.md`: a difference there is a change of behaviour that a
//! reviewer sees. `UPDATE=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use ganger_scheduler::{
    Action, Batch, CallId, CallSpec, Config, Exit, Input, Scheduler, Timestamp, WorkerId,
};

use crate::simulator::{describe, describe_input};

const WORKER: WorkerId = WorkerId { index: 0, generation: 0 };
const CALL: CallId = CallId(1);
const NEXT: CallId = CallId(2);

/// A pool in a state, and the moment it is in it.
struct Scene {
    scheduler: Scheduler,
    now: Timestamp,
}

/// What leads to a state: inputs, each a millisecond after the one before, or the next clock.
type Way = &'static [fn() -> Move];

enum Move {
    Input(Input),
    Clock,
}

/// A name and the way there. One worker of one slot; call 1 may be repeated once.
const STATES: &[(&str, Way)] = &[
    ("nothing yet", &[]),
    ("call 1 waits for worker 0.0, which starts", &[submit]),
    ("worker 0.0 is idle", &[submit, ready, answered]),
    ("worker 0.0 runs call 1", &[submit, ready]),
    ("worker 0.0 runs call 1 and has spoken of it", &[submit, ready, heard]),
    ("worker 0.0 runs call 1, call 2 waits", &[submit, ready, submit_next]),
    ("worker 0.0 is in grace for call 1", &[submit, ready, cancel]),
    ("worker 0.0 is killed for call 1, worker 1.0 starts", &[submit, ready, cancel, clock]),
    ("worker 0.0 died with call 1, which waits for the next start", &[submit, ready, crashed]),
    ("call 1 runs again, on worker 0.1", &[submit, ready, crashed, clock, ready_again]),
    ("three starts failed", &[submit, failed, clock, failed_again, clock, failed_at_last]),
    ("worker 0.0 is idle and was pinged", &[submit, ready, answered, clock, clock]),
    ("worker 0.0 serves, its replacement 1.0 starts", &[submit, ready, answered, reload]),
    ("worker 0.0 runs call 1, its replacement 1.0 starts", &[submit, ready, reload]),
    ("worker 0.0 runs call 1 and retires, 1.0 is ready", &[submit, ready, reload, replacement_ready]),
    (
        "worker 0.0 serves, its replacement could not start",
        &[submit, ready, answered, reload, replacement_failed],
    ),
    ("worker 0.0 runs call 1 and retires cold", &[submit, no_headroom, ready, sampled, reload]),
    ("worker 0.0 is asked to stop as it was replaced", &[submit, ready, answered, reload, replacement_ready]),
    ("draining, worker 0.0 runs call 1", &[submit, ready, close]),
    ("draining, worker 0.0 runs call 1, its replacement 1.0 starts", &[submit, ready, reload, close]),
    ("draining, call 1 waits for worker 0.0", &[submit, close]),
    ("ending, worker 0.0 is asked to stop", &[submit, ready, answered, close]),
    ("ending, worker 0.0 is killed", &[submit, ready, terminate]),
    ("worker 0.0 is idle, call 1 waits for others of its batch", &[warm, ready, submit_batched]),
    ("worker 0.0 runs calls 1 and 2 together", &[warm, ready, submit_batched, submit_next_batched]),
    (
        "worker 0.0 is in grace for call 1, whose batch goes on with call 2",
        &[warm, ready, submit_batched, submit_next_batched, cancel],
    ),
    ("worker 0.0 died with calls 1 and 2", &[warm, ready, submit_batched, submit_next_batched, crashed]),
    ("closed", &[close]),
];

const INPUTS: &[fn() -> Move] = &[
    submit_next,
    cancel,
    close,
    terminate,
    attach,
    ready,
    heard,
    answered,
    violated,
    crashed,
    unwritten,
    ended,
    warm,
    reload,
    sampled,
    pong,
    replacement_ready,
    replacement_failed,
    clock,
];

#[test]
fn the_transition_table_is_as_written() {
    let table = table();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transitions.md");
    if update_is_asked_for() {
        std::fs::write(&file, &table).expect("the table can be written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let difference = table.lines().zip(written.lines()).find(|(now, before)| now != before);
    assert!(
        table == written,
        "the table changed; look at it and run `UPDATE=1 cargo test -p ganger-scheduler transitions`.\n\
         First difference (now, written): {difference:#?}"
    );
}

fn table() -> String {
    let mut table = String::from(
        "# What every input does in every state\n\n\
         Written by `tests/transitions.rs`; do not edit. One worker of one slot, a queue of one. Call 1 may be repeated once, \
         call 2 not; a worker without calls is pinged after 10 s. Inputs come in the order of their times; \"the next clock\" is the earliest that is set.\n",
    );
    for (name, path) in STATES {
        writeln!(
            table,
            "\n## {}{}\n\n| input | what follows |\n|---|---|",
            name[..1].to_uppercase(),
            &name[1..]
        )
        .expect("a string takes all");
        for input in INPUTS {
            let (words, actions) = Scene::at(path).after(input());
            let actions = if actions.is_empty() { "—".into() } else { actions.join("; ") };
            writeln!(table, "| {words} | {actions} |").expect("a string takes all");
        }
    }
    table
}

impl Scene {
    fn at(path: Way) -> Self {
        let mut scene = Self { scheduler: Scheduler::new(config()), now: Timestamp::ZERO };
        for step in path {
            scene.take(step());
        }
        scene
    }

    fn after(mut self, step: Move) -> (String, Vec<String>) {
        let words = match &step {
            Move::Input(input) => describe_input(input),
            Move::Clock => self.scheduler.poll_timeout().map_or_else(
                || "the next clock: none is set".into(),
                |at| format!("the next clock, {:?} later", at.since(self.now)),
            ),
        };
        let actions = self.take(step).iter().map(describe).collect();
        (words, actions)
    }

    fn take(&mut self, step: Move) -> Vec<Action> {
        match step {
            Move::Input(input) => {
                self.now = self.now.after(Duration::from_millis(1));
                self.scheduler.handle(self.now, input);
            }
            Move::Clock => {
                if let Some(at) = self.scheduler.poll_timeout() {
                    self.now = at;
                    self.scheduler.handle_timeout(at);
                }
            }
        }
        std::iter::from_fn(|| self.scheduler.poll_action()).collect()
    }
}

fn config() -> Config {
    Config {
        workers: 1,
        concurrency: 1,
        max_queue: 1,
        max_queue_bytes: 1_000,
        health_interval: Some(Duration::from_secs(10)),
        ..Config::default()
    }
}

fn spec(idempotent: bool) -> CallSpec {
    CallSpec {
        bytes: 10,
        priority: 0,
        slots: 1,
        weight: 1,
        idempotent,
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
    }
}

fn submit() -> Move {
    Move::Input(Input::Submit { call: CALL, spec: spec(true) })
}

fn submit_next() -> Move {
    Move::Input(Input::Submit { call: NEXT, spec: spec(false) })
}

fn submit_batched() -> Move {
    Move::Input(Input::Submit { call: CALL, spec: batched(true) })
}

fn submit_next_batched() -> Move {
    Move::Input(Input::Submit { call: NEXT, spec: batched(false) })
}

/// Two of these go together.
fn batched(idempotent: bool) -> CallSpec {
    let batch = Batch { key: 1, max: 2, wait: Duration::from_millis(20) };
    CallSpec { batch: Some(Box::new(batch)), ..spec(idempotent) }
}

fn cancel() -> Move {
    Move::Input(Input::Cancel { call: CALL })
}

fn close() -> Move {
    Move::Input(Input::Close { timeout: Some(Duration::from_secs(10)) })
}

fn terminate() -> Move {
    Move::Input(Input::Terminate)
}

fn attach() -> Move {
    Move::Input(Input::Attach { attachment: 7 })
}

fn ready() -> Move {
    Move::Input(Input::Ready { worker: WORKER })
}

fn ready_again() -> Move {
    Move::Input(Input::Ready { worker: WorkerId { generation: 1, ..WORKER } })
}

fn heard() -> Move {
    Move::Input(Input::Heard { worker: WORKER, call: CALL })
}

fn answered() -> Move {
    Move::Input(Input::Answered { worker: WORKER, call: CALL })
}

fn violated() -> Move {
    Move::Input(Input::Violated { worker: WORKER })
}

fn crashed() -> Move {
    exited(0, Exit::Signal(11), false)
}

fn unwritten() -> Move {
    exited(0, Exit::Signal(11), true)
}

fn ended() -> Move {
    exited(0, Exit::Code(0), false)
}

fn failed() -> Move {
    exited(0, Exit::Code(1), false)
}

fn failed_again() -> Move {
    exited(1, Exit::Code(1), false)
}

fn failed_at_last() -> Move {
    exited(2, Exit::Code(1), false)
}

fn exited(generation: u32, exit: Exit, unwritten: bool) -> Move {
    let unwritten = if unwritten { vec![CALL] } else { Vec::new() };
    Move::Input(Input::Exited { worker: WorkerId { generation, ..WORKER }, exit, unwritten })
}

fn warm() -> Move {
    Move::Input(Input::Warm { workers: 1 })
}

fn reload() -> Move {
    Move::Input(Input::Reload)
}

fn sampled() -> Move {
    Move::Input(Input::Sample { worker: WORKER, memory: 100 })
}

fn no_headroom() -> Move {
    Move::Input(Input::Headroom { memory: Some(0) })
}

fn pong() -> Move {
    Move::Input(Input::Pong { worker: WORKER })
}

fn replacement_ready() -> Move {
    Move::Input(Input::Ready { worker: WorkerId { index: 1, ..WORKER } })
}

fn replacement_failed() -> Move {
    let worker = WorkerId { index: 1, ..WORKER };
    Move::Input(Input::Exited { worker, exit: Exit::Code(1), unwritten: Vec::new() })
}

fn clock() -> Move {
    Move::Clock
}

#[expect(
    clippy::disallowed_methods,
    reason = "whether to write the table anew is the runner's choice, not the scheduler's"
)]
fn update_is_asked_for() -> bool {
    std::env::var("UPDATE").is_ok_and(|value| value == "1")
}
