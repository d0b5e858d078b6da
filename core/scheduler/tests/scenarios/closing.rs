//! How a pool ends.

use ganger_scheduler::{CallSpec, Config, Exit, PoolPhase};

use super::{
    all_answered, answers, call, config, crashes, end, end_at, idempotent, ms, stalls, stops_after, warm,
    worker,
};
use crate::simulator::{Conduct, Simulator, Start};

#[test]
fn a_worker_that_goes_as_it_was_asked_to_died_of_that_whatever_its_code() {
    for (exit, cause) in [
        (Exit::Code(0), "close"),
        (Exit::Code(1), "close"),
        (Exit::Unknown, "close"),
        (Exit::Signal(11), "signal"),
    ] {
        let mut simulator = Simulator::new(config());
        simulator.script_starts([Start::ReadyButStays(ms(5))]);
        simulator.warm(1);
        simulator.run_for(ms(10));
        simulator.close(None);
        simulator.slay(worker(0, 0), exit);
        let words = simulator.history().words();
        let told: Vec<_> = words.iter().filter(|words| words.starts_with("[exit 0.0")).collect();
        let expected = format!("shutdown, {cause}, running 0, answered 0]");
        assert!(told.len() == 1 && told[0].ends_with(&expected), "{told:?}");
        assert_eq!(simulator.scheduler().stats(simulator.now()).counters.crashed, 0);
    }
}

#[test]
fn close_refuses_new_calls_and_runs_the_running_and_the_queued() {
    let mut simulator = warm(config());
    let calls: Vec<_> = (0..5).map(|_| simulator.submit_to(call(), answers(100))).collect();
    simulator.close(Some(ms(10_000)));
    let refused = simulator.submit(call());
    assert_eq!(end(&simulator, refused), "pool closed, started no, attempts 0");
    simulator.run_out();
    assert!(all_answered(&simulator, &calls));
    assert_eq!(simulator.history().words().last().map(String::as_str), Some("closed"));
    assert!(simulator.history().moments_of("kill").is_empty(), "workers were asked and went");
}

#[test]
fn close_starts_what_the_queue_still_needs() {
    let mut simulator = Simulator::new(config());
    let calls = [simulator.submit(call()), simulator.submit(call())];
    simulator.close(None);
    simulator.run_out();
    assert!(all_answered(&simulator, &calls));
    assert_eq!(simulator.scheduler().phase(), PoolPhase::Closed);
}

#[test]
fn close_of_a_pool_without_workers_is_done_at_once() {
    let mut simulator = Simulator::new(config());
    simulator.close(Some(ms(10_000)));
    assert_eq!(simulator.history().words(), ["closed"]);
}

#[test]
fn close_settles_the_rest_at_its_timeout_and_kills() {
    let mut simulator = warm(config());
    let now = simulator.now().elapsed().as_millis();
    let running = simulator.submit_to(call(), stalls());
    let queued = simulator.submit(call());
    simulator.close(Some(ms(300)));
    simulator.run_out();
    assert_eq!(end(&simulator, running), "pool closed, started maybe, attempts 1");
    assert_eq!(end(&simulator, queued), "pool closed, started no, attempts 0");
    assert_eq!((end_at(&simulator, running), end_at(&simulator, queued)), (now + 300, now + 300));
    assert_eq!(simulator.scheduler().phase(), PoolPhase::Closed);
}

#[test]
fn terminate_settles_every_call_before_it_kills() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let calls: Vec<_> = (0..5).map(|_| simulator.submit_to(idempotent(), stalls())).collect();
    let before = simulator.history().words().len();
    simulator.terminate();
    let words = simulator.history().words()[before..].to_vec();
    let order: Vec<_> = words.iter().map(|words| words.split(' ').next().expect("words")).collect();
    assert_eq!(order, ["settle", "settle", "settle", "settle", "settle", "kill", "kill"]);
    simulator.run_out();
    for call in calls {
        assert!(end(&simulator, call).starts_with("pool closed"), "not told of a death that is ours");
    }
    assert_eq!(simulator.history().words().last().map(String::as_str), Some("closed"));
}

