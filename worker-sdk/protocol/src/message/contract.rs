//! READY and the contracts in it: what a worker's functions are and promise (SPEC chapter 8).

use super::{encoded, read_map};
use crate::reader::{Outcome, Reader};
use crate::value::read_list;
use crate::writer::Writer;
use crate::{BodyError, Value};

/// How a function answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// With one value.
    #[default]
    Value,
    /// With many.
    Stream,
}

/// What a function wants to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exclusive {
    /// Its worker.
    Worker,
    /// Its node.
    Node,
}

/// How calls may be gathered into one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The most calls in one.
    pub max: u32,
    /// How long the first may wait for others.
    pub wait_ms: u64,
}

/// What a function is and promises.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// Its name.
    pub name: String,
    /// How it answers.
    pub kind: FunctionKind,
    /// A line for people.
    pub summary: Option<String>,
    /// Whether a call may be tried again after its worker died.
    pub idempotent: bool,
    /// How many slots a call takes.
    pub slots: u32,
    /// What a call costs a node, 1 to 100.
    pub weight: u8,
    /// What the weight is multiplied with.
    pub coefficient: f64,
    /// What it wants to itself.
    pub exclusive: Option<Exclusive>,
    /// How long an attempt may run unless the call says otherwise.
    pub timeout_ms: Option<u64>,
    /// How calls may be gathered.
    pub batch: Option<Batch>,
    /// JSON Schema of the input.
    pub input: Option<Value>,
    /// JSON Schema of the result, of a stream that of an item.
    pub output: Option<Value>,
    /// JSON Schema of an item of its input stream; nothing if it reads none.
    pub inputs: Option<Value>,
}

/// The body of a READY frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ready {
    /// The worker's functions.
    pub functions: Vec<Contract>,
}

impl Default for Contract {
    fn default() -> Self {
        Self::new("")
    }
}

impl Contract {
    /// A function with all promises at their defaults.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: FunctionKind::Value,
            summary: None,
            idempotent: false,
            slots: 1,
            weight: 1,
            coefficient: 1.0,
            exclusive: None,
            timeout_ms: None,
            batch: None,
            input: None,
            output: None,
            inputs: None,
        }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.map(13);
        writer.str("name");
        writer.str(&self.name);
        writer.str("kind");
        writer.str(if self.kind == FunctionKind::Stream { "stream" } else { "value" });
        writer.str("summary");
        writer.nullable(self.summary.as_deref(), Writer::str);
        writer.str("idempotent");
        writer.bool(self.idempotent);
        writer.str("slots");
        writer.unsigned(self.slots.into());
        writer.str("weight");
        writer.unsigned(self.weight.into());
        writer.str("coefficient");
        writer.float(self.coefficient);
        writer.str("exclusive");
        writer.nullable(self.exclusive.map(exclusive_name), Writer::str);
        writer.str("timeout_ms");
        writer.nullable(self.timeout_ms, Writer::unsigned);
        writer.str("batch");
        writer.nullable(self.batch, write_batch);
        writer.str("input");
        writer.nullable(self.input.as_ref(), Writer::value);
        writer.str("output");
        writer.nullable(self.output.as_ref(), Writer::value);
        writer.str("inputs");
        writer.nullable(self.inputs.as_ref(), Writer::value);
    }

    fn read(reader: &mut Reader<'_>) -> Outcome<Self> {
        let mut contract = Self::new("");
        reader.map(|reader, key| {
            match key {
                "name" => contract.name = reader.string()?,
                "kind" => contract.kind = read_kind(reader)?,
                "summary" => contract.summary = reader.nullable(|reader| reader.string())?,
                "idempotent" => contract.idempotent = reader.bool()?,
                "slots" => contract.slots = reader.unsigned("slots")?,
                "weight" => contract.weight = read_weight(reader)?,
                "coefficient" => contract.coefficient = reader.float()?,
                "exclusive" => contract.exclusive = reader.nullable(read_exclusive)?,
                "timeout_ms" => {
                    contract.timeout_ms = reader.nullable(|reader| reader.unsigned("timeout_ms"))?;
                }
                "batch" => contract.batch = reader.nullable(read_batch)?,
                "input" => contract.input = reader.nullable(super::log::read_free_map)?,
                "output" => contract.output = reader.nullable(super::log::read_free_map)?,
                "inputs" => contract.inputs = reader.nullable(super::log::read_free_map)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(contract)
    }
}

impl Ready {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|writer| {
            writer.map(1);
            writer.str("functions");
            writer.list(self.functions.len());
            self.functions.iter().for_each(|contract| contract.write(writer));
        })
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &[u8]) -> Result<Self, BodyError> {
        read_map(body, |ready: &mut Self, reader, key| {
            match key {
                "functions" => ready.functions = read_list(reader, Contract::read)?,
                _ => reader.skip()?,
            }
            Ok(())
        })
    }
}

fn read_kind(reader: &mut Reader<'_>) -> Outcome<FunctionKind> {
    match reader.str()? {
        "value" => Ok(FunctionKind::Value),
        "stream" => Ok(FunctionKind::Stream),
        _ => Err(BodyError::OutOfRange { what: "kind" }),
    }
}

fn read_weight(reader: &mut Reader<'_>) -> Outcome<u8> {
    match reader.unsigned("weight")? {
        weight @ 1..=100 => Ok(weight),
        _ => Err(BodyError::OutOfRange { what: "weight" }),
    }
}

const fn exclusive_name(exclusive: Exclusive) -> &'static str {
    match exclusive {
        Exclusive::Worker => "worker",
        Exclusive::Node => "node",
    }
}

fn read_exclusive(reader: &mut Reader<'_>) -> Outcome<Exclusive> {
    match reader.str()? {
        "worker" => Ok(Exclusive::Worker),
        "node" => Ok(Exclusive::Node),
        _ => Err(BodyError::OutOfRange { what: "exclusive" }),
    }
}

fn write_batch(writer: &mut Writer<'_>, batch: Batch) {
    writer.map(2);
    writer.str("max");
    writer.unsigned(batch.max.into());
    writer.str("wait_ms");
    writer.unsigned(batch.wait_ms);
}

fn read_batch(reader: &mut Reader<'_>) -> Outcome<Batch> {
    let mut batch = Batch::default();
    reader.map(|reader, key| {
        match key {
            "max" => batch.max = reader.unsigned("max")?,
            "wait_ms" => batch.wait_ms = reader.unsigned("wait_ms")?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(batch)
}
