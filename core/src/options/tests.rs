use std::time::Duration;

use serde_json::{Map, Value, json};

use super::*;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().expect("a map").clone()
}

fn pool(value: Value, surface: Surface) -> Result<PoolOptions, OptionError> {
    PoolOptions::parse(&map(value), surface)
}

fn call(value: Value, surface: Surface) -> Result<CallOptions, OptionError> {
    CallOptions::parse(&map(value), surface)
}

fn refusal(result: Result<PoolOptions, OptionError>) -> String {
    result.expect_err("refused").to_string()
}

/// One good value for each kind, as each language writes it.
fn example(kind: OptionKind) -> Value {
    match kind {
        OptionKind::Argv | OptionKind::Texts => json!(["./worker", ""]),
        OptionKind::Choice(words) => json!(words[0]),
        OptionKind::Count { min, .. } => json!(min.max(1)),
        OptionKind::Duration { .. } => json!("1m30s"),
        OptionKind::Env => json!({"A": "b", "HOME": null}),
        OptionKind::Flag => json!(true),
        OptionKind::FlagOrPath => json!("/tmp/pool.sock"),
        OptionKind::Path | OptionKind::Text => json!("x"),
        OptionKind::Size { .. } => json!("1.5GiB"),
        OptionKind::TextMap => json!({"traceparent": "00-1-2-01"}),
    }
}

#[test]
fn every_row_can_be_set_in_every_language() {
    for surface in [Surface::Node, Surface::Python, Surface::Rust] {
        for row in call_options() {
            let options = call(json!({ surface.spell(row.name): example(row.kind) }), surface).unwrap();
            // `priority` has 0 as its default and 1 as its example, so every row must leave a trace.
            assert_ne!(options, CallOptions::default(), "{}", row.name);
        }
        for row in pool_options() {
            let mut given = json!({ "python": "p.py", surface.spell(row.name): example(row.kind) });
            if matches!(row.name, "node" | "command" | "wasm" | "wasm_memory" | "wasm_fresh") {
                given.as_object_mut().unwrap().remove("python");
            }
            if row.name.starts_with("wasm_") {
                given["wasm"] = json!("w.wasm");
            }
            let options = pool(given, surface).unwrap();
            let plain = PoolOptions::new(WorkerCommand::Python { target: "p.py".into(), interpreter: None });
            let is_default = matches!(row.name, "when_full" | "retries" | "concurrency" | "max_replacing");
            assert_eq!(options == plain, is_default, "{}", row.name);
        }
    }
}

#[test]
fn the_defaults_are_those_of_the_table() {
    let options = pool(json!({"python": "workers/prices.py"}), Surface::Node).unwrap();
    assert_eq!(
        options,
        PoolOptions {
            worker: WorkerCommand::Python { target: "workers/prices.py".into(), interpreter: None },
            name: "prices".into(),
            workers: None,
            min_workers: 0,
            idle_timeout: None,
            full_timeout: None,
            health_interval: Some(Duration::from_secs(10)),
            health_timeout: Duration::from_secs(10),
            max_calls: None,
            max_memory: None,
            max_age: None,
            max_replacing: 1,
            inner_threads: None,
            devices: Vec::new(),
            watch: None,
            concurrency: 1.try_into().unwrap(),
            max_queue: 10_000,
            max_queue_bytes: 256 << 20,
            when_full: WhenFull::Reject,
            timeout: None,
            queue_timeout: None,
            deadline: None,
            cancel_grace: Duration::from_secs(2),
            close_timeout: Duration::from_secs(10),
            stop_timeout: Duration::from_secs(5),
            start_timeout: Duration::from_secs(60),
            retries: 1,
            max_payload: 4 << 30,
            shared_memory: 1 << 30,
            memory_limit: None,
            env: Default::default(),
            cwd: None,
            endpoint: None,
        }
    );
    let nulls: Map<String, Value> = pool_options()
        .map(|row| (row.name.to_owned(), Value::Null))
        .chain([("python".into(), json!("x"))])
        .collect();
    let plain = PoolOptions::new(WorkerCommand::Python { target: "x".into(), interpreter: None });
    assert_eq!(PoolOptions::parse(&nulls, Surface::Python), Ok(plain), "null is the default");
    assert!(usable_cpus().get() >= 1);
}

