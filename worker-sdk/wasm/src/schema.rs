//! Checks inputs against the JSON Schema that a function has for them, so that a module need not.
//!
//! Of JSON Schema it knows what describes data: types, enumerations, bounds, lengths, items, properties and combinations. Other keywords
//! are for people and other programs.

use ganger_protocol::Value;

/// The first place where a value does not fit: its path and what would.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) path: String,
    pub(crate) message: String,
}

/// Whether a value fits a schema.
pub(crate) fn check(value: &Value, schema: &Value, path: &str) -> Result<(), Misfit> {
    if *schema == Value::Bool(false) {
        return misfit(path, "nothing is allowed here".to_owned());
    }
    check_type(value, schema, path)?;
    check_choice(value, schema, path)?;
    check_bounds(value, schema, path)?;
    check_items(value, schema, path)?;
    check_properties(value, schema, path)?;
    check_combinations(value, schema, path)
}

fn check_type(value: &Value, schema: &Value, path: &str) -> Result<(), Misfit> {
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::List(names)) => names.iter().filter_map(text).collect(),
        _ => return Ok(()),
    };
    if types.is_empty() || types.iter().any(|name| is_of_type(value, name)) {
        return Ok(());
    }
    misfit(path, format!("{} was expected, not {}", types.join(" or "), name_of(value)))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => matches!(value, Value::Nil),
        "boolean" => matches!(value, Value::Bool(_)),
        "integer" => number(value).is_some_and(|number| number.fract() == 0.0),
        "number" => number(value).is_some(),
        // Bytes and times are what schemas of JSON can only call text.
        "string" => matches!(value, Value::String(_) | Value::Bytes(_) | Value::Timestamp { .. }),
        "array" => matches!(value, Value::List(_)),
        "object" => matches!(value, Value::Map(_)),
        _ => true,
    }
}

fn check_choice(value: &Value, schema: &Value, path: &str) -> Result<(), Misfit> {
    let allowed = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::List(allowed)), _) => allowed.as_slice(),
        (_, Some(only)) => std::slice::from_ref(only),
        _ => return Ok(()),
    };
    if allowed.iter().any(|other| is_same(value, other)) {
        return Ok(());
    }
    let allowed: Vec<String> = allowed.iter().map(|value| value.to_json().to_string()).collect();
    misfit(path, format!("it must be {}", allowed.join(" or ")))
}

fn check_bounds(value: &Value, schema: &Value, path: &str) -> Result<(), Misfit> {
    type Broken = fn(f64, f64) -> bool;
    let least: Broken = |value, bound| value < bound;
    let most: Broken = |value, bound| value > bound;
    let checks: [(&str, Option<f64>, Broken); 8] = [
        ("minimum", number(value), least),
        ("maximum", number(value), most),
        ("exclusiveMinimum", number(value), |value, bound| value <= bound),
        ("exclusiveMaximum", number(value), |value, bound| value >= bound),
        ("minLength", length(value), least),
        ("maxLength", length(value), most),
        ("minItems", count(value), least),
        ("maxItems", count(value), most),
    ];
    for (name, measured, is_broken) in checks {
        if let (Some(measured), Some(bound)) = (measured, schema.get(name).and_then(number))
            && is_broken(measured, bound)
        {
            return misfit(path, format!("{name} is {bound}"));
        }
    }
    Ok(())
}

fn length(value: &Value) -> Option<f64> {
    if let Value::Bytes(bytes) = value {
        return Some(bytes.len() as f64);
    }
    text(value).map(|text| text.chars().count() as f64)
}

fn count(value: &Value) -> Option<f64> {
    if let Value::List(items) = value { Some(items.len() as f64) } else { None }
}

fn check_items(value: &Value, schema: &Value, path: &str) -> Result<(), Misfit> {
    let (Value::List(items), Some(schema)) = (value, schema.get("items")) else { return Ok(()) };
    items.iter().enumerate().try_for_each(|(at, item)| check(item, schema, &format!("{path}[{at}]")))
}

