//! Starts that fail, hang or come to nothing, and the way back.

use ganger_scheduler::{CallSpec, Config, Exit};

use super::{
    all_answered, answers, call, config, crashes, end, end_at, idempotent, ms, stalls, warm, worker,
};
use crate::simulator::{Conduct, Simulator, Start};

fn fails() -> Start {
    Start::DiesAfter(ms(1), Exit::Code(1))
}

#[test]
fn a_worker_that_is_not_ready_in_time_is_killed_and_counts_as_failed() {
    let mut simulator = Simulator::new(Config { start_timeout: ms(500), ..config() });
    simulator.script_starts([Start::Hangs]);
    let call = simulator.submit(call());
    simulator.run_out();
    assert_eq!(simulator.history().moments_of("kill 0.0 (start timeout)"), [500]);
    assert_eq!(simulator.history().moments_of("[exit 0.0: signal 9, start-failed, start timeout").len(), 1);
    assert!(all_answered(&simulator, &[call]), "the next worker serves it");
}

#[test]
fn starts_that_fail_back_off_twice_as_long_each_time() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([fails(); 2]);
    let call = simulator.submit(call());
    simulator.run_out();
    assert_eq!(simulator.history().moments_of("spawn"), [0, 201, 602]);
    assert!(all_answered(&simulator, &[call]));
}

#[test]
fn after_three_failed_starts_calls_fail_at_once_and_the_pool_heals() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([fails(); 4]);
    let waiting = simulator.submit(call());
    simulator.run_for(ms(700));
    assert_eq!(end(&simulator, waiting), "start failed, started no, attempts 0");
    assert_eq!(end_at(&simulator, waiting), 603);

    let soon = simulator.submit(call());
    assert_eq!(end(&simulator, soon), "start failed, started no, attempts 0", "at once, within the backoff");
    simulator.run_for(ms(5_000));
    assert_eq!(simulator.history().moments_of("spawn").len(), 3, "nobody tries in the background");

    let first = simulator.submit(call());
    assert_eq!(simulator.history().moments_of("spawn").len(), 4, "the first call after the backoff tries");
    let beside = simulator.submit(call());
    simulator.run_for(ms(10));
    assert_eq!(end(&simulator, first), "start failed, started no, attempts 0");
    assert_eq!(end(&simulator, beside), "start failed, started no, attempts 0");

    simulator.run_for(ms(10_000));
    let healed = [simulator.submit(call()), simulator.submit(call())];
    simulator.run_out();
    assert!(all_answered(&simulator, &healed));
}

#[test]
fn a_finished_call_resets_the_backoff() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([fails(), fails(), Start::ReadyAfter(ms(5)), fails()]);
    simulator.submit(call());
    simulator.run_for(ms(1_000));
    let died_at = simulator.now().elapsed().as_millis();
    simulator.slay(worker(0, 2), Exit::Signal(11));
    simulator.run_out();
    let spawns = simulator.history().moments_of("spawn");
    assert_eq!(spawns[3..], [died_at, died_at + 201], "at once, then 200 ms again");
}

#[test]
fn four_workers_that_cannot_start_try_no_more_than_a_handful_in_5_seconds() {
    let killed = Start::DiesAfter(ms(1), Exit::Signal(9));
    for start in [fails(), killed, Start::NotStarted, Start::ReadyThenDies(ms(1), ms(1), Exit::Code(1))] {
        let mut simulator = Simulator::new(Config { workers: 4, ..config() });
        simulator.script_starts([start; 100]);
        for _ in 0..100 {
            simulator.submit_to(call(), stalls());
            simulator.run_for(ms(50));
        }
        let spawns = simulator.history().moments_of("spawn");
        assert!((4..=8).contains(&spawns.len()), "{start:?}: {spawns:?}");
        let told = simulator.history().moments_of("[start");
        assert_eq!(told, spawns, "one event an attempt");
    }
}

#[test]
fn a_worker_that_breaks_the_protocol_as_soon_as_it_is_ready_is_not_started_in_a_loop() {
    let mut simulator = Simulator::new(config());
    let mut spawns = 0;
    for _ in 0..500 {
        simulator.submit_to(call(), [Conduct::Violates(ms(1)).into()]);
        simulator.run_for(ms(10));
        spawns = simulator.history().moments_of("spawn").len();
    }
    assert!(spawns <= 6, "{spawns} starts in 5 s");
}

