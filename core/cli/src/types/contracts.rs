//! From the contracts of a worker to a client.

use ganger::{FunctionInfo, FunctionKind};
use serde_json::Value;

use super::model::{Client, Definition, Function, Input, Type};
use super::names::pascal;
use super::schema::{Definitions, Reader, is_record};

/// A client for these functions, in the order of their names.
pub(super) fn client(contracts: &[FunctionInfo]) -> Client {
    let mut definitions = Definitions::default();
    let mut functions: Vec<_> =
        contracts.iter().map(|contract| function(contract, &mut definitions)).collect();
    functions.sort_by(|one, other| one.name.cmp(&other.name));
    functions.dedup_by(|one, other| one.name == other.name);
    Client { functions, definitions: definitions.by_name }
}

fn function(contract: &FunctionInfo, definitions: &mut Definitions) -> Function {
    let name = pascal(&contract.name);
    let streams = contract.kind == FunctionKind::Stream;
    let output = if streams { format!("{name}Item") } else { format!("{name}Output") };
    Function {
        name: contract.name.clone(),
        doc: contract.summary.clone(),
        streams,
        input: input(&contract.input, &format!("{name}Input"), definitions),
        output: kind(&contract.output, &output, definitions),
        inputs: (!contract.inputs.is_null())
            .then(|| kind(&contract.inputs, &format!("{name}InputItem"), definitions)),
    }
}

fn kind(schema: &Value, hint: &str, definitions: &mut Definitions) -> Type {
    Reader::new(schema, definitions).kind(schema, hint)
}

/// A record that has a title is a type of its author's; one without stands for the parameters.
fn input(schema: &Value, hint: &str, definitions: &mut Definitions) -> Input {
    let positional = schema.get(POSITIONAL).and_then(Value::as_array);
    let positional: Option<Vec<String>> =
        positional.map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    if takes_nothing(schema) {
        return Input::Nothing;
    }
    if positional.is_some() || (is_record(schema) && schema.get("title").is_none()) {
        let mut reader = Reader::new(schema, definitions);
        let name = reader.claim(hint);
        if let Some(mut record) = reader.record(schema, &name) {
            // A function that names its parameters takes others only if it says so by not refusing them.
            record.open |= positional.is_some() && schema.get("additionalProperties").is_none();
            reader.define(&name, Definition::Record(record.clone()));
            return Input::Fields { name, record, positional: positional.unwrap_or_default() };
        }
    }
    let kind = kind(schema, hint, definitions);
    Input::One { optional: kind.is_nullable(), kind }
}

fn takes_nothing(schema: &Value) -> bool {
    let none = schema.get("properties").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty);
    none && schema.get("additionalProperties") == Some(&Value::Bool(false))
}

/// Says which parameters may be given by position (SPEC chapter 8).
const POSITIONAL: &str = "x-positional";
