//! The three clocks of a call.

use std::time::Duration;

use ganger_scheduler::{CallSpec, Config, Exit};

use super::{
    all_answered, answers, call, config, crashes, end, end_at, idempotent, ms, stalls, warm, worker,
};
use crate::simulator::{Conduct, Simulator, Start};

fn some(count: u64) -> Option<Duration> {
    Some(ms(count))
}

#[test]
fn timeout_counts_from_the_assignment_not_from_the_submission() {
    let mut simulator = warm(config());
    let long = simulator.submit_to(call(), answers(300));
    let short = simulator.submit_to(CallSpec { timeout: some(100), ..call() }, answers(50));
    simulator.run_out();
    assert!(all_answered(&simulator, &[long, short]), "it waited 300 ms and ran for 50 of its 100");
}

#[test]
fn timeout_settles_at_the_clock_itself() {
    let mut simulator = warm(config());
    let slow = simulator.submit_to(CallSpec { timeout: some(30), ..call() }, stalls());
    let at = simulator.now().elapsed().as_millis();
    simulator.run_out();
    assert_eq!(end(&simulator, slow), "timeout after 30ms, started maybe, attempts 1");
    assert_eq!(end_at(&simulator, slow), at + 30);
}

#[test]
fn queue_timeout_counts_from_the_submission_and_ends_with_the_assignment() {
    let mut simulator = warm(config());
    simulator.submit_to(call(), answers(100));
    let impatient = simulator.submit_to(CallSpec { queue_timeout: some(40), ..call() }, answers(500));
    let patient = simulator.submit_to(CallSpec { queue_timeout: some(120), ..call() }, answers(500));
    let at = simulator.now().elapsed().as_millis();
    simulator.run_out();
    assert_eq!(end(&simulator, impatient), "queue timeout after 40ms, started no, attempts 0");
    assert_eq!(end_at(&simulator, impatient), at + 40);
    assert!(all_answered(&simulator, &[patient]), "it began at 100 ms and ran on");
}

#[test]
fn queue_timeout_covers_the_start_of_a_cold_pool() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::ReadyAfter(ms(500))]);
    let call = simulator.submit(CallSpec { queue_timeout: some(100), ..call() });
    simulator.run_out();
    assert_eq!(end(&simulator, call), "queue timeout after 100ms, started no, attempts 0");
}

#[test]
fn queue_timeout_holds_again_for_a_call_that_was_never_written() {
    let mut simulator = warm(config());
    simulator.script_starts([Start::Hangs]);
    let lost = [Conduct::Unwritten(ms(10), Exit::Code(1)).into()];
    let call = simulator.submit_to(CallSpec { queue_timeout: some(100), ..call() }, lost);
    simulator.run_out();
    assert_eq!(end(&simulator, call), "queue timeout after 100ms, started no, attempts 0");
}

#[test]
fn deadline_covers_waiting_and_every_attempt() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let spec = CallSpec { deadline: some(250), timeout: some(200), retries: 9, ..idempotent() };
    let call = simulator.submit_to(spec, crashes(60));
    let at = simulator.now().elapsed().as_millis();
    simulator.run_out();
    assert!(end(&simulator, call).starts_with("deadline after 250ms"), "{}", end(&simulator, call));
    assert_eq!(end_at(&simulator, call), at + 250);
    let left: Vec<_> =
        simulator.history().words().into_iter().filter(|words| words.contains(" left")).collect();
    assert!(left.len() > 1, "{left:?}");
    assert!(
        left[0].ends_with("200ms left") && left[1].ends_with("190ms left"),
        "the shorter of both: {left:?}"
    );
}

#[test]
fn timeout_counts_each_attempt_anew() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let runs = [crashes(80)[0], answers(80)[0]];
    let call = simulator.submit_to(CallSpec { timeout: some(100), ..idempotent() }, runs);
    simulator.run_out();
    assert_eq!(end(&simulator, call), "answered, attempts 2");
    let stuck =
        simulator.submit_to(CallSpec { timeout: some(100), ..idempotent() }, [crashes(80)[0], stalls()[0]]);
    simulator.run_out();
    assert_eq!(end(&simulator, stuck), "timeout after 100ms, started maybe, attempts 2");
}

#[test]
fn the_first_outcome_wins_and_a_late_answer_is_dropped() {
    let mut simulator = warm(config());
    let late = simulator.submit_to(CallSpec { timeout: some(30), ..call() }, answers(40));
    let next = simulator.submit(call());
    simulator.run_out();
    assert_eq!(end(&simulator, late), "timeout after 30ms, started maybe, attempts 1");
    assert!(all_answered(&simulator, &[next]), "the answer gave the slot back");
    assert_eq!(simulator.workers(), [worker(0, 0)], "nobody was killed");
}
