//! Workers that nobody needs, and workers wanted ahead of need.

use ganger_scheduler::{Config, Exit};

use super::{all_answered, answers, call, config, end, ms, stalls, warm, worker};
use crate::simulator::{Simulator, Start};

fn idling() -> Config {
    Config { workers: 4, idle_timeout: Some(ms(1_000)), ..config() }
}

#[test]
fn a_pool_shrinks_to_its_least_size_and_grows_again() {
    for min_workers in [0, 1, 4] {
        let mut simulator = warm(Config { min_workers, ..idling() });
        simulator.run_for(ms(900));
        assert_eq!(simulator.workers().len(), 4, "not before its time");
        simulator.run_for(ms(5_000));
        assert_eq!(simulator.workers().len(), min_workers as usize);
        let calls: Vec<_> = (0..8).map(|_| simulator.submit(call())).collect();
        assert_eq!(simulator.workers().len(), 4);
        simulator.run_for(ms(100));
        assert!(all_answered(&simulator, &calls));
        let counters = simulator.scheduler().stats(simulator.now()).counters;
        assert_eq!(counters.crashed, 0, "an end that was asked for is no crash");
    }
}

#[test]
fn an_idle_worker_leaves_with_the_reason_shutdown_and_the_cause_idle() {
    let mut simulator = warm(Config { workers: 1, ..idling() });
    simulator.run_for(ms(5_000));
    let told = "[exit 0.0: code 0, shutdown, idle, running 0, answered 1]";
    assert_eq!(simulator.history().moments_of(told).len(), 1, "{}", simulator.history());
    assert_eq!(simulator.history().moments_of("spawn"), [0], "nobody takes its place");
}

#[test]
fn a_call_that_outlasts_the_idle_timeout_keeps_its_worker() {
    let mut simulator = warm(Config { workers: 1, ..idling() });
    let long = simulator.submit_to(call(), answers(10_000));
    simulator.run_for(ms(9_999));
    assert!(simulator.history().moments_of("stop").is_empty());
    simulator.run_for(ms(900));
    assert!(all_answered(&simulator, &[long]));
    assert_eq!(simulator.workers(), [worker(0, 0)], "idle counts from its last call");
    simulator.run_for(ms(2_000));
    assert!(simulator.workers().is_empty());
}

#[test]
fn a_call_in_grace_is_no_idleness() {
    let mut simulator = warm(Config { workers: 1, ..idling() });
    let stuck =
        simulator.submit_to(ganger_scheduler::CallSpec { cancel_grace: ms(8_000), ..call() }, stalls());
    simulator.cancel(stuck);
    simulator.run_for(ms(7_900));
    assert!(simulator.history().moments_of("stop").is_empty());
}

#[test]
fn an_idle_timeout_of_nothing_stops_workers_at_once_and_spins_nowhere() {
    let mut simulator = Simulator::new(Config { idle_timeout: Some(ms(0)), ..config() });
    let calls: Vec<_> = (0..3).map(|_| simulator.submit_to(call(), answers(500))).collect();
    simulator.run_out();
    assert!(all_answered(&simulator, &calls));
    assert!(simulator.workers().is_empty());
    assert!(simulator.history().len() < 1_000);
}

#[test]
fn a_worker_about_to_be_replaced_is_not_idle_retired() {
    let mut simulator = warm(Config { workers: 1, max_age: Some(ms(500)), ..idling() });
    simulator.script_starts([Start::Hangs]);
    simulator.run_for(ms(30_000));
    assert_eq!(simulator.workers().len(), 2, "it waits for its replacement");
    assert!(simulator.history().moments_of("stop").is_empty());
}

#[test]
fn a_pool_that_recycles_and_idles_comes_to_rest() {
    let mut simulator = Simulator::new(Config { max_calls: Some(3), min_workers: 1, ..idling() });
    for _ in 0..30 {
        for _ in 0..4 {
            simulator.submit_to(call(), answers(5));
        }
        simulator.run_for(ms(20));
    }
    simulator.run_for(ms(20_000));
    assert_eq!(simulator.workers().len(), 1);
    let before = simulator.history().moments_of("spawn").len();
    simulator.run_for(ms(60_000));
    assert_eq!(simulator.history().moments_of("spawn").len(), before);
}

#[test]
fn warm_starts_workers_ahead_of_calls_and_no_more_than_the_pool_has() {
    for (wanted, started) in [(0, 0), (2, 2), (9, 4)] {
        let mut simulator = Simulator::new(Config { workers: 4, ..config() });
        simulator.warm(wanted);
        simulator.run_for(ms(10));
        assert_eq!(simulator.scheduler().ready_workers().len(), started);
        simulator.warm(1);
        assert_eq!(simulator.workers().len(), started.max(1), "warming never shrinks");
    }
}

#[test]
fn a_worker_that_was_asked_for_waits_for_the_others_however_long_they_load() {
    let mut simulator = Simulator::new(Config { workers: 2, min_workers: 1, ..idling() });
    simulator.script_starts([Start::ReadyAfter(ms(10)), Start::ReadyAfter(ms(5_000))]);
    simulator.warm(2);
    simulator.run_for(ms(5_999));
    assert!(simulator.scheduler().is_warm(2), "{}", simulator.history());
    simulator.run_for(ms(10));
    assert_eq!(simulator.history().moments_of("stop"), [6_000], "an idle timeout after all were there");
    simulator.run_for(ms(60_000));
    assert_eq!(simulator.workers().len(), 1, "down to the least size");
}

#[test]
fn workers_that_never_come_keep_nobody_from_leaving() {
    let mut simulator = Simulator::new(Config { workers: 2, ..idling() });
    simulator.script_starts([Start::NotStarted; 3]);
    simulator.warm(2);
    simulator.run_for(ms(20_000));
    assert!(simulator.scheduler().is_hopeless());
    let call = simulator.submit(call());
    simulator.run_for(ms(30_000));
    assert!(all_answered(&simulator, &[call]));
    assert!(simulator.workers().is_empty());
}

#[test]
fn a_warmed_worker_that_dies_comes_back() {
    let mut simulator = Simulator::new(Config { workers: 4, ..config() });
    simulator.warm(2);
    simulator.run_for(ms(10));
    simulator.slay(worker(0, 0), Exit::Signal(9));
    assert_eq!(simulator.workers().len(), 2);
}

#[test]
fn warming_a_pool_that_cannot_start_tries_once_a_time() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::NotStarted; 5]);
    simulator.warm(1);
    simulator.run_for(ms(60_000));
    assert_eq!(simulator.history().moments_of("spawn").len(), 3, "then nobody tries in the background");
    simulator.warm(1);
    simulator.run_for(ms(1));
    assert_eq!(simulator.history().moments_of("spawn").len(), 4, "one more is a new try");
    simulator.warm(1);
    assert_eq!(simulator.history().moments_of("spawn").len(), 4, "not within the backoff");
    simulator.run_for(ms(60_000));
    simulator.warm(1);
    simulator.run_for(ms(60_000));
    simulator.warm(1);
    simulator.run_for(ms(100));
    let healed = simulator.submit(call());
    simulator.run_for(ms(100));
    assert_eq!(end(&simulator, healed), "answered, attempts 1");
}
