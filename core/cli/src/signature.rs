//! A contract in one line: `convert(amount: number, rate: number = 1.1) -> number`. It is read as it came, for the order of parameters.

use ganger::Contract;
use ganger_protocol::Value;
use ganger_protocol::message::{Exclusive, FunctionKind};

use crate::json;

/// How a function is called and what it gives.
pub(crate) fn signature(contract: &Contract) -> String {
    let result = whole(contract.output.as_ref());
    let result = if contract.kind == FunctionKind::Stream { format!("stream of {result}") } else { result };
    let items = contract.inputs.as_ref().map(|items| format!("stream of {}", whole(Some(items))));
    let takes: Vec<String> = [inputs(contract), items.unwrap_or_default()].into();
    let takes: Vec<String> = takes.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}({}) -> {result}", contract.name, takes.join(", "))
}

/// What it promises beyond the usual, in words.
pub(crate) fn behaviour(contract: &Contract) -> String {
    let mut words = Vec::new();
    if contract.idempotent {
        words.push("idempotent".to_owned());
    }
    if let Some(limit) = contract.timeout_ms {
        let limit = std::time::Duration::from_millis(limit);
        words.push(format!("timeout {}", ganger::options::duration::text(limit)));
    }
    if contract.slots != 1 {
        words.push(format!("{} slots", contract.slots));
    }
    match contract.exclusive {
        Some(Exclusive::Worker) => words.push("alone on its worker".to_owned()),
        Some(Exclusive::Node) => words.push("alone on its node".to_owned()),
        None => {}
    }
    if let Some(batch) = &contract.batch {
        words.push(format!("batches of {}", batch.max));
    }
    words.join(", ")
}

/// Named fields as a function would have them, anything else as the one value it is. What travels as an input stream is none of them.
fn inputs(contract: &Contract) -> String {
    let Some(schema) = &contract.input else { return "any".to_owned() };
    let top = resolved(schema);
    let Some(Value::Map(fields)) = top.get("properties") else { return named(schema) };
    let required = |name: &str| match top.get("required") {
        Some(Value::List(names)) => names.iter().any(|known| text(known) == Some(name)),
        Some(_) | None => false,
    };
    let streamed = |name: &str, field: &Value| {
        contract.inputs.is_some() && !required(name) && field.get("items") == contract.inputs.as_ref()
    };
    let parts = fields.iter().filter(|(name, field)| !streamed(name, field)).map(|(name, field)| {
        let kind = named(field);
        match field.get("default") {
            Some(default) => format!("{name}: {kind} = {}", json::from_value(default)),
            None if required(name) => format!("{name}: {kind}"),
            None => format!("{name}?: {kind}"),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn whole(schema: Option<&Value>) -> String {
    schema.map_or_else(|| "any".to_owned(), named)
}

/// The name of a type.
fn named(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(text).and_then(|path| path.rsplit('/').next()) {
        return name.to_owned();
    }
    if let Some(value) = schema.get("const") {
        return json::from_value(value).to_string();
    }
    if let Some(Value::List(values)) = schema.get("enum") {
        return any_of(values, |value| json::from_value(value).to_string());
    }
    if let Some(Value::List(kinds)) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)) {
        return any_of(kinds, named);
    }
    match schema.get("type") {
        Some(Value::String(kind)) => plain(kind, schema),
        Some(Value::List(kinds)) => {
            any_of(kinds, |kind| text(kind).map_or("any".to_owned(), |kind| plain(kind, schema)))
        }
        Some(_) | None => "any".to_owned(),
    }
}

fn plain(kind: &str, schema: &Value) -> String {
    match (kind, schema.get("items")) {
        ("array", Some(items)) => {
            let item = named(items);
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        ("array", None) => "any[]".to_owned(),
        ("string", _) if schema.get("contentEncoding").is_some() => "bytes".to_owned(),
        _ => kind.to_owned(),
    }
}

fn any_of(list: &[Value], word: impl Fn(&Value) -> String) -> String {
    list.iter().map(word).collect::<Vec<_>>().join(" | ")
}

/// A reference at the top is what it refers to.
fn resolved(schema: &Value) -> &Value {
    let path = schema.get("$ref").and_then(text).and_then(|path| path.strip_prefix("#/"));
    path.and_then(|path| path.split('/').try_fold(schema, |value, key| value.get(key))).unwrap_or(schema)
}

fn text(value: &Value) -> Option<&str> {
    if let Value::String(text) = value { Some(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    fn schema(json: serde_json::Value) -> Value {
        json.into()
    }

    fn line(input: Option<Value>, output: Option<Value>) -> String {
        signature(&Contract { input, output, ..Contract::new("f") })
    }

    #[test]
    fn schemas_become_types_in_the_order_of_the_parameters() {
        let fields = map(&[
            ("to", schema(json!({"$ref": "#/$defs/Place"}))),
            ("amount", schema(json!({"type": "number"}))),
            ("currency", schema(json!({"enum": ["EUR", "USD"], "default": "EUR"}))),
            ("tags", schema(json!({"type": "array", "items": {"type": ["string", "null"]}}))),
        ]);
        let input = map(&[("properties", fields), ("required", schema(json!(["amount", "to"])))]);
        let output = schema(json!({"anyOf": [{"type": "number"}, {"type": "null"}]}));
        assert_eq!(
            line(Some(input), Some(output)),
            "f(to: Place, amount: number, currency: \"EUR\" | \"USD\" = \"EUR\", tags?: (string | null)[]) -> number | null"
        );
    }

    #[test]
    fn one_value_and_no_schema_are_shown_too() {
        assert_eq!(line(Some(schema(json!({"type": "integer"}))), None), "f(integer) -> any");
        assert_eq!(line(None, Some(schema(json!({"type": "array"})))), "f(any) -> any[]");
        let referred =
            json!({"$ref": "#/$defs/In", "$defs": {"In": {"properties": {"a": {"type": "string"}}}}});
        assert_eq!(line(Some(schema(referred)), None), "f(a?: string) -> any");
    }

    #[test]
    fn an_input_stream_stands_behind_the_input() {
        let numbers = json!({"properties": {"n": {"type": "array", "items": {"type": "integer"}}}});
        let contract = Contract {
            input: Some(schema(numbers)),
            inputs: Some(schema(json!({"type": "integer"}))),
            output: Some(schema(json!({"type": "integer"}))),
            kind: FunctionKind::Stream,
            ..Contract::new("double")
        };
        assert_eq!(signature(&contract), "double(stream of integer) -> stream of integer");
    }
}
