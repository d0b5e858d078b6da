//! What becomes of replacements that do not start, have no room, or come too late.

use ganger_scheduler::{CallSpec, Config, Exit, Input, PoolPhase};

use super::{all_answered, answers, call, config, end, ms, stalls, stops_after, warm, worker};
use crate::simulator::{Simulator, Start};

fn fails() -> Start {
    Start::DiesAfter(ms(1), Exit::Code(1))
}

/// One worker, ready and old enough to be replaced at the next clock.
fn about_to_be_replaced(replacement: Start) -> Simulator {
    let mut simulator = warm(Config { max_age: Some(ms(1_000)), ..config() });
    simulator.script_starts([replacement]);
    simulator.run_for(ms(899));
    simulator
}

#[test]
fn the_old_worker_stays_when_its_replacement_cannot_start_and_no_other_is_tried_for_a_minute() {
    for replacement in [fails(), Start::NotStarted, Start::DiesAfter(ms(1), Exit::Signal(11))] {
        let mut simulator = about_to_be_replaced(replacement);
        simulator.run_for(ms(30_000));
        let call = simulator.submit(call());
        simulator.run_for(ms(20));
        assert!(all_answered(&simulator, &[call]), "the old one serves");
        assert_eq!(simulator.workers(), [worker(0, 0)]);
        simulator.run_for(ms(32_000));
        let tries = simulator.history().moments_of("spawn 1");
        assert_eq!((tries[0], tries[1] / 1_000), (1_000, 61), "{tries:?}");
        assert!(!simulator.workers().contains(&worker(0, 0)));
    }
}

#[test]
fn a_worker_whose_replacement_fails_for_an_hour_is_told_of_once() {
    let mut simulator = warm(Config { max_age: Some(ms(1_000)), ..config() });
    simulator.script_starts([fails(); 60]);
    simulator.run_for(ms(3_500_000));
    let told = |words| simulator.history().moments_of(words).len();
    assert_eq!((told("spawn 1"), told("[exit 1")), (59, 59), "each try is told by its own events");
    assert_eq!(simulator.history().moments_of("[recycle"), [1_000]);
    assert_eq!(simulator.history().moments_of("[0.0 stays, 1.0 could not start]"), [1_001]);
    assert_eq!(told("[0.0 stays"), 1);
    simulator.reload();
    simulator.run_for(ms(1));
    assert_eq!(simulator.history().moments_of("[0.0 stays").len(), 2, "other code, other failure");
}

#[test]
fn a_worker_that_goes_cold_after_a_warm_try_is_told_of_again() {
    let mut simulator = about_to_be_replaced(fails());
    simulator.run_for(ms(1_000));
    simulator.tell(Input::Sample { worker: worker(0, 0), memory: 100 });
    simulator.headroom(99);
    simulator.run_for(ms(61_000));
    assert_eq!(simulator.history().moments_of("[recycle 0.0: age, answered 1]").len(), 1);
    assert_eq!(simulator.history().moments_of("[recycle 0.0: age, answered 1, memory 100, cold]").len(), 1);
}

#[test]
fn a_replacement_that_somebody_else_killed_is_followed_by_the_next_at_once() {
    let killed = Start::DiesAfter(ms(1), Exit::Signal(9));
    let mut simulator = about_to_be_replaced(killed);
    simulator.script_starts([killed; 3]);
    simulator.run_for(ms(100));
    assert_eq!(simulator.history().moments_of("spawn 1"), [1_000, 1_001, 1_002, 1_003, 1_004]);
    assert_eq!(simulator.workers(), [worker(1, 4)], "the fifth took over");
    assert_eq!(simulator.history().moments_of("[recycle 0.0").len(), 1);
}

#[test]
fn a_machine_that_kills_every_replacement_is_not_hammered_though_calls_go_on() {
    let killed = Start::DiesAfter(ms(1), Exit::Signal(9));
    let mut simulator = about_to_be_replaced(killed);
    simulator.script_starts([killed; 100]);
    for _ in 0..100 {
        let call = simulator.submit(call());
        simulator.run_for(ms(100));
        assert!(all_answered(&simulator, &[call]));
    }
    let tries = simulator.history().moments_of("spawn 1").len();
    assert_eq!(tries, 21, "twenty are forgiven, then there is a pause");
    simulator.reload();
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.history().moments_of("spawn 1").len(), 2 * tries, "new code, new chance");
}

