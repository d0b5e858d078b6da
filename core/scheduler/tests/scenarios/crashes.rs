//! What the death of a worker means for its calls.

use ganger_scheduler::{CallSpec, Config, Exit, Input};

use super::{all_answered, answers, call, config, crashes, end, idempotent, ms, stalls, warm, worker};
use crate::simulator::{Conduct, Run, Simulator, Start};

fn dies(exit: Exit) -> [Run; 1] {
    [Conduct::Crashes(ms(10), exit).into()]
}

#[test]
fn every_kind_of_death_settles_the_calls_exit_code_0_included() {
    for (exit, told) in [
        (Exit::Code(0), "exit"),
        (Exit::Code(3), "exit"),
        (Exit::Unknown, "exit"),
        (Exit::Signal(11), "signal"),
        (Exit::Signal(9), "signal"),
    ] {
        let mut simulator = warm(config());
        let call = simulator.submit_to(call(), dies(exit));
        simulator.run_out();
        assert_eq!(end(&simulator, call), format!("0.0 died ({told}), started maybe, attempts 1"));
        let crashes = simulator.history().moments_of("[exit 0.0");
        assert_eq!(crashes.len(), 1);
        assert_eq!(simulator.workers().len(), 1, "it is replaced");
    }
}

#[test]
fn one_crash_costs_one_workers_calls() {
    let mut simulator = warm(Config { workers: 4, concurrency: 2, ..config() });
    let others: Vec<_> = (0..6).map(|_| simulator.submit_to(call(), answers(200))).collect();
    let killer = simulator.submit_to(call(), crashes(10));
    let queued: Vec<_> = (0..20).map(|_| simulator.submit_to(call(), answers(50))).collect();
    simulator.run_out();
    let lost = others.iter().filter(|&&call| end(&simulator, call).contains("died")).count();
    assert!(lost <= 1, "only the neighbour");
    assert!(end(&simulator, killer).contains("died"));
    let survivors = queued.iter().filter(|&&call| end(&simulator, call).starts_with("answered")).count();
    assert!(survivors >= 19, "at most one of the queue stood beside the killer: {survivors}");
}

#[test]
fn started_says_no_maybe_or_yes() {
    let mut simulator = Simulator::new(config());
    simulator.script_starts([Start::ReadyAfter(ms(100))]);
    let waiting = simulator.submit(call());
    simulator.cancel(waiting);
    let silent = simulator.submit_to(call(), crashes(10));
    let heard = simulator.submit_to(call(), [Run::from(Conduct::Crashes(ms(10), Exit::Code(1))).heard()]);
    simulator.run_out();
    assert_eq!(end(&simulator, waiting), "cancelled, started no, attempts 0");
    assert_eq!(end(&simulator, silent), "0.0 died (signal), started maybe, attempts 1");
    assert_eq!(end(&simulator, heard), "0.1 died (exit), started yes, attempts 1");
}

#[test]
fn what_an_earlier_attempt_began_is_never_denied() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let heard = Run::from(Conduct::Crashes(ms(10), Exit::Code(1))).heard();
    let call = simulator.submit_to(idempotent(), [heard, crashes(10)[0]]);
    simulator.run_out();
    assert_eq!(end(&simulator, call), "1.0 died (signal), started yes, attempts 2");
}

#[test]
fn an_idempotent_call_runs_again_on_another_worker_as_often_as_it_may() {
    for retries in 0..4 {
        let mut simulator = warm(Config { workers: 2, ..config() });
        let before = simulator.assigned().len();
        let call = simulator.submit_to(CallSpec { retries, ..idempotent() }, crashes(10));
        simulator.run_out();
        assert!(
            end(&simulator, call).ends_with(&format!("attempts {}", retries + 1)),
            "{}",
            end(&simulator, call)
        );
        let mut places: Vec<_> = simulator.assigned()[before..].iter().map(|&(_, worker)| worker).collect();
        assert_eq!(places.len(), retries as usize + 1, "a killer costs no more workers");
        places.sort();
        places.dedup();
        assert_eq!(places.len(), retries as usize + 1, "never twice on one");
    }
}

#[test]
fn a_call_that_is_not_idempotent_never_repeats_by_itself() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let call = simulator.submit_to(CallSpec { retries: 5, ..call() }, crashes(10));
    simulator.run_out();
    assert!(end(&simulator, call).ends_with("attempts 1"));
}

