//! A value of any type that the protocol knows: what lies in the free parts of bodies, and in MessagePack
//! payloads.

use rmp::Marker;

use crate::reader::{BodyError, Outcome, Reader, Type, wrong};
use crate::writer::Writer;

/// The extension type of timestamps.
const TIMESTAMP: i8 = -1;

/// One value (SPEC chapter 8). Maps keep their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Nil,
    /// True or false.
    Bool(bool),
    /// An integer that fits 64 bits with a sign.
    Integer(i64),
    /// An integer above [`i64::MAX`]; smaller ones are [`Value::Integer`].
    Unsigned(u64),
    /// A float.
    Float(f64),
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// A map with strings as keys.
    Map(Vec<(String, Value)>),
    /// A point in time.
    Timestamp {
        /// Seconds since 1970 in UTC.
        seconds: i64,
        /// Nanoseconds after that second.
        nanoseconds: u32,
    },
}

impl Value {
    /// Reads exactly one value.
    ///
    /// # Errors
    /// Bytes that are not one value, or one that the protocol refuses (R39).
    pub fn decode(bytes: &[u8]) -> Result<Self, BodyError> {
        let mut reader = Reader::of_payload(bytes);
        let value = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    /// Whether bytes are exactly one value that [`decode`](Self::decode) would read, without making it.
    ///
    /// # Errors
    /// As `decode`.
    pub fn check(bytes: &[u8]) -> Result<(), BodyError> {
        let mut reader = Reader::of_payload(bytes);
        check_one(&mut reader)?;
        reader.finish()
    }

    /// The value as MessagePack.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_into(&mut bytes);
        bytes
    }

    /// Appends the value as MessagePack.
    pub fn encode_into(&self, buffer: &mut Vec<u8>) {
        let mut writer = Writer(buffer);
        match self {
            Self::Nil => writer.nil(),
            Self::Bool(value) => writer.bool(*value),
            Self::Integer(value) => writer.signed(*value),
            Self::Unsigned(value) => writer.unsigned(*value),
            Self::Float(value) => writer.float(*value),
            Self::String(value) => writer.str(value),
            Self::Bytes(value) => writer.bytes(value),
            Self::List(items) => {
                writer.list(items.len());
                items.iter().for_each(|item| writer.value(item));
            }
            Self::Map(entries) => {
                writer.map(entries.len());
                for (key, value) in entries {
                    writer.str(key);
                    writer.value(value);
                }
            }
            Self::Timestamp { seconds, nanoseconds } => write_timestamp(&mut writer, *seconds, *nanoseconds),
        }
    }

    /// The value under a key of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            Self::Nil
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Unsigned(_)
            | Self::Float(_)
            | Self::String(_)
            | Self::Bytes(_)
            | Self::List(_)
            | Self::Timestamp { .. } => None,
        }
    }

    /// The value as JSON, for people and for JSON Schemas: bytes become a list of numbers, a timestamp
    /// `{"seconds", "nanoseconds"}`, a float that JSON does not have null.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Nil => serde_json::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Integer(value) => (*value).into(),
            Self::Unsigned(value) => (*value).into(),
            Self::Float(value) => (*value).into(),
            Self::String(value) => value.as_str().into(),
            Self::Bytes(value) => value.clone().into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect(),
            Self::Timestamp { seconds, nanoseconds } => {
                serde_json::json!({ "seconds": seconds, "nanoseconds": nanoseconds })
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Outcome<Self> {
        let marker = reader.peek()?;
        Ok(match Type::of(marker) {
            Type::Nil => reader.skip().map(|()| Self::Nil)?,
            Type::Bool => Self::Bool(reader.bool()?),
            Type::Integer => Self::from_integer(reader.integer()?),
            Type::Float => Self::Float(reader.float()?),
            Type::String => Self::String(reader.string()?),
            Type::Bytes => Self::Bytes(reader.bytes()?.to_vec()),
            Type::List => Self::List(read_list(reader, Self::read)?),
            Type::Map => Self::Map(read_entries(reader)?),
            Type::Extension => read_timestamp(reader)?,
            Type::Reserved => return Err(wrong("a value", Marker::Reserved)),
        })
    }

    fn from_integer(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self::Integer(value),
            Err(_) => Self::Unsigned(u64::try_from(value).expect("MessagePack integers have 64 bits")),
        }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Self::Unsigned(value), Self::Integer)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => Self::Integer(value),
                (None, Some(value)) => Self::Unsigned(value),
                (None, None) => number.as_f64().map_or(Self::Nil, Self::Float),
            },
            serde_json::Value::String(value) => Self::String(value),
            serde_json::Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => {
                Self::Map(entries.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
        }
    }
}