#[test]
fn a_replacement_that_hangs_is_killed_and_counts_as_one_that_could_not_start() {
    let mut simulator = warm(Config { max_age: Some(ms(1_000)), start_timeout: ms(500), ..config() });
    simulator.script_starts([Start::Hangs]);
    simulator.run_for(ms(3_000));
    assert_eq!(simulator.history().moments_of("kill 1.0 (start timeout)"), [1_500]);
    assert_eq!(simulator.history().moments_of("spawn"), [0, 1_000], "and nobody starts in its place");
    assert_eq!(simulator.workers(), [worker(0, 0)]);
}

#[test]
fn replacements_that_fail_put_no_other_start_off() {
    let mut simulator = warm(Config { workers: 2, max_age: Some(ms(1_000)), max_replacing: 2, ..config() });
    simulator.script_starts([fails(), fails()]);
    simulator.run_for(ms(1_000));
    simulator.slay(worker(1, 0), Exit::Signal(11));
    let now = simulator.now().elapsed().as_millis();
    assert_eq!(simulator.history().moments_of("spawn").last(), Some(&now), "at once");
}

#[test]
fn a_replacement_whose_predecessor_dies_becomes_a_worker_like_any_other() {
    let mut simulator = about_to_be_replaced(Start::ReadyAfter(ms(500)));
    simulator.run_for(ms(100));
    assert_eq!(simulator.workers().len(), 2);
    let waiting = simulator.submit_to(call(), stalls());
    simulator.slay(worker(0, 0), Exit::Signal(11));
    let next = simulator.submit(call());
    simulator.run_for(ms(600));
    assert!(end(&simulator, waiting).contains("died"));
    assert!(all_answered(&simulator, &[next]));
    assert_eq!(simulator.workers(), [worker(1, 0)], "nobody else was started");
    assert_eq!(simulator.history().moments_of("spawn").len(), 2);
}

#[test]
fn a_replacement_whose_predecessor_is_killed_for_a_call_is_not_doubled() {
    let mut simulator = about_to_be_replaced(Start::ReadyAfter(ms(500)));
    let stuck = simulator.submit_to(CallSpec { cancel_grace: ms(50), ..call() }, stalls());
    simulator.run_for(ms(100));
    simulator.cancel(stuck);
    simulator.run_for(ms(800));
    assert_eq!(simulator.history().moments_of("kill 0.0").len(), 1);
    assert_eq!(simulator.history().moments_of("spawn"), [0, 1_000]);
}

#[test]
fn a_replacement_that_fails_after_its_predecessor_died_is_a_failed_start_like_any_other() {
    let mut simulator = about_to_be_replaced(Start::DiesAfter(ms(300), Exit::Code(1)));
    simulator.run_for(ms(100));
    simulator.slay(worker(0, 0), Exit::Signal(11));
    simulator.run_for(ms(210));
    assert_eq!(simulator.workers().len(), 0, "the next is put off");
    simulator.run_for(ms(300));
    assert_eq!(simulator.workers().len(), 1, "and not for a minute");
}

#[test]
fn a_worker_is_replaced_cold_when_there_is_no_memory_for_both_and_that_is_said() {
    let mut simulator = warm(Config { max_calls: Some(2), ..config() });
    simulator.headroom(99);
    simulator.tell(Input::Sample { worker: worker(0, 0), memory: 100 });
    let last = simulator.submit_to(call(), answers(50));
    simulator.run_for(ms(60));
    assert!(all_answered(&simulator, &[last]), "it finishes what it has");
    let told = "[recycle 0.0: calls, answered 2, memory 100, cold]";
    assert_eq!(simulator.history().moments_of(told), [150]);
    assert_eq!(simulator.history().moments_of("spawn"), [0, 151], "first it is gone, then the next starts");
    assert_eq!(simulator.workers(), [worker(0, 1)]);
    let served = simulator.submit(call());
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &[served]));
}

#[test]
fn cold_or_warm_is_a_question_of_memory_and_of_knowing_it() {
    for (headroom, memory, cold) in [
        (Some(100), Some(100), false),
        (Some(99), Some(100), true),
        (None, Some(100), false),
        (Some(0), None, false),
    ] {
        let mut simulator = warm(config());
        simulator.tell(Input::Headroom { memory: headroom });
        if let Some(memory) = memory {
            simulator.tell(Input::Sample { worker: worker(0, 0), memory });
        }
        simulator.reload();
        simulator.run_for(ms(100));
        assert_eq!(simulator.workers(), [if cold { worker(0, 1) } else { worker(1, 0) }]);
    }
}