#[test]
fn nothing_runs_again_after_a_timeout_or_its_own_error() {
    let mut simulator = warm(Config { workers: 2, ..config() });
    let spec = CallSpec { timeout: Some(ms(20)), cancel_grace: ms(10), ..idempotent() };
    let slow = simulator.submit_to(spec, stalls());
    let answered = simulator.submit_to(idempotent(), answers(5));
    simulator.run_out();
    assert_eq!(end(&simulator, slow), "timeout after 20ms, started maybe, attempts 1");
    assert_eq!(
        end(&simulator, answered),
        "answered, attempts 1",
        "an error of the function's own is an answer too"
    );
}

#[test]
fn retries_go_to_the_head_of_their_priority_in_the_order_of_submission() {
    let mut simulator = warm(Config { concurrency: 3, ..config() });
    let lost: Vec<_> =
        (0..3).map(|_| simulator.submit_to(idempotent(), [stalls()[0], answers(10)[0]])).collect();
    let fresh: Vec<_> = (0..3).map(|_| simulator.submit(call())).collect();
    let urgent = simulator.submit(CallSpec { priority: 1, ..call() });
    let before = simulator.assigned().len();
    simulator.slay(worker(0, 0), Exit::Signal(9));
    simulator.run_out();
    let order: Vec<_> = simulator.assigned()[before..].iter().map(|&(call, _)| call).collect();
    let expected: Vec<_> = [&[urgent][..], &lost, &fresh].concat();
    assert_eq!(order, expected);
    assert_eq!(simulator.history().moments_of("[retry").len(), 3);
}

#[test]
fn a_call_of_which_no_byte_was_written_goes_back_and_uses_no_retry() {
    let mut simulator = warm(Config { workers: 3, ..config() });
    let unwritten: Run = Conduct::Unwritten(ms(10), Exit::Code(1)).into();
    // The script goes by the attempt's number, which stays 1; so the second place is told apart by time.
    let call = simulator.submit_to(call(), [unwritten]);
    simulator.run_for(ms(25));
    simulator.cancel(call);
    assert_eq!(end(&simulator, call), "cancelled, started maybe, attempts 1", "the third place has it now");
    assert!(simulator.history().moments_of("[retry").is_empty());
    let times = simulator.assigned().iter().filter(|&&(id, _)| id == call).count();
    assert_eq!(times, 3, "not idempotent, and given out again all the same");
}

#[test]
fn an_answer_that_was_on_its_way_counts_though_its_worker_dies_next() {
    let mut simulator = warm(config());
    let call = simulator.submit_to(call(), answers(10));
    simulator.run_for(ms(10));
    simulator.slay(worker(0, 0), Exit::Signal(9));
    assert!(all_answered(&simulator, &[call]));
}

#[test]
fn a_worker_that_breaks_the_protocol_is_killed_and_replaced() {
    let mut simulator = warm(config());
    let call = simulator.submit_to(call(), [Conduct::Violates(ms(10)).into()]);
    simulator.run_out();
    assert_eq!(end(&simulator, call), "0.0 died (protocol), started maybe, attempts 1");
    assert_eq!(simulator.workers(), [worker(1, 0)]);
}

#[test]
fn lies_about_other_calls_and_other_workers_change_nothing() {
    for lie in [
        Conduct::AnswersTwice(ms(20)),
        Conduct::AnswersAnother(ms(20)),
        Conduct::AnswersAsFormer(ms(20)),
        Conduct::SpeaksAfterwards(ms(20)),
    ] {
        let mut simulator = warm(config());
        simulator.slay(worker(0, 0), Exit::Signal(9));
        simulator.run_for(ms(50));
        let liar = simulator.submit_to(call(), [lie.into()]);
        let next = simulator.submit_to(call(), answers(50));
        simulator.run_for(ms(20));
        assert!(all_answered(&simulator, &[liar]), "{lie:?}");
        assert_eq!(end(&simulator, next), "open", "{lie:?}");
        simulator.run_out();
        assert!(all_answered(&simulator, &[next]), "{lie:?}");
    }
}

#[test]
fn news_of_a_former_holder_of_the_seat_matches_nobody() {
    let mut simulator = warm(config());
    simulator.slay(worker(0, 0), Exit::Signal(9));
    simulator.run_for(ms(50));
    let call = simulator.submit_to(call(), stalls());
    let before = simulator.history().words().len();
    let former = worker(0, 0);
    simulator.tell(Input::Answered { worker: former, call });
    simulator.tell(Input::Heard { worker: former, call });
    simulator.tell(Input::Violated { worker: former });
    simulator.tell(Input::Exited { worker: former, exit: Exit::Code(1), unwritten: vec![call] });
    assert_eq!(simulator.history().words().len(), before);
}
