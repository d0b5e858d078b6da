//! Stories, one for each rule of the pool's behaviour, named for what they show.

mod ahead;
mod attached;
mod batching;
mod cancelling;
mod clocks;
mod closing;
mod crashes;
mod health;
mod idling;
mod placing;
mod preferring;
mod queueing;
mod recycling;
mod reloading;
mod replacing;
mod starting;
mod streaming;
mod waiting_for_room;

use std::time::Duration;

use ganger_scheduler::{CallId, CallSpec, Config, Exit, WorkerId};

use crate::simulator::{Conduct, Run, Simulator};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The defaults of a pool, with one worker of one slot.
fn config() -> Config {
    Config::default()
}

/// The defaults of a call.
fn call() -> CallSpec {
    CallSpec {
        bytes: 100,
        priority: 0,
        slots: 1,
        weight: 1,
        idempotent: false,
        retries: 1,
        queue_timeout: None,
        timeout: None,
        deadline: None,
        cancel_grace: ms(2_000),
        affinity: None,
        exclusive: false,
        pinned: None,
        batch: None,
        ahead: false,
    }
}

fn idempotent() -> CallSpec {
    CallSpec { idempotent: true, ..call() }
}

fn worker(index: u32, generation: u32) -> WorkerId {
    WorkerId { index, generation }
}

fn answers(after: u64) -> [Run; 1] {
    [Conduct::Answers(ms(after)).into()]
}

fn stalls() -> [Run; 1] {
    [Conduct::Stalls.into()]
}

fn stops_after(after: u64) -> [Run; 1] {
    [Conduct::StopsAfter(ms(after)).into()]
}

fn crashes(after: u64) -> [Run; 1] {
    [Conduct::Crashes(ms(after), Exit::Signal(11)).into()]
}

/// How a call ended, in words; "open" if it did not yet.
fn end(simulator: &Simulator, call: CallId) -> String {
    simulator
        .history()
        .settlement(call)
        .map_or_else(|| "open".into(), |(_, settlement)| settlement.to_string())
}

/// When a call was settled, in milliseconds.
fn end_at(simulator: &Simulator, call: CallId) -> u128 {
    let (at, _) = simulator.history().settlement(call).expect("the call is settled");
    at.elapsed().as_millis()
}

fn all_answered(simulator: &Simulator, calls: &[CallId]) -> bool {
    calls.iter().all(|&call| end(simulator, call).starts_with("answered"))
}

/// A pool whose workers are all ready and idle.
fn warm(config: Config) -> Simulator {
    let (workers, concurrency) = (config.workers, config.concurrency);
    let mut simulator = Simulator::new(config);
    for _ in 0..workers * concurrency {
        simulator.submit(call());
    }
    simulator.run_for(ms(100));
    assert_eq!(simulator.workers().len(), workers as usize);
    simulator
}
