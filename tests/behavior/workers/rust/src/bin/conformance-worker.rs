//! The functions that `ganger check` looks for, in Rust (SPEC chapter 11).

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use ganger_worker::{BoxError, Bytes, Cancelled, Context, Failure, Inputs, Sender, StreamError, Worker};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Numbered {
    number: i64,
}

#[derive(Deserialize)]
struct Counted {
    count: i64,
    bytes: usize,
    fail: bool,
}

#[derive(Deserialize)]
struct Asked {
    number: i64,
    fail: bool,
    wait: bool,
    #[serde(default)]
    short: bool,
}

/// Whatever may be sent, and still bytes where bytes were sent.
#[derive(Serialize)]
#[serde(untagged)]
enum Any {
    Nil(()),
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Bytes(Bytes),
    List(Vec<Any>),
    Map(BTreeMap<String, Any>),
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor)
    }
}

struct AnyVisitor;

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = Any;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Any, E> {
        Ok(Any::Nil(()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Any, E> {
        Ok(Any::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Any, E> {
        Ok(Any::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Any, E> {
        Ok(Any::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Any, E> {
        Ok(Any::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Any, E> {
        Ok(Any::Text(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Any, E> {
        Ok(Any::Bytes(Bytes::from(value.to_vec())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Any, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Any::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Any, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            map.insert(key, value);
        }
        Ok(Any::Map(map))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item {
    Number(i64),
    Bytes(Bytes),
}

fn main() {
    Worker::new()
        .startup(|start| {
            start.log().info("start-up");
            match std::env::var("GANGER_CHECK") {
                Ok(told) if told == "fail" => Err(Failure::new("told to fail")),
                Ok(_) | Err(_) => Ok(()),
            }
        })
        .shutdown(|| drop(writeln!(stdout(), "shutdown")))
        .function("check_hooks", |_: ()| ())
        .function("check_echo", |value: Any| value)
        .function("check_bytes", |count: usize| Bytes::from(vec![0; count]))
        .function("check_fail", |text: String| -> Result<(), Failure> { Err(Failure::new(text)) })
        .function("check_number", |input: Numbered| input.number)
        .function("check_odd", |_: ()| BTreeMap::from([(1, 2)]))
        .function("check_context", told)
        .function("check_say", say)
        .function("check_wait", wait)
        .function("check_exit", |code: i32| -> () { std::process::exit(code) })
        .function("check_count", count)
        .function("check_sum", |_: (), numbers: Inputs<i64>| -> Result<i64, StreamError> {
            numbers.into_iter().try_fold(0, |sum, number| Ok(sum + number?))
        })
        .batch("check_batch", 4, Duration::ZERO, batch)
        .run()
}

fn told(_: (), context: Context) -> Value {
    let remaining = context.remaining().map(|remaining| remaining.as_secs_f64() * 1000.0);
    json!({ "attempt": context.attempt(), "remaining_ms": remaining, "trace": context.trace() })
}

fn say(text: String, context: Context) {
    context.log().warning(&text);
    context.progress(1.0, Some(2.0), Some("half"));
    let _ = writeln!(stdout(), "{text}");
}

/// For a minute at most.
fn wait(_: (), context: Context) -> Result<(), Cancelled> {
    context.progress(0.0, None, None);
    for _ in 0..30_000 {
        context.check()?;
        sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn count(input: Counted, items: Sender<Item>) -> Result<(), BoxError> {
    for number in 0..input.count {
        let bytes = || Item::Bytes(Bytes::from(vec![0; input.bytes]));
        items.send(&if input.bytes == 0 { Item::Number(number) } else { bytes() })?;
    }
    if input.fail { Err("no more".into()) } else { Ok(()) }
}

/// A batch has come in which nobody waits.
static ANOTHER: AtomicBool = AtomicBool::new(false);

fn batch(all: Vec<Asked>, context: Context) -> Result<Vec<Result<Value, Failure>>, Cancelled> {
    if all.iter().any(|asked| asked.wait) {
        ANOTHER.store(false, Ordering::SeqCst);
        context.progress(0.0, None, None);
        for _ in 0..30_000 {
            context.check()?;
            if ANOTHER.load(Ordering::SeqCst) {
                break;
            }
            sleep(Duration::from_millis(2));
        }
    } else {
        ANOTHER.store(true, Ordering::SeqCst);
    }
    let end = |asked: &Asked| match asked.fail {
        true => Err(Failure::new(format!("{} fails", asked.number))),
        false => Ok(json!({ "number": asked.number, "of": all.len() })),
    };
    let short = usize::from(all.iter().any(|asked| asked.short));
    Ok(all.iter().skip(short).map(end).collect())
}
