//! How values cross into a module and out of it: as MessagePack, as JSON, or as bytes that only the module understands.

use ganger_protocol::message::{ErrorReport, code};
use ganger_protocol::{Bytes, Encoding, Value};
use ganger_worker::Encoded;

type Reported<T> = Result<T, Box<ErrorReport>>;

/// What the inputs and results of a function are to its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    MessagePack,
    Json,
    Bytes,
}

impl Codec {
    /// The one with a name, as contracts spell it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "messagepack" => Some(Self::MessagePack),
            "json" => Some(Self::Json),
            "bytes" => Some(Self::Bytes),
            _ => None,
        }
    }

    /// An input as the module reads it.
    pub(crate) fn input(self, input: Encoded) -> Reported<Bytes> {
        match (self, input.encoding) {
            (Self::MessagePack, Encoding::MessagePack) | (Self::Bytes, Encoding::Raw) => Ok(input.payload),
            (Self::MessagePack, _) => Ok(Value::Bytes(input.payload.to_vec()).encode().into()),
            (Self::Json, Encoding::MessagePack) => {
                let value =
                    Value::decode(&input.payload).map_err(|error| invalid_input("$", &error.to_string()))?;
                json(&value, "$").map(|json| json.to_string().into())
            }
            (Self::Json, _) => Err(invalid_input("$", "this module reads JSON, which has no bytes")),
            (Self::Bytes, _) => match Value::decode(&input.payload) {
                Ok(Value::Bytes(bytes)) => Ok(bytes.into()),
                Ok(Value::String(text)) => Ok(text.into()),
                Ok(Value::Nil) => Ok(Bytes::new()),
                _ => Err(invalid_input("$", "this function takes bytes or text")),
            },
        }
    }

    /// A value of this program for the module; one that takes bytes gets JSON.
    pub(crate) fn write(self, value: &Value) -> Vec<u8> {
        match self {
            Self::MessagePack => value.encode(),
            Self::Json | Self::Bytes => value.to_json().to_string().into_bytes(),
        }
    }

    /// A result, or an item, as it is sent. None at all is nil.
    pub(crate) fn output(self, output: Vec<u8>) -> Reported<Encoded> {
        let encoded = match self {
            Self::Bytes => return Ok(Encoded { encoding: Encoding::Raw, payload: output.into() }),
            _ if output.is_empty() => Value::Nil.encode(),
            Self::MessagePack => output,
            Self::Json => match serde_json::from_slice::<serde_json::Value>(&output) {
                Ok(value) => Value::from(value).encode(),
                Err(error) => return Err(invalid_result(&format!("the module wrote no JSON: {error}"))),
            },
        };
        Value::check(&encoded)
            .map_err(|error| invalid_result(&format!("the module wrote no value: {error}")))?;
        Ok(Encoded { encoding: Encoding::MessagePack, payload: encoded.into() })
    }
}

/// A value as JSON, if JSON has it.
fn json(value: &Value, path: &str) -> Reported<serde_json::Value> {
    match value {
        Value::Bytes(_) => Err(invalid_input(path, "this module reads JSON, which has no bytes")),
        Value::Float(number) if !number.is_finite() => {
            Err(invalid_input(path, &format!("this module reads JSON, which has no {number}")))
        }
        Value::List(items) => {
            items.iter().enumerate().map(|(at, item)| json(item, &format!("{path}[{at}]"))).collect()
        }
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| Ok((key.clone(), json(value, &format!("{path}.{key}"))?)))
            .collect(),
        Value::Nil
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Unsigned(_)
        | Value::Float(_)
        | Value::String(_)
        | Value::Timestamp { .. } => Ok(value.to_json()),
    }
}

/// The report of an input that does not fit.
pub(crate) fn invalid_input(path: &str, message: &str) -> Box<ErrorReport> {
    let mut report = ErrorReport::new(code::INVALID_INPUT, "", format!("{path}: {message}"));
    report.path = Some(path.to_owned());
    Box::new(report)
}

fn invalid_result(message: &str) -> Box<ErrorReport> {
    let mut report = ErrorReport::new(code::INVALID_RESULT, "", message);
    report.path = Some("$".to_owned());
    Box::new(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_pack(value: Value) -> Encoded {
        Encoded { encoding: Encoding::MessagePack, payload: value.encode().into() }
    }

    fn raw(bytes: &'static [u8]) -> Encoded {
        Encoded { encoding: Encoding::Raw, payload: bytes.into() }
    }

    fn from_json(json: serde_json::Value) -> Encoded {
        message_pack(Value::from(json))
    }

    #[test]
    fn inputs_are_written_as_the_module_reads_them() {
        let value = serde_json::json!({ "a": [1, 2.5, null] });
        let text = Codec::Json.input(from_json(value.clone())).unwrap();
        assert_eq!(text, r#"{"a":[1,2.5,null]}"#);
        assert_eq!(Codec::MessagePack.input(raw(b"xy")).unwrap(), Value::Bytes(b"xy".to_vec()).encode());
        for (input, bytes) in [
            (raw(b"xy"), &b"xy"[..]),
            (message_pack("xy".into()), b"xy"),
            (message_pack(Value::Bytes(vec![0, 255])), &[0, 255]),
            (message_pack(Value::Nil), b""),
        ] {
            assert_eq!(Codec::Bytes.input(input).unwrap(), bytes);
        }
    }

    #[test]
    fn what_a_module_cannot_read_is_named_with_its_place() {
        let nested = Value::Map(vec![("a".into(), Value::List(vec![Value::Nil, Value::Bytes(vec![1])]))]);
        let report = Codec::Json.input(message_pack(nested)).unwrap_err();
        assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_INPUT, Some("$.a[1]")));
        assert!(Codec::Json.input(message_pack(f64::NAN.into())).is_err());
        assert!(Codec::Json.input(raw(b"x")).is_err());
        assert!(Codec::Bytes.input(message_pack(3.into())).is_err());
    }

    #[test]
    fn results_are_sound_or_refused() {
        assert_eq!(Codec::Json.output(b"[1, true]".to_vec()), Ok(from_json(serde_json::json!([1, true]))));
        assert_eq!(Codec::Json.output(Vec::new()), Ok(message_pack(Value::Nil)));
        assert_eq!(Codec::Bytes.output(Vec::new()), Ok(raw(b"")));
        for (codec, wrong) in [
            (Codec::Json, &b"{"[..]),
            (Codec::Json, b"1 2"),
            (Codec::MessagePack, &[0xc1]),
            (Codec::MessagePack, &[1, 2]),
            (Codec::MessagePack, &[0x81, 1, 2]),
        ] {
            assert_eq!(codec.output(wrong.to_vec()).unwrap_err().code, code::INVALID_RESULT, "{wrong:?}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(Codec::Json.output(deep.into()).is_err(), "deeper than JSON is read");
    }
}
