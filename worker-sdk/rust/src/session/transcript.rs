//! Plays the transcripts of the protocol against a session.

#![expect(clippy::wildcard_enum_match_arm, reason = "only the kinds that a transcript names matter")]

use std::path::PathBuf;

use ganger_protocol::message::{
    Attach, Call, Cancel, CancelReason, Contract, Credit, ErrorReport, Hello, Level, Log, Progress, Ready,
    Release, Shape, SharedMemory, Stop, Welcome, code,
};
use ganger_protocol::{Bytes, Decoder, Encoding, Flags, Frame, Kind, Lane, Limits, Reference, Value};
use serde_json::{Value as Json, json};

use super::{Effect, InputItem, Outcome, Sent, Session};

/// What this SDK has of what a transcript may need.
const HAS: [&str; 3] = ["streams", "input streams", "shared memory"];

struct Player {
    session: Session,
    functions: Vec<String>,
    max_payload: u64,
    decoder: Decoder,
    /// Items that wait for credit, as a producer's thread would.
    waiting: Vec<(u64, Bytes)>,
    /// Items that came and were not read, with their calls.
    unread: Vec<(u64, InputItem)>,
    /// What the session wanted and no step has named yet.
    wanted: Vec<Json>,
}

#[test]
fn transcripts_are_followed() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../protocol/transcripts");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let transcript: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            if transcript["needs"].as_array().unwrap().iter().all(|need| HAS.iter().any(|has| need == has)) {
                Player::new(&transcript)
                    .play(&path.display().to_string(), transcript["steps"].as_array().unwrap());
                played += 1;
            }
        }
    }
    assert!(played >= 80, "only {played} transcripts");
}

#[test]
fn a_call_whose_chunks_are_under_way_ends_before_a_stop_does() {
    let functions = json!({ "functions": ["add"] });
    let chunked = json!({
        "lane": "data", "kind": "CALL", "seq": 1, "body": { "function": "add" },
        "flags": ["CRITICAL", "MORE"], "payload_hex": "020000000000000092",
    });
    let rest = json!({ "lane": "data", "kind": "CHUNK", "seq": 1, "payload_hex": "01" });
    let steps = [
        json!({ "send": { "kind": "HELLO" } }),
        json!({ "receive": { "lane": "control", "kind": "WELCOME", "seq": 0, "body": { "version": 1 } } }),
        json!({ "effect": { "load": {} } }),
        json!({ "happen": { "loaded": {} } }),
        json!({ "send": { "kind": "READY" } }),
        json!({ "receive": chunked }),
        json!({ "receive": { "lane": "data", "kind": "STOP", "seq": 0, "body": {} } }),
        json!({ "receive": { "lane": "control", "kind": "CANCEL", "seq": 1, "body": { "reason": "stop" } } }),
        json!({ "send": { "kind": "ERROR", "seq": 1, "body": { "code": "CANCELLED" } } }),
        json!({ "effect": { "shutdown": {} } }),
        json!({ "receive": rest }),
    ];
    Player::new(&functions).play("a stop amid chunks", &steps);
}

impl Player {
    fn new(transcript: &Json) -> Self {
        let shared = &transcript["steps"][0]["send"]["body"]["shared_memory"];
        let hello = Hello {
            min_version: 1,
            max_version: 1,
            language: "rust".to_owned(),
            shared_memory: shared == true,
            ..Hello::default()
        };
        let attach = transcript["attach"]["token"].as_str().map(|token| Attach {
            token: token.to_owned(),
            session: "session".to_owned(),
            lane: None,
        });
        let functions = transcript["functions"].as_array().unwrap();
        Self {
            session: Session::new(hello, attach),
            functions: functions.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
            max_payload: Limits::default().max_payload,
            decoder: Decoder::new(Limits::default()),
            waiting: Vec::new(),
            unread: Vec::new(),
            wanted: Vec::new(),
        }
    }

    fn play(mut self, name: &str, steps: &[Json]) {
        self.collect();
        self.play_all(name, steps);
        assert!(self.wanted.is_empty(), "{name}: not in the transcript: {:?}", self.wanted);
    }

