//! The words of transcripts and what they stand for: frames, bodies, values.

#![expect(clippy::wildcard_enum_match_arm, reason = "only the kinds that a transcript names matter")]

use ganger_protocol::message::{
    Attach, Call, Cancel, CancelReason, Credit, ErrorReport, Hello, InBatch, Log, Progress, Ready, Release,
    Shape, SharedMemory, Stop, Welcome,
};
use ganger_protocol::{Encoding, Flags, Frame, Kind, Lane, Reference, Value};
use serde_json::{Value as Json, json};

pub(super) fn frame_of(step: &Json) -> Frame {
    let kind = *Kind::ALL.iter().find(|kind| step["kind"] == kind.name()).unwrap();
    let mut frame = Frame::new(kind, step["seq"].as_u64().unwrap()).with_body(body_of(kind, &step["body"]));
    if let Some(flags) = step["flags"].as_array() {
        let bit = |name: &Json| match name.as_str() {
            Some("MORE") => Flags::MORE,
            Some("SHARED") => Flags::SHARED,
            Some("AHEAD") => Flags::AHEAD,
            _ => Flags::CRITICAL,
        };
        frame.flags = flags.iter().fold(Flags::NONE, |flags, name| flags.with(bit(name)));
    }
    if let Some(hex) = step["payload_hex"].as_str() {
        frame.payload = from_hex(hex).into();
    } else if step.get("payload").is_some() {
        frame.payload = value_of(&step["payload"]).encode().into();
    }
    match step["encoding"].as_str() {
        Some("raw") => frame.flags = frame.flags.with_encoding(Encoding::Raw),
        Some("unknown") => frame.flags = frame.flags.with(Flags(0x30)),
        _ => {}
    }
    frame
}

fn in_batch(notated: &Json) -> Option<InBatch> {
    let count = u32::try_from(notated[1].as_u64()?).unwrap();
    Some(InBatch { first: notated[0].as_u64()?, count })
}

fn body_of(kind: Kind, body: &Json) -> Vec<u8> {
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str, default| body[key].as_u64().unwrap_or(default);
    let small = |key: &str, default| u32::try_from(number(key, default)).unwrap();
    match kind {
        Kind::Call => {
            let context = body["context"].as_object().map(|entries| {
                let strings =
                    entries.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()));
                std::borrow::Cow::Owned(strings.collect())
            });
            let function = text("function");
            let shape = if body["shape"] == 1 { Shape::Arguments } else { Shape::Value };
            let timeout_ms = body["timeout_ms"].as_u64();
            Call {
                function: &function,
                attempt: small("attempt", 1),
                timeout_ms,
                shape,
                context,
                batch: in_batch(&body["batch"]),
            }
            .encode()
        }
        Kind::Stop => Stop { reason: text("reason"), timeout_ms: number("timeout_ms", 5000) }.encode(),
        Kind::Welcome => Welcome {
            version: u16::try_from(number("version", 0)).unwrap(),
            pool: text("pool"),
            concurrency: small("concurrency", 1),
            max_payload: number("max_payload", 1 << 32),
            device: body["device"].as_str().map(str::to_owned),
            shared_memory: body.get("shared_memory").map(shared_memory),
            claims_fd: body["claims_fd"].as_u64().map(|number| u32::try_from(number).unwrap()),
            ..Welcome::default()
        }
        .encode(),
        Kind::Cancel => {
            let reasons =
                [CancelReason::Cancel, CancelReason::Timeout, CancelReason::Deadline, CancelReason::Stop];
            let reason = *reasons.iter().find(|reason| body["reason"] == reason.as_str()).unwrap();
            Cancel { reason }.encode()
        }
        Kind::Credit => Credit { items: small("items", 0), bytes: number("bytes", 0) }.encode(),
        _ => Vec::new(),
    }
}

pub(super) fn body_meaning(frame: &Frame) -> Json {
    let body = &frame.body[..];
    match frame.kind {
        Kind::Attach => {
            let attach = Attach::decode(body).unwrap();
            let lane = if attach.lane == Some(Lane::Data) { "data" } else { "control" };
            json!({ "token": attach.token, "lane": lane, "session": attach.session })
        }
        Kind::Hello => {
            let hello = Hello::decode(body).unwrap();
            json!({
                "min_version": hello.min_version, "max_version": hello.max_version,
                "shared_memory": hello.shared_memory, "ahead": hello.ahead,
            })
        }
        Kind::Ready => {
            let functions = Ready::decode(body).unwrap().functions;
            json!({ "functions": functions.iter().map(|it| json!({ "name": it.name })).collect::<Vec<_>>() })
        }
        Kind::Error => {
            let report = ErrorReport::decode(body).unwrap();
            json!({ "code": report.code, "message": report.message, "path": report.path })
        }
        Kind::Log => {
            let log = Log::decode(body).unwrap();
            json!({ "level": log.level.as_str(), "logger": log.logger, "message": log.message })
        }
        Kind::Credit => {
            let credit = Credit::decode(body).unwrap();
            json!({ "items": credit.items, "bytes": credit.bytes })
        }
        Kind::Release => json!(Release::decode(body).unwrap().offsets),
        Kind::Progress => {
            let progress = Progress::decode(body).unwrap();
            json!({ "done": progress.done, "total": progress.total, "note": progress.note })
        }
        _ => Json::Null,
    }
}

fn shared_memory(body: &Json) -> SharedMemory {
    let number = |key: &str| body[key].as_u64().unwrap();
    let small = |key: &str| u32::try_from(number(key)).unwrap();
    SharedMemory {
        input_fd: small("input_fd"),
        result_fd: small("result_fd"),
        input_size: number("input_size"),
        result_size: number("result_size"),
        threshold: number("threshold"),
    }
}

pub(super) fn where_in_memory(reference: Reference) -> Json {
    let arena = reference.to_bytes()[0];
    json!({ "arena": arena, "offset": reference.offset, "length": reference.length })
}

pub(super) fn value_of(meaning: &Json) -> Value {
    match meaning["$bytes"].as_str() {
        Some(hex) => Value::Bytes(from_hex(hex)),
        None => Value::from(meaning.clone()),
    }
}

pub(super) fn meaning(value: &Value) -> Json {
    match value {
        Value::Bytes(bytes) => {
            json!({ "$bytes": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() })
        }
        other => other.to_json(),
    }
}

pub(super) fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
