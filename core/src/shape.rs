//! Records that know their own fields: what `record!` declares is a struct, its text and its shape at once. Types of other languages and
//! reference pages are written from the shape, and [`Shaped::to_value`] spells the names as the app's language does.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::options::{Surface, camel};

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum FieldKind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Yes or no.
    Flag,
    /// A whole number.
    Integer,
    /// Any number of these.
    List(&'static FieldKind),
    /// A map whose names are ours, and whose values are plain.
    Names,
    /// This, or nothing.
    Nullable(&'static FieldKind),
    /// A number.
    Number,
    /// Another record; a function, because records may hold themselves.
    Record(fn() -> &'static RecordShape),
    /// Text.
    Text,
    /// A plain value that is not ours, or not of one type.
    Value,
}

/// A field of a record.
#[derive(Debug, Clone, Copy)]
pub struct FieldShape {
    /// The identifier in Rust; [`FieldShape::name`] is the name.
    pub identifier: &'static str,
    /// What it holds.
    pub kind: FieldKind,
    /// What it means.
    pub doc: &'static str,
}

impl FieldShape {
    /// The name in snake_case.
    pub fn name(&self) -> &'static str {
        self.identifier.trim_start_matches("r#")
    }
}

/// A record: its name, text and fields.
#[derive(Debug, Clone, Copy)]
pub struct RecordShape {
    /// The name of its type.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// In order.
    pub fields: &'static [FieldShape],
}

/// A type that a record may hold, or a record itself.
pub trait Shaped {
    /// What it is to other languages.
    const KIND: FieldKind;

    /// The value as a plain one, its names spelled as the language does.
    fn to_value(&self, surface: Surface) -> Value
    where
        Self: Serialize + Sized,
    {
        let value = serde_json::to_value(self).expect("records have text for keys");
        match surface {
            Surface::Node => camel_names(value, Self::KIND),
            Surface::Python | Surface::Rust => value,
        }
    }
}

/// Only names that are ours change: a function's own error may have any.
fn camel_names(value: Value, kind: FieldKind) -> Value {
    match (kind, value) {
        (FieldKind::Nullable(inner), value) if !value.is_null() => camel_names(value, *inner),
        (FieldKind::List(item), Value::Array(items)) => {
            items.into_iter().map(|value| camel_names(value, *item)).collect()
        }
        (FieldKind::Names, Value::Object(map)) => {
            map.into_iter().map(|(name, value)| (camel(&name), value)).collect()
        }
        (FieldKind::Record(shape), Value::Object(mut map)) => {
            let field = |field: &FieldShape| {
                let value = map.remove(field.name()).expect("a record serializes all its fields");
                (camel(field.name()), camel_names(value, field.kind))
            };
            Value::Object(shape().fields.iter().map(field).collect::<Map<_, _>>())
        }
        (_, value) => value,
    }
}

/// Declares records.
macro_rules! record {
    ($(
        $(#[doc = $about:literal])*
        $(#[derive($($derive:ident),+)])?
        $vis:vis struct $name:ident { $( $(#[doc = $doc:literal])* pub $field:ident : $type:ty ),+ $(,)? }
    )+) => { $(
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize $(, $($derive),+)?)]
        $vis struct $name { $( $(#[doc = $doc])* pub $field: $type ),+ }

        impl $name {
            /// Its name, text and fields.
            $vis const SHAPE: $crate::shape::RecordShape = $crate::shape::RecordShape {
                name: stringify!($name),
                doc: concat!($($about),*),
                fields: &[$( $crate::shape::FieldShape {
                    identifier: stringify!($field),
                    kind: <$type as $crate::shape::Shaped>::KIND,
                    doc: concat!($($doc),*),
                } ),+],
            };
        }

        impl $crate::shape::Shaped for $name {
            const KIND: $crate::shape::FieldKind = $crate::shape::FieldKind::Record(|| &$name::SHAPE);
        }
    )+ };
}

/// Declares enums of words.
macro_rules! choices {
    ($(
        $(#[doc = $about:literal])*
        $vis:vis enum $name:ident { $( $(#[doc = $doc:literal])* $variant:ident = $word:literal ),+ $(,)? }
    )+) => { $(
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
        #[non_exhaustive]
        $vis enum $name { $( $(#[doc = $doc])* #[serde(rename = $word)] $variant ),+ }

        impl $name {
            /// The word for it.
            $vis fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $word ),+ }
            }
        }

        impl $crate::shape::Shaped for $name {
            const KIND: $crate::shape::FieldKind = $crate::shape::FieldKind::Choice(&[$($word),+]);
        }
    )+ };
}

pub(crate) use {choices, record};

macro_rules! shapes {
    ($($kind:ident: $($type:ty),+;)+) => {
        $($( impl Shaped for $type { const KIND: FieldKind = FieldKind::$kind; } )+)+
    };
}

shapes! {
    Flag: bool;
    Integer: u8, u32, u64, i32;
    Number: f64;
    Text: String;
    Value: Value;
}

impl<T: Shaped> Shaped for Option<T> {
    const KIND: FieldKind = FieldKind::Nullable(&T::KIND);
}

impl<T: Shaped> Shaped for Vec<T> {
    const KIND: FieldKind = FieldKind::List(&T::KIND);
}

impl<T: Shaped> Shaped for Box<T> {
    const KIND: FieldKind = T::KIND;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    choices! {
        /// A state.
        enum State {
            /// Going.
            GoingOn = "going-on",
            /// Done.
            Done = "done",
        }
    }

    record! {
        /// Something
        /// with parts.
        #[derive(Default)]
        struct Thing {
            /// Its kind.
            pub r#type: String,
            /// Parts of it.
            pub small_parts: Vec<Thing>,
            /// Any value.
            pub own_value: Value,
            /// Its state.
            pub last_state: Option<State>,
        }
    }

    #[test]
    fn a_record_is_spelled_as_the_language_does_and_foreign_names_stay() {
        let part = Thing { own_value: json!({"snake_case": 1}), ..Thing::default() };
        let thing = Thing {
            r#type: "a".into(),
            small_parts: vec![part],
            own_value: Value::Null,
            last_state: Some(State::GoingOn),
        };
        assert_eq!(
            thing.to_value(Surface::Node),
            json!({
                "type": "a",
                "smallParts": [{"type": "", "smallParts": [], "ownValue": {"snake_case": 1}, "lastState": null}],
                "ownValue": null,
                "lastState": "going-on",
            })
        );
        assert_eq!(thing.to_value(Surface::Python)["small_parts"][0]["own_value"]["snake_case"], json!(1));
        assert_eq!(State::Done.as_str(), "done");
    }

    #[test]
    fn a_shape_has_the_text_of_its_record() {
        assert_eq!(Thing::SHAPE.doc.trim(), "Something with parts.");
        assert_eq!(Thing::SHAPE.fields[0].name(), "type");
    }
}