#[test]
fn two_replacements_at_once_must_fit_together() {
    let mut simulator = warm(Config { workers: 2, max_replacing: 2, ..config() });
    simulator.script_starts([Start::ReadyAfter(ms(100)); 2]);
    for index in 0..2 {
        simulator.tell(Input::Sample { worker: worker(index, 0), memory: 100 });
    }
    simulator.headroom(150);
    simulator.reload();
    let told = |words| simulator.history().moments_of(words).len();
    assert_eq!((told("[recycle 0.0: reload, answered 1, memory 100]"), told("stop")), (1, 1));
    assert_eq!(told("[recycle 1.0: reload, answered 1, memory 100, cold]"), 1);
}

#[test]
fn without_memory_for_both_workers_are_replaced_cold_one_after_the_other() {
    let mut simulator = warm(Config { workers: 4, ..config() });
    simulator.script_starts([Start::ReadyAfter(ms(100)); 4]);
    for index in 0..4 {
        simulator.tell(Input::Sample { worker: worker(index, 0), memory: 100 });
    }
    simulator.headroom(0);
    simulator.reload();
    for round in 1..=4 {
        assert_eq!(simulator.history().moments_of("stop").len(), round);
        assert_eq!(simulator.scheduler().ready_workers().len(), 3, "round {round}");
        simulator.run_for(ms(101));
    }
    assert_eq!(simulator.scheduler().ready_workers().len(), 4);
}

#[test]
fn a_call_in_grace_keeps_its_worker_though_the_replacement_is_ready() {
    let mut simulator = about_to_be_replaced(Start::ReadyAfter(ms(5)));
    let gentle = simulator.submit_to(call(), stops_after(500));
    simulator.cancel(gentle);
    simulator.run_for(ms(100));
    assert_eq!(simulator.workers().len(), 2);
    assert!(simulator.history().moments_of("stop").is_empty());
    let next = simulator.submit(call());
    simulator.run_for(ms(20));
    assert!(all_answered(&simulator, &[next]), "on the replacement");
    simulator.run_for(ms(500));
    assert_eq!(simulator.workers(), [worker(1, 0)]);
    assert!(simulator.history().moments_of("kill").is_empty());
}

#[test]
fn who_finishes_a_long_call_keeps_nobody_else_from_being_replaced() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let long = simulator.submit_to(call(), answers(10_000));
    simulator.reload();
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.history().moments_of("[recycle").len(), 2);
    assert_eq!(end(&simulator, long), "open");
}

#[test]
fn closing_while_a_replacement_starts_ends_cleanly() {
    for ending in ["close", "terminate"] {
        let mut simulator = about_to_be_replaced(Start::ReadyAfter(ms(500)));
        let running = simulator.submit_to(call(), answers(200));
        simulator.run_for(ms(100));
        assert_eq!(simulator.workers().len(), 2);
        if ending == "close" {
            simulator.close(Some(ms(10_000)))
        } else {
            simulator.terminate()
        }
        simulator.run_out();
        assert_eq!(simulator.scheduler().phase(), PoolPhase::Closed);
        assert_eq!(end(&simulator, running).starts_with("answered"), ending == "close");
        let counters = simulator.scheduler().stats(simulator.now()).counters;
        assert_eq!((counters.crashed, counters.start_failed), (0, 0), "{ending}");
        let closed = simulator.history().moments_of("closed")[0];
        assert!(closed < 1_300, "and not after the replacement is ready: {closed}");
    }
}

#[test]
fn a_replacement_that_breaks_the_protocol_while_the_pool_ends_leaves_no_clock_behind() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::ReadyButStays(ms(5)), Start::Hangs]);
    simulator.warm(1);
    simulator.run_for(ms(100));
    simulator.reload();
    simulator.tell(Input::Violated { worker: worker(1, 0) });
    simulator.close(None);
    simulator.run_for(ms(50_000));
    assert_eq!(simulator.scheduler().phase(), PoolPhase::Closed);
    assert_eq!(simulator.scheduler().poll_timeout(), None);
}

#[test]
fn replacements_wait_like_all_starts_when_a_pool_starts_badly() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    simulator.script_starts([fails()]);
    simulator.slay(worker(1, 0), Exit::Signal(11));
    simulator.run_for(ms(1));
    simulator.reload();
    assert_eq!(simulator.history().moments_of("[recycle").len(), 0, "a start failed just now");
    simulator.run_for(ms(1_000));
    assert_eq!(simulator.history().moments_of("[recycle 0.0")[0], 301, "200 ms later");
}
