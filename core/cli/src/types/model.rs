//! What a typed client has to say: types, and functions in their modules, the same for every language.

use std::collections::BTreeMap;

use serde_json::Value;

/// A type, as far as languages share it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Any,
    Never,
    Null,
    Boolean,
    Integer {
        /// Some do not fit a JavaScript number.
        wide: bool,
    },
    Number,
    Text,
    Bytes,
    Moment,
    /// A text, an integer or a boolean that it must be.
    Literal(Value),
    List(Box<Type>),
    /// Items that each have a type, and what may follow them.
    Tuple(Vec<Type>, Option<Box<Type>>),
    Map(Box<Type>),
    /// One of the definitions.
    Named(String),
    Union(Vec<Type>),
}

/// A type with a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Definition {
    Record(Record),
    /// Another name for a type, which may refer to itself.
    Alias {
        doc: Option<String>,
        kind: Type,
    },
}

/// A map with known names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) doc: Option<String>,
    pub(super) fields: Vec<Field>,
    /// Other names may be in it.
    pub(super) open: bool,
}

/// One name of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
    pub(super) doc: Option<String>,
}

/// What a function takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    Nothing,
    /// One value.
    One {
        kind: Type,
        optional: bool,
    },
    /// A map whose names are the function's parameters.
    Fields {
        /// The record as a type of its own.
        name: String,
        record: Record,
        /// Those that may be given by position, in order; none in languages where there is but one parameter.
        positional: Vec<String>,
    },
}

/// A function of the worker.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Function {
    /// As the pool knows it.
    pub(super) name: String,
    pub(super) doc: Option<String>,
    pub(super) streams: bool,
    pub(super) input: Input,
    pub(super) output: Type,
    /// An item of the stream that it reads.
    pub(super) inputs: Option<Type>,
}

/// All that a client offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Client {
    pub(super) functions: Vec<Function>,
    pub(super) definitions: BTreeMap<String, Definition>,
}

/// Functions and modules by their names, as a proxy reaches them.
#[derive(Debug, Default)]
pub(super) struct Module<'a> {
    pub(super) functions: BTreeMap<&'a str, &'a Function>,
    pub(super) modules: BTreeMap<&'a str, Module<'a>>,
    /// Those that only their whole name reaches; at the root alone.
    pub(super) apart: Vec<&'a Function>,
}

impl Type {
    /// One of several, flat and each once; null comes last.
    pub(super) fn union(kinds: impl IntoIterator<Item = Type>) -> Type {
        let mut members: Vec<Type> = Vec::new();
        for kind in kinds {
            let parts = if let Type::Union(parts) = kind { parts } else { vec![kind] };
            for part in parts {
                if part == Type::Any {
                    return Type::Any;
                }
                if part != Type::Never && !members.contains(&part) {
                    members.push(part);
                }
            }
        }
        members.sort_by_key(|member| *member == Type::Null);
        match members.len() {
            0 => Type::Never,
            1 => members.remove(0),
            _ => Type::Union(members),
        }
    }

    pub(super) fn is_nullable(&self) -> bool {
        if let Type::Union(members) = self {
            return members.contains(&Type::Null);
        }
        matches!(self, Type::Any | Type::Null)
    }

    /// Whether a plain value is surely of the type.
    pub(super) fn admits(&self, value: &Value) -> bool {
        match (self, value) {
            (Type::Any, _) | (Type::Null, Value::Null) | (Type::Boolean, Value::Bool(_)) => true,
            (Type::Text, Value::String(_)) | (Type::Number, Value::Number(_)) => true,
            (Type::Integer { .. }, Value::Number(number)) => !number.is_f64(),
            (Type::Literal(literal), value) => literal == value,
            (Type::Union(members), value) => members.iter().any(|member| member.admits(value)),
            _ => false,
        }
    }
}

impl Client {
    /// The tree of modules. `reachable` says whether a name at a depth can be written behind a dot.
    pub(super) fn tree(&self, reachable: impl Fn(usize, &str) -> bool) -> Module<'_> {
        let mut root = Module::default();
        for function in &self.functions {
            let steps: Vec<&str> = function.name.split('.').collect();
            let (last, modules) = steps.split_last().expect("split gives something");
            let hidden = (1..steps.len()).any(|length| self.has(&steps[..length].join(".")));
            if hidden || !steps.iter().enumerate().all(|(depth, step)| reachable(depth, step)) {
                root.apart.push(function);
                continue;
            }
            let inside =
                modules.iter().fold(&mut root, |module, step| module.modules.entry(step).or_default());
            inside.functions.insert(last, function);
        }
        root
    }

    fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unions_are_flat_and_null_is_last() {
        let nested = Type::union([Type::Null, Type::Text]);
        assert_eq!(nested, Type::Union(vec![Type::Text, Type::Null]));
        assert_eq!(Type::union([nested.clone(), Type::Text, Type::Never]), nested);
        assert_eq!(Type::union([Type::Text]), Type::Text);
        assert_eq!(Type::union([Type::Text, Type::Any]), Type::Any);
        assert_eq!(Type::union([]), Type::Never);
        assert!(nested.is_nullable() && nested.admits(&json!("x")) && !nested.admits(&json!(1)));
    }

    #[test]
    fn what_no_dot_reaches_stands_apart() {
        let function = |name: &str| Function {
            name: name.to_owned(),
            doc: None,
            streams: false,
            input: Input::Nothing,
            output: Type::Any,
            inputs: None,
        };
        let functions = ["a", "a.b", "c.d", "c.e.f", "my-file.g", "c.stream"].map(function).to_vec();
        let client = Client { functions, ..Client::default() };
        let tree = client.tree(|depth, step| !step.contains('-') && (depth == 0 || step != "stream"));
        let apart: Vec<_> = tree.apart.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(apart, ["a.b", "my-file.g", "c.stream"]);
        assert!(tree.functions.contains_key("a"));
        assert!(tree.modules["c"].functions.contains_key("d"));
        assert!(tree.modules["c"].modules["e"].functions.contains_key("f"));
    }
}
