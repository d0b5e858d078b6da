//! Reads the vectors' notation, and says what frames mean in it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "each test file uses its own part of it"
)]

use ganger_protocol::message::{
    Attach, Call, Cancel, Contract, Credit, ErrorReport, Exclusive, FunctionKind, Hello, Log, Progress,
    Ready, Release, Stop, Welcome,
};
use ganger_protocol::{BodyError, Encoding, Flags, Frame, FrameError, Kind, Lane, Value};
use serde_json::{Value as Json, json};

pub(crate) fn load(file: &str) -> Json {
    let path = format!("{}/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn bytes_of(hex: &Json) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two meanings are the same, with 3 and 3.0 the same number.
pub(crate) fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => left.as_f64() == right.as_f64(),
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

fn integer(value: u64) -> Json {
    if value < 1 << 53 { json!(value) } else { json!({ "$int": value.to_string() }) }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() || value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        format!("{value:?}")
    } else {
        format!("{value:e}")
    }
}

pub(crate) fn value_meaning(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Integer(value) if value.unsigned_abs() < 1 << 53 => json!(value),
        Value::Integer(value) => json!({ "$int": value.to_string() }),
        Value::Unsigned(value) => json!({ "$int": value.to_string() }),
        Value::Float(value) => json!({ "$float": float(*value) }),
        Value::String(value) => json!(value),
        Value::Bytes(value) => json!({ "$bytes": hex_of(value) }),
        Value::List(items) => items.iter().map(value_meaning).collect(),
        Value::Map(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), value_meaning(value))).collect()
        }
        Value::Timestamp { seconds, nanoseconds } => json!({ "$timestamp": [seconds, nanoseconds] }),
    }
}

fn free(value: Option<&Value>) -> Json {
    value.map_or(Json::Null, value_meaning)
}

pub(crate) fn frame_meaning(frame: &Frame) -> Result<Json, BodyError> {
    let names = [(Flags::CRITICAL, "CRITICAL"), (Flags::SHARED, "SHARED"), (Flags::MORE, "MORE")];
    let mut flags: Vec<&str> =
        names.iter().filter(|(flag, _)| frame.flags.contains(*flag)).map(|(_, name)| *name).collect();
    if frame.kind == Kind::Call && frame.flags.contains(Flags::AHEAD) {
        flags.push("AHEAD");
    }
    let encoding = match frame.flags.encoding() {
        Some(Encoding::MessagePack) => "messagepack",
        Some(Encoding::Raw) => "raw",
        Some(Encoding::Pickle5) => "pickle5",
        None => "unknown",
    };
    Ok(json!({
        "kind": frame.kind.name(), "seq": integer(frame.seq), "flags": flags, "encoding": encoding,
        "body": body_meaning(frame)?, "payload_hex": hex_of(&frame.payload),
    }))
}

pub(crate) fn body_meaning(frame: &Frame) -> Result<Json, BodyError> {
    let body = &frame.body[..];
    Ok(match frame.kind {
        Kind::Call => {
            let call = Call::decode(body)?;
            let mut meaning = json!({
                "function": call.function, "attempt": call.attempt, "timeout_ms": call.timeout_ms.map(integer),
                "shape": call.shape as u8, "context": call.context,
            });
            if let Some(batch) = call.batch {
                meaning["batch"] = json!({ "first": integer(batch.first), "count": batch.count });
            }
            meaning
        }
        Kind::Stop => {
            let stop = Stop::decode(body)?;
            json!({ "reason": stop.reason, "timeout_ms": integer(stop.timeout_ms) })
        }
        Kind::Ready => {
            json!({ "functions": Ready::decode(body)?.functions.iter().map(contract_meaning).collect::<Vec<_>>() })
        }
        Kind::Error => error_meaning(&ErrorReport::decode(body)?, true),
        Kind::Progress => {
            let progress = Progress::decode(body)?;
            json!({ "done": progress.done, "total": progress.total, "note": progress.note })
        }
        Kind::Log => {
            let log = Log::decode(body)?;
            json!({
                "level": log.level.as_str(), "logger": log.logger, "message": log.message,
                "fields": free(log.fields.as_ref()),
            })
        }
        Kind::Attach | Kind::Hello | Kind::Welcome => handshake_meaning(frame)?,
        Kind::Cancel => json!({ "reason": Cancel::decode(body)?.reason.as_str() }),
        Kind::Credit => {
            let credit = Credit::decode(body)?;
            json!({ "items": credit.items, "bytes": integer(credit.bytes) })
        }
        Kind::Release if body.is_empty() => Json::Null,
        Kind::Release => json!({
            "offsets": Release::decode(body)?.offsets.into_iter().map(integer).collect::<Vec<_>>(),
        }),
        Kind::Input | Kind::InputEnd | Kind::Ping | Kind::Chunk | Kind::Result | Kind::Item | Kind::Pong => {
            Json::Null
        }
    })
}

