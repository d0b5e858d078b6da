//! Which worker gets a call, and when there is a new one.

use ganger_scheduler::{CallSpec, Config};

use super::{all_answered, answers, call, config, crashes, end, ms, stalls, warm, worker};
use crate::simulator::Simulator;

#[test]
fn no_worker_is_normal_and_workers_start_on_demand() {
    let mut simulator = Simulator::new(Config { workers: 4, ..config() });
    simulator.run_for(ms(10_000));
    assert!(simulator.workers().is_empty());
    simulator.submit_to(call(), answers(50));
    assert_eq!(simulator.workers().len(), 1, "one call, one worker");
    simulator.submit_to(call(), answers(50));
    assert_eq!(simulator.workers().len(), 2, "the starting worker's room was taken");
    simulator.run_for(ms(100));
    simulator.submit(call());
    simulator.submit(call());
    assert_eq!(simulator.workers().len(), 2, "there was room");
    for _ in 0..20 {
        simulator.submit(call());
    }
    assert_eq!(simulator.workers().len(), 4, "never more than asked for");
}

#[test]
fn slots_of_starting_workers_count_as_room() {
    let mut simulator = Simulator::new(Config { workers: 4, concurrency: 8, ..config() });
    for _ in 0..8 {
        simulator.submit(call());
    }
    assert_eq!(simulator.workers().len(), 1);
    simulator.submit(call());
    assert_eq!(simulator.workers().len(), 2);
}

#[test]
fn uniform_calls_spread_evenly_over_workers_with_many_slots() {
    let mut simulator = Simulator::new(Config { workers: 10, concurrency: 5, ..config() });
    for _ in 0..1_000 {
        simulator.submit_to(call(), answers(100));
    }
    simulator.run_out();
    let loads = simulator.loads();
    let (least, most) = (loads.values().min(), loads.values().max());
    assert_eq!((loads.len(), least, most), (10, Some(&100), Some(&100)), "{loads:?}");
}

#[test]
fn equals_take_turns_even_when_one_worker_could_do_it_all() {
    let mut simulator = warm(Config { workers: 3, ..config() });
    let before = simulator.loads();
    for _ in 0..9 {
        simulator.submit_to(call(), answers(1));
        simulator.run_for(ms(10));
    }
    for (worker, load) in simulator.loads() {
        assert_eq!(load - before[&worker], 3, "{worker}");
    }
}

#[test]
fn the_least_loaded_worker_is_next() {
    let mut simulator = warm(Config { workers: 2, concurrency: 3, ..config() });
    // Long ones go to both, then one worker loses its load.
    let long: Vec<_> = (0..2).map(|_| simulator.submit_to(call(), stalls())).collect();
    let short: Vec<_> = (0..2).map(|_| simulator.submit_to(call(), answers(5))).collect();
    simulator.run_for(ms(10));
    assert!(all_answered(&simulator, &short));
    let heavy = simulator.submit_to(CallSpec { slots: 2, ..call() }, stalls());
    let place_of = |simulator: &Simulator, wanted| {
        let place = simulator.assigned().into_iter().find(|&(call, _)| call == wanted);
        place.expect("it was assigned").1
    };
    let heavy_at = place_of(&simulator, heavy);
    let next = simulator.submit(call());
    assert_ne!(place_of(&simulator, next), heavy_at);
    assert_ne!(place_of(&simulator, long[0]), place_of(&simulator, long[1]));
}

#[test]
fn a_worker_never_has_more_than_its_free_slots_so_a_crash_spares_what_has_not_started() {
    let mut simulator = Simulator::new(config());
    let killer = simulator.submit_to(call(), crashes(10));
    let others = [simulator.submit(call()), simulator.submit(call())];
    simulator.run_out();
    assert_eq!(end(&simulator, killer), "0.0 died (signal), started maybe, attempts 1");
    assert!(all_answered(&simulator, &others), "{}", simulator.history());
}

#[test]
fn more_slots_than_a_worker_has_are_refused_at_once() {
    let mut simulator = Simulator::new(Config { concurrency: 2, ..config() });
    let call = simulator.submit(CallSpec { slots: 3, ..call() });
    assert_eq!(end(&simulator, call), "too many slots (3 of 2), started no, attempts 0");
    assert!(simulator.workers().is_empty());
}

#[test]
fn a_call_that_fits_nowhere_keeps_a_worker_and_the_others_go_on() {
    let mut simulator = warm(Config { workers: 2, concurrency: 2, ..config() });
    for _ in 0..2 {
        simulator.submit_to(call(), answers(50));
    }
    let large = simulator.submit_to(CallSpec { slots: 2, ..call() }, answers(10));
    let small: Vec<_> = (0..40).map(|_| simulator.submit_to(call(), answers(5))).collect();
    simulator.run_for(ms(40));
    assert_eq!(end(&simulator, large), "open");
    assert!(end(&simulator, small[0]).starts_with("answered"), "those behind go to the other worker");
    simulator.run_for(ms(25));
    assert!(
        end(&simulator, large).starts_with("answered"),
        "small ones did not starve it: {}",
        simulator.history()
    );
}

#[test]
fn free_slots_in_pieces_are_no_room_for_a_large_call() {
    let mut simulator = Simulator::new(Config { workers: 3, concurrency: 2, ..config() });
    let pairs: Vec<_> =
        (0..2).map(|_| simulator.submit_to(CallSpec { slots: 2, ..call() }, answers(10))).collect();
    simulator.run_for(ms(100));
    assert!(all_answered(&simulator, &pairs));
    for _ in 0..2 {
        simulator.submit_to(call(), stalls());
    }
    assert_eq!(simulator.workers(), [worker(0, 0), worker(1, 0)]);
    let large = simulator.submit(CallSpec { slots: 2, ..call() });
    assert_eq!(simulator.workers().len(), 3, "each has one free slot, so that a third worker is needed");
    simulator.run_for(ms(100));
    assert!(all_answered(&simulator, &[large]));
}
