//! From JSON Schema to types: objects become records with names, all else what comes nearest.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::model::{Definition, Field, Record, Type};
use super::names::{pascal, unique};

/// Definitions as they are found, over all schemas of a worker.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) by_name: BTreeMap<String, Definition>,
    /// The name of what was read before, by its text.
    known: HashMap<String, String>,
    taken: Vec<String>,
}

/// Reads the parts of one schema.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    whole: &'a Value,
    definitions: &'a mut Definitions,
}

type Schema = Map<String, Value>;

impl<'a> Reader<'a> {
    pub(super) fn new(whole: &'a Value, definitions: &'a mut Definitions) -> Self {
        Self { whole, definitions }
    }

    /// The type of a schema. `hint` names it if it needs a name.
    pub(super) fn kind(&mut self, schema: &Value, hint: &str) -> Type {
        if *schema == Value::Bool(false) {
            return Type::Never;
        }
        let Some(schema) = schema.as_object() else { return Type::Any };
        let kind = self.without_null(schema, hint);
        let nullable = schema.get("nullable") == Some(&Value::Bool(true));
        if nullable { Type::union([kind, Type::Null]) } else { kind }
    }

    /// What a record has, unless the schema is of something else.
    pub(super) fn record(&mut self, schema: &Value, hint: &str) -> Option<Record> {
        let schema = schema.as_object()?;
        let properties = schema.get("properties")?.as_object()?;
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        let fields = properties.iter().map(|(name, field)| Field {
            name: name.clone(),
            kind: self.kind(field, &format!("{hint}{}", pascal(name))),
            required: is_required(name),
            default: field.get("default").cloned(),
            doc: text(field.get("description")),
        });
        let fields = fields.collect();
        let others = schema.get("additionalProperties");
        let open = others.is_some_and(|others| *others != Value::Bool(false));
        Some(Record { doc: text(schema.get("description")), fields, open })
    }

    /// Gives a definition a name near the one that is wanted.
    pub(super) fn claim(&mut self, wanted: &str) -> String {
        let name = unique(wanted, &self.definitions.taken);
        self.definitions.taken.push(name.clone());
        name
    }

    pub(super) fn define(&mut self, name: &str, definition: Definition) {
        self.definitions.by_name.insert(name.to_owned(), definition);
    }

