//! Plays the transcripts of the protocol against a session.

#[cfg(test)]
mod notation;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ganger_protocol::message::{Attach, Batch, Contract, ErrorReport, Hello, Level, Log, Progress, code};
use ganger_protocol::{Bytes, Decoder, Encoding, Frame, Kind, Lane, Limits, Value};
use serde_json::{Value as Json, json};

use notation::{body_meaning, frame_of, from_hex, meaning, value_of, where_in_memory};

use super::{Claims, Effect, InputItem, Outcome, Run, Sent, Session};
use crate::batch::ends;
use crate::error::{BoxError, Cancelled, Failure};

/// What this SDK has of what a transcript may need.
const HAS: [&str; 5] = ["streams", "input streams", "batches", "shared memory", "ahead"];

/// The end of one call of a batch: its results are integers.
type OneResult = Result<i64, Failure>;

const TAKES_BATCHES: &str = "double";

struct Player {
    session: Session,
    functions: Vec<String>,
    max_payload: u64,
    decoder: Decoder,
    /// Items that wait for credit, as a producer's thread would.
    waiting: Vec<(u64, Bytes)>,
    /// Items that came and were not read, with their calls.
    unread: Vec<(u64, InputItem)>,
    tokens: Arc<Tokens>,
    /// What the session wanted and no step has named yet.
    wanted: Vec<Json>,
}

/// Tokens for calls that are handed over ahead.
#[derive(Debug, Default)]
struct Tokens(AtomicI64);

impl Claims for Arc<Tokens> {
    fn claim(&self) -> bool {
        let some = |count: i64| (count > 0).then_some(count - 1);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, some).is_ok()
    }
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
    assert!(played >= 90, "only {played} transcripts");
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

/// The host may hear an answer, and send the next call, before the thread that wrote the answer notes that it has.
#[test]
fn what_belongs_to_a_call_is_not_lost_if_the_answer_before_it_is_not_noted_yet() {
    let mut player = Player::new(&json!({ "functions": ["sum"], "steps": [] }));
    let message = |lane: &str, kind: &str, seq: u64, body: Json| json!({ "lane": lane, "kind": kind, "seq": seq, "body": body, "payload": 0 });
    player.receive(&message("control", "WELCOME", 0, json!({ "version": 1 })));
    player.session.claims_from(Box::new(Arc::clone(&player.tokens)));
    player.session.loaded(vec![contract("sum")]);
    player.receive(&message("data", "CALL", 1, json!({ "function": "sum" })));
    player.session.finish(1, Outcome::Result(Encoding::MessagePack, Bytes::from_static(b"\xc0")));
    assert_eq!(player.session.new_answers(), 1, "and nobody tells that it is written");
    player.session.effects.clear();
    player.receive(&message("data", "CALL", 2, json!({ "function": "sum" })));
    player.receive(&message("data", "INPUT", 2, json!(null)));
    player.receive(&message("data", "INPUT_END", 2, json!(null)));
    let names: Vec<String> = player.session.effects.iter().map(|effect| format!("{effect:?}")).collect();
    let begins = |nth: usize, name: &str| names.get(nth).is_some_and(|effect| effect.starts_with(name));
    assert!(begins(0, "Run") && begins(1, "Input") && begins(2, "InputEnd"), "{names:?}");
}

impl Player {
    fn new(transcript: &Json) -> Self {
        let shared = &transcript["steps"][0]["send"]["body"]["shared_memory"];
        let hello = Hello {
            min_version: 1,
            max_version: 1,
            language: "rust".to_owned(),
            shared_memory: shared == true,
            ahead: transcript["steps"][0]["send"]["body"]["ahead"] == true,
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
            tokens: Arc::default(),
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
            } else if let Some(count) = step.get("tokens") {
                self.tokens.0.fetch_add(count.as_i64().unwrap(), Ordering::SeqCst);
            } else {
                assert!(self.wanted.is_empty(), "{name}: before {step:?}: unexpected {:#?}", self.wanted);
                match step.get("receive") {
                    Some(frame) => self.receive(frame),
                    None => self.happen(step["happen"].as_object().unwrap().iter().next().unwrap()),
                }
                self.retry_items();
                self.collect();
                self.write();
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
            "return_together" => self.end_together(with, Ok(results_of(&with["results"]))),
            "raise_together" => self.end_together(with, Err(Failure::new(text("message")).into())),
            "stopped_together" => self.end_together(with, Err(Cancelled.into())),
            "progress_together" => {
                let progress = progress_of(with);
                for seq in seqs_of(with) {
                    self.session.say(Kind::Progress, seq, progress.encode().into());
                }
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
                self.session.say(Kind::Log, seq, log.encode().into());
            }
            "progress" => {
                self.session.say(Kind::Progress, seq, progress_of(with).encode().into());
            }
            other => panic!("what is {other}?"),
        }
    }

    fn end_together(&mut self, with: &Json, results: Result<Vec<OneResult>, BoxError>) {
        for (seq, outcome) in ends(seqs_of(with), results) {
            self.session.finish(seq, outcome);
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

    /// What was sent is written at once; then it is the next one's turn.
    fn write(&mut self) {
        loop {
            let answers = self.session.new_answers();
            if answers == 0 {
                return;
            }
            self.session.written(answers);
            self.collect();
        }
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
                if welcome.claims_fd.is_some() {
                    self.session.claims_from(Box::new(Arc::clone(&self.tokens)));
                }
                json!({ "load": {} })
            }
            Effect::Run(run) if run.function == TAKES_BATCHES => {
                json!({ "run_together": { "calls": [run_meaning(&run)] } })
            }
            Effect::Run(run) => json!({ "run": run_meaning(&run) }),
            Effect::RunTogether(runs) => {
                json!({ "run_together": { "calls": runs.iter().map(run_meaning).collect::<Vec<_>>() } })
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

fn seqs_of(with: &Json) -> Vec<u64> {
    with["seqs"].as_array().unwrap().iter().map(|seq| seq.as_u64().unwrap()).collect()
}

fn results_of(results: &Json) -> Vec<OneResult> {
    let one = |result: &Json| match result["message"].as_str() {
        Some(message) => Err(Failure::new(message)),
        None => Ok(result["value"].as_i64().unwrap()),
    };
    results.as_array().unwrap().iter().map(one).collect()
}

fn progress_of(with: &Json) -> Progress {
    let note = with["note"].as_str().map(str::to_owned);
    Progress { done: with["done"].as_f64().unwrap(), total: with["total"].as_f64(), note }
}

fn run_meaning(run: &Run) -> Json {
    let input = match run.encoding {
        Encoding::Raw => Value::Bytes(run.payload.to_vec()),
        Encoding::MessagePack | Encoding::Pickle5 => Value::decode(&run.payload).unwrap_or_default(),
    };
    let context = Some(&run.context).filter(|context| !context.is_empty());
    json!({
        "seq": run.seq, "function": run.function, "input": meaning(&input), "attempt": run.attempt,
        "timeout_ms": run.timeout_ms, "shape": run.shape as u8, "context": context,
        "shared": run.shared.map(where_in_memory),
    })
}

/// What the functions of the transcripts say of themselves.
fn contract(name: &str) -> Contract {
    let reads = matches!(name, "sum" | "scan");
    let batch = (name == TAKES_BATCHES).then_some(Batch { max: 4, wait_ms: 0 });
    Contract { inputs: reads.then(|| Value::Map(Vec::new())), batch, ..Contract::new(name) }
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
