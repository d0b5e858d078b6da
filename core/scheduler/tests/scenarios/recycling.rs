//! Workers that have served long enough are replaced, warm and in turn.

use std::collections::BTreeSet;

use ganger_scheduler::{CallSpec, Config, Exit, PoolPhase, WorkerId};

use super::{all_answered, answers, call, config, end, end_at, idempotent, ms, stalls, warm, worker};
use crate::simulator::{Footprint, Simulator, Start};

const MB: u64 = 1 << 20;

fn after_calls(calls: u64) -> Config {
    Config { max_calls: Some(calls), ..config() }
}

/// The fewest ready workers at any moment once so many had been ready, and the most processes.
fn extremes(simulator: &Simulator, full: usize) -> (usize, usize) {
    let (mut ready, mut alive) = (BTreeSet::new(), BTreeSet::new());
    let (mut least, mut most, mut was_full) = (usize::MAX, 0, false);
    for words in simulator.history().words() {
        let second = words.split(' ').nth(1).unwrap_or_default().trim_end_matches(':').to_owned();
        if words.starts_with("[ready") {
            ready.insert(second);
        } else if words.starts_with("stop") || words.starts_with("kill") {
            ready.remove(&second);
        } else if words.starts_with("spawn") {
            alive.insert(second);
        } else if words.starts_with("[exit") {
            ready.remove(&second);
            alive.remove(&second);
        }
        was_full |= ready.len() >= full;
        most = most.max(alive.len());
        if was_full {
            least = least.min(ready.len());
        }
    }
    (least, most)
}

#[test]
fn no_call_waits_while_the_only_worker_is_replaced_however_long_the_replacement_loads() {
    let mut simulator = Simulator::new(Config { concurrency: 8, ..after_calls(100) });
    simulator.script_starts([Start::ReadyAfter(ms(2_000)); 1_000]);
    simulator.warm(1);
    simulator.run_for(ms(2_100));
    let mut calls = Vec::new();
    for _ in 0..600 {
        calls.extend((0..8).map(|_| simulator.submit_to(call(), answers(10))));
        simulator.run_for(ms(20));
    }
    assert!(all_answered(&simulator, &calls));
    let latest = simulator.history().settlement(calls[calls.len() - 1]).expect("it was answered").0;
    let waited = calls.iter().map(|&call| end_at(&simulator, call));
    let first = waited.clone().next().expect("there are calls");
    for (round, at) in waited.collect::<Vec<_>>().chunks(8).enumerate() {
        assert!(at.iter().all(|&at| at == first + 20 * round as u128), "round {round}: {at:?}, {latest:?}");
    }
    let recycled = simulator.history().moments_of("[recycle").len();
    assert!((4..=7).contains(&recycled), "12 s at 2 s each: {recycled}");
    assert_eq!(extremes(&simulator, 1), (1, 2), "one replacement at a time");
    simulator.run_for(ms(5_000));
    assert!(simulator.workers().len() <= 2);
    simulator.close(None);
    simulator.run_out();
    assert_eq!(simulator.scheduler().phase(), PoolPhase::Closed);
}

#[test]
fn after_the_replacement_there_is_one_worker_again() {
    let mut simulator = warm(after_calls(3));
    let calls: Vec<_> = (0..3).map(|_| simulator.submit(call())).collect();
    simulator.run_for(ms(1_000));
    assert!(all_answered(&simulator, &calls));
    assert_eq!(simulator.workers(), [worker(1, 0)]);
    let told = "[exit 0.0: code 0, recycled, recycled, running 0, answered 3]";
    let early = "[exit 0.0: code 0, recycled, recycled, running 0, answered 4]";
    let exits = simulator.history().moments_of(told).len() + simulator.history().moments_of(early).len();
    assert_eq!(exits, 1, "{}", simulator.history());
}

