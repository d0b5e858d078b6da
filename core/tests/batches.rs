//! Calls that are handed over together, with workers in both languages that take such: each call has an end of its own.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use ganger::{Call, Input, Outcome, Pool};
use serde_json::{Value, json};
use support::{call, code, integer, made, node_worker, outcome, submit, text, until};

/// Plays the scene with one worker of each language.
fn in_each_language(scene: impl Fn(&Pool)) {
    for (kind, file) in [("python", "batches.py"), ("node", "batches.mjs")] {
        scene(&made(&json!({ kind: node_worker(file), "workers": 1, "cancel_grace": "60s" })));
    }
}

fn submit_all<const N: usize>(pool: &Pool, function: &str, inputs: [Value; N]) -> [Receiver<Outcome>; N] {
    inputs.map(|input| submit(pool, function, input, json!({})))
}

fn outcomes<const N: usize>(receivers: [Receiver<Outcome>; N]) -> [Outcome; N] {
    receivers.map(|receiver| outcome(&receiver))
}

/// A call whose input is no MessagePack.
fn submit_no_value(pool: &Pool, function: &str) -> Receiver<Outcome> {
    let (sender, receiver) = channel();
    let call = Call::new(function, Input::message_pack(vec![0xc1]));
    pool.submit(call, Box::new(move |outcome| sender.send(outcome).unwrap()));
    receiver
}

fn number(outcome: &Outcome) -> f64 {
    let payload = &outcome.as_ref().unwrap().payload;
    ganger_protocol::Value::decode(payload).unwrap().to_json().as_f64().unwrap()
}

#[test]
fn calls_that_wait_run_together_and_each_gets_its_own_result() {
    in_each_language(|pool| {
        let together = submit_all(pool, "sizes", [1, 2, 3, 4].map(Value::from));
        assert_eq!(outcomes(together).map(integer), [4; 4]);
        let again = submit_all(pool, "sizes", [1, 2, 3, 4].map(Value::from));
        assert_eq!(outcomes(again).map(integer), [4; 4]);
        assert_eq!((pool.stats().batches, pool.stats().batched), (2, 8));
        let own = submit_all(pool, "soon", [1, 2, 3].map(Value::from));
        assert_eq!(outcomes(own).map(integer), [-1, -2, -3]);
        assert_eq!(integer(call(pool, "soon", json!(9))), -9, "a batch that never fills goes after its wait");
        let info = pool.functions().unwrap();
        let batch = info.iter().find(|info| info.name.ends_with("sizes")).unwrap().batch.unwrap();
        assert_eq!((batch.max, batch.wait_ms), (4, 60_000));
    });
}

#[test]
fn what_is_wrong_with_one_call_is_its_own_affair() {
    in_each_language(|pool| {
        let two = submit_no_value(pool, "sizes");
        let [one, three, four] = outcomes(submit_all(pool, "sizes", [1, 3, 4].map(Value::from)));
        let two = outcome(&two);
        let error = two.unwrap_err();
        assert_eq!(error.code.to_string(), "INVALID_INPUT", "{error}");
        assert_eq!([one, three, four].map(integer), [3; 3], "the others run without it");
        let [four, none, nine, zero] = outcomes(submit_all(pool, "roots", [4, -1, 9, 0].map(Value::from)));
        assert_eq!([number(&four), number(&nine), number(&zero)], [2.0, 3.0, 0.0]);
        let error = none.unwrap_err();
        assert_eq!(error.code.to_string(), "CALL_FAILED");
        assert!(error.to_string().contains("-1"), "{error}");
    });
}

#[test]
fn results_that_are_not_as_many_as_the_inputs_are_told_to_every_call() {
    in_each_language(|pool| {
        let calls = submit_all(pool, "too_few", [1, 2].map(Value::from));
        assert_eq!(outcomes(calls).map(code), ["INVALID_RESULT", "INVALID_RESULT"]);
        assert!(call(pool, "pid", json!(null)).is_ok(), "the worker lives on");
    });
}

#[test]
fn a_crash_is_told_to_every_call_and_the_one_that_did_it_takes_no_other_along_again() {
    in_each_language(|pool| {
        let calls = submit_all(pool, "deadly", ["live", "die", "live on"].map(Value::from));
        let [live, die, on] = outcomes(calls);
        let error = die.unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.attempts), ("WORKER_CRASHED", 2));
        for spared in [live, on] {
            assert_eq!(spared.as_ref().unwrap().attempts, 2);
            assert_eq!(integer(spared), 1, "it ran by itself");
        }
        assert_eq!((pool.stats().batches, pool.stats().batched), (1, 3));
    });
}

/// A file that is not there yet.
fn gate(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ganger-batches-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let gate = folder.join("gate");
    let _ = std::fs::remove_file(&gate);
    let _ = std::fs::remove_file(gate.with_extension("begun"));
    gate
}

#[test]
fn who_gives_up_is_let_go_alone_and_the_function_is_asked_to_stop_with_the_last() {
    in_each_language(|pool| {
        let before = integer(call(pool, "pid", json!(null)));
        let gate = gate("held");
        let path = json!(gate.display().to_string());
        let patient = submit(pool, "held", path.clone(), json!({}));
        let hasty = submit(pool, "held", path.clone(), json!({ "timeout": "200ms" }));
        assert_eq!(code(outcome(&hasty)), "TIMEOUT");
        until("the worker has let it go", || pool.stats().details[0].running == 1);
        std::fs::write(&gate, "").unwrap();
        assert_eq!(text(outcome(&patient)), "held");

        std::fs::remove_file(&gate).unwrap();
        let hasty = [(); 2].map(|()| submit(pool, "held", path.clone(), json!({ "timeout": "200ms" })));
        assert_eq!(outcomes(hasty).map(code), ["TIMEOUT", "TIMEOUT"]);
        assert_eq!(integer(call(pool, "pid", json!(null))), before, "it stopped as it was asked to");
        std::fs::remove_dir_all(gate.parent().unwrap()).unwrap();
    });
}