fn handshake_meaning(frame: &Frame) -> Result<Json, BodyError> {
    let body = &frame.body[..];
    if frame.kind == Kind::Attach {
        let attach = Attach::decode(body)?;
        let lane = attach.lane.map(|lane| if lane == Lane::Data { "data" } else { "control" });
        return Ok(json!({ "token": attach.token, "lane": lane, "session": attach.session }));
    }
    if frame.kind == Kind::Hello {
        let hello = Hello::decode(body)?;
        return Ok(json!({
            "min_version": hello.min_version, "max_version": hello.max_version, "sdk": hello.sdk,
            "sdk_version": hello.sdk_version, "language": hello.language, "pid": integer(hello.pid),
            "shared_memory": hello.shared_memory,
        }));
    }
    let welcome = Welcome::decode(body)?;
    let mut meaning = json!({
        "version": welcome.version, "pool": welcome.pool, "worker": welcome.worker,
        "generation": welcome.generation, "concurrency": welcome.concurrency,
        "max_payload": integer(welcome.max_payload), "cancel_grace_ms": integer(welcome.cancel_grace_ms),
        "stop_timeout_ms": integer(welcome.stop_timeout_ms), "device": welcome.device,
    });
    if let Some(arenas) = welcome.shared_memory {
        meaning["shared_memory"] = json!({
            "input_fd": arenas.input_fd, "result_fd": arenas.result_fd,
            "input_size": integer(arenas.input_size), "result_size": integer(arenas.result_size),
            "threshold": integer(arenas.threshold),
        });
    }
    if let Some(claims) = welcome.claims_fd {
        meaning["claims_fd"] = json!(claims);
    }
    Ok(meaning)
}

fn contract_meaning(contract: &Contract) -> Json {
    let exclusive = contract.exclusive.map(|it| if it == Exclusive::Worker { "worker" } else { "node" });
    json!({
        "name": contract.name, "kind": if contract.kind == FunctionKind::Stream { "stream" } else { "value" },
        "summary": contract.summary, "idempotent": contract.idempotent, "slots": contract.slots,
        "weight": contract.weight, "coefficient": contract.coefficient, "exclusive": exclusive,
        "timeout_ms": contract.timeout_ms.map(integer),
        "batch": contract.batch.map(|batch| json!({ "max": batch.max, "wait_ms": integer(batch.wait_ms) })),
        "input": free(contract.input.as_ref()), "output": free(contract.output.as_ref()),
        "inputs": free(contract.inputs.as_ref()),
    })
}

fn error_meaning(report: &ErrorReport, outermost: bool) -> Json {
    let mut meaning = json!({
        "type": report.error_type, "message": report.message, "traceback": report.traceback,
        "language": report.language, "properties": free(report.properties.as_ref()), "dropped": report.dropped,
        "cause": report.cause.as_ref().map(|cause| error_meaning(cause, false)), "path": report.path,
    });
    if outermost {
        meaning["code"] = json!(report.code);
    }
    meaning
}

/// Decodes a body and says only whether it could.
pub(crate) fn decode_body(frame: &Frame) -> Result<(), BodyError> {
    body_meaning(frame).map(drop)
}

/// The frame with its body decoded and encoded again.
pub(crate) fn reencode(frame: &Frame) -> Result<Frame, BodyError> {
    let body = &frame.body[..];
    let again = match frame.kind {
        Kind::Call => Call::decode(body)?.encode(),
        Kind::Stop => Stop::decode(body)?.encode(),
        Kind::Ready => Ready::decode(body)?.encode(),
        Kind::Error => ErrorReport::decode(body)?.encode(),
        Kind::Progress => Progress::decode(body)?.encode(),
        Kind::Log => Log::decode(body)?.encode(),
        Kind::Attach => Attach::decode(body)?.encode(),
        Kind::Hello => Hello::decode(body)?.encode(),
        Kind::Welcome => Welcome::decode(body)?.encode(),
        Kind::Cancel => Cancel::decode(body)?.encode(),
        Kind::Credit => Credit::decode(body)?.encode(),
        Kind::Release if !body.is_empty() => Release::decode(body)?.encode(),
        Kind::Input
        | Kind::InputEnd
        | Kind::Ping
        | Kind::Chunk
        | Kind::Release
        | Kind::Result
        | Kind::Item
        | Kind::Pong => Vec::new(),
    };
    Ok(frame.clone().with_body(again))
}

pub(crate) fn body_error(frames: &[Frame]) -> String {
    let error = frames.iter().find_map(|frame| decode_body(frame).err());
    error.as_ref().map_or("none", body_error_name).to_owned()
}

pub(crate) fn body_error_name(error: &BodyError) -> &'static str {
    match error {
        BodyError::Truncated => "Truncated",
        BodyError::TrailingBytes { .. } => "TrailingBytes",
        BodyError::WrongType { .. } => "WrongType",
        BodyError::OutOfRange { .. } => "OutOfRange",
        BodyError::TooDeep => "TooDeep",
        BodyError::NotUnicode => "NotUnicode",
        BodyError::UnknownExtension { .. } => "UnknownExtension",
    }
}

pub(crate) fn frame_error_name(error: &FrameError) -> String {
    match error {
        FrameError::BodyLongerThanFrame { .. } => "BodyLongerThanFrame",
        FrameError::BodyTooLarge { .. } => "BodyTooLarge",
        FrameError::UnknownCriticalKind { .. } => "UnknownCriticalKind",
        FrameError::PayloadTooLarge { .. } => "PayloadTooLarge",
        FrameError::ChunkTotalMissing { .. } => "ChunkTotalMissing",
        FrameError::ChunkSumWrong { .. } => "ChunkSumWrong",
        FrameError::ChunkWithoutStart { .. } => "ChunkWithoutStart",
        FrameError::ChunksOverlap { .. } => "ChunksOverlap",
        FrameError::TooManyChunked { .. } => "TooManyChunked",
    }
    .to_owned()
}