#[test]
fn a_worker_that_does_not_stop_in_time_is_killed() {
    let mut simulator = Simulator::new(Config { stop_timeout: ms(400), ..config() });
    simulator.script_starts([Start::ReadyButStays(ms(1))]);
    simulator.submit(call());
    simulator.run_for(ms(100));
    simulator.close(Some(ms(10_000)));
    simulator.run_out();
    assert_eq!(simulator.history().moments_of("stop 0.0 within 400ms"), [100]);
    assert_eq!(simulator.history().moments_of("kill 0.0 (close)"), [500]);
    assert_eq!(simulator.history().moments_of("[exit 0.0: signal 9, shutdown, close").len(), 1);
}

#[test]
fn nothing_runs_again_during_a_shutdown_but_what_was_never_written_does() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let lost = simulator.submit_to(idempotent(), crashes(50));
    let unwritten = simulator.submit_to(call(), [Conduct::Unwritten(ms(50), Exit::Code(1)).into()]);
    simulator.close(Some(ms(120)));
    simulator.run_for(ms(60));
    assert!(end(&simulator, lost).contains("died (signal)"));
    assert_eq!(end(&simulator, unwritten), "open");
    simulator.run_out();
    assert!(end(&simulator, unwritten).starts_with("pool closed"));
    let places = simulator.assigned().iter().filter(|&&(call, _)| call == unwritten).count();
    assert!(places > 1, "it was given out again");
}

#[test]
fn a_worker_in_grace_has_its_time_but_never_longer_than_the_close() {
    let mut simulator = warm(config());
    let gentle = simulator.submit_to(call(), stops_after(50));
    simulator.cancel(gentle);
    simulator.close(Some(ms(1_000)));
    simulator.run_out();
    assert!(simulator.history().moments_of("kill").is_empty(), "it stopped by itself");

    let mut simulator = warm(config());
    let now = simulator.now().elapsed().as_millis();
    let stuck = simulator.submit_to(CallSpec { cancel_grace: ms(3_600_000), ..call() }, stalls());
    simulator.cancel(stuck);
    simulator.close(Some(ms(1_000)));
    simulator.run_out();
    assert_eq!(simulator.history().moments_of("kill 0.0 (close)"), [now + 1_000]);
}

#[test]
fn a_starting_worker_that_nobody_needs_any_more_is_killed() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::Hangs]);
    let call = simulator.submit(call());
    simulator.cancel(call);
    simulator.close(None);
    simulator.run_out();
    assert_eq!(simulator.scheduler().phase(), PoolPhase::Closed);
    assert_eq!(simulator.now().elapsed().as_millis(), 1, "not after its start timeout");
}

#[test]
fn close_ends_though_nothing_can_start() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::NotStarted; 50]);
    let call = simulator.submit(call());
    simulator.close(None);
    simulator.run_out();
    assert_eq!(end(&simulator, call), "start failed, started no, attempts 0");
    assert_eq!(simulator.scheduler().phase(), PoolPhase::Closed);
}

#[test]
fn a_full_queue_that_ends_with_the_pool_is_said_to_be_drained_before_the_end() {
    let mut simulator = Simulator::new(Config { max_queue: 0, ..config() });
    simulator.script_starts([Start::NotStarted]);
    simulator.submit(call());
    simulator.run_for(ms(1));
    simulator.submit(call());
    simulator.terminate();
    let words = simulator.history().words();
    assert_eq!(words[words.len() - 2..], ["[queue drain]", "closed"]);
}

#[test]
fn terminate_ends_a_close_that_takes_too_long_and_both_may_come_again() {
    let mut simulator = warm(config());
    let call = simulator.submit_to(call(), stalls());
    simulator.close(None);
    simulator.close(Some(ms(60_000)));
    simulator.run_for(ms(100));
    assert_eq!(end(&simulator, call), "open");
    simulator.terminate();
    simulator.terminate();
    simulator.close(Some(ms(1)));
    simulator.run_out();
    assert!(end(&simulator, call).starts_with("pool closed"));
    assert_eq!(simulator.history().moments_of("closed").len(), 1);
    assert_eq!(simulator.history().moments_of("kill").len(), 1);
}

#[test]
fn a_worker_that_is_asked_to_stop_late_in_the_close_has_its_time_all_the_same() {
    let mut simulator = Simulator::new(Config { stop_timeout: ms(400), ..config() });
    simulator.script_starts([Start::ReadyButStays(ms(1))]);
    let call = simulator.submit_to(call(), answers(899));
    simulator.close(Some(ms(1_000)));
    simulator.run_out();
    assert_eq!(end_at(&simulator, call), 900);
    assert_eq!(simulator.history().moments_of("kill 0.0 (close)"), [1_300]);
}