#[test]
fn the_result_is_delivered_before_its_worker_is_recycled() {
    let mut simulator = Simulator::new(after_calls(1));
    simulator.script_starts([Start::ReadyButStays(ms(5)); 4]);
    let mut asked_for = Vec::new();
    for _ in 0..3 {
        let at = simulator.now().elapsed().as_millis();
        let call = simulator.submit(call());
        simulator.run_for(ms(100));
        asked_for.push(end_at(&simulator, call) - at);
    }
    assert_eq!(asked_for, [15, 10, 10], "a shutdown hook of seconds is in nobody's way");
    let words = simulator.history().words();
    let settled = words.iter().position(|words| words.starts_with("settle 1")).expect("it was answered");
    let recycled = words.iter().position(|words| words.starts_with("[recycle 0.0")).expect("at its limit");
    assert!(settled < recycled);
}

#[test]
fn a_worker_is_never_ended_with_running_calls_because_of_memory_age_or_count() {
    for config in [
        Config { max_age: Some(ms(150)), ..config() },
        Config { max_memory: Some(10 * MB), ..config() },
        after_calls(2),
    ] {
        let mut simulator = Simulator::new(Config { concurrency: 2, ..config });
        simulator.sample(Footprint { every: ms(20), fresh: MB, leak: 20 * MB });
        let mut calls = vec![simulator.submit_to(call(), answers(2_000))];
        calls.extend((0..2).map(|_| simulator.submit(call())));
        simulator.run_for(ms(1_900));
        assert!(!simulator.history().moments_of("[recycle 0.0").is_empty(), "{}", simulator.history());
        assert!(simulator.history().moments_of("stop 0.0").is_empty());
        simulator.run_for(ms(200));
        assert!(all_answered(&simulator, &calls));
        assert_eq!(simulator.history().moments_of("stop 0.0")[0], 2_005, "it goes with its last call");
    }
}

#[test]
fn a_marked_worker_that_is_busy_leaves_when_its_last_call_ends_however_that_ends() {
    for ending in ["answer", "grace"] {
        let mut simulator = warm(config());
        let run = if ending == "answer" { answers(500) } else { stalls() };
        let busy = simulator.submit_to(CallSpec { cancel_grace: ms(100), ..call() }, run);
        simulator.reload();
        simulator.run_for(ms(300));
        assert_eq!(simulator.workers().len(), 2, "its replacement is ready and it is not gone");
        if ending == "grace" {
            simulator.cancel(busy);
        }
        simulator.run_for(ms(1_000));
        assert!(simulator.workers().iter().all(|&id| id != worker(0, 0)), "{ending}");
        let crashes = simulator.scheduler().stats(simulator.now()).counters.crashed;
        assert_eq!(crashes, 0, "it was leaving: {ending}");
    }
}

#[test]
fn four_workers_with_equal_limits_expire_together_and_ready_is_never_below_four() {
    for (jitter_percent, max_replacing) in [(0, 1), (10, 1), (0, 2)] {
        let limits = Config { workers: 4, jitter_percent, max_replacing, ..after_calls(100) };
        let mut simulator = Simulator::new(limits);
        simulator.warm(4);
        simulator.script_starts([Start::ReadyAfter(ms(50)); 100]);
        simulator.run_for(ms(100));
        let mut calls = Vec::new();
        for _ in 0..1_000 {
            calls.push(simulator.submit_to(call(), answers(3)));
            simulator.run_for(ms(1));
        }
        simulator.run_for(ms(1_000));
        assert!(all_answered(&simulator, &calls));
        let (least, most) = extremes(&simulator, 4);
        assert_eq!(least, 4, "jitter {jitter_percent}");
        // Whoever still has a call when its replacement is ready does not hold up the next replacement.
        assert!(most <= 4 + 2 * max_replacing as usize, "{most} processes");
        assert!(simulator.history().moments_of("[recycle").len() >= 7);
    }
}

#[test]
fn a_worker_that_takes_its_time_to_leave_counts_as_a_process_until_it_is_gone() {
    let mut simulator = Simulator::new(Config { stop_timeout: ms(300), ..after_calls(2) });
    simulator.script_starts([Start::ReadyButStays(ms(5)); 20]);
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let call = simulator.submit_to(call(), answers(10));
            simulator.run_for(ms(50));
            call
        })
        .collect();
    assert!(all_answered(&simulator, &calls));
    let (least, most) = extremes(&simulator, 1);
    assert_eq!((least, most), (1, 2));
    let history = simulator.history();
    assert!(history.moments_of("[recycle").len() >= 4, "{history}");
}

