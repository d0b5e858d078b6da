//! What apps are told of a worker's functions.

use ganger_protocol::message::{Contract, Exclusive as Alone, FunctionKind as Kind};
use serde_json::Value;

use crate::shape::{choices, record};

choices! {
    /// How a function answers.
    pub enum FunctionKind {
        /// With many values.
        Stream = "stream",
        /// With one value.
        Value = "value",
    }

    /// What a function wants to itself.
    pub enum Exclusive {
        /// Its node.
        Node = "node",
        /// Its worker.
        Worker = "worker",
    }
}

record! {
    /// A function that workers offer.
    pub struct FunctionInfo {
        /// Its name.
        pub name: String,
        /// How it answers.
        pub kind: FunctionKind,
        /// A line for people.
        pub summary: Option<String>,
        /// Whether a call of it may run again after its worker died.
        pub idempotent: bool,
        /// How much of a worker's `concurrency` a call takes.
        pub slots: u32,
        /// What a call costs a node, from 1 to 100.
        pub weight: u8,
        /// What the weight is multiplied with.
        pub coefficient: f64,
        /// What a call wants to itself; null for nothing.
        pub exclusive: Option<Exclusive>,
        /// How long an attempt may run unless the call says otherwise, in milliseconds.
        pub timeout_ms: Option<u64>,
        /// How calls that wait are handed over together; null if they are not.
        pub batch: Option<BatchInfo>,
        /// JSON Schema of the input, or null.
        pub input: Value,
        /// JSON Schema of the result, of a stream that of an item; or null.
        pub output: Value,
        /// JSON Schema of an item of the stream that it reads beside its input; null if it reads none.
        pub inputs: Value,
    }

    /// How calls may be gathered into one.
    pub struct BatchInfo {
        /// The most calls in one.
        pub max: u32,
        /// How long the first may wait for others, in milliseconds.
        pub wait_ms: u64,
    }
}

impl From<&Contract> for FunctionInfo {
    fn from(contract: &Contract) -> FunctionInfo {
        let json = |schema: &Option<ganger_protocol::Value>| {
            schema.as_ref().map_or(Value::Null, ganger_protocol::Value::to_json)
        };
        FunctionInfo {
            name: contract.name.clone(),
            kind: match contract.kind {
                Kind::Stream => FunctionKind::Stream,
                Kind::Value => FunctionKind::Value,
            },
            summary: contract.summary.clone(),
            idempotent: contract.idempotent,
            slots: contract.slots,
            weight: contract.weight,
            coefficient: contract.coefficient,
            exclusive: contract.exclusive.map(|exclusive| match exclusive {
                Alone::Node => Exclusive::Node,
                Alone::Worker => Exclusive::Worker,
            }),
            timeout_ms: contract.timeout_ms,
            batch: contract.batch.map(|batch| BatchInfo { max: batch.max, wait_ms: batch.wait_ms }),
            input: json(&contract.input),
            output: json(&contract.output),
            inputs: json(&contract.inputs),
        }
    }
}
