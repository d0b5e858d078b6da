//! The queue: its bounds, its order, and what cancelling does to it.

use ganger_scheduler::{CallSpec, Config};

use super::{all_answered, answers, call, config, end, ms, stalls, warm};
use crate::simulator::{Random, Simulator};

#[test]
fn a_full_queue_refuses_the_next_call_and_says_how_full_it_is() {
    let mut simulator = warm(Config { max_queue: 2, ..config() });
    let held: Vec<_> = (0..3).map(|_| simulator.submit_to(call(), answers(50))).collect();
    let refused = simulator.submit(call());
    assert_eq!(end(&simulator, refused), "queue full (2 wait, 1 run), started no, attempts 0");
    simulator.run_for(ms(300));
    assert!(all_answered(&simulator, &held));
}

#[test]
fn a_queue_is_bounded_in_bytes_too_but_size_alone_keeps_nobody_out() {
    let mut simulator = warm(Config { max_queue_bytes: 1_000, ..config() });
    let sized = |bytes| CallSpec { bytes, ..call() };
    simulator.submit_to(sized(5_000), answers(50));
    let huge = simulator.submit(sized(5_000));
    assert_eq!(end(&simulator, huge), "open", "no bytes waited before it");
    let refused = simulator.submit(sized(1));
    assert!(end(&simulator, refused).starts_with("queue full (1 wait, 1 run)"));
    simulator.run_for(ms(300));
    let fitting = [simulator.submit(sized(600)), simulator.submit(sized(600)), simulator.submit(sized(400))];
    simulator.run_for(ms(300));
    assert!(all_answered(&simulator, &[huge]) && all_answered(&simulator, &fitting));
}

#[test]
fn a_cancelled_queued_call_frees_its_place_at_once() {
    let mut simulator = warm(Config { max_queue: 1, ..config() });
    simulator.submit_to(call(), answers(50));
    let first = simulator.submit(call());
    simulator.cancel(first);
    let second = simulator.submit(call());
    assert_eq!(end(&simulator, first), "cancelled, started no, attempts 0");
    assert_eq!(end(&simulator, second), "open", "it was admitted");
    simulator.run_for(ms(300));
    assert!(all_answered(&simulator, &[second]));
}

#[test]
fn a_cold_pool_admits_as_much_as_a_warm_one() {
    let config = Config { workers: 3, concurrency: 2, max_queue: 4, max_queue_bytes: 250, ..config() };
    let admitted = |mut simulator: Simulator, spec: &CallSpec| {
        let before = simulator.calls_submitted();
        let calls: Vec<_> = (0..20).map(|_| simulator.submit_to(spec.clone(), stalls())).collect();
        assert_eq!(before + 20, simulator.calls_submitted());
        calls.into_iter().filter(|&call| end(&simulator, call) == "open").count()
    };
    for (spec, most) in [
        (CallSpec { bytes: 0, ..call() }, 6 + 4),
        (CallSpec { bytes: 100, ..call() }, 6 + 2),
        (CallSpec { bytes: 0, slots: 2, ..call() }, 3 + 4),
    ] {
        assert_eq!(admitted(Simulator::new(config.clone()), &spec), most, "cold, {spec:?}");
        assert_eq!(admitted(warm(config.clone()), &spec), most, "warm, {spec:?}");
    }
}

#[test]
fn full_and_drained_are_told_once_an_episode() {
    let mut simulator = warm(Config { max_queue: 1, ..config() });
    for _ in 0..2 {
        for _ in 0..5 {
            simulator.submit(call());
        }
        simulator.run_for(ms(100));
    }
    let told: Vec<_> =
        simulator.history().words().into_iter().filter(|words| words.starts_with("[queue")).collect();
    let full = "[queue full: 1 calls, 100 bytes]";
    assert_eq!(told, [full, "[queue drain]", full, "[queue drain]"]);
}

#[test]
fn higher_priority_goes_first_and_within_one_the_order_of_submission() {
    let mut simulator = warm(config());
    simulator.submit_to(call(), answers(20));
    let of = |priority| CallSpec { priority, ..call() };
    let calls = [0, -5, 0, 7, 7].map(|priority| simulator.submit(of(priority)));
    let before = simulator.assigned().len();
    simulator.run_for(ms(500));
    let order: Vec<_> = simulator.assigned()[before..].iter().map(|&(call, _)| call).collect();
    assert_eq!(order, [calls[3], calls[4], calls[0], calls[2], calls[1]]);
}

#[test]
fn whatever_is_cancelled_in_whatever_order_the_rest_goes_on() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut simulator = Simulator::new(Config { concurrency: random.between(1, 2), ..config() });
        let spec = CallSpec { cancel_grace: ms(50), ..call() };
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let run = if random.percent(30) { stalls() } else { answers(10) };
                (simulator.submit_to(spec.clone(), run), run)
            })
            .collect();
        for _ in 0..6 {
            simulator.run_for(random.span(40));
            let (call, _) = random.pick(&calls);
            simulator.cancel(call);
        }
        // What stalls and was not chosen blocks the worker for good: it goes too, latest first.
        for &(call, run) in calls.iter().rev() {
            if matches!(run[0].conduct, crate::simulator::Conduct::Stalls) {
                simulator.cancel(call);
            }
        }
        simulator.run_out();
        for (call, _) in calls {
            let end = end(&simulator, call);
            let fair =
                end.starts_with("answered") || end.starts_with("cancelled") || end.contains("cancel-kill");
            assert!(fair, "seed {seed}, call {call}: {end}\n{}", simulator.history());
        }
    }
}
