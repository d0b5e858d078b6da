//! Calls of one function that go together.

use ganger_scheduler::{
    Action, Batch, CallId, CallSpec, Config, Declaration, HandedTogether, Input, WorkerId,
};

use super::{
    all_answered, answers, call, config, crashes, end, end_at, idempotent, ms, stalls, warm, worker,
};
use crate::simulator::Simulator;

const KEY: u64 = 1;

/// Up to three together; each waits 20 ms for others.
fn together() -> CallSpec {
    CallSpec { batch: Some(Box::new(Batch { key: KEY, max: 3, wait: ms(20) })), ..call() }
}

/// What was handed over in one go, in order.
fn parties(simulator: &Simulator) -> Vec<(WorkerId, Vec<CallId>)> {
    let mut parties: Vec<(WorkerId, Vec<CallId>)> = Vec::new();
    for (_, action) in simulator.history().actions() {
        let &Action::Assign { worker, call, batch, .. } = action else { continue };
        match batch {
            None | Some(HandedTogether { nth: 0, .. }) => parties.push((worker, vec![call])),
            Some(HandedTogether { .. }) => parties.last_mut().expect("its first came before").1.push(call),
        }
    }
    parties
}

/// The last so many, without where they went.
fn last_parties(simulator: &Simulator, count: usize) -> Vec<Vec<CallId>> {
    let mut parties = parties(simulator).split_off(parties(simulator).len() - count);
    parties.drain(..).map(|(_, calls)| calls).collect()
}

#[test]
fn a_full_batch_goes_at_once_and_takes_the_slots_of_one_call() {
    let mut simulator = warm(config());
    let calls: Vec<_> = (0..3).map(|_| simulator.submit(together())).collect();
    assert_eq!(last_parties(&simulator, 1), std::slice::from_ref(&calls));
    simulator.run_out();
    assert!(all_answered(&simulator, &calls), "{}", simulator.history());
    assert_eq!(simulator.workers().len(), 1);
}

#[test]
fn a_batch_that_is_not_full_waits_for_others_and_then_goes_as_it_is() {
    let mut simulator = warm(config());
    let first = simulator.submit(together());
    simulator.run_for(ms(15));
    let second = simulator.submit(together());
    simulator.run_for(ms(4));
    assert_eq!(last_parties(&simulator, 1), [[CallId(1)]], "nothing has gone yet");
    simulator.run_for(ms(1));
    assert_eq!(last_parties(&simulator, 1), [[first, second]]);
}

#[test]
fn who_has_waited_for_a_worker_waits_for_nobody_else() {
    let mut simulator = warm(config());
    simulator.submit_to(call(), answers(30));
    let calls = [simulator.submit(together()), simulator.submit(together())];
    simulator.run_for(ms(30));
    assert_eq!(last_parties(&simulator, 1), [calls]);
}

#[test]
fn those_behind_a_full_batch_make_the_next() {
    let mut simulator = warm(config());
    let calls: Vec<_> = (0..7).map(|_| simulator.submit_to(together(), answers(50))).collect();
    simulator.run_for(ms(200));
    let sizes: Vec<_> = last_parties(&simulator, 3).iter().map(Vec::len).collect();
    assert_eq!(sizes, [3, 3, 1]);
    let counters = simulator.scheduler().stats(simulator.now()).counters;
    assert_eq!((counters.batches, counters.batched), (2, 6), "one by itself is no batch");
    assert!(all_answered(&simulator, &calls));
}

#[test]
fn each_call_of_a_batch_settles_by_itself_and_the_slots_come_free_with_the_last() {
    let mut simulator = warm(config());
    let calls = [10, 40, 20].map(|takes| simulator.submit_to(together(), answers(takes)));
    let next = simulator.submit(call());
    simulator.run_for(ms(25));
    assert_eq!(calls.map(|call| end(&simulator, call) != "open"), [true, false, true]);
    assert_eq!(simulator.assigned().last().map(|(call, _)| *call), Some(calls[2]), "the slot is taken");
    simulator.run_out();
    assert_eq!(end_at(&simulator, next), end_at(&simulator, calls[1]) + 10);
}

#[test]
fn the_next_in_line_takes_those_of_its_function_along_whatever_stands_between() {
    let mut simulator = warm(config());
    simulator.submit_to(call(), answers(30));
    let head = simulator.submit(CallSpec { priority: 2, ..together() });
    let between = simulator.submit(call());
    let behind = simulator.submit(together());
    let other_function = Batch { key: 2, max: 3, wait: ms(0) };
    let other = simulator.submit(CallSpec { batch: Some(Box::new(other_function)), ..call() });
    simulator.run_out();
    assert_eq!(last_parties(&simulator, 3), [vec![head, behind], vec![between], vec![other]]);
}

