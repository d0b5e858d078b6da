//! A full queue whose callers would rather wait.

use std::time::Duration;

use ganger_scheduler::{CallId, CallSpec, Config, WhenFull};

use super::{all_answered, answers, call, config, end, end_at, ms, stalls, warm};
use crate::simulator::{Simulator, Start};

/// One worker of one slot, a queue of one, and a lobby.
fn patient(timeout: Option<Duration>) -> Config {
    Config { max_queue: 1, when_full: WhenFull::Wait { timeout }, ..config() }
}

fn admitted(simulator: &Simulator) -> Vec<String> {
    simulator.history().words().into_iter().filter(|words| words.starts_with("admitted")).collect()
}

fn in_lobby(simulator: &Simulator) -> usize {
    simulator.scheduler().stats(simulator.now()).in_lobby
}

#[test]
fn calls_wait_for_room_in_the_order_of_their_submission_whatever_their_priority() {
    let mut simulator = warm(patient(None));
    let calls: Vec<_> = [0, 0, 0, 5, 9]
        .map(|priority| simulator.submit_to(CallSpec { priority, ..call() }, answers(20)))
        .to_vec();
    assert_eq!(in_lobby(&simulator), 3);
    assert!(simulator.scheduler().is_in_lobby(calls[2]) && !simulator.scheduler().has_room());
    simulator.run_for(ms(500));
    assert!(all_answered(&simulator, &calls));
    let expected: Vec<_> = calls[2..].iter().map(|call| format!("admitted {call}")).collect();
    assert_eq!(admitted(&simulator), expected, "and never for one that was taken at once");
    assert!(simulator.scheduler().has_room());
}

#[test]
fn nobody_overtakes_who_waits_outside() {
    let mut simulator = warm(Config { max_queue: 5, max_queue_bytes: 100, ..patient(None) });
    let sized = |bytes| CallSpec { bytes, ..call() };
    simulator.submit_to(sized(0), stalls());
    simulator.submit(sized(60));
    let large = simulator.submit(sized(60));
    let small = simulator.submit(sized(1));
    assert_eq!(in_lobby(&simulator), 2, "the small one would fit");
    simulator.cancel(large);
    assert_eq!(in_lobby(&simulator), 0, "nobody is before it any more");
    assert_eq!(end(&simulator, small), "open");
    assert_eq!(admitted(&simulator), [format!("admitted {small}")]);
}

#[test]
fn who_waits_outside_too_long_is_told_that_the_queue_is_full() {
    let mut simulator = warm(patient(Some(ms(50))));
    let running = simulator.submit_to(call(), answers(120));
    let queued = simulator.submit(call());
    let outside = simulator.submit(call());
    let at = simulator.now().elapsed().as_millis();
    simulator.run_for(ms(1_000));
    assert_eq!(end(&simulator, outside), "queue full (1 wait, 1 run), started no, attempts 0");
    assert_eq!(end_at(&simulator, outside), at + 50);
    assert!(all_answered(&simulator, &[running, queued]), "the clock is about the lobby only");
}

#[test]
fn once_inside_the_clock_of_the_lobby_is_over() {
    let mut simulator = warm(patient(Some(ms(50))));
    simulator.submit_to(call(), answers(30));
    let queued = simulator.submit_to(call(), answers(500));
    let patient = simulator.submit(call());
    simulator.run_for(ms(1_000));
    assert!(all_answered(&simulator, &[queued, patient]));
}

#[test]
fn queue_timeout_and_deadline_count_in_the_lobby_too() {
    let mut simulator = warm(patient(None));
    simulator.submit_to(call(), stalls());
    simulator.submit(call());
    let queue_timeout = simulator.submit(CallSpec { queue_timeout: Some(ms(40)), ..call() });
    let deadline = simulator.submit(CallSpec { deadline: Some(ms(60)), ..call() });
    simulator.run_for(ms(100));
    assert_eq!(end(&simulator, queue_timeout), "queue timeout after 40ms, started no, attempts 0");
    assert_eq!(end(&simulator, deadline), "deadline after 60ms, started no, attempts 0");
    assert_eq!(in_lobby(&simulator), 0);
}

#[test]
fn a_call_cancelled_outside_is_gone_at_once() {
    let mut simulator = warm(patient(None));
    simulator.submit_to(call(), answers(50));
    simulator.submit(call());
    let outside = [simulator.submit(call()), simulator.submit(call())];
    simulator.cancel(outside[0]);
    assert_eq!(end(&simulator, outside[0]), "cancelled, started no, attempts 0");
    simulator.run_for(ms(500));
    assert_eq!(admitted(&simulator), [format!("admitted {}", outside[1])]);
}

#[test]
fn full_is_told_once_and_drained_when_nobody_waits_outside_either() {
    let mut simulator = warm(patient(None));
    for _ in 0..6 {
        simulator.submit_to(call(), answers(10));
    }
    simulator.run_for(ms(500));
    let words = simulator.history().words();
    let told: Vec<_> = words.iter().filter(|words| words.starts_with("[queue")).collect();
    assert_eq!(told, ["[queue full: 1 calls, 100 bytes]", "[queue drain]"]);
    let last = words.iter().rposition(|words| words.starts_with("admitted")).expect("some waited");
    let drained = words.iter().position(|words| words == "[queue drain]").expect("it was told");
    assert!(last < drained);
}

#[test]
fn a_closing_pool_lets_in_who_waited_and_at_its_end_settles_the_rest() {
    let mut simulator = warm(patient(None));
    let calls: Vec<_> = (0..5).map(|_| simulator.submit_to(call(), answers(20))).collect();
    simulator.close(Some(ms(10_000)));
    simulator.run_out();
    assert!(all_answered(&simulator, &calls));

    let mut simulator = warm(patient(None));
    let calls: Vec<_> = (0..5).map(|_| simulator.submit_to(call(), stalls())).collect();
    simulator.close(Some(ms(100)));
    simulator.run_out();
    assert!(calls.iter().all(|&call| end(&simulator, call).starts_with("pool closed")));
}

#[test]
fn a_pool_that_cannot_start_fails_the_lobby_with_the_queue() {
    let mut simulator = Simulator::new(patient(None));
    simulator.script_starts([Start::NotStarted; 100]);
    let calls: Vec<_> = (0..5).map(|_| simulator.submit(call())).collect();
    assert_eq!(in_lobby(&simulator), 3);
    simulator.run_for(ms(5_000));
    assert!(calls.iter().all(|&call| end(&simulator, call).starts_with("start failed")));
}

#[test]
fn a_hundred_calls_through_a_queue_of_one_all_get_their_turn() {
    let mut simulator = warm(Config { workers: 2, concurrency: 3, ..patient(None) });
    let calls: Vec<CallId> = (0..100)
        .map(|n| simulator.submit_to(CallSpec { slots: 1 + n % 3, ..call() }, answers(u64::from(1 + n % 7))))
        .collect();
    simulator.run_for(ms(5_000));
    assert!(all_answered(&simulator, &calls));
}
