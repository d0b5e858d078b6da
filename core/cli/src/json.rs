//! Values as JSON and back. What JSON cannot say is written as in the protocol's vectors: `{"$bytes": "00ff"}`, `{"$timestamp": [seconds, nanoseconds]}`.

use ganger_protocol::Value;
use serde_json::{Value as Json, json};

/// A value of a worker.
pub(crate) fn from_value(value: &Value) -> Json {
    match value {
        Value::Bytes(bytes) => json!({ "$bytes": hex(bytes) }),
        Value::Timestamp { seconds, nanoseconds } => json!({ "$timestamp": [seconds, nanoseconds] }),
        Value::List(items) => items.iter().map(from_value).collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), from_value(value))).collect(),
        Value::Nil
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Unsigned(_)
        | Value::Float(_)
        | Value::String(_) => value.to_json(),
    }
}

/// A value for a worker.
pub(crate) fn to_value(json: Json) -> Value {
    if let Some(special) = special(&json) {
        return special;
    }
    match json {
        Json::Array(items) => Value::List(items.into_iter().map(to_value).collect()),
        Json::Object(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key, to_value(value))).collect())
        }
        plain @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => plain.into(),
    }
}

fn special(json: &Json) -> Option<Value> {
    let map = json.as_object().filter(|map| map.len() == 1)?;
    match map.iter().next()? {
        (name, Json::String(digits)) if name == "$bytes" => unhex(digits).map(Value::Bytes),
        (name, Json::Array(parts)) if name == "$timestamp" => match parts.as_slice() {
            [seconds, nanoseconds] => Some(Value::Timestamp {
                seconds: seconds.as_i64()?,
                nanoseconds: nanoseconds.as_u64()?.try_into().ok()?,
            }),
            _ => None,
        },
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[digit as usize] as char).collect()
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |digit: u8| (digit as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_cannot_say_goes_there_and_back() {
        for json in [
            json!(null),
            json!({"a": [1, -2, 1.5, "x", true], "b": {"$bytes": "00ff"}}),
            json!({"$timestamp": [1, 2]}),
            json!(u64::MAX),
        ] {
            assert_eq!(from_value(&to_value(json.clone())), json);
        }
        assert_eq!(to_value(json!({"$bytes": "00fF"})), Value::Bytes(vec![0, 255]));
    }

    #[test]
    fn what_only_looks_special_stays_a_map() {
        for json in [
            json!({"$bytes": "0"}),
            json!({"$bytes": "zz"}),
            json!({"$bytes": "00", "b": 1}),
            json!({"$timestamp": [1]}),
        ] {
            assert!(matches!(to_value(json.clone()), Value::Map(_)), "{json}");
        }
    }
}
