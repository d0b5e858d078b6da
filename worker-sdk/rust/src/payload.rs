//! Typed inputs and results: payloads to values and back, with the place of a misfit.

use std::any::Any;

use ganger_protocol::message::{ErrorReport, Shape, code};
use ganger_protocol::{Bytes, Encoding, Value};
use serde::Serialize;
use serde::de::value::BytesDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::integers::Fitting;

type Reported<T> = Result<T, Box<ErrorReport>>;

/// Reads an input (R18, R19, R23).
///
/// [`Bytes`] in raw encoding and free [`Value`]s are taken as they are, all else goes through serde.
pub(crate) fn decode_input<I: DeserializeOwned + 'static>(
    encoding: Encoding,
    shape: Shape,
    payload: &Bytes,
) -> Reported<I> {
    match (encoding, shape) {
        (Encoding::Raw, _) => decode_raw(payload),
        (Encoding::MessagePack, Shape::Value) => decode_value(payload),
        (Encoding::MessagePack, Shape::Arguments) => decode_value(&the_one_argument(payload)?.encode()),
        (Encoding::Pickle5, _) => Err(pickled()),
    }
}

/// An input that somebody else decodes: one sound value in MessagePack, or raw bytes.
pub(crate) fn undecoded_input(
    encoding: Encoding,
    shape: Shape,
    payload: Bytes,
) -> Reported<(Encoding, Bytes)> {
    match (encoding, shape) {
        (Encoding::MessagePack, Shape::Value) => match Value::check(&payload) {
            Ok(()) => Ok((encoding, payload)),
            Err(error) => Err(misfit("$", &error.to_string())),
        },
        (Encoding::MessagePack, Shape::Arguments) => {
            Ok((encoding, the_one_argument(&payload)?.encode().into()))
        }
        (Encoding::Raw, _) => Ok((encoding, payload)),
        (Encoding::Pickle5, _) => Err(pickled()),
    }
}

/// Writes a result or an item (R20).
pub(crate) fn encode_output<T: Serialize + 'static>(value: &T) -> Reported<(Encoding, Bytes)> {
    let any: &dyn Any = value;
    if let Some(bytes) = any.downcast_ref::<Bytes>() {
        return Ok((Encoding::Raw, bytes.clone()));
    }
    match rmp_serde::to_vec_named(&Fitting(value)) {
        Ok(encoded) => match Value::check(&encoded) {
            Ok(()) => Ok((Encoding::MessagePack, encoded.into())),
            Err(error) => Err(unencodable::<T>("$", &error.to_string())),
        },
        Err(_) => Err(locate_unencodable(value)),
    }
}

fn decode_raw<I: DeserializeOwned + 'static>(payload: &Bytes) -> Reported<I> {
    if let Some(bytes) = as_type::<_, I>(payload.clone()) {
        return Ok(bytes);
    }
    let deserializer: BytesDeserializer<'_, rmp_serde::decode::Error> = (&payload[..]).into_deserializer();
    I::deserialize(deserializer).map_err(|error| misfit("$", &error.to_string()))
}

fn decode_value<I: DeserializeOwned + 'static>(payload: &[u8]) -> Reported<I> {
    // Serde would take what the protocol refuses: bytes after the value, and keys that are no strings (R39).
    Value::check(payload).map_err(|error| misfit("$", &error.to_string()))?;
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(payload);
    match I::deserialize(Fitting(&mut deserializer)) {
        Ok(input) => Ok(input),
        Err(_) => Err(locate_misfit::<I>(payload)),
    }
}

/// Functions have one input: a call with arguments fits if it has one, positional, or named ones that
/// are the fields of a struct.
fn the_one_argument(payload: &[u8]) -> Reported<Value> {
    let both = Value::decode(payload).map_err(|error| misfit("$", &error.to_string()))?;
    let Value::List(parts) = both else { return Err(misfit("$", "not a list of arguments")) };
    match <[Value; 2]>::try_from(parts) {
        Ok([Value::List(mut positional), Value::Map(named)]) if positional.len() == 1 && named.is_empty() => {
            Ok(positional.remove(0))
        }
        Ok([Value::List(positional), Value::Map(named)]) if positional.is_empty() => {
            Ok(if named.is_empty() { Value::Nil } else { Value::Map(named) })
        }
        _ => Err(misfit("$", "this function takes one input: give one positional argument, or named ones")),
    }
}

