//! Workers without calls are asked whether they live.

use ganger_scheduler::{Config, Exit, Input};

use super::{all_answered, answers, call, config, ms, stalls, warm, worker};
use crate::simulator::{Simulator, Start};

fn watched() -> Config {
    Config { health_interval: Some(ms(1_000)), health_timeout: ms(1_000), ..config() }
}

#[test]
fn idle_workers_are_pinged_every_interval_and_live_on_when_they_answer() {
    let mut simulator = warm(watched());
    simulator.run_for(ms(10_000));
    let pings = simulator.history().moments_of("ping 0.0");
    assert!((8..=10).contains(&pings.len()), "{pings:?}");
    assert_eq!(simulator.workers(), [worker(0, 0)]);
    assert!(simulator.history().moments_of("[unresponsive").is_empty());
}

#[test]
fn a_silent_idle_worker_is_killed_told_of_and_replaced() {
    let mut simulator = Simulator::new(watched());
    simulator.script_starts([Start::ReadyButMute(ms(5))]);
    simulator.submit(call());
    simulator.run_for(ms(5_000));
    let pinged = simulator.history().moments_of("ping 0.0");
    assert_eq!(simulator.history().moments_of("[unresponsive 0.0 for 1s]"), [pinged[0] + 1_000]);
    assert_eq!(simulator.history().moments_of("kill 0.0 (unresponsive)"), [pinged[0] + 1_000]);
    let told = "[exit 0.0: signal 9, unresponsive, unresponsive, running 0, answered 1]";
    assert_eq!(simulator.history().moments_of(told).len(), 1, "{}", simulator.history());
    assert_eq!(simulator.history().moments_of("spawn"), [0, pinged[0] + 1_000], "at once");
    let counters = simulator.scheduler().stats(simulator.now()).counters;
    assert_eq!((counters.unresponsive, counters.crashed), (1, 0));
}

#[test]
fn silence_is_found_an_interval_and_a_timeout_after_the_last_call_wherever_that_ended() {
    for length in [1, 500, 994, 995, 996, 1_500, 2_500, 9_999] {
        let mut simulator = Simulator::new(watched());
        simulator.script_starts([Start::ReadyButMute(ms(5))]);
        let last = simulator.submit_to(call(), answers(length));
        simulator.run_for(ms(15_000));
        assert!(all_answered(&simulator, &[last]));
        let killed = simulator.history().moments_of("kill 0.0 (unresponsive)");
        assert_eq!(killed, [u128::from(5 + length + 2_000)], "{}", simulator.history());
    }
}

#[test]
fn a_call_that_holds_its_worker_for_a_minute_is_never_mistaken_for_silence() {
    let mut simulator = warm(watched());
    let busy = simulator.submit_to(call(), answers(60_000));
    simulator.run_for(ms(60_100));
    assert!(all_answered(&simulator, &[busy]));
    assert!(simulator.history().moments_of("ping").is_empty());
    assert_eq!(simulator.workers(), [worker(0, 0)]);
}

#[test]
fn a_worker_that_starts_slowly_is_never_pinged() {
    let mut simulator = Simulator::new(watched());
    simulator.script_starts([Start::ReadyAfter(ms(50_000))]);
    simulator.warm(1);
    simulator.run_for(ms(50_000));
    assert!(simulator.history().moments_of("ping").is_empty());
}

#[test]
fn a_call_that_crosses_a_ping_protects_its_worker() {
    let mut simulator = Simulator::new(watched());
    simulator.script_starts([Start::ReadyButMute(ms(5))]);
    simulator.warm(1);
    simulator.run_for(ms(1_100));
    assert_eq!(simulator.history().moments_of("ping").len(), 1);
    let busy = simulator.submit_to(call(), answers(5_000));
    simulator.run_for(ms(5_100));
    assert!(all_answered(&simulator, &[busy]));
    assert!(simulator.history().moments_of("kill").is_empty(), "busy when its time was up");
    simulator.run_for(ms(3_000));
    assert_eq!(simulator.history().moments_of("kill 0.0 (unresponsive)").len(), 1, "but idle again");
}

#[test]
fn a_worker_that_was_pinged_and_then_leaves_is_not_killed_for_its_silence() {
    for leaving in ["close", "reload"] {
        let mut simulator = Simulator::new(watched());
        simulator.script_starts([Start::ReadyButStays(ms(5))]);
        simulator.warm(1);
        simulator.run_for(ms(1_005));
        assert_eq!(simulator.history().moments_of("ping 0.0"), [1_005]);
        // It is asked to go before it could answer, and takes all its time for that.
        if leaving == "close" {
            simulator.close(None)
        } else {
            simulator.reload()
        }
        simulator.run_for(ms(10_000));
        assert!(simulator.history().moments_of("[unresponsive").is_empty(), "{}", simulator.history());
        assert_eq!(simulator.history().moments_of("kill 0.0 (close)").len(), 1, "{leaving}");
    }
}

#[test]
fn an_answer_that_comes_late_or_twice_changes_nothing() {
    let mut simulator = warm(watched());
    simulator.submit_to(call(), stalls());
    let before = simulator.history().words().len();
    for _ in 0..3 {
        simulator.tell(Input::Pong { worker: worker(0, 0) });
        simulator.tell(Input::Pong { worker: worker(7, 7) });
    }
    simulator.run_for(ms(10_000));
    assert_eq!(simulator.history().words().len(), before);
}

#[test]
fn a_silent_attached_worker_is_turned_out_and_not_replaced() {
    let mut simulator = Simulator::new(watched());
    simulator.attach(Start::ReadyButMute(ms(5)));
    simulator.run_for(ms(5_000));
    assert_eq!(simulator.history().moments_of("kill 0.0 (unresponsive)").len(), 1);
    assert!(simulator.workers().is_empty());
    assert!(simulator.history().moments_of("spawn").is_empty());
}

#[test]
fn a_worker_that_dies_while_it_is_asked_is_a_crash() {
    let mut simulator = Simulator::new(watched());
    simulator.script_starts([Start::ReadyButMute(ms(5))]);
    simulator.warm(1);
    simulator.run_for(ms(1_100));
    simulator.slay(worker(0, 0), Exit::Signal(11));
    let counters = simulator.scheduler().stats(simulator.now()).counters;
    assert_eq!((counters.unresponsive, counters.crashed), (0, 1));
}
