//! The ladder: settle the caller, ask the worker, wait for the grace, kill.

use ganger_scheduler::{CallSpec, Config};

use super::{
    all_answered, answers, call, config, end, end_at, idempotent, ms, stalls, stops_after, warm, worker,
};
use crate::simulator::Simulator;

#[test]
fn a_cancelled_call_is_settled_at_once_and_its_worker_is_asked() {
    let mut simulator = warm(config());
    let call = simulator.submit_to(call(), stalls());
    simulator.run_for(ms(50));
    let now = simulator.now().elapsed().as_millis();
    simulator.cancel(call);
    assert_eq!(end(&simulator, call), "cancelled, started maybe, attempts 1");
    assert_eq!(end_at(&simulator, call), now);
    let asked = format!("ask 0.0 to stop {call} (cancel)");
    assert!(simulator.history().words().contains(&asked));
}

#[test]
fn a_worker_in_grace_gets_no_new_call() {
    let mut simulator = warm(Config { concurrency: 4, ..config() });
    let spec = CallSpec { timeout: Some(ms(20)), ..call() };
    let stuck = simulator.submit_to(spec, stalls());
    simulator.run_for(ms(20));
    assert!(end(&simulator, stuck).starts_with("timeout"));
    let next = simulator.submit(call());
    simulator.run_for(ms(1_999));
    assert_eq!(end(&simulator, next), "open", "three slots are free and none is given");
    simulator.run_out();
    assert_eq!(end(&simulator, next), "answered, attempts 1", "{}", simulator.history());
    assert_eq!(simulator.assigned().last(), Some(&(next, worker(1, 0))), "the old one was not gone yet");
}

#[test]
fn what_stops_alone_leaves_its_neighbours_alone() {
    let mut simulator = warm(Config { concurrency: 4, ..config() });
    let neighbours: Vec<_> = (0..3).map(|_| simulator.submit_to(call(), answers(500))).collect();
    let gentle = simulator.submit_to(call(), stops_after(30));
    simulator.run_for(ms(50));
    simulator.cancel(gentle);
    simulator.run_for(ms(40));
    let next = simulator.submit(call());
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &[next]), "the worker serves again while the neighbours run");
    simulator.run_out();
    assert!(all_answered(&simulator, &neighbours));
    assert!(simulator.history().moments_of("kill").is_empty());
}

#[test]
fn two_calls_in_grace_keep_the_worker_shut_until_both_have_stopped() {
    let mut simulator = warm(Config { concurrency: 3, ..config() });
    let both = [simulator.submit_to(call(), stops_after(30)), simulator.submit_to(call(), stops_after(90))];
    simulator.cancel(both[0]);
    simulator.cancel(both[1]);
    let next = simulator.submit(call());
    simulator.run_for(ms(80));
    assert_eq!(end(&simulator, next), "open");
    simulator.run_for(ms(30));
    assert!(all_answered(&simulator, &[next]));
}

#[test]
fn after_the_grace_the_worker_is_killed_and_its_neighbours_are_told_of_the_culprit() {
    let mut simulator = warm(Config { concurrency: 4, ..config() });
    let plain = simulator.submit_to(call(), stalls());
    let repeatable = simulator.submit_to(idempotent(), [stalls()[0], answers(10)[0]]);
    let culprit = simulator.submit_to(CallSpec { cancel_grace: ms(300), ..call() }, stalls());
    let now = simulator.now().elapsed().as_millis();
    simulator.cancel(culprit);
    simulator.run_out();
    assert_eq!(simulator.history().moments_of("kill"), [now + 300]);
    let told = format!("0.0 died (cancel-kill for {culprit}), started maybe, attempts 1");
    assert_eq!(end(&simulator, plain), told);
    assert_eq!(end(&simulator, repeatable), "answered, attempts 2");
    assert!(end(&simulator, culprit).starts_with("cancelled"), "settled once, long before");
}

#[test]
fn a_killed_worker_is_replaced_at_once() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let culprit = simulator.submit_to(CallSpec { cancel_grace: ms(0), ..call() }, stalls());
    let now = simulator.now().elapsed().as_millis();
    simulator.cancel(culprit);
    simulator.run_for(ms(0));
    assert_eq!(simulator.history().moments_of("kill"), [now]);
    assert_eq!(
        simulator.history().moments_of("spawn").last(),
        Some(&now),
        "nothing waits and it is wanted all the same"
    );
    simulator.run_out();
    assert_eq!(simulator.workers().len(), 2);
}

#[test]
fn cancelling_twice_or_what_is_settled_does_nothing() {
    let mut simulator = warm(config());
    let call = simulator.submit_to(call(), answers(10));
    simulator.run_for(ms(20));
    let before = simulator.history().words().len();
    simulator.cancel(call);
    simulator.cancel(ganger_scheduler::CallId(99));
    assert_eq!(simulator.history().words().len(), before);
}

#[test]
fn a_cancelled_call_that_waits_for_its_retry_never_runs_again() {
    let mut simulator = Simulator::new(config());
    let call = simulator.submit_to(idempotent(), super::crashes(10));
    simulator.run_for(ms(20));
    assert_eq!(end(&simulator, call), "open", "its worker died and the next start is put off");
    simulator.cancel(call);
    assert_eq!(end(&simulator, call), "cancelled, started maybe, attempts 1");
    simulator.run_out();
    assert_eq!(simulator.assigned().len(), 1);
}