/// Reads again, slowly, to find where it fails.
fn locate_misfit<I: DeserializeOwned>(payload: &[u8]) -> Box<ErrorReport> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(payload);
    match serde_path_to_error::deserialize::<_, I>(Fitting(&mut deserializer)) {
        Ok(_) => misfit("$", "the input does not fit"),
        Err(error) => misfit(&path_of(error.path()), &error.inner().to_string()),
    }
}

/// Writes again, slowly, to find where it fails.
fn locate_unencodable<T: Serialize>(value: &T) -> Box<ErrorReport> {
    let mut bytes = Vec::new();
    let mut serializer = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
    match serde_path_to_error::serialize(&Fitting(value), &mut serializer) {
        Ok(()) => unencodable::<T>("$", "the result cannot be encoded"),
        Err(error) => unencodable::<T>(&path_of(error.path()), &error.inner().to_string()),
    }
}

fn unencodable<T>(path: &str, message: &str) -> Box<ErrorReport> {
    let message = format!("{path}: {message}");
    let mut report = ErrorReport::new(code::INVALID_RESULT, std::any::type_name::<T>(), message);
    report.path = Some(path.to_owned());
    Box::new(report)
}

fn pickled() -> Box<ErrorReport> {
    misfit("$", "the input is pickled, which only Python workers read")
}

fn misfit(path: &str, message: &str) -> Box<ErrorReport> {
    let mut report = ErrorReport::new(code::INVALID_INPUT, "", format!("{path}: {message}"));
    report.path = Some(path.to_owned());
    Box::new(report)
}

fn path_of(path: &serde_path_to_error::Path) -> String {
    match path.iter().next() {
        None => "$".to_owned(),
        Some(serde_path_to_error::Segment::Seq { .. }) => format!("${path}"),
        Some(_) => format!("$.{path}"),
    }
}

