//! From a text to the record.

use std::str::FromStr;
use std::time::Duration;

use crate::call::{Batch, CallSpec, Declaration};
use crate::config::{Config, WhenFull};
use crate::id::{CallId, WorkerId};
use crate::input::{Exit, Input};
use crate::stats::Counters;
use crate::time::Timestamp;

use super::span::Span;
use super::{Entry, HEADER, Heard, RecordError, Recording, counters_by_name};

/// What is wrong with a line.
type Wrong = String;

impl FromStr for Recording {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let header = expected(&mut lines, |line| (line == HEADER).then_some(()).ok_or_else(not_a_record));
        header?;
        let config = expected(&mut lines, config)?;
        let lost = expected(&mut lines, lost)?;
        let mut entries = Vec::new();
        for (number, line) in lines.by_ref() {
            let wrong = |message| RecordError { line: number, message };
            if line.starts_with("counted ") {
                let counters = counters(line).map_err(wrong)?;
                return match lines.next() {
                    None => Ok(Self { config, lost, entries, counters }),
                    Some((line, _)) => Err(RecordError { line, message: "nothing may follow".into() }),
                };
            }
            entries.push(entry(line).map_err(wrong)?);
        }
        let line = text.lines().count() + 1;
        Err(RecordError { line, message: "the record ends early: `counted` is missing".into() })
    }
}

fn not_a_record() -> Wrong {
    format!("it does not begin with {HEADER:?}")
}

fn expected<'a, T>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    read: impl FnOnce(&'a str) -> Result<T, Wrong>,
) -> Result<T, RecordError> {
    // An empty text has an empty first line.
    let (line, text) = lines.next().unwrap_or((1, ""));
    read(text).map_err(|message| RecordError { line, message })
}

/// The words of a line that were not read yet.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        Self(line.split(' ').collect())
    }

    fn word(&mut self) -> Result<&'a str, Wrong> {
        if self.0.is_empty() { Err("it ends early".into()) } else { Ok(self.0.remove(0)) }
    }

    fn number<T: FromStr>(&mut self) -> Result<T, Wrong> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("{word:?} is no number that fits here"))
    }

    fn call(&mut self) -> Result<CallId, Wrong> {
        self.number().map(CallId)
    }

    fn worker(&mut self) -> Result<WorkerId, Wrong> {
        worker(self.word()?)
    }

    fn text(&mut self, name: &str) -> Option<&'a str> {
        let value = |word: &&'a str| word.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
        let (index, value) = self.0.iter().enumerate().find_map(|(at, word)| Some((at, value(word)?)))?;
        self.0.remove(index);
        Some(value)
    }

    fn field<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Wrong> {
        let Some(value) = self.text(name) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| format!("{name}={value} cannot be"))
    }

    fn span(&mut self, name: &str) -> Result<Option<Duration>, Wrong> {
        Ok(self.field::<Span>(name)?.map(|span| span.0))
    }

    fn flag(&mut self, name: &str) -> bool {
        let found = self.0.iter().position(|word| *word == name);
        found.map(|index| self.0.remove(index)).is_some()
    }

    /// Nothing may be left that this version does not know.
    fn end(self) -> Result<(), Wrong> {
        match self.0.first() {
            None => Ok(()),
            Some(word) => Err(format!("{word:?} is not known here")),
        }
    }
}

fn required<T>(name: &str, value: Option<T>) -> Result<T, Wrong> {
    value.ok_or_else(|| format!("{name} is missing"))
}

fn lost(line: &str) -> Result<u64, Wrong> {
    let mut words = Words::of(line);
    match words.word()? {
        "lost" => words.number(),
        other => Err(format!("{other:?} stands where `lost` should")),
    }
}

fn counters(line: &str) -> Result<Counters, Wrong> {
    let mut words = Words::of(line);
    words.word()?;
    let mut counters = Counters::default();
    for (name, count) in counters_by_name(&mut counters) {
        *count = words.field(name)?.unwrap_or(0);
    }
    words.end().map(|()| counters)
}

fn entry(line: &str) -> Result<Entry, Wrong> {
    let mut words = Words::of(line);
    let at = Timestamp::from_elapsed(Duration::from_nanos(words.number()?));
    let word = words.word()?;
    let heard = if word == "clock" { Heard::Clock } else { Heard::Input(input(word, &mut words)?) };
    words.end().map(|()| Entry { at, heard })
}

fn input(word: &str, words: &mut Words<'_>) -> Result<Input, Wrong> {
    Ok(match word {
        "submit" => Input::Submit { call: words.call()?, spec: spec(words)? },
        "declare" => Input::Declare { call: words.call()?, declaration: declaration(words)? },
        "cancel" => Input::Cancel { call: words.call()? },
        "close" => Input::Close { timeout: words.span("timeout")? },
        "terminate" => Input::Terminate,
        "warm" => Input::Warm { workers: words.number()? },
        "reload" => Input::Reload,
        "sample" => Input::Sample { worker: words.worker()?, memory: words.number()? },
        "headroom" => Input::Headroom { memory: words.field("memory")? },
        "pong" => Input::Pong { worker: words.worker()? },
        "attach" => Input::Attach { attachment: words.number()? },
        "claims" => Input::Claims { worker: words.worker()? },
        "taken_back" => {
            Input::TakenBack { worker: words.worker()?, asked: words.number()?, taken: words.number()? }
        }
        "ready" => Input::Ready { worker: words.worker()? },
        "heard" => Input::Heard { worker: words.worker()?, call: words.call()? },
        "answered" => Input::Answered { worker: words.worker()?, call: words.call()? },
        "violated" => Input::Violated { worker: words.worker()? },
        "exited" => Input::Exited {
            worker: words.worker()?,
            exit: exit(words.word()?)?,
            unwritten: calls(words.text("unwritten"))?,
        },
        other => return Err(format!("{other:?} is nothing that a pool is told")),
    })
}

