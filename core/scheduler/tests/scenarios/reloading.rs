//! The workers' code has changed.

use ganger_scheduler::{Config, Exit};

use super::{all_answered, answers, call, config, ms, warm, worker};
use crate::simulator::{Simulator, Start};

fn bad_code() -> Start {
    Start::DiesAfter(ms(10), Exit::Code(1))
}

#[test]
fn a_reload_replaces_every_worker_warm_and_one_after_the_other() {
    let mut simulator = warm(Config { workers: 3, ..config() });
    let calls: Vec<_> = (0..60).map(|_| simulator.submit_to(call(), answers(5))).collect();
    simulator.reload();
    assert_eq!(simulator.history().moments_of("[reload of 3]"), [100]);
    simulator.run_for(ms(1_000));
    assert!(all_answered(&simulator, &calls));
    assert_eq!(simulator.history().moments_of("[recycle").len(), 3);
    assert_eq!(simulator.workers().len(), 3);
    assert!(simulator.workers().iter().all(|id| ![worker(0, 0), worker(1, 0), worker(2, 0)].contains(id)));
    assert_eq!(simulator.scheduler().stats(simulator.now()).counters.recycled_reload, 3);
}

#[test]
fn a_reload_of_no_workers_is_told_of_and_the_next_worker_has_the_new_code() {
    let mut simulator = Simulator::new(config());
    simulator.reload();
    assert_eq!(simulator.history().words(), ["[reload of 0]"]);
    simulator.submit(call());
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.workers(), [worker(0, 0)], "it started afterwards");
}

#[test]
fn a_worker_that_was_starting_may_have_read_the_old_code_and_is_replaced_too() {
    let mut simulator = Simulator::new(config());
    let call = simulator.submit(call());
    simulator.reload();
    assert_eq!(simulator.history().moments_of("[reload of 1]").len(), 1);
    simulator.run_for(ms(1_000));
    assert!(all_answered(&simulator, &[call]), "it serves until then");
    assert_eq!(simulator.workers(), [worker(1, 0)]);
}

#[test]
fn a_change_while_a_replacement_starts_replaces_that_as_well() {
    let mut simulator = warm(config());
    simulator.script_starts([Start::ReadyAfter(ms(100)); 2]);
    simulator.reload();
    simulator.run_for(ms(50));
    simulator.reload();
    assert_eq!(simulator.workers().len(), 2, "no second replacement beside the first");
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.history().moments_of("spawn"), [0, 100, 201], "the first must be gone");
    assert_eq!(simulator.workers(), [worker(0, 1)]);
}

#[test]
fn code_that_cannot_start_keeps_the_old_workers_and_the_next_change_is_tried_at_once() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    simulator.script_starts([bad_code()]);
    simulator.reload();
    simulator.run_for(ms(5_000));
    assert_eq!(simulator.workers(), [worker(0, 0), worker(1, 0)]);
    assert_eq!(simulator.history().moments_of("[exit").len(), 1, "one try, not one a worker");
    let calls = [simulator.submit(call()), simulator.submit(call())];
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &calls));
    let now = simulator.now().elapsed().as_millis();
    simulator.reload();
    assert_eq!(simulator.history().moments_of("spawn").last(), Some(&now), "the pause ends");
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.workers().len(), 2);
    assert_eq!(simulator.scheduler().stats(simulator.now()).counters.recycled_reload, 2);
}

#[test]
fn a_reload_of_a_worker_that_is_being_replaced_for_another_reason_starts_no_second_replacement() {
    let mut simulator = warm(Config { max_calls: Some(2), ..config() });
    simulator.script_starts([Start::ReadyAfter(ms(100))]);
    simulator.submit(call());
    simulator.run_for(ms(50));
    simulator.reload();
    simulator.run_for(ms(10));
    assert_eq!(simulator.workers().len(), 2);
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.workers().len(), 1);
}

#[test]
fn attached_workers_are_not_reloaded_by_the_pool() {
    let mut simulator = Simulator::new(config());
    simulator.attach(Start::ReadyAfter(ms(1)));
    simulator.run_for(ms(10));
    simulator.reload();
    simulator.run_for(ms(100));
    assert_eq!(simulator.workers(), [worker(0, 0)]);
    assert_eq!(simulator.history().moments_of("[reload of 0]").len(), 1);
    assert!(simulator.history().moments_of("[recycle").is_empty(), "{}", simulator.history());
}

#[test]
fn a_pool_that_closes_has_no_use_for_new_code() {
    let mut simulator = warm(config());
    simulator.submit_to(call(), answers(50));
    simulator.close(None);
    simulator.reload();
    simulator.run_out();
    assert!(simulator.history().moments_of("[re").len() <= 1, "{}", simulator.history());
    assert_eq!(simulator.history().moments_of("spawn").len(), 1);
}
