//! Workers that a person starts by hand.

use ganger_scheduler::{Config, Exit};

use super::{all_answered, call, config, end, ms, stalls, warm, worker};
use crate::simulator::{Simulator, Start};

const READY: Start = Start::ReadyAfter(std::time::Duration::from_millis(5));

#[test]
fn an_attached_worker_takes_calls_beyond_the_size_of_the_pool() {
    let mut simulator = warm(config());
    simulator.attach(READY);
    simulator.run_for(ms(10));
    let calls = [simulator.submit(call()), simulator.submit(call())];
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &calls));
    assert_eq!(simulator.workers(), [worker(0, 0), worker(1, 0)]);
}

#[test]
fn an_attached_worker_serves_a_pool_that_has_no_other() {
    let mut simulator = Simulator::new(config());
    simulator.attach(READY);
    simulator.run_for(ms(10));
    let call = simulator.submit(call());
    assert_eq!(simulator.history().moments_of("spawn"), [0; 0], "there was room");
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &[call]));
}

#[test]
fn an_attached_worker_is_not_replaced_and_its_death_puts_no_start_off() {
    let mut simulator = Simulator::new(config());
    simulator.attach(READY);
    simulator.run_for(ms(10));
    let lost = simulator.submit_to(call(), stalls());
    simulator.slay(worker(0, 0), Exit::Detached);
    assert_eq!(end(&simulator, lost), "0.0 died (detached), started maybe, attempts 1");
    assert!(simulator.workers().is_empty());
    let next = simulator.submit(call());
    assert_eq!(simulator.workers(), [worker(0, 1)], "at once");
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &[next]), "the pool's own starts were never in doubt");
}

#[test]
fn an_attached_worker_that_leaves_with_nothing_to_do_did_not_crash() {
    let mut simulator = Simulator::new(config());
    simulator.attach(READY);
    simulator.run_for(ms(10));
    simulator.slay(worker(0, 0), Exit::Detached);
    let told = "[exit 0.0: detached, shutdown, detached, running 0, answered 0]";
    assert_eq!(simulator.history().moments_of(told).len(), 1, "{}", simulator.history());
}

#[test]
fn a_closing_pool_refuses_whoever_wants_to_join() {
    let mut simulator = warm(config());
    simulator.submit_to(call(), stalls());
    simulator.close(Some(ms(100)));
    simulator.attach(READY);
    assert_eq!(simulator.history().words().last().map(String::as_str), Some("refuse 1"));
}

#[test]
fn an_attached_worker_that_is_never_ready_is_turned_out() {
    let mut simulator = Simulator::new(Config { start_timeout: ms(200), ..config() });
    simulator.attach(Start::Hangs);
    simulator.run_out();
    assert_eq!(simulator.history().moments_of("kill 0.0 (start timeout)"), [200]);
    assert!(simulator.workers().is_empty());
}

#[test]
fn calls_wait_for_an_attached_worker_though_the_pool_cannot_start_its_own() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::NotStarted; 1_000]);
    simulator.attach(READY);
    simulator.run_for(ms(10));
    let calls: Vec<_> = (0..20).map(|_| simulator.submit(call())).collect();
    simulator.run_for(ms(1_000));
    assert!(all_answered(&simulator, &calls), "one worker serves, whoever started it");
}