/// Reads a list with one reader for all its items. It grows as items come: a count alone reserves nothing.
pub(crate) fn read_list<'a, T>(
    reader: &mut Reader<'a>,
    mut read: impl FnMut(&mut Reader<'a>) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    let mut items = Vec::new();
    for _ in 0..reader.begin_list()? {
        items.push(read(reader)?);
    }
    reader.leave();
    Ok(items)
}

fn check_one(reader: &mut Reader<'_>) -> Outcome<()> {
    match Type::of(reader.peek()?) {
        Type::String => reader.str().map(drop),
        Type::Map => reader.map(|reader, _| check_one(reader)),
        Type::Extension => read_timestamp(reader).map(drop),
        Type::List => {
            for _ in 0..reader.begin_list()? {
                check_one(reader)?;
            }
            reader.leave();
            Ok(())
        }
        Type::Nil | Type::Bool | Type::Integer | Type::Float | Type::Bytes | Type::Reserved => reader.skip(),
    }
}

fn read_entries(reader: &mut Reader<'_>) -> Outcome<Vec<(String, Value)>> {
    let mut entries = Vec::new();
    reader.map(|reader, key| {
        entries.push((key.to_owned(), Value::read(reader)?));
        Ok(())
    })?;
    Ok(entries)
}

fn read_timestamp(reader: &mut Reader<'_>) -> Outcome<Value> {
    let (number, bytes) = reader.extension()?;
    if number != TIMESTAMP {
        return Err(BodyError::UnknownExtension { number });
    }
    let (seconds, nanoseconds) = match *bytes {
        [a, b, c, d] => (i64::from(u32::from_be_bytes([a, b, c, d])), 0),
        [a, b, c, d, e, f, g, h] => {
            let both = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
            ((both & 0x3_ffff_ffff) as i64, (both >> 34) as u32)
        }
        [a, b, c, d, ref seconds @ ..] if seconds.len() == 8 => {
            let seconds = seconds.try_into().map_err(|_| BodyError::Truncated)?;
            (i64::from_be_bytes(seconds), u32::from_be_bytes([a, b, c, d]))
        }
        _ => return Err(BodyError::OutOfRange { what: "the length of a timestamp" }),
    };
    if nanoseconds > 999_999_999 {
        return Err(BodyError::OutOfRange { what: "the nanoseconds of a timestamp" });
    }
    Ok(Value::Timestamp { seconds, nanoseconds })
}

/// The shortest of the three forms that MessagePack has.
fn write_timestamp(writer: &mut Writer<'_>, seconds: i64, nanoseconds: u32) {
    match (u32::try_from(seconds), nanoseconds) {
        (Ok(seconds), 0) => writer.extension(TIMESTAMP, &seconds.to_be_bytes()),
        _ if (0..1 << 34).contains(&seconds) => {
            let both = u64::from(nanoseconds) << 34 | seconds.unsigned_abs();
            writer.extension(TIMESTAMP, &both.to_be_bytes());
        }
        _ => {
            let mut bytes = [0; 12];
            bytes[..4].copy_from_slice(&nanoseconds.to_be_bytes());
            bytes[4..].copy_from_slice(&seconds.to_be_bytes());
            writer.extension(TIMESTAMP, &bytes);
        }
    }
}
