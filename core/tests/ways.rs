//! The two ways by which workers reach a pool, sockets that they inherit and the named endpoint, carry the same calls to the same ends.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ganger::error::DeathCause;
use ganger::{Call, Input, Pool};
use serde_json::{Value, json};
use support::{
    PATIENCE, asked, call, call_with, code, deeds, integer, outcome, pids, pool, runs, streams, submit, until,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Socket,
    Endpoint,
}

/// Plays the scene with two ready workers of two slots each, once for each way.
fn each_way(scene: impl Fn(Way, &Pool)) {
    let inherited = pool(json!({ "workers": 2, "min_workers": 2, "concurrency": 2 }));
    until("two have started", || pids(&inherited).len() == 2);
    scene(Way::Socket, &inherited);
    inherited.close_blocking(Some(PATIENCE));

    let named = pool(json!({ "workers": 0, "concurrency": 2, "endpoint": true }));
    let mut by_hand = [ByHand::attached_to(&named), ByHand::attached_to(&named)];
    until("two have attached", || pids(&named).len() == 2);
    scene(Way::Endpoint, &named);
    named.close_blocking(Some(PATIENCE));
    by_hand.iter_mut().for_each(ByHand::wait);
}

/// A worker as a person starts one.
struct ByHand(Child);

impl ByHand {
    fn attached_to(pool: &Pool) -> Self {
        let invitation = pool.invite().expect("it has an endpoint");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a repository");
        let child = Command::new("python3")
            .arg(root.join("worker-sdk/python/ganger_worker_start.py"))
            .arg(deeds())
            .env("GANGER_ENDPOINT", &invitation.address)
            .env("GANGER_TOKEN", &invitation.token)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("there is a python3"))
    }

    /// It goes by itself when its lanes end.
    fn wait(&mut self) {
        until("the worker has gone", || self.0.try_wait().is_ok_and(|status| status.is_some()));
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn values_come_back_as_they_went() {
    let values = [
        json!(null),
        json!(-1),
        json!(2.5),
        json!("grüß dich"),
        json!([1, [2, {}]]),
        json!({ "x": { "a": [true] } }),
    ];
    each_way(|way, pool| {
        for value in &values {
            // A map would be spread over the parameters: it goes as one of them.
            let input = if value.is_object() { value.clone() } else { json!({ "x": value }) };
            let reply = call(pool, "echo", input).unwrap();
            let told = ganger_protocol::Value::decode(&reply.payload).unwrap().to_json();
            assert_eq!(told, *value.get("x").unwrap_or(value), "{way:?}");
        }
    });
}

#[test]
fn large_payloads_arrive_whole_both_ways() {
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|place| (place % 251) as u8).collect();
    each_way(|way, pool| {
        let reply = pool.call_blocking(Call::new("echo", Input::raw(bytes.clone()))).unwrap();
        assert!(reply.payload == bytes, "{way:?}");
    });
}

#[test]
fn four_calls_run_at_once_on_two_workers() {
    each_way(|way, pool| {
        let calls: Vec<_> =
            (0..4).map(|_| submit(pool, "polite", json!({}), json!({ "timeout": "2s" }))).collect();
        until("all four run", || pool.stats().running == 4);
        let workers: BTreeSet<_> = pool.calls().iter().map(|call| call.worker).collect();
        assert_eq!(workers.len(), 2, "{way:?}");
        assert!(calls.iter().all(|call| code(outcome(call)) == "TIMEOUT"));
        until("the slots are free", || pool.stats().running == 0);
        assert_eq!(pool.stats().crashed, 0, "{way:?}: asked to stop, they did");
    });
}

#[test]
fn errors_of_every_kind_are_told() {
    each_way(|way, pool| {
        let error = call(pool, "echo", json!({ "y": 1 })).unwrap_err();
        assert_eq!(error.code.to_string(), "INVALID_INPUT", "{way:?}");
        assert_eq!(code(call(pool, "no_such", json!({}))), "NO_SUCH_FUNCTION", "{way:?}");
        assert_eq!(
            code(call_with(pool, "nap", json!(60), json!({ "deadline": "100ms" }))),
            "DEADLINE_EXCEEDED"
        );
        assert!(call(pool, "echo", json!({ "x": 1 })).is_ok(), "{way:?}");
    });
}

#[test]
fn a_death_costs_the_calls_of_one_worker_and_may_be_tried_on_another() {
    each_way(|way, pool| {
        let error = call(pool, "leave", json!("SIGKILL")).unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.attempts), ("WORKER_CRASHED", 1), "{way:?}");
        let death = error.worker.unwrap();
        let cause = if way == Way::Socket { DeathCause::Signal } else { DeathCause::Detached };
        assert_eq!(death.cause, cause);
        let gone = death.pid.unwrap();
        until("it is gone", || !runs(gone));
        let napping = submit(pool, "nap", json!(0.2), json!({ "idempotent": true }));
        assert!(outcome(&napping).is_ok(), "{way:?}");
        assert!(pids(pool).iter().all(|left| *left != gone), "{way:?}");
    });
}

#[test]
fn streams_go_both_ways_and_who_leaves_is_heard_of() {
    each_way(|way, pool| {
        let list = call(pool, "numbers", json!(200)).unwrap();
        assert_eq!(streams::value(&list), json!(streams::numbers(0..200)), "{way:?}");
        let empty = call(pool, "deeds.numbers", json!(0)).unwrap();
        assert_eq!(streams::value(&empty), json!([]), "{way:?}: by its file's name as well");
        let (mirror, inputs) = streams::both_ways(pool, "mirror", json!({}));
        for number in 0..200 {
            streams::send(&inputs, streams::item(json!(number)));
            assert_eq!(streams::items(&mirror, 1), [json!(number)], "{way:?}");
        }
        // Longer than what goes in one piece, or than the socket holds.
        let long: Vec<u8> = (0..3_000_000_u32).map(|place| (place % 251) as u8).collect();
        streams::send(&inputs, streams::blob(long.clone()));
        assert!(streams::taken(&mirror, 1).items[0].payload == long, "{way:?}");
        inputs.finish();
        assert!(streams::end(&mirror).is_ok(), "{way:?}");
        let left = streams::stream(pool, "numbers", json!(1_000_000));
        assert_eq!(streams::items(&left, 5), streams::numbers(0..5), "{way:?}");
        drop(left);
        until("the slots are free", || pool.stats().running == 0);
        assert_eq!(pool.stats().crashed, 0, "{way:?}: asked to stop, it did");
    });
}

#[test]
fn everybody_is_asked_by_a_broadcast() {
    each_way(|way, pool| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let asked: Call = asked("pid", &json!({}), &json!({}));
        pool.broadcast(&asked, Box::new(move |all| sender.send(all).unwrap()));
        let all = receiver.recv_timeout(PATIENCE).unwrap();
        let told: BTreeSet<i64> = all.into_iter().map(|(_, outcome)| integer(outcome)).collect();
        let known: BTreeSet<i64> = pids(pool).into_iter().map(i64::from).collect();
        assert_eq!(told, known, "{way:?}");
    });
}

#[test]
fn closing_lets_calls_end_first() {
    each_way(|way, pool| {
        let napping = submit(pool, "nap", json!(0.3), json!({}));
        until("it runs", || pool.stats().running == 1);
        pool.close_blocking(Some(PATIENCE));
        assert!(outcome(&napping).is_ok(), "{way:?}");
        assert_eq!(code(call(pool, "echo", Value::Null)), "POOL_CLOSED", "{way:?}");
    });
}
