//! Calls and their answers: what functions see, and what becomes of their errors.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ganger_protocol::message::{Call, Level, Log, Progress, Shape, code};
use ganger_protocol::{Encoding, Frame, Kind, Lane, Value};

use super::frames::NOBODY;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Kept, ensure};
use crate::check::describe::describe;
use crate::check::process::Exit;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[7, 8, 17], &[], knows_no_such_function),
    trial(&[17], &[], names_the_nearest_function),
    trial(&[17], &[], repeats_no_long_name),
    trial(&[16], &[Need::Function("check_wait")], starts_each_call_at_once),
    trial(&[18], &[Need::Function("check_echo")], takes_arguments),
    trial(&[19], &[Need::Function("check_number")], says_where_an_input_does_not_fit),
    trial(&[20], &[Need::Function("check_odd")], says_that_a_result_cannot_be_sent),
    trial(&[21, 22], &[Need::Function("check_context")], tells_functions_of_their_call),
    trial(&[8, 32], &[Need::Function("check_fail")], reports_errors),
    trial(&[33], &[Need::Function("check_exit")], ends_when_a_function_says_so),
    trial(&[2, 38], &[Need::Function("check_say")], passes_on_what_a_call_says),
];

fn knows_no_such_function(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(NOBODY, &Value::Nil);
    let report = link.error(17, seq, code::NO_SUCH_FUNCTION)?;
    ensure(report.message.contains(NOBODY), 17, "a message that names the function", || report.message)?;
    link.ping(8)?;
    link.finish()
}

fn names_the_nearest_function(bench: &Bench) -> Kept {
    let Some(name) = bench.functions.iter().map(|contract| &contract.name).max_by_key(|name| name.len())
    else {
        return Ok(());
    };
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&format!("{name}x"), &Value::Nil);
    let report = link.error(17, seq, code::NO_SUCH_FUNCTION)?;
    let without_asked = report.message.replacen(&format!("{name}x"), "", 1);
    let expected = format!("a message that names the nearest function, {name}");
    ensure(without_asked.contains(name.as_str()), 17, &expected, || report.message)?;
    link.finish()
}

fn repeats_no_long_name(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let beginning = NOBODY.to_owned() + &"é".repeat(200 - NOBODY.len());
    let seq = link.call(&format!("{beginning}zzzz"), &Value::Nil);
    let report = link.error(17, seq, code::NO_SUCH_FUNCTION)?;
    let shortened = report.message.contains(&format!("{beginning}…")) && !report.message.contains("zzzz");
    ensure(shortened, 17, "a message with the first 200 characters of a long name and `…`", || {
        report.message
    })?;
    link.finish()
}

fn starts_each_call_at_once(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::roomy())?;
    let wait = bench.function("check_wait");
    let calls = [0; 4].map(|_| link.call(&wait, &Value::Nil));
    for seq in calls {
        link.wait(16, "PROGRESS of each of four calls, side by side", |_, frame| {
            frame.kind == Kind::Progress && frame.seq == seq
        })?;
    }
    for seq in calls {
        link.cancel(seq);
        link.answer(25, "the end of a cancelled call", seq)?;
    }
    link.finish()
}

/// How arguments become what a function takes is the SDK's business: one positional argument is its input in any.
fn takes_arguments(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.next_seq();
    let function = bench.function("check_echo");
    let body = Call { shape: Shape::Arguments, ..Call::new(&function) }.encode();
    let arguments = Value::List(vec![Value::List(vec![7.into()]), Value::Map(Vec::new())]);
    let call = Frame::new(Kind::Call, seq).with_body(body);
    link.send(Lane::Data, &call.with_payload(Encoding::MessagePack, arguments.encode()));
    let frame =
        link.answer(18, "RESULT 7, or INVALID_INPUT, for check_echo with the arguments [7], {}", seq)?;
    let value = Value::decode(&frame.payload);
    let fits = frame.kind == Kind::Error || value.is_ok_and(|value| value == Value::Integer(7));
    ensure(fits, 18, "7, the one positional argument", || describe(&frame))?;
    link.finish()
}