#[test]
fn two_may_be_replaced_at_once_if_that_is_wanted() {
    for (max_replacing, expected) in [(1, [1, 2, 3, 4]), (2, [2, 4, 4, 4]), (4, [4, 4, 4, 4])] {
        let mut simulator = warm(Config { workers: 4, max_replacing, ..config() });
        simulator.script_starts([Start::ReadyAfter(ms(100)); 4]);
        let before = simulator.history().moments_of("spawn").len();
        simulator.reload();
        let mut started = Vec::new();
        for _ in 0..4 {
            simulator.run_for(ms(50));
            started.push(simulator.history().moments_of("spawn").len() - before);
            simulator.run_for(ms(50));
        }
        assert_eq!(started, expected);
    }
}

#[test]
fn max_calls_with_a_backlog_and_one_worker_goes_on_to_the_end() {
    let mut simulator = Simulator::new(after_calls(2));
    let calls: Vec<_> = (0..10).map(|_| simulator.submit_to(call(), answers(20))).collect();
    simulator.run_for(ms(2_000));
    assert!(all_answered(&simulator, &calls));
    let pids: BTreeSet<WorkerId> = simulator.loads().into_keys().collect();
    assert!(pids.len() >= 4, "two calls each, and one more while its replacement loads: {pids:?}");
}

#[test]
fn a_worker_that_leaks_is_replaced_in_a_pool_of_one_and_nobody_fails() {
    let mut simulator = Simulator::new(Config { max_memory: Some(500 * MB), ..config() });
    simulator.sample(Footprint { every: ms(100), fresh: 30 * MB, leak: 50 * MB });
    let mut calls = Vec::new();
    for _ in 0..20 {
        calls.push(simulator.submit_to(call(), answers(80)));
        simulator.run_for(ms(100));
    }
    simulator.run_for(ms(500));
    assert!(all_answered(&simulator, &calls));
    assert!(!simulator.history().moments_of("[recycle 0.0: memory").is_empty());
    assert_eq!(simulator.workers().len(), 1);
}

#[test]
fn a_spike_of_one_sample_is_no_reason_and_samples_must_be_over_in_a_row() {
    let mut simulator = warm(Config { max_memory: Some(100), memory_samples: 3, ..config() });
    let recycled = |simulator: &Simulator| simulator.history().moments_of("[recycle").len();
    let uses = |simulator: &mut Simulator, memory| {
        simulator.tell(ganger_scheduler::Input::Sample { worker: worker(0, 0), memory });
    };
    for memory in [500, 90, 500, 500, 100, 500, 500] {
        uses(&mut simulator, memory);
        assert_eq!(recycled(&simulator), 0, "{memory}");
    }
    uses(&mut simulator, 101);
    assert_eq!(recycled(&simulator), 1);
}

#[test]
fn a_fresh_idle_worker_above_the_limit_is_told_once_and_nobody_is_recycled_for_memory_any_more() {
    let mut simulator = Simulator::new(Config { max_memory: Some(250 * MB), ..config() });
    simulator.sample(Footprint { every: ms(50), fresh: 300 * MB, leak: 0 });
    let mut calls = Vec::new();
    for _ in 0..20 {
        calls.push(simulator.submit(call()));
        simulator.run_for(ms(30));
    }
    simulator.run_for(ms(10_000));
    assert!(all_answered(&simulator, &calls));
    let recycled = simulator.history().moments_of("[recycle").len();
    let told = simulator.history().moments_of("[memory floor").len();
    assert_eq!((recycled, told), (0, 1), "though it was never seen idle\n{}", simulator.history());

    let mut simulator = Simulator::new(Config { workers: 2, max_memory: Some(250 * MB), ..config() });
    simulator.sample(Footprint { every: ms(50), fresh: 300 * MB, leak: 0 });
    simulator.warm(2);
    simulator.run_for(ms(10_000));
    assert_eq!(simulator.history().moments_of("[memory floor").len(), 1);
    assert!(simulator.history().moments_of("[recycle").is_empty());
}

