//! JSON Schema of inputs and results, as contracts have it.

use ganger_protocol::Value;

#[cfg(feature = "schema")]
pub use described::Binary;
#[cfg(all(feature = "derive", feature = "schema"))]
pub(crate) use described::schema_of;

/// Bytes, as every SDK says it.
pub(crate) fn bytes_schema() -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    Value::Map(vec![("type".to_owned(), text("string")), ("contentEncoding".to_owned(), text("base64"))])
}

#[cfg(feature = "schema")]
mod described {
    use std::borrow::Cow;

    use schemars::generate::{Contract, SchemaSettings};
    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use super::{Value, bytes_schema};
    use crate::function::Function;

    /// Stands for bytes in a type that derives `JsonSchema`: `#[schemars(with = "ganger_worker::Binary")]`.
    #[derive(Debug)]
    pub enum Binary {}

    impl JsonSchema for Binary {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Binary".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            bytes_schema().to_json().try_into().expect("a map is a schema")
        }
    }

    /// The schema of a type, as it is read or as it is written.
    pub(crate) fn schema_of<T: JsonSchema + ?Sized>(contract: Contract) -> Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.contract = contract;
        });
        Value::from(settings.into_generator().into_root_schema_for::<T>().to_value())
    }

    impl Function {
        /// Says what it takes; `action` does it by itself.
        #[must_use]
        pub fn input_schema<T: JsonSchema>(mut self) -> Self {
            self.contract.input = Some(schema_of::<T>(Contract::Deserialize));
            self
        }

        /// Says what it gives, of a stream an item; `action` does it by itself.
        #[must_use]
        pub fn output_schema<T: JsonSchema>(mut self) -> Self {
            self.contract.output = Some(schema_of::<T>(Contract::Serialize));
            self
        }

        /// Says what the items of the stream are that it reads; `action` does it by itself.
        #[must_use]
        pub fn inputs_schema<T: JsonSchema>(mut self) -> Self {
            self.contract.inputs = Some(schema_of::<T>(Contract::Deserialize));
            self
        }
    }
}