    fn play_all(&mut self, name: &str, steps: &[Json]) {
        for step in steps {
            let step = step.as_object().unwrap();
            if let Some(times) = step.get("repeat") {
                (0..times.as_u64().unwrap())
                    .for_each(|_| self.play_all(name, step["steps"].as_array().unwrap()));
            } else if let Some(expected) = step.get("send").or_else(|| step.get("effect")) {
                let found = self.wanted.iter().position(|wanted| matches(wanted, expected));
                let Some(at) = found else {
                    panic!("{name}: {expected} does not happen, but {:#?}", self.wanted);
                };
                self.wanted.remove(at);
            } else {
                assert!(self.wanted.is_empty(), "{name}: before {step:?}: unexpected {:#?}", self.wanted);
                match step.get("receive") {
                    Some(frame) => self.receive(frame),
                    None => self.happen(step["happen"].as_object().unwrap().iter().next().unwrap()),
                }
                self.retry_items();
                self.collect();
            }
        }
    }

    fn receive(&mut self, arrival: &Json) {
        let lane = if arrival["lane"] == "data" { Lane::Data } else { Lane::Control };
        if arrival["end"] == true {
            return self.session.host_gone();
        }
        let bytes = match arrival["hex"].as_str() {
            Some(hex) => from_hex(hex),
            None => frame_of(arrival).to_bytes(),
        };
        let limits = Limits { max_payload: self.max_payload, ..Limits::default() };
        self.decoder.set_limits(limits);
        self.decoder.buffer().extend_from_slice(&bytes);
        loop {
            match self.decoder.next() {
                Ok(Some(frame)) => self.session.receive(lane, frame),
                Ok(None) => break,
                Err(error) => {
                    self.session.refuse(&error);
                    if error.is_violation() {
                        break;
                    }
                }
            }
        }
    }

    fn happen(&mut self, (what, with): (&String, &Json)) {
        let seq = with["seq"].as_u64().unwrap_or_default();
        let text = |key: &str| with[key].as_str().unwrap_or_default().to_owned();
        let report = |code: &str| {
            let mut report = ErrorReport::new(code, "", text("message"));
            report.path = with["path"].as_str().map(str::to_owned);
            Outcome::Failed(Box::new(report))
        };
        match what.as_str() {
            "loaded" => self.session.loaded(self.functions.iter().map(|name| contract(name)).collect()),
            "load_failed" => self.session.load_failed(ErrorReport::new("", "Error", text("message"))),
            "hooks_done" => self.session.hooks_done(),
            "return" => {
                let outcome =
                    Outcome::Result(Encoding::MessagePack, value_of(&with["value"]).encode().into());
                self.session.finish(seq, outcome);
            }
            "raise" => self.session.finish(seq, report(code::CALL_FAILED)),
            "invalid_input" => self.session.finish(seq, report(code::INVALID_INPUT)),
            "invalid_result" => self.session.finish(seq, report(code::INVALID_RESULT)),
            "stopped" => {
                self.waiting.retain(|(waiting, _)| *waiting != seq);
                self.session.finish(seq, Outcome::Cancelled);
            }
            "read" => {
                let next = self.unread.iter().position(|(call, _)| *call == seq).expect("an item came");
                let (_, item) = self.unread.remove(next);
                if let Some(reference) = item.shared {
                    self.session.give_back_input(seq, reference);
                }
                self.session.used_input(seq, item.length());
            }
            "yield" => self.waiting.push((seq, value_of(&with["value"]).encode().into())),
            "log" => {
                let level = Level::Warning;
                let level = if text("level") == "info" { Level::Info } else { level };
                let log = Log { level, logger: text("logger"), message: text("message"), fields: None };
                self.session.say(Kind::Log, seq, log.encode());
            }
            "progress" => {
                let note = with["note"].as_str().map(str::to_owned);
                let progress =
                    Progress { done: with["done"].as_f64().unwrap(), total: with["total"].as_f64(), note };
                self.session.say(Kind::Progress, seq, progress.encode());
            }
            other => panic!("what is {other}?"),
        }
    }

    fn retry_items(&mut self) {
        let session = &mut self.session;
        self.waiting.retain(|(seq, item)| match session.spend(*seq, item.len() as u64) {
            Sent::Wait => true,
            Sent::Queued => {
                let item = item.clone();
                session.put_item(Frame::new(Kind::Item, *seq).with_payload(Encoding::MessagePack, item));
                false
            }
            Sent::TooLarge => {
                let report = session.too_large(item.len());
                session.finish(*seq, Outcome::Failed(Box::new(report)));
                false
            }
            Sent::Over => false,
        });
    }

    fn collect(&mut self) {
        let sent = |lane: &str, frame: &Frame| {
            json!({
                "lane": lane, "kind": frame.kind.name(), "seq": frame.seq, "body": body_meaning(frame),
                "payload": meaning(&Value::decode(&frame.payload).unwrap_or_default()),
            })
        };
        self.wanted.extend(self.session.control_out.drain(..).map(|frame| sent("control", &frame)));
        self.wanted.extend(self.session.data_out.drain(..).map(|frame| sent("data", &frame)));
        for effect in std::mem::take(&mut self.session.effects) {
            let meaning = self.effect_meaning(effect);
            self.wanted.extend(meaning);
        }
    }