#[test]
fn memory_that_was_given_up_is_watched_again_when_the_code_has_changed() {
    let mut simulator = Simulator::new(Config { max_memory: Some(250 * MB), ..config() });
    simulator.sample(Footprint { every: ms(50), fresh: 300 * MB, leak: 0 });
    simulator.warm(1);
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.history().moments_of("[memory floor").len(), 1);
    simulator.sample(Footprint { every: ms(50), fresh: 30 * MB, leak: 100 * MB });
    simulator.script_starts([Start::ReadyAfter(ms(500))]);
    simulator.reload();
    simulator.run_for(ms(400));
    simulator.tell(ganger_scheduler::Input::Sample { worker: worker(0, 0), memory: 300 * MB });
    simulator.run_for(ms(600));
    for _ in 0..5 {
        simulator.submit(call());
        simulator.run_for(ms(200));
    }
    assert_eq!(simulator.history().moments_of("[memory floor").len(), 1, "{}", simulator.history());
    assert!(!simulator.history().moments_of("[recycle 1.0: memory").is_empty(), "the new code leaks");
}

#[test]
fn new_code_that_begins_above_the_limit_is_told_of_like_the_old() {
    let mut simulator = Simulator::new(Config { max_memory: Some(250 * MB), ..config() });
    simulator.sample(Footprint { every: ms(50), fresh: 300 * MB, leak: 0 });
    simulator.warm(1);
    for _ in 0..2 {
        simulator.run_for(ms(1_000));
        simulator.reload();
    }
    simulator.run_for(ms(10_000));
    assert_eq!(simulator.history().moments_of("[memory floor").len(), 3, "once for each code");
    assert!(simulator.history().moments_of("[recycle").len() == 2, "for the reloads");
}

#[test]
fn an_old_worker_is_replaced_whether_it_was_busy_or_idle() {
    let mut simulator = warm(Config { max_age: Some(ms(1_000)), ..config() });
    simulator.run_for(ms(890));
    assert!(simulator.history().moments_of("[recycle").is_empty());
    simulator.run_for(ms(2_200));
    assert_eq!(
        simulator.history().moments_of("[recycle"),
        [1_000, 2_000, 3_000],
        "age counts from the spawn"
    );
}

#[test]
fn a_target_of_one_worker_is_not_raised_by_recycling() {
    let mut simulator = Simulator::new(Config { workers: 4, max_replacing: 2, ..after_calls(5) });
    simulator.script_starts([Start::ReadyAfter(ms(50)); 100]);
    for _ in 0..40 {
        simulator.submit(call());
        simulator.run_for(ms(100));
    }
    simulator.run_for(ms(1_000));
    assert!(simulator.history().moments_of("[recycle").len() >= 5);
    assert_eq!(simulator.workers().len(), 1);
    assert!(extremes(&simulator, 1).1 <= 3);
}

#[test]
fn a_recycled_worker_that_dies_while_it_has_nothing_is_no_crash() {
    let mut simulator = Simulator::new(after_calls(1));
    simulator.script_starts([Start::ReadyButStays(ms(5))]);
    simulator.submit(call());
    simulator.run_for(ms(100));
    assert_eq!(simulator.workers().len(), 2, "it does not go");
    simulator.slay(worker(0, 0), Exit::Signal(11));
    let told = "[exit 0.0: signal 11, recycled, signal, running 0, answered 1]";
    assert_eq!(simulator.history().moments_of(told).len(), 1, "{}", simulator.history());
    simulator.run_for(ms(100));
    let counters = simulator.scheduler().stats(simulator.now()).counters;
    assert_eq!((counters.crashed, counters.started, counters.recycled_calls), (0, 2, 1), "no extra start");
}

#[test]
fn a_recycled_worker_that_dies_with_a_call_crashed() {
    let mut simulator = warm(Config { max_age: Some(ms(200)), ..config() });
    let lost = simulator.submit_to(idempotent(), [stalls()[0], answers(5)[0]]);
    simulator.run_for(ms(300));
    simulator.slay(worker(0, 0), Exit::Signal(11));
    simulator.run_for(ms(50));
    assert_eq!(end(&simulator, lost), "answered, attempts 2");
    assert_eq!(simulator.scheduler().stats(simulator.now()).counters.crashed, 1);
    assert_eq!(simulator.workers().len(), 1, "its replacement was there already");
}