fn check_properties(value: &Value, schema: &Value, path: &str) -> Result<(), Misfit> {
    let Value::Map(entries) = value else { return Ok(()) };
    if let Some(Value::List(required)) = schema.get("required")
        && let Some(missing) = required.iter().filter_map(text).find(|name| value.get(name).is_none())
    {
        return misfit(&format!("{path}.{missing}"), "it is missing".to_owned());
    }
    let properties = schema.get("properties");
    for (name, value) in entries {
        let path = format!("{path}.{name}");
        match (properties.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) => check(value, schema, &path)?,
            (None, Some(Value::Bool(false))) => return misfit(&path, "there is no such property".to_owned()),
            (None, Some(schema)) => check(value, schema, &path)?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn check_combinations(value: &Value, schema: &Value, path: &str) -> Result<(), Misfit> {
    if let Some(Value::List(all)) = schema.get("allOf") {
        all.iter().try_for_each(|schema| check(value, schema, path))?;
    }
    for name in ["anyOf", "oneOf"] {
        let Some(Value::List(some)) = schema.get(name) else { continue };
        let fitting = some.iter().filter(|schema| check(value, schema, path).is_ok()).count();
        if fitting == 0 || (name == "oneOf" && fitting > 1) {
            return misfit(path, format!("it fits {fitting} of {} ways, {name} is asked for", some.len()));
        }
    }
    Ok(())
}

fn is_same(one: &Value, other: &Value) -> bool {
    one == other || number(one).is_some_and(|number| Some(number) == self::number(other))
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Integer(number) = value {
        return Some(*number as f64);
    }
    if let Value::Unsigned(number) = value {
        return Some(*number as f64);
    }
    if let Value::Float(number) = value { Some(*number) } else { None }
}

fn text(value: &Value) -> Option<&str> {
    if let Value::String(text) = value { Some(text) } else { None }
}

const fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Nil => "null",
        Value::Bool(_) => "boolean",
        Value::Integer(_) | Value::Unsigned(_) => "integer",
        Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        Value::Timestamp { .. } => "timestamp",
    }
}

fn misfit(path: &str, message: String) -> Result<(), Misfit> {
    Err(Misfit { path: path.to_owned(), message })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(schema: &serde_json::Value, value: serde_json::Value) -> Result<(), String> {
        check(&Value::from(value), &Value::from(schema.clone()), "$").map_err(|misfit| misfit.path)
    }

    #[test]
    fn a_misfit_is_found_where_it_is() {
        let schema = json!({
            "type": "object",
            "required": ["text"],
            "additionalProperties": false,
            "properties": {
                "text": { "type": "string", "maxLength": 3 },
                "mode": { "enum": ["fast", "good", 3] },
                "ratio": { "type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 1 },
                "marks": { "type": "array", "items": { "type": "integer" }, "maxItems": 2 },
                "either": { "anyOf": [{ "type": "boolean" }, { "const": "x" }] },
            }
        });
        let fits = json!({ "text": "äöü", "mode": 3, "ratio": null, "marks": [1, 2.0], "either": "x" });
        assert_eq!(checked(&schema, fits), Ok(()));
        for (value, path) in [
            (json!(3), "$"),
            (json!({}), "$.text"),
            (json!({ "text": "abcd" }), "$.text"),
            (json!({ "text": "a", "mode": "slow" }), "$.mode"),
            (json!({ "text": "a", "ratio": 1 }), "$.ratio"),
            (json!({ "text": "a", "ratio": -0.5 }), "$.ratio"),
            (json!({ "text": "a", "marks": [1, 1.5] }), "$.marks[1]"),
            (json!({ "text": "a", "marks": [1, 2, 3] }), "$.marks"),
            (json!({ "text": "a", "either": 3 }), "$.either"),
            (json!({ "text": "a", "more": 1 }), "$.more"),
        ] {
            assert_eq!(checked(&schema, value.clone()), Err(path.to_owned()), "{value}");
        }
    }

    #[test]
    fn a_schema_that_says_nothing_takes_anything() {
        for schema in [json!({}), json!(true), json!({ "title": "x", "type": "unheard-of" })] {
            assert_eq!(checked(&schema, json!([1])), Ok(()), "{schema}");
        }
        assert!(checked(&json!({ "items": false }), json!([1])).is_err());
    }
}