#[test]
fn a_worker_that_dies_as_soon_as_it_is_ready_and_never_reads_a_call_breaks_the_start() {
    let mut simulator = Simulator::new(config());
    let call = simulator.submit_to(call(), [Conduct::Unwritten(ms(1), Exit::Code(1)).into()]);
    simulator.run_out();
    assert_eq!(end(&simulator, call), "start failed, started no, attempts 0");
    assert_eq!(simulator.history().moments_of("spawn").len(), 3);
}

#[test]
fn a_call_that_kills_fresh_workers_fails_alone() {
    let mut simulator = Simulator::new(config());
    let killers: Vec<_> = (0..5).map(|_| simulator.submit_to(call(), crashes(1))).collect();
    let good = simulator.submit(call());
    simulator.run_out();
    for killer in killers {
        assert!(end(&simulator, killer).contains("died (signal)"));
    }
    assert!(all_answered(&simulator, &[good]), "deaths at work put the start off and fail no other call");
}

#[test]
fn kills_from_outside_are_forgiven_and_the_pool_fills_up_at_once() {
    let mut simulator = warm(Config { workers: 4, ..config() });
    let calls: Vec<_> =
        (0..4).map(|_| simulator.submit_to(idempotent(), [stalls()[0], answers(5)[0]])).collect();
    let now = simulator.now().elapsed().as_millis();
    for index in 0..4 {
        simulator.slay(worker(index, 0), Exit::Signal(9));
    }
    assert_eq!(simulator.history().moments_of("spawn")[4..], [now; 4]);
    simulator.run_for(ms(100));
    assert!(all_answered(&simulator, &calls));
}

#[test]
fn a_pool_under_fire_goes_on_starting_workers_until_one_is_ready() {
    let mut simulator = warm(Config { workers: 4, ..config() });
    simulator.script_starts([Start::DiesAfter(ms(30), Exit::Signal(9)); 250]);
    for index in 0..4 {
        simulator.slay(worker(index, 0), Exit::Signal(9));
    }
    let call = simulator.submit(call());
    simulator.run_for(ms(2_500));
    assert!(all_answered(&simulator, &[call]), "none of 250 kills put a start off");
}

#[test]
fn a_machine_that_kills_every_start_is_not_hammered_for_ever() {
    for (start, limit) in [(1, 320), (3_000, 30)] {
        let mut simulator = warm(Config { workers: 4, ..config() });
        let before = simulator.history().moments_of("spawn").len();
        simulator.script_starts([Start::DiesAfter(ms(start), Exit::Signal(9)); 2_000]);
        for index in 0..4 {
            simulator.slay(worker(index, 0), Exit::Signal(9));
        }
        for _ in 0..6_000 {
            simulator.submit(call());
            simulator.run_for(ms(10));
        }
        let spawns = simulator.history().moments_of("spawn").len() - before;
        assert!(spawns <= limit, "{spawns} starts of {start} ms in a minute");
    }
}

#[test]
fn first_starts_that_are_killed_fail_calls_as_soon_as_others_that_fail() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::DiesAfter(ms(1), Exit::Signal(9)); 5]);
    let call = simulator.submit(call());
    simulator.run_out();
    assert_eq!(end(&simulator, call), "start failed, started no, attempts 0");
    assert_eq!(end_at(&simulator, call), 605, "two are forgiven");
}

#[test]
fn a_forgiven_kill_does_not_make_the_pool_forget_the_next_try() {
    let mut simulator = warm(Config { workers: 3, ..config() });
    let killed = Start::DiesAfter(ms(2), Exit::Signal(9));
    simulator.script_starts([fails(), fails(), killed]);
    for index in 0..3 {
        simulator.slay(worker(index, 0), Exit::Signal(9));
    }
    let calls: Vec<_> = (0..3).map(|_| simulator.submit(call())).collect();
    simulator.run_out();
    assert!(all_answered(&simulator, &calls), "{}", simulator.history());
}

#[test]
fn calls_live_on_when_only_some_workers_cannot_start() {
    let mut simulator = Simulator::new(Config { workers: 2, ..config() });
    simulator.script_starts([Start::ReadyAfter(ms(1)), fails(), fails(), fails(), fails()]);
    let calls: Vec<_> = (0..10).map(|_| simulator.submit_to(call(), answers(100))).collect();
    simulator.run_out();
    assert!(all_answered(&simulator, &calls));
}

#[test]
fn a_slow_start_is_no_failure() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::ReadyAfter(ms(59_999))]);
    let call = simulator.submit(CallSpec { timeout: Some(ms(50)), ..call() });
    simulator.run_out();
    assert!(all_answered(&simulator, &[call]));
}