fn worker(word: &str) -> Result<WorkerId, Wrong> {
    let parts = word.split_once('.').and_then(|(index, generation)| {
        Some(WorkerId { index: index.parse().ok()?, generation: generation.parse().ok()? })
    });
    parts.ok_or_else(|| format!("{word:?} is no worker"))
}

fn calls(list: Option<&str>) -> Result<Vec<CallId>, Wrong> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let call = |text: &str| text.parse().map(CallId).map_err(|_| format!("{text:?} is no call"));
    list.split(',').map(call).collect()
}

fn exit(word: &str) -> Result<Exit, Wrong> {
    let number = |text: &str| text.parse().map_err(|_| format!("{word:?} is no way to end"));
    Ok(match word.split_once(':') {
        Some(("code", code)) => Exit::Code(number(code)?),
        Some(("signal", signal)) => Exit::Signal(number(signal)?),
        _ => match word {
            "unknown" => Exit::Unknown,
            "not-started" => Exit::NotStarted,
            "detached" => Exit::Detached,
            other => return Err(format!("{other:?} is no way to end")),
        },
    })
}

fn spec(words: &mut Words<'_>) -> Result<CallSpec, Wrong> {
    Ok(CallSpec {
        bytes: required("bytes", words.field("bytes")?)?,
        priority: words.field("priority")?.unwrap_or(0),
        slots: words.field("slots")?.unwrap_or(1),
        weight: words.field("weight")?.unwrap_or(1),
        idempotent: words.flag("idempotent"),
        retries: required("retries", words.field("retries")?)?,
        queue_timeout: words.span("queue_timeout")?,
        timeout: words.span("timeout")?,
        deadline: words.span("deadline")?,
        cancel_grace: required("grace", words.span("grace")?)?,
        affinity: words.field("affinity")?,
        exclusive: words.flag("exclusive"),
        pinned: words.text("pinned").map(worker).transpose()?,
        batch: words.text("batch").map(batch).transpose()?.map(Box::new),
        ahead: words.flag("ahead"),
    })
}

fn declaration(words: &mut Words<'_>) -> Result<Declaration, Wrong> {
    Ok(Declaration {
        idempotent: words.flag("idempotent"),
        timeout: words.span("timeout")?,
        slots: words.field("slots")?,
        exclusive: words.flag("exclusive"),
        batch: words.text("batch").map(batch).transpose()?,
    })
}

/// The key, the most calls and the wait.
fn batch(word: &str) -> Result<Batch, Wrong> {
    let mut parts = word.splitn(3, ':');
    let batch = (|| {
        let (key, max) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Batch { key, max, wait: parts.next()?.parse::<Span>().ok()?.0 })
    })();
    batch.ok_or_else(|| format!("{word:?} is no batch"))
}

fn config(line: &str) -> Result<Config, Wrong> {
    let mut words = Words::of(line);
    if words.word()? != "config" {
        return Err("`config` is missing".into());
    }
    let config = settings(&mut words)?;
    words.end().map(|()| config)
}

fn settings(words: &mut Words<'_>) -> Result<Config, Wrong> {
    let timeout = words.span("full_timeout")?;
    Ok(Config {
        workers: required("workers", words.field("workers")?)?,
        min_workers: required("min_workers", words.field("min_workers")?)?,
        idle_timeout: words.span("idle_timeout")?,
        concurrency: required("concurrency", words.field("concurrency")?)?,
        max_queue: required("max_queue", words.field("max_queue")?)?,
        max_queue_bytes: required("max_queue_bytes", words.field("max_queue_bytes")?)?,
        when_full: if words.flag("wait_when_full") { WhenFull::Wait { timeout } } else { WhenFull::Reject },
        start_timeout: required("start_timeout", words.span("start_timeout")?)?,
        stop_timeout: required("stop_timeout", words.span("stop_timeout")?)?,
        health_interval: words.span("health_interval")?,
        health_timeout: required("health_timeout", words.span("health_timeout")?)?,
        max_calls: words.field("max_calls")?,
        max_age: words.span("max_age")?,
        max_memory: words.field("max_memory")?,
        memory_samples: required("memory_samples", words.field("memory_samples")?)?,
        jitter_percent: required("jitter_percent", words.field("jitter_percent")?)?,
        max_replacing: required("max_replacing", words.field("max_replacing")?)?,
        seed: required("seed", words.field("seed")?)?,
    })
}
