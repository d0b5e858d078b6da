//! Reads MessagePack bodies: borrowed, bounded in depth, and never trusting a length further than the bytes
//! that are there.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "markers are the 256 values of a byte; none will be added"
)]

use rmp::Marker;

/// How many lists and maps may lie inside each other in a body (R5).
pub const MAX_DEPTH: usize = 64;

/// How many lists and maps may lie inside each other in a payload that is read as a [`Value`](crate::Value).
pub const MAX_VALUE_DEPTH: usize = 512;

/// What is wrong with a body or a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It ends before its value does, or a length in it is more than the bytes that follow.
    #[error("the value is cut short")]
    Truncated,
    /// Bytes follow the one value (R5).
    #[error("{count} bytes after the value")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// A field has another type than SPEC says.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What SPEC says.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A field has the right type and a value it cannot have.
    #[error("{what} is out of its range")]
    OutOfRange {
        /// The field or type.
        what: &'static str,
    },
    /// Lists and maps lie inside each other more than [`MAX_DEPTH`] levels deep, or [`MAX_VALUE_DEPTH`] in a
    /// payload.
    #[error("too many lists and maps inside each other")]
    TooDeep,
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    NotUnicode,
    /// An extension type other than a timestamp (R39).
    #[error("the extension type {number} is unknown")]
    UnknownExtension {
        /// Its number.
        number: i8,
    },
}

pub(crate) type Outcome<T> = Result<T, BodyError>;

/// A cursor over one MessagePack value.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// How many levels deeper it may go.
    levels_left: usize,
}

