//! From a record to its text.

use std::fmt::{self, Display};
use std::time::Duration;

use crate::call::{Batch, CallSpec, Declaration};
use crate::config::{Config, WhenFull};
use crate::input::{Exit, Input};

use super::span::Span;
use super::{Entry, HEADER, Heard, Recording, counters_by_name};

impl Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        writeln!(f, "{}", of_config(&self.config))?;
        writeln!(f, "lost {}", self.lost)?;
        for entry in &self.entries {
            writeln!(f, "{entry}")?;
        }
        let mut counters = self.counters;
        let counted = counters_by_name(&mut counters).into_iter();
        writeln!(f, "{}", counted.fold(Line::of("counted"), |line, (name, count)| line.field(name, count)))
    }
}

impl Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at.elapsed().as_nanos())?;
        match &self.heard {
            Heard::Clock => f.write_str("clock"),
            Heard::Input(input) => of_input(input).fmt(f),
        }
    }
}

/// Words with one space between them.
struct Line(String);

impl Line {
    fn of(word: &str) -> Self {
        Self(word.to_owned())
    }

    fn about(self, what: impl Display) -> Self {
        Self(format!("{} {what}", self.0))
    }

    fn field(self, name: &str, value: impl Display) -> Self {
        Self(format!("{} {name}={value}", self.0))
    }

    fn field_if(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    fn unless<T: Display + PartialEq>(self, name: &str, value: T, usual: T) -> Self {
        self.field_if(name, (value != usual).then_some(value))
    }

    fn span_if(self, name: &str, span: Option<Duration>) -> Self {
        self.field_if(name, span.map(Span))
    }

    fn flag(self, name: &str, holds: bool) -> Self {
        if holds { self.about(name) } else { self }
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn of_input(input: &Input) -> Line {
    match input {
        Input::Submit { call, spec } => of_spec(Line::of("submit").about(call), spec),
        Input::Declare { call, declaration } => of_declaration(Line::of("declare").about(call), *declaration),
        Input::Cancel { call } => Line::of("cancel").about(call),
        Input::Close { timeout } => Line::of("close").span_if("timeout", *timeout),
        Input::Terminate => Line::of("terminate"),
        Input::Warm { workers } => Line::of("warm").about(workers),
        Input::Reload => Line::of("reload"),
        Input::Sample { worker, memory } => Line::of("sample").about(worker).about(memory),
        Input::Headroom { memory } => Line::of("headroom").field_if("memory", *memory),
        Input::Pong { worker } => Line::of("pong").about(worker),
        Input::Attach { attachment } => Line::of("attach").about(attachment),
        Input::Claims { worker } => Line::of("claims").about(worker),
        Input::TakenBack { worker, asked, taken } => {
            Line::of("taken_back").about(worker).about(asked).about(taken)
        }
        Input::Ready { worker } => Line::of("ready").about(worker),
        Input::Heard { worker, call } => Line::of("heard").about(worker).about(call),
        Input::Answered { worker, call } => Line::of("answered").about(worker).about(call),
        Input::Violated { worker } => Line::of("violated").about(worker),
        Input::Exited { worker, exit, unwritten } => {
            let calls: Vec<String> = unwritten.iter().map(ToString::to_string).collect();
            let calls = (!calls.is_empty()).then(|| calls.join(","));
            Line::of("exited").about(worker).about(of_exit(*exit)).field_if("unwritten", calls)
        }
    }
}

fn of_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("code:{code}"),
        Exit::Signal(signal) => format!("signal:{signal}"),
        Exit::Unknown => "unknown".into(),
        Exit::NotStarted => "not-started".into(),
        Exit::Detached => "detached".into(),
    }
}

fn of_spec(line: Line, spec: &CallSpec) -> Line {
    let CallSpec {
        bytes,
        priority,
        slots,
        weight,
        idempotent,
        retries,
        queue_timeout,
        timeout,
        deadline,
        cancel_grace,
        affinity,
        exclusive,
        pinned,
        ref batch,
        ahead,
    } = *spec;
    line.field("bytes", bytes)
        .unless("priority", priority, 0)
        .unless("slots", slots, 1)
        .unless("weight", weight, 1)
        .flag("idempotent", idempotent)
        .field("retries", retries)
        .span_if("queue_timeout", queue_timeout)
        .span_if("timeout", timeout)
        .span_if("deadline", deadline)
        .field("grace", Span(cancel_grace))
        .field_if("affinity", affinity)
        .flag("exclusive", exclusive)
        .field_if("pinned", pinned)
        .field_if("batch", batch.as_deref().copied().map(of_batch))
        .flag("ahead", ahead)
}

fn of_declaration(line: Line, declaration: Declaration) -> Line {
    let Declaration { idempotent, timeout, slots, exclusive, batch } = declaration;
    line.flag("idempotent", idempotent)
        .span_if("timeout", timeout)
        .field_if("slots", slots)
        .flag("exclusive", exclusive)
        .field_if("batch", batch.map(of_batch))
}

fn of_batch(Batch { key, max, wait }: Batch) -> String {
    format!("{key}:{max}:{}", Span(wait))
}

fn of_config(config: &Config) -> Line {
    let Config {
        workers,
        min_workers,
        idle_timeout,
        concurrency,
        max_queue,
        max_queue_bytes,
        when_full,
        start_timeout,
        stop_timeout,
        health_interval,
        health_timeout,
        max_calls,
        max_age,
        max_memory,
        memory_samples,
        jitter_percent,
        max_replacing,
        seed,
    } = *config;
    let (waits, full_timeout) = match when_full {
        WhenFull::Reject => (false, None),
        WhenFull::Wait { timeout } => (true, timeout),
    };
    Line::of("config")
        .field("workers", workers)
        .field("min_workers", min_workers)
        .span_if("idle_timeout", idle_timeout)
        .field("concurrency", concurrency)
        .field("max_queue", max_queue)
        .field("max_queue_bytes", max_queue_bytes)
        .flag("wait_when_full", waits)
        .span_if("full_timeout", full_timeout)
        .field("start_timeout", Span(start_timeout))
        .field("stop_timeout", Span(stop_timeout))
        .span_if("health_interval", health_interval)
        .field("health_timeout", Span(health_timeout))
        .field_if("max_calls", max_calls)
        .span_if("max_age", max_age)
        .field_if("max_memory", max_memory)
        .field("memory_samples", memory_samples)
        .field("jitter_percent", jitter_percent)
        .field("max_replacing", max_replacing)
        .field("seed", seed)
}
