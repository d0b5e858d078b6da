//! Calls lie ready before busy workers, and nothing that a caller can see of it is different, but that it is quicker.

use std::time::Duration;

use ganger_scheduler::{Action, CallId, CallSpec, Config, Exit, Input};

use super::{all_answered, answers, call, config, end, ms, stalls, worker};
use crate::simulator::{Conduct, Run, Simulator, Start};

const QUICK: Duration = Duration::from_micros(100);
const LAG: Duration = Duration::from_micros(50);

fn may_lie() -> CallSpec {
    CallSpec { ahead: true, ..call() }
}

fn quick() -> [Run; 1] {
    [Conduct::Answers(QUICK).into()]
}

/// A pool whose workers claim, are ready, and have shown that they are quick.
fn claiming(config: Config) -> Simulator {
    let workers = config.workers;
    let mut simulator = Simulator::new(config);
    simulator.claim(LAG);
    for _ in 0..workers {
        simulator.submit_to(may_lie(), quick());
    }
    simulator.run_for(ms(100));
    assert_eq!(simulator.workers().len(), workers as usize);
    simulator
}

/// How many calls were laid before workers.
fn laid(simulator: &Simulator) -> u64 {
    simulator.scheduler().stats(simulator.now()).counters.handed_ahead
}

fn taken_back(simulator: &Simulator) -> u64 {
    simulator.scheduler().stats(simulator.now()).counters.taken_back
}

#[test]
fn a_quick_worker_takes_up_what_lies_before_it_in_order() {
    let mut simulator = claiming(config());
    let calls: Vec<CallId> = (0..40).map(|_| simulator.submit_to(may_lie(), quick())).collect();
    assert_eq!(laid(&simulator), 16, "a full line");
    assert_eq!(simulator.scheduler().queued(), 39, "they wait all the same");
    simulator.run_out();
    assert!(all_answered(&simulator, &calls));
    let ran: Vec<CallId> = simulator.assigned().into_iter().map(|(call, _)| call).skip(1).collect();
    assert_eq!(ran, calls, "first come, first served");
    assert_eq!((laid(&simulator), taken_back(&simulator)), (39, 0), "all but the first lay there");
}

#[test]
fn it_is_filled_again_when_half_of_it_is_left() {
    let mut simulator = claiming(config());
    for _ in 0..40 {
        simulator.submit_to(may_lie(), quick());
    }
    simulator.run_out();
    let at_once = |step: &crate::simulator::Step| {
        step.actions.iter().filter(|action| matches!(action, Action::HandAhead { .. })).count()
    };
    let refills: Vec<usize> =
        simulator.history().steps().iter().map(at_once).filter(|&count| count > 1).collect();
    assert_eq!(refills, [8, 8, 7], "several go with one write");
}

#[test]
fn a_worker_that_takes_its_time_gets_one_call_after_the_other() {
    let mut simulator = claiming(config());
    let calls: Vec<CallId> = (0..5).map(|_| simulator.submit_to(call(), answers(1))).collect();
    simulator.run_for(ms(1) + LAG);
    let more: Vec<CallId> = (0..5).map(|_| simulator.submit_to(may_lie(), answers(1))).collect();
    simulator.run_out();
    assert!(all_answered(&simulator, &calls) && all_answered(&simulator, &more));
    assert_eq!(laid(&simulator), 0);
}

#[test]
fn what_lies_behind_a_slow_call_waits_for_any_worker_again() {
    let mut simulator = claiming(config());
    let slow = simulator.submit_to(may_lie(), answers(1_000));
    let behind: Vec<CallId> = (0..3).map(|_| simulator.submit_to(may_lie(), quick())).collect();
    assert_eq!(laid(&simulator), 3);
    simulator.run_for(ms(10));
    assert_eq!(taken_back(&simulator), 3);
    let urgent = simulator.submit_to(CallSpec { priority: 1, ..may_lie() }, quick());
    simulator.run_out();
    let order: Vec<CallId> = simulator.assigned().into_iter().map(|(call, _)| call).skip(1).collect();
    assert_eq!(order, [slow, urgent, behind[0], behind[1], behind[2]]);
}

#[test]
fn a_worker_that_is_free_gets_what_lies_before_another() {
    let mut simulator = claiming(Config { workers: 2, ..config() });
    let slow = simulator.submit_to(may_lie(), answers(500));
    let short = simulator.submit_to(may_lie(), [Conduct::Answers(ms(1)).into()]);
    let lying: Vec<CallId> = (0..4).map(|_| simulator.submit_to(may_lie(), quick())).collect();
    assert_eq!(laid(&simulator), 4, "two before each");
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &lying), "nobody waits for the slow one");
    assert_eq!(end(&simulator, slow), "open");
    assert!(all_answered(&simulator, &[short]));
    simulator.run_out();
}

#[test]
fn a_call_that_is_cancelled_where_it_lies_never_runs() {
    let mut simulator = claiming(config());
    let running = simulator.submit_to(may_lie(), quick());
    let lying: Vec<CallId> = (0..3).map(|_| simulator.submit_to(may_lie(), quick())).collect();
    simulator.cancel(lying[1]);
    assert_eq!(end(&simulator, lying[1]), "cancelled, started no, attempts 0", "at once");
    simulator.run_out();
    assert!(all_answered(&simulator, &[running, lying[0], lying[2]]));
    assert!(!simulator.assigned().iter().any(|(call, _)| *call == lying[1]));
}