    fn without_null(&mut self, schema: &Schema, hint: &str) -> Type {
        if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
            return self.referred(path);
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return Type::union(values.iter().map(literal));
        }
        if let Some(choices) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array()) {
            let numbered = choices.len() > 1 && choices.iter().filter(|choice| is_record(choice)).count() > 1;
            let kinds = choices.iter().enumerate().map(|(index, choice)| match numbered {
                true => self.kind(choice, &format!("{hint}{}", index + 1)),
                false => self.kind(choice, hint),
            });
            return Type::union(kinds.collect::<Vec<_>>());
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            return self.all_of(schema, parts, hint);
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.plain(kind, schema, hint),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                Type::union(kinds.map(|kind| self.plain(kind, schema, hint)).collect::<Vec<_>>())
            }
            _ if schema.contains_key("properties") => self.plain("object", schema, hint),
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => {
                self.plain("array", schema, hint)
            }
            _ => Type::Any,
        }
    }

    fn plain(&mut self, kind: &str, schema: &Schema, hint: &str) -> Type {
        match kind {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "integer" => Type::Integer { wide: is_wide(schema) },
            "number" => Type::Number,
            "string" if is_bytes(schema) => Type::Bytes,
            "string" if schema.get("format").is_some_and(|format| format == "date-time") => Type::Moment,
            "string" => Type::Text,
            "array" => self.list(schema, hint),
            "object" => self.object(schema, hint),
            _ => Type::Any,
        }
    }

    fn list(&mut self, schema: &Schema, hint: &str) -> Type {
        // Before 2020 the items of a tuple were a list under `items`.
        let before = schema.get("items").and_then(Value::as_array);
        let first = schema.get("prefixItems").and_then(Value::as_array).or(before);
        let rest = if before.is_some() { schema.get("additionalItems") } else { schema.get("items") };
        let Some(first) = first else {
            let items = rest.map_or(Type::Any, |items| self.kind(items, &format!("{hint}Item")));
            return Type::List(Box::new(items));
        };
        let kinds: Vec<_> = first
            .iter()
            .enumerate()
            .map(|(index, item)| self.kind(item, &format!("{hint}{}", index + 1)))
            .collect();
        let size =
            |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
        let ends = rest == Some(&Value::Bool(false)) || size("maxItems") == Some(kinds.len());
        let rest = rest.map_or(Type::Any, |items| self.kind(items, &format!("{hint}Item")));
        if size("minItems").unwrap_or(0) < kinds.len() && !ends {
            return Type::List(Box::new(Type::union(kinds.into_iter().chain([rest]))));
        }
        Type::Tuple(kinds, (!ends).then(|| Box::new(rest)))
    }

    fn object(&mut self, schema: &Schema, hint: &str) -> Type {
        if schema.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty()) {
            let titled =
                schema.get("title").and_then(Value::as_str).map(pascal).filter(|title| !title.is_empty());
            let name = titled.unwrap_or_else(|| hint.to_owned());
            return self.named(&name, &Value::Object(schema.clone()));
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let patterns = patterns.into_iter().flat_map(Map::values);
        let others = schema.get("additionalProperties");
        let kinds: Vec<_> =
            patterns.chain(others).map(|other| self.kind(other, &format!("{hint}Value"))).collect();
        Type::Map(Box::new(if kinds.is_empty() { Type::Any } else { Type::union(kinds) }))
    }

    /// Parts of one object are one record; nothing else can be joined.
    fn all_of(&mut self, schema: &Schema, parts: &[Value], hint: &str) -> Type {
        if let [only] = parts
            && !schema.contains_key("properties")
        {
            return self.kind(only, hint);
        }
        let mut joined = schema.clone();
        joined.remove("allOf");
        joined.insert("type".into(), "object".into());
        for part in parts {
            let Some(part) = self.resolved(part).as_object() else { return Type::Any };
            let Some(properties) = part.get("properties").and_then(Value::as_object) else {
                return Type::Any;
            };
            let own = joined.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            own.as_object_mut().into_iter().for_each(|own| own.extend(properties.clone()));
            let required = part.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let own = joined.entry("required").or_insert_with(|| Value::Array(Vec::new()));
            own.as_array_mut().into_iter().for_each(|own| own.extend(required.clone()));
        }
        self.object(&joined, hint)
    }

    fn referred(&mut self, path: &str) -> Type {
        let Some(found) = path.strip_prefix('#').and_then(|path| self.whole.pointer(path)) else {
            return Type::Any;
        };
        let last = path.rsplit('/').next().map(pascal).filter(|name| !name.is_empty());
        let title = found.get("title").and_then(Value::as_str).map(pascal).filter(|name| !name.is_empty());
        let name = title.or(last).unwrap_or_else(|| "Root".to_owned());
        self.named(&name, &found.clone())
    }

    fn resolved<'b>(&'b self, schema: &'b Value) -> &'b Value {
        let path = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
        path.and_then(|path| self.whole.pointer(path)).unwrap_or(schema)
    }

    /// The same schema under the same name is one definition, wherever it stands.
    fn named(&mut self, wanted: &str, schema: &Value) -> Type {
        let mut text = format!("{wanted} {schema}");
        if text.contains("\"$ref\"") {
            text += &["$defs", "definitions"]
                .map(|key| self.whole.get(key).unwrap_or(&Value::Null).to_string())
                .concat();
        }
        if let Some(name) = self.definitions.known.get(&text) {
            return Type::Named(name.clone());
        }
        let name = self.claim(wanted);
        // Before its parts are read, which may refer to it.
        self.definitions.known.insert(text, name.clone());
        let definition = if is_record(schema) {
            Definition::Record(self.record(schema, &name).expect("it has properties"))
        } else {
            Definition::Alias { doc: self::text(schema.get("description")), kind: self.kind(schema, &name) }
        };
        self.define(&name, definition);
        Type::Named(name)
    }
}

pub(super) fn is_record(schema: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let other =
        ["$ref", "const", "enum", "anyOf", "oneOf", "allOf"].iter().any(|key| schema.contains_key(*key));
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    !other
        && is_object
        && schema.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty())
}

/// What languages have literals for.
fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Number(number) if number.is_f64() => Type::Number,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Type::Literal(value.clone()),
        Value::Array(_) => Type::List(Box::new(Type::Any)),
        Value::Object(_) => Type::Map(Box::new(Type::Any)),
    }
}

fn is_bytes(schema: &Schema) -> bool {
    schema.contains_key("contentEncoding") || schema.get("format").is_some_and(|format| format == "binary")
}

