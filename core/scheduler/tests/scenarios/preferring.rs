//! Calls with wishes about their worker: the same again, alone, or this one and no other; and calls that must not starve.

use ganger_scheduler::{CallId, CallSpec, Config, Declaration, Exit, Input, WorkerId};

use super::{all_answered, answers, call, config, crashes, end, idempotent, ms, stalls, warm, worker};
use crate::simulator::{Conduct, Simulator, Start};

fn keyed(key: u64) -> CallSpec {
    CallSpec { affinity: Some(key), ..call() }
}

fn exclusive() -> CallSpec {
    CallSpec { exclusive: true, ..call() }
}

fn pinned(worker: WorkerId) -> CallSpec {
    CallSpec { pinned: Some(worker), ..call() }
}

fn place_of(simulator: &Simulator, wanted: CallId) -> WorkerId {
    let assigned = simulator.assigned();
    assigned.into_iter().rev().find(|&(call, _)| call == wanted).expect("it was assigned").1
}

/// Runs a call to its end and says where.
fn served_at(simulator: &mut Simulator, spec: CallSpec) -> WorkerId {
    let call = simulator.submit_to(spec, answers(1));
    simulator.run_for(ms(5));
    assert!(all_answered(simulator, &[call]));
    place_of(simulator, call)
}

#[test]
fn calls_with_one_key_go_to_one_worker_as_long_as_it_has_room() {
    let mut simulator = warm(Config { workers: 4, ..config() });
    let home = served_at(&mut simulator, keyed(7));
    for _ in 0..8 {
        served_at(&mut simulator, call());
        assert_eq!(served_at(&mut simulator, keyed(7)), home);
    }
}

#[test]
fn without_room_at_its_worker_a_call_goes_elsewhere_and_the_key_moves() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let home = served_at(&mut simulator, keyed(7));
    let busy = simulator.submit_to(keyed(7), answers(50));
    assert_eq!(place_of(&simulator, busy), home);
    let elsewhere = served_at(&mut simulator, keyed(7));
    assert_ne!(elsewhere, home);
    simulator.run_for(ms(100));
    assert_eq!(served_at(&mut simulator, keyed(7)), elsewhere);
}

#[test]
fn a_warm_replacement_inherits_the_keys_of_its_predecessor() {
    let mut simulator = warm(Config { workers: 4, ..config() });
    let home = served_at(&mut simulator, keyed(7));
    simulator.reload();
    simulator.run_for(ms(500));
    assert!(!simulator.workers().contains(&home));
    let replaced = format!("[recycle {home}");
    let heir = simulator.history().words().into_iter().skip_while(|words| !words.starts_with(&replaced));
    let heir = heir.into_iter().find(|words| words.starts_with("spawn")).expect("it was replaced");
    for _ in 0..4 {
        served_at(&mut simulator, call());
        let spawned = format!("spawn {} in place of {home}", served_at(&mut simulator, keyed(7)));
        assert_eq!(spawned, heir);
    }
}

#[test]
fn the_successor_of_a_worker_that_died_inherits_its_keys_whichever_seat_it_takes() {
    let mut simulator = warm(Config { workers: 4, ..config() });
    let home = served_at(&mut simulator, keyed(7));
    simulator.tell(Input::Violated { worker: home });
    simulator.run_for(ms(50));
    let heir = worker(4, 0);
    assert!(simulator.workers().contains(&heir), "the old seat was not free yet");
    for _ in 0..4 {
        served_at(&mut simulator, call());
        assert_eq!(served_at(&mut simulator, keyed(7)), heir);
    }
}

#[test]
fn a_preference_never_makes_a_call_wait() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let home = served_at(&mut simulator, keyed(7));
    simulator.slay(home, Exit::Signal(9));
    let call = simulator.submit_to(keyed(7), answers(1));
    assert_ne!(place_of(&simulator, call), home);
}

#[test]
fn an_exclusive_call_is_alone_on_its_worker() {
    let mut simulator = warm(Config { concurrency: 4, ..config() });
    let before: Vec<_> = (0..3).map(|_| simulator.submit_to(call(), answers(50))).collect();
    let alone = simulator.submit_to(exclusive(), answers(50));
    let after = simulator.submit(call());
    simulator.run_for(ms(49));
    assert_eq!((end(&simulator, alone), end(&simulator, after)), ("open".into(), "open".into()));
    assert!(simulator.assigned().iter().all(|&(call, _)| call != alone), "it waits for the others to end");
    simulator.run_for(ms(10));
    assert!(all_answered(&simulator, &before));
    assert_eq!(place_of(&simulator, alone), worker(0, 0));
    assert!(simulator.assigned().iter().all(|&(call, _)| call != after), "nobody joins it");
    simulator.run_for(ms(100));
    assert!(all_answered(&simulator, &[alone, after]));
}

#[test]
fn a_stream_of_small_calls_does_not_starve_an_exclusive_one() {
    let mut simulator = warm(Config { workers: 2, concurrency: 2, ..config() });
    let mut alone = None;
    for round in 0..100 {
        for _ in 0..2 {
            simulator.submit_to(call(), answers(20));
        }
        if round == 20 {
            alone = Some(simulator.submit_to(exclusive(), answers(5)));
        }
        simulator.run_for(ms(10));
    }
    assert!(all_answered(&simulator, &[alone.expect("it was submitted")]));
}

