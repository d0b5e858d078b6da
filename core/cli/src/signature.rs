//! A contract in one line: `convert(amount: number, rate: number = 1.1) -> number`.

use ganger::{FunctionInfo, FunctionKind};
use serde_json::{Map, Value};

/// How a function is called and what it gives.
pub(crate) fn signature(function: &FunctionInfo) -> String {
    let result = named(&function.output, &function.output);
    let result = if function.kind == FunctionKind::Stream { format!("stream of {result}") } else { result };
    format!("{}({}) -> {result}", function.name, inputs(&function.input))
}

/// What it promises beyond the usual, in words.
pub(crate) fn behaviour(function: &FunctionInfo) -> String {
    let mut words = Vec::new();
    if function.idempotent {
        words.push("idempotent".to_owned());
    }
    if let Some(limit) = function.timeout_ms {
        let limit = std::time::Duration::from_millis(limit);
        words.push(format!("timeout {}", ganger::options::duration::text(limit)));
    }
    if function.slots != 1 {
        words.push(format!("{} slots", function.slots));
    }
    if let Some(exclusive) = function.exclusive {
        words.push(format!("alone on its {}", exclusive.as_str()));
    }
    if let Some(batch) = &function.batch {
        words.push(format!("batches of {}", batch.max));
    }
    words.join(", ")
}

/// Named fields as a function would have them, anything else as the one value it is.
fn inputs(schema: &Value) -> String {
    let Some(fields) = resolved(schema, schema).get("properties").and_then(Value::as_object) else {
        return named(schema, schema);
    };
    let required = resolved(schema, schema).get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let parts = fields.iter().map(|(name, field)| {
        let kind = named(schema, field);
        match field.get("default") {
            Some(default) => format!("{name}: {kind} = {default}"),
            None if is_required(name) => format!("{name}: {kind}"),
            None => format!("{name}?: {kind}"),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The name of a type. `whole` has the definitions that it may refer to.
fn named(whole: &Value, schema: &Value) -> String {
    let Some(map) = schema.as_object() else { return "any".to_owned() };
    if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
        return name.to_owned();
    }
    if let Some(value) = map.get("const") {
        return value.to_string();
    }
    let all = |list: &Vec<Value>, word: &dyn Fn(&Value) -> String| {
        list.iter().map(word).collect::<Vec<_>>().join(" | ")
    };
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        return all(values, &Value::to_string);
    }
    if let Some(kinds) = ["anyOf", "oneOf"].iter().find_map(|key| map.get(*key)).and_then(Value::as_array) {
        return all(kinds, &|kind| named(whole, kind));
    }
    match map.get("type") {
        Some(Value::String(kind)) => plain(whole, kind, map),
        Some(Value::Array(kinds)) => {
            all(kinds, &|kind| kind.as_str().map_or_else(|| "any".to_owned(), |kind| plain(whole, kind, map)))
        }
        _ => "any".to_owned(),
    }
}

fn plain(whole: &Value, kind: &str, map: &Map<String, Value>) -> String {
    match (kind, map.get("items")) {
        ("array", Some(items)) => {
            let item = named(whole, items);
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        ("array", None) => "any[]".to_owned(),
        ("string", _) if map.contains_key("contentEncoding") => "bytes".to_owned(),
        _ => kind.to_owned(),
    }
}

/// A reference at the top is what it refers to.
fn resolved<'a>(whole: &'a Value, schema: &'a Value) -> &'a Value {
    let path = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| whole.pointer(path)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ganger::Contract;
    use ganger::shape::Shaped;
    use serde_json::json;

    fn line(input: Value, output: Value) -> String {
        let info = FunctionInfo::from(&Contract::new("f"));
        assert_eq!(info.to_value(ganger::options::Surface::Rust)["name"], "f");
        signature(&FunctionInfo { input, output, ..info })
    }

    #[test]
    fn schemas_become_types() {
        let input = json!({
            "type": "object",
            "properties": {
                "amount": {"type": "number"},
                "currency": {"enum": ["EUR", "USD"], "default": "EUR"},
                "tags": {"type": "array", "items": {"type": ["string", "null"]}},
                "to": {"$ref": "#/$defs/Place"},
            },
            "required": ["amount", "to"],
        });
        let line = line(input, json!({"anyOf": [{"type": "number"}, {"type": "null"}]}));
        assert_eq!(
            line,
            "f(amount: number, currency: \"EUR\" | \"USD\" = \"EUR\", tags?: (string | null)[], to: Place) -> number | null"
        );
    }

    #[test]
    fn one_value_and_no_schema_are_shown_too() {
        assert_eq!(line(json!({"type": "integer"}), Value::Null), "f(integer) -> any");
        assert_eq!(line(Value::Null, json!({"type": "array"})), "f(any) -> any[]");
    }
}