#[test]
fn a_bare_duration_has_the_unit_of_the_language() {
    let timeout =
        |value: Value, surface| call(json!({ "timeout": value }), surface).map(|options| options.timeout);
    let after = |milliseconds| Ok(Some(Limit::After(Duration::from_millis(milliseconds))));
    assert_eq!(timeout(json!(500), Surface::Node), after(500));
    assert_eq!(timeout(json!(0.5), Surface::Python), after(500));
    assert_eq!(timeout(json!("1m30s"), Surface::Rust), after(90_000));
    assert_eq!(timeout(json!("never"), Surface::Rust), Ok(Some(Limit::Never)));
    assert!(timeout(json!(500), Surface::Rust).is_err());
    for wrong in [json!(0), json!(-1), json!("10"), json!(true), json!([1]), json!(1e300), json!("")] {
        assert!(timeout(wrong.clone(), Surface::Python).is_err(), "{wrong}");
    }
    assert_eq!(
        call(json!({"cancelGrace": 0}), Surface::Node).unwrap().cancel_grace,
        Some(Duration::ZERO),
        "a grace of nothing kills at once"
    );
    assert_eq!(
        timeout(json!("abc"), Surface::Node).unwrap_err().to_string(),
        r#"option "timeout" is "abc", but must be milliseconds or text such as "10s" or "1m30s" above zero or "never""#
    );
}