#[test]
fn a_call_that_its_worker_has_claimed_is_asked_to_stop() {
    let mut simulator = claiming(config());
    simulator.submit_to(may_lie(), quick());
    let claimed = simulator.submit_to(may_lie(), [Conduct::StopsAfter(ms(3)).into()]);
    // The answer to the first is on its way: the worker has begun the second, and nobody knows.
    simulator.run_for(QUICK + LAG / 2);
    simulator.cancel(claimed);
    assert_eq!(end(&simulator, claimed), "cancelled, started maybe, attempts 0");
    let next = simulator.submit_to(may_lie(), quick());
    simulator.run_out();
    assert_eq!(simulator.history().moments_of("ask 0.0 to stop").len(), 1);
    assert!(all_answered(&simulator, &[next]), "the worker lives on");
    assert_eq!(simulator.workers(), [worker(0, 0)]);
}

#[test]
fn a_claimed_call_has_begun_in_time() {
    let mut simulator = claiming(config());
    simulator.submit_to(may_lie(), quick());
    let patience = QUICK + LAG / 2;
    let claimed = simulator
        .submit_to(CallSpec { queue_timeout: Some(patience), ..may_lie() }, [Conduct::Answers(ms(5)).into()]);
    let late = simulator.submit_to(CallSpec { queue_timeout: Some(patience), ..may_lie() }, quick());
    simulator.run_out();
    assert_eq!(end(&simulator, claimed), "answered, attempts 1");
    assert!(end(&simulator, late).starts_with("queue timeout"), "{}", end(&simulator, late));
}

#[test]
fn a_death_costs_what_was_claimed_and_nothing_that_only_lay_there() {
    let mut simulator = claiming(config());
    let killer = simulator.submit_to(may_lie(), [Conduct::Crashes(QUICK, Exit::Signal(11)).into()]);
    let lying: Vec<CallId> = (0..5).map(|_| simulator.submit_to(may_lie(), quick())).collect();
    simulator.run_out();
    assert_eq!(end(&simulator, killer), "0.0 died (signal), started maybe, attempts 1");
    assert!(all_answered(&simulator, &lying));
    assert!(simulator.assigned().iter().skip(2).all(|(_, at)| *at == worker(0, 1)));
}

#[test]
fn what_goes_by_itself_is_not_passed_for_ever() {
    let mut simulator = claiming(config());
    for _ in 0..20 {
        simulator.submit_to(may_lie(), quick());
    }
    let large = simulator.submit_to(call(), quick());
    for _ in 0..20 {
        simulator.submit_to(may_lie(), quick());
    }
    simulator.run_out();
    let place = simulator.assigned().iter().position(|(call, _)| *call == large);
    assert_eq!(place, Some(21), "behind those that came before it, and no other");
}

#[test]
fn a_call_for_one_worker_goes_before_what_lies_there() {
    let mut simulator = claiming(config());
    let running = simulator.submit_to(may_lie(), quick());
    let lying = simulator.submit_to(may_lie(), quick());
    let pinned = simulator.submit_to(CallSpec { pinned: Some(worker(0, 0)), ..call() }, quick());
    simulator.run_out();
    let order: Vec<CallId> = simulator.assigned().into_iter().map(|(call, _)| call).skip(1).collect();
    assert_eq!(order, [running, pinned, lying]);
}

#[test]
fn a_full_queue_counts_what_lies_before_workers() {
    let mut simulator = claiming(Config { max_queue: 3, ..config() });
    for _ in 0..4 {
        simulator.submit_to(may_lie(), quick());
    }
    let refused = simulator.submit_to(may_lie(), quick());
    assert!(end(&simulator, refused).starts_with("queue full"), "{}", end(&simulator, refused));
    simulator.run_out();
}

#[test]
fn a_worker_that_is_replaced_takes_nothing_with_it() {
    let mut simulator = claiming(config());
    simulator.script_starts([Start::ReadyAfter(QUICK)]);
    simulator.reload();
    let slow = simulator.submit_to(may_lie(), answers(1));
    let lying: Vec<CallId> = (0..4).map(|_| simulator.submit_to(may_lie(), quick())).collect();
    simulator.run_out();
    assert!(all_answered(&simulator, &[slow]) && all_answered(&simulator, &lying));
    assert!(
        simulator.assigned().iter().skip(2).all(|(_, at)| *at == worker(1, 0)),
        "{:?}",
        simulator.assigned()
    );
}

#[test]
fn a_worker_that_claims_nothing_gets_nothing_ahead() {
    let mut simulator = Simulator::new(config());
    let calls: Vec<CallId> = (0..20).map(|_| simulator.submit_to(may_lie(), quick())).collect();
    simulator.run_out();
    assert!(all_answered(&simulator, &calls));
    assert_eq!(laid(&simulator), 0);
}

#[test]
fn a_worker_of_several_calls_gets_nothing_ahead() {
    let mut simulator = Simulator::new(Config { concurrency: 2, ..config() });
    simulator.run_for(ms(1));
    for _ in 0..8 {
        simulator.submit_to(may_lie(), quick());
    }
    simulator.run_for(ms(6));
    simulator.tell(Input::Claims { worker: worker(0, 0) });
    for _ in 0..8 {
        simulator.submit_to(may_lie(), quick());
    }
    simulator.run_out();
    assert_eq!(laid(&simulator), 0);
}

#[test]
fn the_end_of_the_pool_settles_what_lies_before_workers() {
    let mut simulator = claiming(config());
    simulator.submit_to(may_lie(), stalls());
    let lying = simulator.submit_to(may_lie(), quick());
    simulator.terminate();
    assert_eq!(end(&simulator, lying), "pool closed, started maybe, attempts 0");
    simulator.run_out();
}