    fn effect_meaning(&mut self, effect: Effect) -> Option<Json> {
        Some(match effect {
            Effect::Load(welcome) => {
                self.max_payload = welcome.max_payload;
                json!({ "load": {} })
            }
            Effect::Run(run) => {
                let input = match run.encoding {
                    Encoding::Raw => Value::Bytes(run.payload.to_vec()),
                    Encoding::MessagePack | Encoding::Pickle5 => {
                        Value::decode(&run.payload).unwrap_or_default()
                    }
                };
                let context = Some(&run.context).filter(|context| !context.is_empty());
                json!({ "run": {
                    "seq": run.seq, "function": run.function, "input": meaning(&input), "attempt": run.attempt,
                    "timeout_ms": run.timeout_ms, "shape": run.shape as u8, "context": context,
                    "shared": run.shared.map(where_in_memory),
                } })
            }
            Effect::Cancel { seq, reason } => json!({ "cancel": { "seq": seq, "reason": reason.as_str() } }),
            Effect::Credit { .. } => return None,
            Effect::Input { seq, item } => {
                let value = meaning(&Value::decode(&item.payload).unwrap_or_default());
                let shared = item.shared.map(where_in_memory);
                self.unread.push((seq, item));
                json!({ "input": { "seq": seq, "value": value, "shared": shared } })
            }
            Effect::InputEnd { seq } => json!({ "input_end": { "seq": seq } }),
            Effect::Shutdown => json!({ "shutdown": {} }),
            Effect::Exit { code, complaint } => {
                assert_eq!(complaint.is_some(), code == 70, "a violation says what it was: {complaint:?}");
                json!({ "exit": { "code": code } })
            }
            Effect::Released(_) => return None,
            Effect::Vanish => json!({ "exit": { "code": 0 } }),
        })
    }
}

/// What the functions of the transcripts say of themselves.
fn contract(name: &str) -> Contract {
    let reads = matches!(name, "sum" | "scan");
    Contract { inputs: reads.then(|| Value::Map(Vec::new())), ..Contract::new(name) }
}

/// Whether what happened has all that a step names.
fn matches(found: &Json, expected: &Json) -> bool {
    match (found, expected) {
        (Json::Object(found), Json::Object(expected)) => expected
            .iter()
            .all(|(key, expected)| found.get(key).is_some_and(|found| matches(found, expected))),
        (Json::Array(found), Json::Array(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| matches(found, expected))
        }
        (Json::Number(found), Json::Number(expected)) => found.as_f64() == expected.as_f64(),
        (found, expected) => found == expected,
    }
}

fn frame_of(step: &Json) -> Frame {
    let kind = *Kind::ALL.iter().find(|kind| step["kind"] == kind.name()).unwrap();
    let mut frame = Frame::new(kind, step["seq"].as_u64().unwrap()).with_body(body_of(kind, &step["body"]));
    if let Some(flags) = step["flags"].as_array() {
        let bit = |name: &Json| match name.as_str() {
            Some("MORE") => Flags::MORE,
            Some("SHARED") => Flags::SHARED,
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
            Call { function: &function, attempt: small("attempt", 1), timeout_ms, shape, context }.encode()
        }
        Kind::Stop => Stop { reason: text("reason"), timeout_ms: number("timeout_ms", 5000) }.encode(),
        Kind::Welcome => Welcome {
            version: u16::try_from(number("version", 0)).unwrap(),
            pool: text("pool"),
            concurrency: small("concurrency", 1),
            max_payload: number("max_payload", 1 << 32),
            device: body["device"].as_str().map(str::to_owned),
            shared_memory: body.get("shared_memory").map(shared_memory),
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

fn body_meaning(frame: &Frame) -> Json {
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
                "shared_memory": hello.shared_memory,
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

fn where_in_memory(reference: Reference) -> Json {
    let arena = reference.to_bytes()[0];
    json!({ "arena": arena, "offset": reference.offset, "length": reference.length })
}

fn value_of(meaning: &Json) -> Value {
    match meaning["$bytes"].as_str() {
        Some(hex) => Value::Bytes(from_hex(hex)),
        None => Value::from(meaning.clone()),
    }
}

fn meaning(value: &Value) -> Json {
    match value {
        Value::Bytes(bytes) => {
            json!({ "$bytes": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() })
        }
        other => other.to_json(),
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