/// What is left of a list whose fields are read by position.
pub(crate) struct Fields {
    left: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, levels_left: MAX_DEPTH }
    }

    /// A reader of a payload, which may be deeper than a body.
    pub(crate) const fn of_payload(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, levels_left: MAX_VALUE_DEPTH }
    }

    /// Must be called when the value is read: nothing may follow it.
    pub(crate) const fn finish(self) -> Outcome<()> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(BodyError::TrailingBytes { count }),
        }
    }

    /// The next marker, left where it is.
    pub(crate) fn peek(&self) -> Outcome<Marker> {
        self.rest.first().map(|byte| Marker::from_u8(*byte)).ok_or(BodyError::Truncated)
    }

    /// Begins a list body: fields by position, missing ones at their defaults.
    pub(crate) fn begin_fields(&mut self) -> Outcome<Fields> {
        Ok(Fields { left: self.begin_list()? })
    }

    /// The next field, or `None` if the list is shorter.
    pub(crate) fn field<T>(
        &mut self,
        fields: &mut Fields,
        read: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        if fields.left == 0 {
            return Ok(None);
        }
        fields.left -= 1;
        read(self).map(Some)
    }

    /// Ends a list body: fields of later versions are skipped.
    pub(crate) fn end_fields(&mut self, fields: Fields) -> Outcome<()> {
        for _ in 0..fields.left {
            self.skip()?;
        }
        self.leave();
        Ok(())
    }

    /// Enters a list; [`leave`](Self::leave) it after its items.
    pub(crate) fn begin_list(&mut self) -> Outcome<usize> {
        let marker = self.marker()?;
        let length = match marker {
            Marker::FixArray(length) => usize::from(length),
            Marker::Array16 => usize::from(u16::from_be_bytes(self.array()?)),
            Marker::Array32 => u32::from_be_bytes(self.array()?) as usize,
            other => return Err(wrong("a list", other)),
        };
        self.enter(length, 1)?;
        Ok(length)
    }

    pub(crate) const fn leave(&mut self) {
        self.levels_left += 1;
    }

    /// Reads a map whose keys are strings, one call of `entry` a key.
    pub(crate) fn map(&mut self, mut entry: impl FnMut(&mut Self, &'a str) -> Outcome<()>) -> Outcome<()> {
        let marker = self.marker()?;
        let length = match marker {
            Marker::FixMap(length) => usize::from(length),
            Marker::Map16 => usize::from(u16::from_be_bytes(self.array()?)),
            Marker::Map32 => u32::from_be_bytes(self.array()?) as usize,
            other => return Err(wrong("a map", other)),
        };
        self.enter(length, 2)?;
        for _ in 0..length {
            let key = self.str()?;
            entry(self, key)?;
        }
        self.leave();
        Ok(())
    }

    /// Reads a value that may be nil.
    pub(crate) fn nullable<T>(&mut self, read: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<Option<T>> {
        if self.peek()? == Marker::Null {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        read(self).map(Some)
    }

    pub(crate) fn bool(&mut self) -> Outcome<bool> {
        match self.marker()? {
            Marker::True => Ok(true),
            Marker::False => Ok(false),
            other => Err(wrong("a boolean", other)),
        }
    }

    pub(crate) fn str(&mut self) -> Outcome<&'a str> {
        let marker = self.marker()?;
        let length = match marker {
            Marker::FixStr(length) => usize::from(length),
            Marker::Str8 => usize::from(self.array::<1>()?[0]),
            Marker::Str16 => usize::from(u16::from_be_bytes(self.array()?)),
            Marker::Str32 => u32::from_be_bytes(self.array()?) as usize,
            other => return Err(wrong("a string", other)),
        };
        std::str::from_utf8(self.take(length)?).map_err(|_| BodyError::NotUnicode)
    }

    pub(crate) fn string(&mut self) -> Outcome<String> {
        self.str().map(str::to_owned)
    }

    pub(crate) fn bytes(&mut self) -> Outcome<&'a [u8]> {
        let marker = self.marker()?;
        let length = match marker {
            Marker::Bin8 => usize::from(self.array::<1>()?[0]),
            Marker::Bin16 => usize::from(u16::from_be_bytes(self.array()?)),
            Marker::Bin32 => u32::from_be_bytes(self.array()?) as usize,
            other => return Err(wrong("bytes", other)),
        };
        self.take(length)
    }

    /// An integer of any width, as wide as all of them need.
    pub(crate) fn integer(&mut self) -> Outcome<i128> {
        Ok(match self.marker()? {
            Marker::FixPos(value) => value.into(),
            Marker::FixNeg(value) => value.into(),
            Marker::U8 => u8::from_be_bytes(self.array()?).into(),
            Marker::U16 => u16::from_be_bytes(self.array()?).into(),
            Marker::U32 => u32::from_be_bytes(self.array()?).into(),
            Marker::U64 => u64::from_be_bytes(self.array()?).into(),
            Marker::I8 => i8::from_be_bytes(self.array()?).into(),
            Marker::I16 => i16::from_be_bytes(self.array()?).into(),
            Marker::I32 => i32::from_be_bytes(self.array()?).into(),
            Marker::I64 => i64::from_be_bytes(self.array()?).into(),
            other => return Err(wrong("an integer", other)),
        })
    }

    /// An integer that must fit the type asked for.
    pub(crate) fn unsigned<T: TryFrom<i128>>(&mut self, what: &'static str) -> Outcome<T> {
        T::try_from(self.integer()?).map_err(|_| BodyError::OutOfRange { what })
    }

    /// A float, or an integer where a float is declared.
    pub(crate) fn float(&mut self) -> Outcome<f64> {
        match self.peek()? {
            Marker::F32 => {
                self.marker()?;
                Ok(f32::from_be_bytes(self.array()?).into())
            }
            Marker::F64 => {
                self.marker()?;
                Ok(f64::from_be_bytes(self.array()?))
            }
            other => match self.integer() {
                Ok(value) => Ok(value as f64),
                Err(BodyError::WrongType { .. }) => Err(wrong("a float", other)),
                Err(error) => Err(error),
            },
        }
    }

    /// An extension type: its number and its bytes.
    pub(crate) fn extension(&mut self) -> Outcome<(i8, &'a [u8])> {
        let marker = self.marker()?;
        let length = match marker {
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Ext8 => usize::from(self.array::<1>()?[0]),
            Marker::Ext16 => usize::from(u16::from_be_bytes(self.array()?)),
            Marker::Ext32 => u32::from_be_bytes(self.array()?) as usize,
            other => return Err(wrong("an extension", other)),
        };
        let number = i8::from_be_bytes(self.array()?);
        Ok((number, self.take(length)?))
    }

    /// Skips one value of any type, within the depth limit.
    pub(crate) fn skip(&mut self) -> Outcome<()> {
        match Type::of(self.peek()?) {
            Type::Nil => self.marker().map(drop),
            Type::Bool => self.bool().map(drop),
            Type::Integer => self.integer().map(drop),
            Type::Float => self.float().map(drop),
            Type::String => self.skip_string(),
            Type::Bytes => self.bytes().map(drop),
            Type::List => {
                for _ in 0..self.begin_list()? {
                    self.skip()?;
                }
                self.leave();
                Ok(())
            }
            Type::Map => self.skip_map(),
            Type::Extension => self.extension().map(drop),
            Type::Reserved => Err(wrong("a value", Marker::Reserved)),
        }
    }

    /// Nothing in a value that is skipped is looked at, so its strings may be anything.
    fn skip_string(&mut self) -> Outcome<()> {
        match self.str() {
            Ok(_) | Err(BodyError::NotUnicode) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn skip_map(&mut self) -> Outcome<()> {
        let length = match self.marker()? {
            Marker::FixMap(length) => usize::from(length),
            Marker::Map16 => usize::from(u16::from_be_bytes(self.array()?)),
            Marker::Map32 => u32::from_be_bytes(self.array()?) as usize,
            other => return Err(wrong("a map", other)),
        };
        self.enter(length, 2)?;
        for _ in 0..length {
            self.skip()?;
            self.skip()?;
        }
        self.leave();
        Ok(())
    }

    fn enter(&mut self, length: usize, values_an_item: usize) -> Outcome<()> {
        if self.levels_left == 0 {
            return Err(BodyError::TooDeep);
        }
        // Every value takes a byte at least: a count beyond that is a lie, told before anything is allocated
        // for it.
        if length.saturating_mul(values_an_item) > self.rest.len() {
            return Err(BodyError::Truncated);
        }
        self.levels_left -= 1;
        Ok(())
    }

    fn marker(&mut self) -> Outcome<Marker> {
        let marker = self.peek()?;
        self.rest = &self.rest[1..];
        Ok(marker)
    }

    fn array<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or(BodyError::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }

    fn take(&mut self, length: usize) -> Outcome<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(BodyError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

pub(crate) const fn wrong(expected: &'static str, found: Marker) -> BodyError {
    BodyError::WrongType { expected, found: Type::of(found).name() }
}

/// What a marker begins, whatever its width.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    Nil,
    Bool,
    Integer,
    Float,
    String,
    Bytes,
    List,
    Map,
    Extension,
    Reserved,
}

impl Type {
    pub(crate) const fn of(marker: Marker) -> Self {
        match marker {
            Marker::Null => Self::Nil,
            Marker::True | Marker::False => Self::Bool,
            Marker::F32 | Marker::F64 => Self::Float,
            Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => Self::String,
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => Self::Bytes,
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => Self::List,
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => Self::Map,
            Marker::FixExt1
            | Marker::FixExt2
            | Marker::FixExt4
            | Marker::FixExt8
            | Marker::FixExt16
            | Marker::Ext8
            | Marker::Ext16
            | Marker::Ext32 => Self::Extension,
            Marker::Reserved => Self::Reserved,
            _ => Self::Integer,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool => "a boolean",
            Self::Integer => "an integer",
            Self::Float => "a float",
            Self::String => "a string",
            Self::Bytes => "bytes",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Extension => "an extension",
            Self::Reserved => "the reserved byte 0xc1",
        }
    }
}
