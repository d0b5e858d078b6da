//! Reads integers of 128 bits as those of 64, which do not wrap around. Nothing else changes on its way through here.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::Fitting;

/// Methods that ask for a kind of value.
macro_rules! asks {
    ($( $method:ident($($name:ident: $type:ty),*) => $inside:ident )+) => { $(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$inside($($name,)* Fitting(visitor))
        }
    )+ };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Fitting<D> {
    type Error = D::Error;

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }

    asks! {
        deserialize_i128() => deserialize_i64
        deserialize_u128() => deserialize_u64
        deserialize_any() => deserialize_any
        deserialize_bool() => deserialize_bool
        deserialize_i8() => deserialize_i8
        deserialize_i16() => deserialize_i16
        deserialize_i32() => deserialize_i32
        deserialize_i64() => deserialize_i64
        deserialize_u8() => deserialize_u8
        deserialize_u16() => deserialize_u16
        deserialize_u32() => deserialize_u32
        deserialize_u64() => deserialize_u64
        deserialize_f32() => deserialize_f32
        deserialize_f64() => deserialize_f64
        deserialize_char() => deserialize_char
        deserialize_str() => deserialize_str
        deserialize_string() => deserialize_string
        deserialize_bytes() => deserialize_bytes
        deserialize_byte_buf() => deserialize_byte_buf
        deserialize_option() => deserialize_option
        deserialize_unit() => deserialize_unit
        deserialize_seq() => deserialize_seq
        deserialize_map() => deserialize_map
        deserialize_identifier() => deserialize_identifier
        deserialize_ignored_any() => deserialize_ignored_any
        deserialize_unit_struct(name: &'static str) => deserialize_unit_struct
        deserialize_newtype_struct(name: &'static str) => deserialize_newtype_struct
        deserialize_tuple(length: usize) => deserialize_tuple
        deserialize_tuple_struct(name: &'static str, length: usize) => deserialize_tuple_struct
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) => deserialize_struct
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) => deserialize_enum
    }
}

/// Methods that are given a value.
macro_rules! given {
    ($( $method:ident($type:ty) )+) => { $(
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )+ };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Fitting<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    given! {
        visit_bool(bool)
        visit_i8(i8)
        visit_i16(i16)
        visit_i32(i32)
        visit_i64(i64)
        visit_u8(u8)
        visit_u16(u16)
        visit_u32(u32)
        visit_u64(u64)
        visit_f32(f32)
        visit_f64(f64)
        visit_char(char)
        visit_str(&str)
        visit_borrowed_str(&'de str)
        visit_string(String)
        visit_bytes(&[u8])
        visit_borrowed_bytes(&'de [u8])
        visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inside: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Fitting(inside))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inside: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Fitting(inside))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Fitting(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Fitting(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Fitting(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Fitting<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inside: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Fitting(inside))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Fitting<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Fitting(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fitting<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Fitting(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Fitting(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Fitting<A> {
    type Error = A::Error;
    type Variant = Fitting<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(Fitting(seed))?;
        Ok((value, Fitting(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Fitting<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Fitting(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(length, Fitting(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Fitting(visitor))
    }
}
