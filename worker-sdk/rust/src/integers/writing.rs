//! Writes values whose integers fit 64 bits, and refuses others. Nothing else changes on its way through here.

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::Fitting;

impl<T: Serialize> Serialize for Fitting<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Fitting(serializer))
    }
}

/// Methods that take a value as it is, or none.
macro_rules! as_they_are {
    ($( $method:ident($($name:ident: $type:ty),*) )+) => { $(
        fn $method(self, $($name: $type),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($name),*)
        }
    )+ };
}

/// Methods that begin what has parts.
macro_rules! compounds {
    ($( $method:ident($($name:ident: $type:ty),*) -> $compound:ident )+) => { $(
        type $compound = Fitting<S::$compound>;

        fn $method(self, $($name: $type),*) -> Result<Self::$compound, S::Error> {
            self.0.$method($($name),*).map(Fitting)
        }
    )+ };
}

impl<S: Serializer> Serializer for Fitting<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_i128(self, value: i128) -> Result<S::Ok, S::Error> {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => self.0.serialize_i64(value),
            (_, Ok(value)) => self.0.serialize_u64(value),
            _ => self.refuse(value),
        }
    }

    fn serialize_u128(self, value: u128) -> Result<S::Ok, S::Error> {
        match u64::try_from(value) {
            Ok(value) => self.0.serialize_u64(value),
            Err(_) => self.refuse(value),
        }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        // MessagePack knows no other, and places inside it stay known.
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Fitting(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &Fitting(value))
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }

    as_they_are! {
        serialize_bool(value: bool)
        serialize_i8(value: i8)
        serialize_i16(value: i16)
        serialize_i32(value: i32)
        serialize_i64(value: i64)
        serialize_u8(value: u8)
        serialize_u16(value: u16)
        serialize_u32(value: u32)
        serialize_u64(value: u64)
        serialize_f32(value: f32)
        serialize_f64(value: f64)
        serialize_char(value: char)
        serialize_str(value: &str)
        serialize_bytes(value: &[u8])
        serialize_none()
        serialize_unit()
        serialize_unit_struct(name: &'static str)
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str)
    }

    compounds! {
        serialize_seq(length: Option<usize>) -> SerializeSeq
        serialize_tuple(length: usize) -> SerializeTuple
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize)
            -> SerializeTupleVariant
        serialize_map(length: Option<usize>) -> SerializeMap
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize)
            -> SerializeStructVariant
    }
}

/// What has parts, and how each goes through.
macro_rules! parts {
    ($( $compound:ident { $( $method:ident($($name:ident: $type:ty)?) )+ } )+) => { $(
        impl<S: $compound> $compound for Fitting<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            $(
                fn $method<T: Serialize + ?Sized>(&mut self, $($name: $type,)? value: &T) -> Result<(), S::Error> {
                    self.0.$method($($name,)? &Fitting(value))
                }
            )+

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )+ };
}

parts! {
    SerializeSeq { serialize_element() }
    SerializeTuple { serialize_element() }
    SerializeTupleStruct { serialize_field() }
    SerializeTupleVariant { serialize_field() }
    SerializeMap { serialize_key() serialize_value() }
    SerializeStruct { serialize_field(key: &'static str) }
    SerializeStructVariant { serialize_field(key: &'static str) }
}

impl<S: Serializer> Fitting<S> {
    /// By a value that fails, so that a serializer that notes places notes this one.
    fn refuse(self, value: impl std::fmt::Display) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Beyond(value))
    }
}

/// An integer that does not fit.
struct Beyond<T>(T);

impl<T: std::fmt::Display> Serialize for Beyond<T> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(format_args!("{} does not fit 64 bits", self.0)))
    }
}