fn says_where_an_input_does_not_fit(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let input = |value: Value| Value::Map(vec![("number".to_owned(), value)]);
    let number = bench.function("check_number");
    let seq = link.call(&number, &input(3.into()));
    link.result(19, seq)?;
    let seq = link.call(&number, &input("three".into()));
    let report = link.error(19, seq, code::INVALID_INPUT)?;
    let path = report.path.unwrap_or_default();
    ensure(path == "$.number", 19, "the path $.number", || format!("{path:?}"))?;
    link.finish()
}

fn says_that_a_result_cannot_be_sent(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&bench.function("check_odd"), &Value::Nil);
    link.error(20, seq, code::INVALID_RESULT)?;
    link.ping(20)?;
    link.finish()
}

fn tells_functions_of_their_call(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let function = bench.function("check_context");
    let trace = BTreeMap::from([
        ("traceparent".to_owned(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
        ("own".to_owned(), "word".to_owned()),
    ]);
    let seq = link.next_seq();
    let call = Call {
        attempt: 3,
        timeout_ms: Some(60_000),
        context: Some(Cow::Borrowed(&trace)),
        ..Call::new(&function)
    };
    let frame = Frame::new(Kind::Call, seq).with_body(call.encode());
    link.send(Lane::Data, &frame.with_payload(Encoding::MessagePack, Value::Nil.encode()));
    let told = link.result(21, seq)?;
    let told = Value::decode(&told.payload).unwrap_or(Value::Nil).to_json();
    let remaining = told["remaining_ms"].as_f64().unwrap_or(-1.0);
    let came = || told.to_string();
    ensure((0.0..=60_000.0).contains(&remaining), 21, "remaining_ms of up to 60 000", came)?;
    ensure(told["attempt"] == 3, 21, "attempt 3", came)?;
    for (name, value) in &trace {
        ensure(told["trace"][name] == value.as_str(), 22, &format!("{name} in trace"), came)?;
    }
    let seq = link.call(&function, &Value::Nil);
    let told = link.result(21, seq)?;
    let told = Value::decode(&told.payload).unwrap_or(Value::Nil).to_json();
    ensure(told["remaining_ms"].is_null(), 21, "no remaining_ms without a limit", || told.to_string())?;
    link.finish()
}

fn reports_errors(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let fail = bench.function("check_fail");
    let seq = link.call(&fail, &"no such price".into());
    let report = link.error(32, seq, code::CALL_FAILED)?;
    let told = report.message.contains("no such price")
        && !report.error_type.is_empty()
        && report.language == bench.hello.language;
    ensure(told, 32, "the error's type, its text and the language", || format!("{report:?}"))?;
    let seq = link.call(&fail, &Value::String("long ".repeat(40_000)));
    let report = link.error(32, seq, code::CALL_FAILED)?;
    let survives = report.message.contains("long long");
    ensure(survives, 32, "the beginning of a message of 200 000 bytes", || format!("{:?}", report.message))?;
    link.ping(8)?;
    link.finish()
}

fn ends_when_a_function_says_so(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.call(&bench.function("check_exit"), &3.into());
    let exit = link.exit(33, "the end with exit code 3")?;
    ensure(exit == Exit::Code(3), 33, "the end with exit code 3", || format!("{exit:?}"))
}

fn passes_on_what_a_call_says(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&bench.function("check_say"), &"hello".into());
    let log = link.wait(38, "LOG of the call", |_, frame| frame.kind == Kind::Log && frame.seq == seq)?;
    let log = Log::decode(&log.body).unwrap_or_default();
    let right = log.level == Level::Warning && log.message.contains("hello");
    ensure(right, 38, "the warning \"hello\"", || format!("{log:?}"))?;
    let told = |_: Lane, frame: &Frame| frame.kind == Kind::Progress && frame.seq == seq;
    let progress = link.wait(38, "PROGRESS of the call", told)?;
    let progress = Progress::decode(&progress.body).unwrap_or_default();
    let half = Progress { done: 1.0, total: Some(2.0), note: Some("half".to_owned()) };
    ensure(progress == half, 38, "1 of 2, \"half\"", || format!("{progress:?}"))?;
    link.result(38, seq)?;
    link.stop();
    link.exits_with(35, 0)?;
    let printed = link.process.stdout();
    ensure(printed.contains("hello"), 2, "what it prints on its stdout", || format!("{printed:?}"))
}
