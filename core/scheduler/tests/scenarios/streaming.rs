//! Calls that yield many items: of these only that something was heard is known here.

use ganger_scheduler::{CallSpec, Config, Exit};

use super::{all_answered, answers, call, config, end, ms, warm, worker};
use crate::simulator::{Conduct, Run, Simulator};

/// An item every ten milliseconds.
fn streams(items: u32) -> [Run; 1] {
    [Conduct::Streams { every: ms(10), items }.into()]
}

/// As the shell asks for a stream: once it is written it is never tried again.
fn stream() -> CallSpec {
    CallSpec { idempotent: true, retries: 0, ..call() }
}

#[test]
fn a_stream_holds_its_slots_until_its_end() {
    let mut simulator = warm(Config { concurrency: 2, ..config() });
    let wide = simulator.submit_to(CallSpec { slots: 2, ..stream() }, streams(50));
    let next = simulator.submit_to(call(), answers(10));
    simulator.run_for(ms(499));
    assert_eq!((end(&simulator, wide), end(&simulator, next)), ("open".into(), "open".into()));
    simulator.run_out();
    assert!(all_answered(&simulator, &[wide, next]));
    assert_eq!(simulator.assigned().last(), Some(&(next, worker(0, 0))));
}

#[test]
fn who_leaves_a_stream_waits_no_longer_and_its_slots_come_back_with_the_answer() {
    let mut simulator = warm(config());
    let left = simulator.submit_to(stream(), streams(1_000));
    let next = simulator.submit_to(call(), answers(10));
    simulator.run_for(ms(100));
    simulator.cancel(left);
    assert_eq!(end(&simulator, left), "cancelled, started yes, attempts 1");
    simulator.run_for(ms(4));
    assert_eq!(end(&simulator, next), "open", "an item was on its way, and is no answer");
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &[next]));
    assert!(simulator.history().moments_of("kill").is_empty());
}

#[test]
fn a_stream_whose_worker_dies_is_lost_even_if_its_function_could_run_again() {
    let mut simulator = Simulator::new(Config { workers: 2, ..config() });
    let lost = simulator.submit_to(stream(), streams(1_000));
    simulator.run_for(ms(100));
    let (_, at) = simulator.assigned()[0];
    simulator.slay(at, Exit::Signal(9));
    assert!(end(&simulator, lost).contains("died"), "{}", end(&simulator, lost));
    assert!(end(&simulator, lost).ends_with("started yes, attempts 1"), "{}", end(&simulator, lost));
}

#[test]
fn a_stream_of_which_no_byte_was_written_was_never_begun() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let unwritten: Run = Conduct::Unwritten(ms(5), Exit::Signal(9)).into();
    let call = simulator.submit_to(stream(), [unwritten]);
    simulator.run_for(ms(6));
    let assigned = simulator.assigned();
    assert_eq!(assigned[assigned.len() - 2..], [(call, worker(0, 0)), (call, worker(1, 0))]);
    assert_eq!(end(&simulator, call), "open");
}
