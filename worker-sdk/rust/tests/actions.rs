//! A real worker process of functions with the attribute `action`: their contracts, calls, and the state they share.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "the other suites use the rest of the host")]

mod host;

use ganger_protocol::message::{Contract, ErrorReport, Exclusive, FunctionKind, Ready, code};
use ganger_protocol::{Encoding, Kind, Value};
use host::Host;
use serde_json::{Value as Json, json};

fn started(arguments: &[&str]) -> Host {
    let mut host = Host::spawn_example("actions", arguments);
    host.control.expect(Kind::Hello);
    host.welcome(4);
    host
}

fn ready(host: &mut Host) -> Vec<Contract> {
    Ready::decode(&host.data.expect(Kind::Ready).body).unwrap().functions
}

fn contract(name: &str) -> Contract {
    let functions = ready(&mut started(&[]));
    functions.into_iter().find(|contract| contract.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn json(schema: Option<Value>) -> Json {
    schema.map_or(Json::Null, |schema| schema.to_json())
}

fn call(host: &mut Host, function: &str, input: Json) -> u64 {
    host.call(function, Value::from(input))
}

/// The items of a stream that fits into its window.
fn items(host: &mut Host, seq: u64) -> Vec<Json> {
    let mut items = Vec::new();
    loop {
        let frame = host.data.receive().unwrap();
        assert_eq!(frame.seq, seq);
        if frame.kind == Kind::Item {
            items.push(Value::decode(&frame.payload).unwrap().to_json());
        } else {
            assert_eq!(frame.kind, Kind::Result);
            return items;
        }
    }
}

#[test]
fn every_function_with_the_attribute_is_offered_in_the_order_of_names() {
    let names: Vec<_> = ready(&mut started(&[])).into_iter().map(|contract| contract.name).collect();
    let of_actions = [
        "all",
        "capitals",
        "convert",
        "count",
        "count_later",
        "counted",
        "function",
        "halves",
        "letters",
        "reverse",
        "scan",
        "shorten",
        "text.shout",
        "twice",
    ];
    assert_eq!(names[..of_actions.len()], of_actions);
    assert_eq!(names[of_actions.len()..], ["halve"]);
}

#[test]
fn promises_and_the_summary_are_in_the_contract() {
    let convert = contract("convert");
    assert_eq!(convert.summary.as_deref(), Some("Converts a price by the rate of the day."));
    assert!(convert.idempotent);
    assert_eq!((convert.timeout_ms, convert.slots, convert.weight), (Some(5000), 2, 3));
    assert_eq!((convert.coefficient, convert.exclusive), (1.5, Some(Exclusive::Worker)));
    assert_eq!(contract("text.shout").summary.as_deref(), Some("Writes in capitals"));
    let letters = contract("letters");
    assert_eq!((letters.summary, letters.idempotent, letters.timeout_ms), (None, false, None));
}

#[test]
fn functions_that_give_many_values_are_streams() {
    let kinds = ["convert", "text.shout", "count", "letters", "count_later", "scan"];
    let kinds = kinds.map(|name| contract(name).kind == FunctionKind::Stream);
    assert_eq!(kinds, [false, false, true, true, true, true]);
}

#[test]
fn schemas_say_what_is_read_and_what_is_written() {
    let convert = contract("convert");
    let input = json(convert.input);
    assert_eq!(input["required"], json!(["amount"]));
    let amount = &input["properties"]["amount"];
    assert_eq!(amount["type"], "number");
    assert_eq!(amount["description"], "In the unit of its currency.");
    assert_eq!(input["properties"]["tags"]["items"]["$ref"], "#/$defs/Label");
    assert_eq!(input["$defs"]["Currency"]["enum"], json!(["EUR", "USD"]));
    assert_eq!(input.get("$schema"), None);
    let output = json(convert.output);
    assert_eq!(output["required"], json!(["amount", "currency", "labels", "seal"]));
    assert_eq!(output["properties"]["seal"], json!({ "type": "string", "contentEncoding": "base64" }));
}

#[test]
fn schemas_of_streams_are_those_of_their_items() {
    assert_eq!(json(contract("count").output)["format"], "uint32");
    assert_eq!(json(contract("count_later").output)["format"], "uint32");
    for function in ["letters", "capitals"] {
        assert_eq!(json(contract(function).output)["type"], "string");
    }
    let scan = contract("scan");
    assert_eq!(json(scan.inputs)["format"], "int64");
    assert_eq!(json(scan.output)["type"], json!(["integer", "null"]));
    assert_eq!(contract("count").inputs, None);
}

#[test]
fn bytes_have_their_schema_and_a_type_without_one_has_none() {
    let bytes = json!({ "type": "string", "contentEncoding": "base64" });
    let reverse = contract("reverse");
    assert_eq!((json(reverse.input), json(reverse.output)), (bytes.clone(), bytes));
    let shout = contract("text.shout");
    assert_eq!((json(shout.input), json(shout.output)["type"].clone()), (Json::Null, json!("string")));
    assert_eq!(json(contract("function").input)["type"], "null");
}

#[test]
fn a_closure_is_described_by_its_builder() {
    let halve = contract("halve");
    assert_eq!(json(halve.input)["type"], "number");
    assert_eq!(json(halve.output)["type"], json!(["number", "null"]));
    assert_eq!(json(halve.inputs)["type"], "boolean");
}

#[test]
fn each_way_to_answer_answers() {
    let mut host = started(&[]);
    ready(&mut host);
    let seq = call(&mut host, "convert", json!({ "amount": 2, "tags": [{ "text": "a" }] }));
    let frame = host.data.expect(Kind::Result);
    let converted = Value::decode(&frame.payload).unwrap();
    assert_eq!((frame.seq, converted.get("amount")), (seq, Some(&Value::Float(3.0))));
    assert_eq!(converted.get("seal"), Some(&Value::Bytes(b"x".to_vec())));
    let seq = call(&mut host, "text.shout", json!({ "text": "hey" }));
    assert_eq!(host.result(seq), "HEY");
    let seq = call(&mut host, "function", Json::Null);
    assert_eq!(host.result(seq), Json::Null);
    for (function, input, expected) in [
        ("count", json!(3), json!([0, 1, 2])),
        ("letters", json!("ab"), json!(["a", "b"])),
        ("capitals", json!("aBcD"), json!(["B", "D"])),
        ("twice", json!(4), json!([4, 4])),
        ("count_later", json!(2), json!([0, 1])),
    ] {
        let seq = call(&mut host, function, input);
        assert_eq!(Json::from(items(&mut host, seq)), expected, "{function}");
    }
    let seq = call(&mut host, "capitals", json!("ab"));
    assert_eq!(host.error(seq).message, "no capitals");
}

#[test]
fn an_input_that_does_not_fit_is_refused_with_its_path_before_the_function_runs() {
    let mut host = started(&[]);
    ready(&mut host);
    for (input, path) in [
        (json!({ "amount": "two" }), "$.amount"),
        (json!({ "amount": 1, "tags": [{ "text": "a" }, { "text": 7 }] }), "$.tags[1].text"),
        (json!({ "amount": 1, "currency": "eur" }), "$.currency"),
        (json!({}), "$"),
    ] {
        let seq = call(&mut host, "convert", input);
        let report = host.error(seq);
        assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_INPUT, Some(path)));
    }
    let seq = call(&mut host, "counted", json!(1));
    assert_eq!(host.error(seq).code, code::INVALID_INPUT);
    let seq = call(&mut host, "counted", Json::Null);
    assert_eq!(host.result(seq)[1], 1, "the refused call has not run");
}

#[test]
fn all_calls_share_one_state() {
    let mut host = started(&[]);
    ready(&mut host);
    for calls in 1..=5 {
        let seq = call(&mut host, "counted", Json::Null);
        assert_eq!(host.result(seq), json!([0, calls, "counted"]));
    }
}

#[test]
fn a_worker_without_the_state_that_a_function_takes_does_not_start() {
    for (state, said) in [
        ("without", "but the worker has no state"),
        ("another", "but the worker's state is u64"),
        ("broken", "no model"),
    ] {
        let mut host = started(&[state]);
        let frame = host.data.expect(Kind::Error);
        let report = ErrorReport::decode(&frame.body).unwrap();
        assert_eq!((frame.seq, report.code.as_str()), (0, code::START_FAILED));
        assert!(report.message.contains(said), "{}", report.message);
    }
}

#[test]
fn raw_bytes_go_through() {
    let mut host = started(&[]);
    ready(&mut host);
    let seq = host.call_with(&ganger_protocol::message::Call::new("reverse"), Encoding::Raw, vec![1, 2, 3]);
    let frame = host.data.expect(Kind::Result);
    assert_eq!((frame.seq, &frame.payload[..]), (seq, &[3, 2, 1][..]));
}