/// The value as another type, if it is that type.
fn as_type<T: 'static, I: 'static>(value: T) -> Option<I> {
    let mut holder = Some(value);
    let any: &mut dyn Any = &mut holder;
    any.downcast_mut::<Option<I>>().and_then(Option::take)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Price {
        amount: f64,
        currency: Option<String>,
    }

    fn map() -> Vec<u8> {
        Value::from(serde_json::json!({ "amount": 3, "currency": null, "more": [1] })).encode()
    }

    fn decoded<I: DeserializeOwned + 'static>(bytes: Vec<u8>) -> Reported<I> {
        decode_input(Encoding::MessagePack, Shape::Value, &bytes.into())
    }

    #[test]
    fn a_map_becomes_a_struct_and_an_integer_a_float() {
        assert_eq!(decoded::<Price>(map()).unwrap(), Price { amount: 3.0, currency: None });
    }

    #[test]
    fn a_misfit_names_its_place() {
        let bytes = Value::from(serde_json::json!([{ "amount": 1 }, { "amount": "x" }])).encode();
        let report = decoded::<Vec<Price>>(bytes).unwrap_err();
        assert_eq!(report.code, code::INVALID_INPUT);
        assert_eq!(report.path.as_deref(), Some("$[1].amount"));
    }

    #[test]
    fn bytes_after_the_value_and_none_at_all_are_misfits() {
        assert_eq!(decoded::<u64>(vec![1, 2]).unwrap_err().code, code::INVALID_INPUT);
        assert_eq!(decoded::<u64>(Vec::new()).unwrap_err().code, code::INVALID_INPUT);
    }

    #[test]
    fn raw_bytes_are_taken_without_a_copy() {
        let payload = Bytes::from(vec![0, 255]);
        let taken: Bytes = decode_input(Encoding::Raw, Shape::Value, &payload).unwrap();
        assert_eq!(taken.as_ptr(), payload.as_ptr());
        let (encoding, written) = encode_output(&taken).unwrap();
        assert_eq!((encoding, written.as_ptr()), (Encoding::Raw, payload.as_ptr()));
    }

    #[test]
    fn bytes_in_messagepack_are_bytes_as_well() {
        assert_eq!(decoded::<Bytes>(Value::Bytes(vec![1, 2]).encode()).unwrap(), vec![1, 2]);
        assert_eq!(decoded::<u64>(Value::Bytes(vec![1, 2]).encode()).unwrap_err().code, code::INVALID_INPUT);
    }

    #[test]
    fn arguments_become_the_one_input() {
        let payload = |json: serde_json::Value| Bytes::from(Value::from(json).encode());
        let read = |json| decode_input::<Price>(Encoding::MessagePack, Shape::Arguments, &payload(json));
        assert_eq!(read(serde_json::json!([[{ "amount": 1 }], {}])).unwrap().amount, 1.0);
        assert_eq!(read(serde_json::json!([[], { "amount": 2 }])).unwrap().amount, 2.0);
        assert_eq!(read(serde_json::json!([[1, 2], {}])).unwrap_err().code, code::INVALID_INPUT);
    }

    #[test]
    fn structs_are_written_with_their_names_and_what_cannot_be_written_is_named() {
        let price = Price { amount: 1.5, currency: None };
        let (_, written) = encode_output(&price).unwrap();
        assert_eq!(Value::decode(&written).unwrap().get("amount"), Some(&Value::Float(1.5)));
        let impossible = std::collections::BTreeMap::from([("key", Unwritable)]);
        let report = encode_output(&impossible).unwrap_err();
        assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_RESULT, Some("$.key")));
    }

    #[test]
    fn keys_that_are_no_strings_are_refused_both_ways() {
        let numbered = std::collections::BTreeMap::from([(1, 2)]);
        assert_eq!(encode_output(&numbered).unwrap_err().code, code::INVALID_RESULT);
        let bytes = rmp_serde::to_vec(&numbered).unwrap();
        let report = decoded::<std::collections::BTreeMap<u8, u8>>(bytes).unwrap_err();
        assert_eq!(report.code, code::INVALID_INPUT);
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Wide {
        Alone(i128),
        Pair(u128, u8),
        Named { wide: u128, text: String },
        Inside(Box<Wide>),
    }

    #[test]
    fn wide_integers_are_integers_where_they_fit() {
        let written = |value: Vec<Wide>| Value::decode(&encode_output(&value).unwrap().1).unwrap().to_json();
        let named = Wide::Named { wide: u64::MAX.into(), text: "x".to_owned() };
        assert_eq!(
            written(vec![Wide::Alone(i64::MIN.into()), Wide::Pair(7, 1), named]),
            serde_json::json!([{ "Alone": i64::MIN }, { "Pair": [7, 1] }, { "Named": { "wide": u64::MAX, "text": "x" } }])
        );
        let map =
            std::collections::BTreeMap::from([("key", (Some(5_i128), Box::new([u128::from(u64::MAX)])))]);
        let (_, bytes) = encode_output(&map).unwrap();
        assert_eq!(Value::decode(&bytes).unwrap().to_json(), serde_json::json!({ "key": [5, [u64::MAX]] }));
    }

    #[test]
    fn wide_integers_that_do_not_fit_are_refused_with_their_place() {
        for beyond in [i128::from(u64::MAX) + 1, i128::from(i64::MIN) - 1] {
            let report = encode_output(&Some(vec![0, beyond])).unwrap_err();
            assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_RESULT, Some("$[1]")));
            assert!(report.message.contains(&format!("{beyond} does not fit 64 bits")), "{}", report.message);
        }
        let report = encode_output(&Wide::Named { wide: u128::MAX, text: String::new() }).unwrap_err();
        assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_RESULT, Some("$.wide")));
    }

    #[test]
    fn wide_integers_are_read_as_what_was_sent() {
        let read = |json| decoded::<Vec<Option<Wide>>>(Value::from(json).encode());
        let json = serde_json::json!([
            { "Alone": -1 }, null, { "Pair": [u64::MAX, 1] }, { "Inside": { "Named": { "wide": 5, "text": "x" } } },
        ]);
        let named = Wide::Named { wide: 5, text: "x".to_owned() };
        let all = [
            Some(Wide::Alone(-1)),
            None,
            Some(Wide::Pair(u64::MAX.into(), 1)),
            Some(Wide::Inside(named.into())),
        ];
        assert_eq!(read(json).unwrap(), all);
        let report = read(serde_json::json!([{ "Alone": 1 }, { "Pair": [-1, 1] }])).unwrap_err();
        assert_eq!(
            (report.code.as_str(), report.path.as_deref()),
            (code::INVALID_INPUT, Some("$[1].Pair[0]"))
        );
        let bytes = Value::Bytes(vec![0; 16]).encode();
        assert_eq!(decoded::<u128>(bytes).unwrap_err().code, code::INVALID_INPUT);
    }

    struct Unwritable;

    impl Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("a socket"))
        }
    }
}