/// Beyond 2^53 a JavaScript number is not exact.
fn is_wide(schema: &Schema) -> bool {
    let format = schema.get("format").and_then(Value::as_str);
    let is_far = |key: &str| schema.get(key).and_then(Value::as_f64).is_some_and(|bound| bound.abs() > EXACT);
    matches!(format, Some("int64" | "uint64")) || is_far("maximum") || is_far("minimum")
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

const EXACT: f64 = 9_007_199_254_740_991.0;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(schema: &Value) -> (Type, BTreeMap<String, Definition>) {
        let mut definitions = Definitions::default();
        let kind = Reader::new(schema, &mut definitions).kind(schema, "Hint");
        (kind, definitions.by_name)
    }

    fn kind(schema: Value) -> Type {
        read(&schema).0
    }

    fn list(kind: Type) -> Type {
        Type::List(Box::new(kind))
    }

    #[test]
    fn plain_schemas_are_plain_types() {
        assert_eq!(kind(json!({})), Type::Any);
        assert_eq!(kind(json!(true)), Type::Any);
        assert_eq!(kind(json!(false)), Type::Never);
        assert_eq!(kind(json!({"type": "future"})), Type::Any);
        assert_eq!(kind(json!({"type": ["string", "null"]})), Type::union([Type::Text, Type::Null]));
        assert_eq!(kind(json!({"type": "string", "nullable": true})), Type::union([Type::Text, Type::Null]));
        assert_eq!(kind(json!({"type": "string", "contentEncoding": "base64"})), Type::Bytes);
        assert_eq!(kind(json!({"type": "string", "format": "date-time"})), Type::Moment);
        assert_eq!(kind(json!({"type": "integer"})), Type::Integer { wide: false });
        assert_eq!(kind(json!({"type": "integer", "format": "uint64"})), Type::Integer { wide: true });
        assert_eq!(kind(json!({"type": "integer", "maximum": 1e18})), Type::Integer { wide: true });
        assert_eq!(
            kind(json!({"enum": ["a", null, 1.5]})),
            Type::union([Type::Literal(json!("a")), Type::Number, Type::Null,])
        );
    }

    #[test]
    fn lists_and_tuples_have_their_items() {
        let number = || json!({"type": "number"});
        assert_eq!(kind(json!({"type": "array"})), list(Type::Any));
        assert_eq!(kind(json!({"items": number()})), list(Type::Number));
        let two = json!({"type": "array", "prefixItems": [number(), number()], "items": false});
        assert_eq!(kind(two), Type::Tuple(vec![Type::Number, Type::Number], None));
        let old =
            json!({"type": "array", "items": [number()], "minItems": 1, "additionalItems": {"type": "null"}});
        assert_eq!(kind(old), Type::Tuple(vec![Type::Number], Some(Box::new(Type::Null))));
        let short = json!({"type": "array", "prefixItems": [number()], "items": {"type": "null"}});
        assert_eq!(kind(short), list(Type::union([Type::Number, Type::Null])));
    }

    #[test]
    fn a_type_may_hold_itself() {
        let (kind, definitions) = read(&json!({
            "$ref": "#/$defs/tree",
            "$defs": {"tree": {"type": "object", "properties": {"leaves": {"items": {"$ref": "#/$defs/tree"}}}}},
        }));
        assert_eq!(kind, Type::Named("Tree".into()));
        let Definition::Record(tree) = &definitions["Tree"] else { panic!("{definitions:?}") };
        assert_eq!((definitions.len(), &tree.fields[0].kind), (1, &list(Type::Named("Tree".into()))));
        let whole = json!({"type": "object", "title": "Node", "properties": {"next": {"$ref": "#"}}});
        assert_eq!(read(&whole).1.len(), 1);
    }

    #[test]
    fn one_name_stands_for_one_type() {
        let mut definitions = Definitions::default();
        let mut name = |schema: Value| Reader::new(&schema, &mut definitions).kind(&schema, "Hint");
        let price =
            |kind: &str| json!({"title": "price", "type": "object", "properties": {"a": {"type": kind}}});
        assert_eq!(name(price("string")), Type::Named("Price".into()));
        assert_eq!(name(price("string")), Type::Named("Price".into()));
        assert_eq!(name(price("number")), Type::Named("Price2".into()));
        assert_eq!(name(json!({"type": "object", "properties": {"a": {}}})), Type::Named("Hint".into()));
    }

    #[test]
    fn what_cannot_be_followed_is_anything() {
        assert_eq!(kind(json!({"$ref": "https://elsewhere/price.json"})), Type::Any);
        assert_eq!(kind(json!({"$ref": "#/$defs/none"})), Type::Any);
        assert_eq!(kind(json!({"allOf": [{"type": "string"}, {"minLength": 1}]})), Type::Any);
    }
}