#[test]
fn a_batch_that_waits_keeps_its_room_and_no_more() {
    let mut simulator = warm(Config { concurrency: 2, ..config() });
    let waits = simulator.submit(together());
    let lone = [simulator.submit_to(call(), answers(100)), simulator.submit_to(call(), answers(100))];
    assert_eq!(simulator.assigned().last().map(|(call, _)| *call), Some(lone[0]), "one of two slots is kept");
    simulator.run_for(ms(20));
    assert_eq!(last_parties(&simulator, 1), [[waits]]);
}

#[test]
fn a_batch_that_waits_for_others_starts_no_worker_for_itself_and_many_start_what_their_batches_need() {
    let mut simulator = warm(config());
    let mut wide = Simulator::new(Config { workers: 8, ..config() });
    simulator.submit(together());
    simulator.submit(together());
    assert_eq!(simulator.workers().len(), 1);
    for _ in 0..7 {
        wide.submit(together());
    }
    assert_eq!(wide.workers().len(), 3, "seven calls, three at once");
}

#[test]
fn a_draining_pool_waits_for_nobody() {
    let mut simulator = warm(config());
    let call = simulator.submit(CallSpec {
        batch: Some(Box::new(Batch { key: KEY, max: 3, wait: ms(3_600_000) })),
        ..together()
    });
    simulator.close(None);
    simulator.run_for(ms(10));
    assert!(all_answered(&simulator, &[call]));
}

#[test]
fn a_cancelled_call_leaves_the_batch_that_waits_and_the_one_that_runs() {
    let mut simulator = warm(config());
    let gone = simulator.submit(together());
    let stays = simulator.submit(together());
    simulator.cancel(gone);
    simulator.run_for(ms(20));
    assert_eq!(last_parties(&simulator, 1), [[stays]]);
    simulator.run_out();
    let runs = [answers(30), answers(30), stalls()].map(|run| simulator.submit_to(together(), run));
    simulator.run_for(ms(5));
    simulator.cancel(runs[0]);
    assert_eq!(end(&simulator, runs[0]), "cancelled, started maybe, attempts 1");
    simulator.run_for(ms(40));
    assert!(end(&simulator, runs[1]).starts_with("answered"));
    assert_eq!(end(&simulator, runs[2]), "open");
}

#[test]
fn every_call_of_a_batch_is_told_of_a_crash_and_those_that_may_run_again_go_by_themselves() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let killer = CallSpec { idempotent: true, ..together() };
    let killer = simulator.submit_to(killer, crashes(10));
    let spared = simulator.submit(CallSpec { idempotent: true, batch: together().batch, ..idempotent() });
    let told = simulator.submit_to(together(), stalls());
    simulator.run_out();
    assert_eq!(parties(&simulator).iter().filter(|(_, calls)| calls.len() > 1).count(), 1);
    assert!(end(&simulator, killer).contains("died (signal)"), "{}", end(&simulator, killer));
    assert_eq!(end(&simulator, spared), "answered, attempts 2");
    assert!(end(&simulator, told).ends_with("started maybe, attempts 1"));
}

#[test]
fn a_batch_respects_what_its_calls_prefer() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    for (key, index) in [(7, 0), (8, 1)] {
        simulator.submit_to(CallSpec { affinity: Some(key), ..call() }, answers(5));
        simulator.run_for(ms(10));
        assert_eq!(simulator.assigned().last().map(|(_, at)| at.index), Some(index));
    }
    let at = |key| CallSpec { affinity: Some(key), ..together() };
    let [one, other, mine, third] = [7, 8, 7, 7].map(|key| simulator.submit(at(key)));
    assert_eq!(parties(&simulator).pop(), Some((worker(0, 0), vec![one, mine, third])));
    simulator.run_for(ms(20));
    assert_eq!(parties(&simulator).pop(), Some((worker(1, 0), vec![other])));
}

#[test]
fn calls_that_wait_learn_that_they_go_together() {
    let mut simulator = Simulator::new(config());
    let calls = [simulator.submit(call()), simulator.submit(call())];
    let batch = together().batch.as_deref().copied();
    let declaration = Declaration { idempotent: false, timeout: None, slots: None, exclusive: false, batch };
    for call in calls {
        simulator.tell(Input::Declare { call, declaration });
    }
    simulator.run_out();
    assert_eq!(last_parties(&simulator, 1), [calls]);
}