#[test]
fn a_bare_size_is_megabytes_until_it_must_be_a_mistake() {
    let limit = |value: Value| pool(json!({"python": "x", "memoryLimit": value}), Surface::Node);
    assert_eq!(limit(json!(512)).unwrap().memory_limit, Some(512_000_000));
    assert_eq!(limit(json!("512MiB")).unwrap().memory_limit, Some(512 << 20));
    assert_eq!(
        refusal(limit(json!(4_294_967_296_u64))),
        "option \"memoryLimit\" is 4294967296, but must be megabytes or text such as \"512mb\" or \"1.5GiB\"; \
         write a unit, \"4294967296b\" if bytes are meant"
    );
    for wrong in [json!(0), json!(-5), json!("512"), json!(1_000_000), json!(true)] {
        assert!(limit(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn an_unknown_option_is_named_with_the_nearest_known_one() {
    let wrong = |name: &str, surface| refusal(pool(json!({"python": "x", name: 1}), surface));
    assert_eq!(wrong("maxQue", Surface::Node), r#"unknown option "maxQue"; did you mean "maxQueue"?"#);
    assert_eq!(wrong("max_queue", Surface::Node), r#"unknown option "max_queue"; did you mean "maxQueue"?"#);
    assert_eq!(wrong("maxQueue", Surface::Python), r#"unknown option "maxQueue"; did you mean "max_queue"?"#);
    assert_eq!(
        wrong("priority", Surface::Node),
        r#"unknown option "priority"; it is an option of a call, not of a pool"#
    );
    assert_eq!(wrong("banana", Surface::Node), r#"unknown option "banana""#);
    let elsewhere = call(json!({"workers": 1}), Surface::Node).unwrap_err();
    assert_eq!(
        elsewhere.to_string(),
        r#"unknown option "workers"; it is an option of a pool, not of a call"#
    );
    assert_eq!(elsewhere.name(), "workers");
    let input = call(json!({"amount": 3}), Surface::Python).unwrap_err();
    assert_eq!(
        input.to_string(),
        r#"unknown option "amount"; an input is one value, such as {"amount": ...}"#
    );
    // What does not exist yet is not silently taken.
    for later in ["go", "arena"] {
        assert!(wrong(later, Surface::Node).starts_with("unknown option"), "{later}");
    }
}

#[test]
fn numbers_are_whole_and_in_range() {
    let workers = |value: Value, surface| pool(json!({"python": "x", "workers": value}), surface);
    assert_eq!(workers(json!(4.0), Surface::Node).unwrap().workers, Some(4), "JavaScript knows no other 4");
    for (wrong, surface) in [
        (json!(4.0), Surface::Python),
        (json!(1.5), Surface::Node),
        (json!(-1), Surface::Node),
        (json!(4097), Surface::Node),
        (json!("4"), Surface::Node),
        (json!(true), Surface::Python),
        (json!(u64::MAX), Surface::Node),
        (json!(1e300), Surface::Node),
    ] {
        assert!(workers(wrong.clone(), surface).is_err(), "{wrong} {surface:?}");
    }
    assert_eq!(
        refusal(workers(json!(true), Surface::Python)),
        r#"option "workers" is True, but must be a whole number from 0 to 4096"#
    );
}

#[test]
fn no_workers_only_where_some_may_attach() {
    assert!(refusal(pool(json!({"python": "x", "workers": 0}), Surface::Node)).contains("at least 1"));
    let open = pool(json!({"python": "x", "workers": 0, "endpoint": true}), Surface::Node).unwrap();
    assert_eq!((open.workers, open.endpoint), (Some(0), Some(Endpoint::Private)));
    assert!(pool(json!({"python": "x", "workers": 0, "endpoint": false}), Surface::Node).is_err());
}

#[test]
fn every_worker_has_a_device_and_at_least_the_fewest_fit() {
    let of = |workers: u32, more: &str, value: Value| {
        pool(json!({"python": "x", "workers": workers, more: value}), Surface::Node)
    };
    assert!(refusal(of(3, "devices", json!(["cuda:0", "cuda:1"]))).contains("\"workers\" is more"));
    assert!(of(2, "devices", json!(["cuda:0", "cuda:0"])).is_ok(), "two may share one");
    assert_eq!(refusal(of(1, "minWorkers", json!(2))), r#"option "minWorkers" is more than "workers""#);
    assert!(of(1, "minWorkers", json!(1)).is_ok());
}

#[test]
fn a_pool_has_exactly_one_worker_kind() {
    assert!(refusal(pool(json!({}), Surface::Node)).contains("needs one of"));
    for (several, named) in [
        (json!({"python": "x", "node": "y"}), "node"),
        (json!({"python": "x", "command": ["y"]}), "command"),
        (json!({"node": "x", "command": ["y"]}), "command"),
        (json!({"node": "x", "wasm": "y"}), "wasm"),
        (json!({"wasm": "x", "command": ["y"]}), "command"),
        (json!({"command": ["x"], "interpreter": "python3"}), "interpreter"),
        (json!({"python": "x", "wasmMemory": 64}), "wasmMemory"),
        (json!({"python": "x", "wasmFresh": true}), "wasmFresh"),
    ] {
        assert_eq!(pool(several.clone(), Surface::Node).unwrap_err().name(), named, "{several}");
    }
    let node = pool(json!({"node": "w.mjs", "interpreter": "/usr/bin/node"}), Surface::Node).unwrap().worker;
    assert_eq!(
        node,
        WorkerCommand::Node { target: "w.mjs".into(), executable: Some("/usr/bin/node".into()) }
    );
}

#[test]
fn a_wasm_worker_has_its_limits() {
    let worker = |given: Value| pool(given, Surface::Python).unwrap().worker;
    let wasm = |program: Option<&str>, memory, fresh| WorkerCommand::Wasm {
        target: "p.wasm".into(),
        program: program.map(str::to_owned),
        memory,
        fresh,
    };
    assert_eq!(worker(json!({"wasm": "p.wasm"})), wasm(None, None, false));
    assert_eq!(
        worker(
            json!({"wasm": "p.wasm", "interpreter": "x/ganger-wasm", "wasm_memory": "64MiB", "wasm_fresh": true})
        ),
        wasm(Some("x/ganger-wasm"), Some(64 << 20), true)
    );
}

#[test]
fn texts_lists_and_maps_hold_what_a_process_can_be_given() {
    let good =
        pool(json!({"command": ["./w", "", "-v"], "env": {"A": "", "B": null}, "cwd": "/"}), Surface::Rust)
            .unwrap();
    assert_eq!(good.worker, WorkerCommand::Command { argv: vec!["./w".into(), String::new(), "-v".into()] });
    assert_eq!(good.env, [("A".into(), Some(String::new())), ("B".into(), None)].into());
    for wrong in [
        json!({"command": []}),
        json!({"command": "./w -v"}),
        json!({"command": [""]}),
        json!({"command": ["./w", 3]}),
        json!({"command": ["./w", "a\0b"]}),
        json!({"python": ""}),
        json!({"python": "x", "env": {"A": 1}}),
        json!({"python": "x", "env": {"A=B": "x"}}),
        json!({"python": "x", "env": {"": "x"}}),
        json!({"python": "x", "env": {"GANGER_TOKEN": "x"}}),
        json!({"python": "x", "whenFull": "sulk"}),
        json!({"python": "x", "cwd": 3}),
    ] {
        assert!(pool(wrong.clone(), Surface::Node).is_err(), "{wrong}");
    }
}

#[test]
fn a_pool_is_named_after_its_worker() {
    for (given, name) in [
        (json!({"python": "workers/prices.py"}), "prices"),
        (json!({"python": "workers/"}), "workers"),
        (json!({"python": "my.workers"}), "my.workers"),
        (json!({"python": "."}), "pool"),
        (json!({"node": "./thumbs.mjs"}), "thumbs"),
        (json!({"wasm": "plugins/score.wasm"}), "score"),
        (json!({"command": ["/opt/hash", "-v"]}), "hash"),
        (json!({"python": "x", "name": "mine"}), "mine"),
    ] {
        assert_eq!(pool(given, Surface::Python).unwrap().name, name);
    }
}

#[test]
fn a_word_for_every_row() {
    for row in pool_options().chain(call_options()) {
        assert!(row.doc.ends_with('.') && row.doc.len() > 40, "{}", row.name);
        assert!(!row.default.text().is_empty(), "{}", row.name);
        let names: Vec<_> = pool_options().map(|other| other.name).filter(|name| *name == row.name).collect();
        assert!(names.len() <= 1, "{} twice", row.name);
    }
}