#[test]
fn a_low_priority_ages_so_that_none_starves() {
    let mut simulator = warm(config());
    let urgent = CallSpec { priority: 1, ..call() };
    simulator.submit_to(call(), answers(100));
    let low = simulator.submit_to(call(), answers(100));
    let mut low_at = None;
    for round in 0..300 {
        simulator.submit_to(urgent.clone(), answers(100));
        simulator.run_for(ms(100));
        if low_at.is_none() && end(&simulator, low) != "open" {
            low_at = Some(round);
        }
    }
    assert!(low_at.is_some_and(|round| (90..=110).contains(&round)), "ten seconds a priority: {low_at:?}");
}

#[test]
fn a_call_for_one_worker_goes_there_before_all_that_waits_and_nowhere_else() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    for _ in 0..2 {
        simulator.submit_to(call(), answers(20));
    }
    let waiting: Vec<_> =
        (0..4).map(|_| simulator.submit_to(CallSpec { priority: 9, ..call() }, answers(20))).collect();
    let mine = simulator.submit_to(pinned(worker(1, 0)), answers(20));
    let before = simulator.assigned().len();
    simulator.run_for(ms(500));
    assert!(all_answered(&simulator, &waiting) && all_answered(&simulator, &[mine]));
    assert_eq!(place_of(&simulator, mine), worker(1, 0));
    let there = simulator.assigned()[before..].iter().find(|&&(_, place)| place == worker(1, 0)).copied();
    assert_eq!(there, Some((mine, worker(1, 0))));
}

#[test]
fn a_call_for_one_worker_waits_for_its_slots_and_no_other_takes_them() {
    let mut simulator = warm(Config { concurrency: 2, ..config() });
    simulator.submit_to(call(), answers(50));
    let mine = simulator.submit_to(CallSpec { slots: 2, ..pinned(worker(0, 0)) }, answers(5));
    for _ in 0..20 {
        simulator.submit_to(call(), answers(50));
    }
    simulator.run_for(ms(60));
    assert!(all_answered(&simulator, &[mine]), "{}", simulator.history());
}

#[test]
fn a_call_for_one_worker_dies_with_it_and_never_runs_elsewhere() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    simulator.submit_to(call(), stalls());
    simulator.submit_to(call(), stalls());
    let waits = simulator.submit(pinned(worker(0, 0)));
    simulator.slay(worker(0, 0), Exit::Signal(11));
    assert_eq!(end(&simulator, waits), "0.0 died (signal), started no, attempts 0");
    for run in [crashes(5)[0], Conduct::Unwritten(ms(5), Exit::Code(1)).into()] {
        let mut simulator = warm(Config { workers: 2, ..config() });
        let spec = CallSpec { retries: 5, pinned: Some(worker(1, 0)), ..idempotent() };
        let lost = simulator.submit_to(spec, [run]);
        simulator.run_for(ms(1_000));
        assert!(end(&simulator, lost).starts_with("1.0 died"), "{}", end(&simulator, lost));
        let places: Vec<_> = simulator.assigned().into_iter().filter(|&(call, _)| call == lost).collect();
        assert_eq!(places, [(lost, worker(1, 0))]);
    }
}

#[test]
fn a_call_for_a_worker_that_is_not_ready_is_refused() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::ReadyAfter(ms(100))]);
    simulator.warm(1);
    for nobody in [worker(0, 0), worker(3, 0), worker(0, 9)] {
        let call = simulator.submit(pinned(nobody));
        assert_eq!(end(&simulator, call), format!("{nobody} died (exit), started no, attempts 0"));
    }
}

#[test]
fn a_worker_that_retires_runs_what_was_for_it_alone_first() {
    let mut simulator = warm(config());
    simulator.submit_to(call(), answers(200));
    simulator.reload();
    let mine = simulator.submit_to(pinned(worker(0, 0)), answers(50));
    simulator.run_for(ms(230));
    assert_eq!(place_of(&simulator, mine), worker(0, 0));
    assert!(simulator.history().moments_of("stop").is_empty(), "not before it is done");
    simulator.run_for(ms(100));
    assert!(all_answered(&simulator, &[mine]));
    assert_eq!(simulator.workers(), [worker(1, 0)]);
}

#[test]
fn a_call_for_one_worker_that_is_cancelled_lets_it_go() {
    let mut simulator = warm(config());
    let stuck = simulator.submit_to(CallSpec { cancel_grace: ms(300), ..call() }, stalls());
    let mine = simulator.submit(pinned(worker(0, 0)));
    simulator.reload();
    simulator.cancel(stuck);
    simulator.cancel(mine);
    assert_eq!(end(&simulator, mine), "cancelled, started no, attempts 0");
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.workers(), [worker(1, 0)]);
}

#[test]
fn what_a_function_says_of_itself_holds_for_calls_that_wait() {
    let nothing =
        Declaration { idempotent: false, timeout: None, slots: None, exclusive: false, batch: None };
    let mut simulator = warm(Config { concurrency: 2, ..config() });
    simulator.submit_to(call(), answers(50));
    simulator.submit_to(call(), answers(50));
    let waits = simulator.submit_to(call(), answers(50));
    let behind = simulator.submit(call());
    simulator.tell(Input::Declare { call: waits, declaration: Declaration { exclusive: true, ..nothing } });
    simulator.run_for(ms(55));
    assert!(simulator.assigned().iter().all(|&(call, _)| call != behind), "it is alone now");

    let mut simulator = warm(config());
    let stuck = simulator.submit_to(call(), answers(50));
    let too_large = simulator.submit(pinned(worker(0, 0)));
    simulator
        .tell(Input::Declare { call: too_large, declaration: Declaration { slots: Some(9), ..nothing } });
    assert_eq!(end(&simulator, too_large), "too many slots (9 of 1), started no, attempts 0");
    simulator.run_for(ms(100));
    assert!(all_answered(&simulator, &[stuck]));
}
