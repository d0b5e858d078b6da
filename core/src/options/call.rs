//! The options of one call.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::{Map, Value};

use super::table::{Field, OptionDefault, OptionKind, OptionRow, field};
use super::{OptionError, POOL_FIELDS, Surface, read};

/// The options of one call. What is `None` is as the pool or the function's contract says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The longest that one attempt may run.
    pub timeout: Option<Limit>,
    /// The longest that the call may wait for its first attempt.
    pub queue_timeout: Option<Limit>,
    /// The longest that everything may take, from submission to the result.
    pub deadline: Option<Limit>,
    /// Whether the call may run again after its worker died.
    pub idempotent: Option<bool>,
    /// How often it may run again.
    pub retries: Option<u32>,
    /// Higher goes first.
    pub priority: i32,
    /// How much of a worker's `concurrency` it takes.
    pub slots: Option<NonZeroU32>,
    /// What it costs a node.
    pub weight: Option<u8>,
    /// How long it may take to stop when asked to.
    pub cancel_grace: Option<Duration>,
    /// Calls with the same key prefer the same worker.
    pub affinity: Option<String>,
    /// Alone on its worker, or on its node.
    pub exclusive: Option<Exclusive>,
    /// Trace context for the worker.
    pub trace: BTreeMap<String, String>,
}

/// What a call has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusive {
    /// Its node. A local pool treats it as a worker.
    Node,
    /// Its worker.
    Worker,
}

/// A limit that a call may lift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// At most so long.
    After(Duration),
    /// Without limit.
    Never,
}

impl Limit {
    /// The duration, if there is a limit.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Limit::After(duration) => Some(duration),
            Limit::Never => None,
        }
    }
}

impl CallOptions {
    /// Reads the options of a call from a plain map.
    ///
    /// # Errors
    /// An option that is unknown, of the wrong type or out of range.
    pub fn parse(map: &Map<String, Value>, surface: Surface) -> Result<CallOptions, OptionError> {
        let mut options = CallOptions::default();
        read::fill(&mut options, map, surface, CALL_FIELDS, (POOL_FIELDS, "a pool, not of a call"))
            .map_err(|error| error.or_an_input(surface))?;
        Ok(options)
    }
}

/// Every option of a call, in the order of the reference page.
pub fn call_options() -> impl Iterator<Item = &'static OptionRow> {
    CALL_FIELDS.iter().map(|field| &field.row)
}

const LIMIT: OptionKind = OptionKind::Duration { zero: false, never: true };
const AS_POOL: OptionDefault = OptionDefault::Absent("as the pool");
const AS_FUNCTION: OptionDefault = OptionDefault::Absent("as the function, else the pool");

#[rustfmt::skip] // A row is read across: what it is, then what it means.
pub(crate) static CALL_FIELDS: &[Field<CallOptions>] = &[
    field("timeout", LIMIT, AS_FUNCTION, |o, v| o.timeout = Some(v.limit()),
        "The longest that one attempt may run. Then the caller gets `TIMEOUT` at once, the worker is asked to stop the call, and is killed \
         if it does not within `cancel_grace`."),
    field("queue_timeout", LIMIT, AS_POOL, |o, v| o.queue_timeout = Some(v.limit()),
        "The longest that the call may wait for its first attempt. Then it fails with `QUEUE_TIMEOUT` and has not run."),
    field("deadline", LIMIT, AS_POOL, |o, v| o.deadline = Some(v.limit()),
        "The longest that everything may take, waiting and retries included. Then the call fails with `DEADLINE_EXCEEDED`."),
    field("idempotent", OptionKind::Flag, OptionDefault::Absent("as the function, else false"), |o, v| o.idempotent = Some(v.flag()),
        "Says that running the call twice does no harm: if its worker dies, it runs again on another one. Without it a call never repeats."),
    field("retries", OptionKind::Count { min: 0, max: 1_000 }, AS_POOL, |o, v| o.retries = Some(v.count()),
        "How often an idempotent call may run again after its worker died. A call that kills its worker costs `retries` + 1 workers."),
    field("priority", OptionKind::Count { min: -1_000, max: 1_000 }, OptionDefault::Count(0), |o, v| o.priority = v.count(),
        "Calls of a higher priority leave the queue first; equal ones in the order of submission."),
    field("slots", OptionKind::Count { min: 1, max: 65_536 }, OptionDefault::Absent("as the function, else 1"),
        |o, v| o.slots = NonZeroU32::new(v.count()),
        "How much of a worker's `concurrency` the call takes. A call of many slots waits until one worker has them all free."),
    field("weight", OptionKind::Count { min: 1, max: 100 }, OptionDefault::Absent("as the function, else 1"), |o, v| o.weight = Some(v.count()),
        "What the call costs a node, from 1 to 100. A local pool carries it and ignores it."),
    field("cancel_grace", OptionKind::Duration { zero: true, never: false }, AS_POOL, |o, v| o.cancel_grace = Some(v.duration()),
        "How long the call may take to stop once it was cancelled or timed out; then its worker is killed."),
    field("affinity", OptionKind::Text, OptionDefault::Absent("none"), |o, v| o.affinity = Some(v.text()),
        "Calls with the same text prefer the worker that served the last of them. It is a preference: if that worker has no room the call goes to \
         another, and so do those after it."),
    field("exclusive", OptionKind::Choice(&["worker", "node"]), OptionDefault::Absent("as the function, else none"),
        |o, v| o.exclusive = Some(if v.choice() == "node" { Exclusive::Node } else { Exclusive::Worker }),
        "Runs the call alone on its worker, whatever its `concurrency`. `node` is for clusters; a local pool treats both alike."),
    field("trace", OptionKind::TextMap, OptionDefault::Absent("none"), |o, v| o.trace = v.text_map(),
        "Trace context that the function sees: `traceparent`, `tracestate`, `baggage` and names of your own. It travels with every attempt."),
];
