//! The client for Python's type checkers: classes for `workers: Workers = pool.proxy()`.

use serde_json::Value;

use super::model::{Client, Definition, Field, Function, Input, Module, Record, Type};
use super::names::{is_python_name, pascal, unique};
use super::text::{indented, lines, plain};

/// All of the file.
pub(super) fn client(client: &Client, header: &[String]) -> String {
    let root = client.tree(is_reachable);
    let mut taken: Vec<String> = client.definitions.keys().cloned().collect();
    let mut classes = String::new();
    module(
        "Workers",
        "What the worker offers: `workers: Workers = pool.proxy()` has it.",
        &root,
        &mut taken,
        &mut classes,
    );
    let written = client.definitions.iter().filter(|(name, _)| !is_spread(client, name));
    let definitions = written.map(|(name, it)| format!("{}\n\n", definition(name, it)));
    let body = definitions.collect::<String>() + &classes;
    let mut out: String = header.iter().map(|line| format!("# {line}\n")).collect();
    out += "# ruff: noqa\n\n";
    out += &imports(&body);
    out + "\n" + body.trim_end() + "\n"
}

/// What a proxy keeps for itself, at the depth at which it does.
fn is_reachable(depth: usize, step: &str) -> bool {
    let kept = depth > 0 && matches!(step, "options" | "stream" | "submit");
    is_python_name(step) && !step.starts_with('_') && !kept
}

fn imports(body: &str) -> String {
    let uses = |name: &str| {
        let is_part = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
        body.match_indices(name)
            .any(|(at, _)| !body[..at].ends_with(is_part) && !body[at + name.len()..].starts_with(is_part))
    };
    let from = |module: &str, names: &[&str]| {
        let used: Vec<_> = names.iter().copied().filter(|name| uses(name)).collect();
        if used.is_empty() { String::new() } else { format!("from {module} import {}\n", used.join(", ")) }
    };
    let moments = if uses("datetime.datetime") { "import datetime\n" } else { "" };
    let never = ["Any", "Literal", "Never", "NotRequired", "Protocol", "TypeAlias", "TypedDict", "overload"];
    let collections = from("collections.abc", &["Mapping", "Sequence"]);
    format!(
        "{moments}{collections}{}\n{}",
        from("typing", &never),
        from("ganger.typed", &["Function", "StreamFunction"])
    )
}

/// The class of a module stands behind those of the modules in it.
fn module(class: &str, about: &str, module: &Module<'_>, taken: &mut Vec<String>, out: &mut String) {
    let mut members = docstring(&[about.to_owned()]);
    for (name, function) in &module.functions {
        members += &format!("\n{}", method(name, function));
    }
    for (name, inside) in &module.modules {
        let part = unique(&format!("{}Functions", pascal(name)), taken);
        taken.push(part.clone());
        self::module(&part, &format!("Functions of `{name}`."), inside, taken, out);
        members += &format!("\n@property\ndef {name}(self) -> {part}: ...\n");
    }
    members += &apart(&module.apart);
    *out += &format!("class {class}(Protocol):\n{}\n\n", indented(&members, INDENT));
}

/// Functions that are reached as `workers["my-file.convert"]` alone. What they take is not checked.
fn apart(functions: &[&Function]) -> String {
    let overload = if functions.len() > 1 { "@overload\n" } else { "" };
    let members = functions.iter().map(|function| {
        let class = if function.streams { "StreamFunction" } else { "Function" };
        let name = quoted(&function.name);
        let output = kind(&function.output);
        format!(
            "\n{overload}def __getitem__(self, name: Literal[{name}], /) -> {class}[..., {output}]: ...\n"
        )
    });
    members.collect()
}

fn method(name: &str, function: &Function) -> String {
    let class = if function.streams { "StreamFunction" } else { "Function" };
    let mut about: Vec<String> = function.doc.iter().flat_map(|doc| lines(doc)).map(str::to_owned).collect();
    if let Some(item) = &function.inputs {
        about.push(format!("Reads a stream of `{}`: the option `inputs`.", kind(item)));
    }
    let parts = parameters(&function.input);
    let end = format!("-> {}:", kind(&function.output));
    let mut head = format!("@{class}\ndef {name}({}) {end}", parts.join(", "));
    if head.lines().any(|line| line.len() > WIDTH) {
        let each = parts.iter().map(|part| format!("{INDENT}{part},\n")).collect::<String>();
        head = format!("@{class}\ndef {name}(\n{each}) {end}");
    }
    match about.is_empty() {
        true => format!("{head} ...\n"),
        false => format!("{head}\n{}", indented(&docstring(&about), INDENT)),
    }
}

fn parameters(input: &Input) -> Vec<String> {
    let mut parts = vec!["self".to_owned()];
    match input {
        Input::Nothing => {}
        Input::One { kind, optional } => {
            let default = if *optional { " = ..." } else { "" };
            parts.push(format!("input: {}{default}, /", taken(kind)));
        }
        Input::Fields { name, record, .. } if record.fields.iter().any(|field| !is_parameter(field)) => {
            parts.push(format!("input: {name}, /"));
        }
        Input::Fields { record, positional, .. } => parts.extend(named(record, positional)),
    }
    parts
}

/// A record whose fields are a function's parameters needs no class.
fn is_spread(client: &Client, name: &str) -> bool {
    client.functions.iter().any(|function| match &function.input {
        Input::Fields { name: own, record, .. } => own == name && record.fields.iter().all(is_parameter),
        Input::Nothing | Input::One { .. } => false,
    })
}

fn named(record: &Record, positional: &[String]) -> Vec<String> {
    let of = |name: &String| record.fields.iter().find(|field| field.name == *name);
    let mut parts: Vec<_> = positional.iter().filter_map(of).map(parameter).collect();
    let (required, others): (Vec<_>, Vec<_>) = record
        .fields
        .iter()
        .filter(|field| !positional.contains(&field.name))
        .partition(|field| field.required);
    if !required.is_empty() || !others.is_empty() {
        parts.push("*".to_owned());
    }
    parts.extend(required.into_iter().chain(others).map(parameter));
    if record.open {
        // `self` could be one of the others: type checkers want to know that it is not.
        parts.insert(0, "/".to_owned());
        parts.push("**others: Any".to_owned());
    }
    parts
}

fn is_parameter(field: &Field) -> bool {
    is_python_name(&field.name) && field.name != "self"
}

fn parameter(field: &Field) -> String {
    let kind = taken(&field.kind);
    if field.required {
        return format!("{}: {kind}", field.name);
    }
    let default = field.default.as_ref().filter(|default| field.kind.admits(default)).and_then(literal);
    format!("{}: {kind} = {}", field.name, default.as_deref().unwrap_or("..."))
}

fn definition(name: &str, definition: &Definition) -> String {
    match definition {
        Definition::Alias { doc, kind } => {
            let about: String =
                doc.iter().flat_map(|doc| lines(doc)).map(|line| format!("# {line}\n")).collect();
            format!("{about}{name}: TypeAlias = {}\n", forward(kind))
        }
        Definition::Record(record) if record.fields.iter().all(|field| is_python_name(&field.name)) => {
            let about: Vec<_> = record.doc.iter().flat_map(|doc| lines(doc)).collect();
            let about = if about.is_empty() { String::new() } else { docstring(&about) };
            let members = record.fields.iter().map(member).collect::<String>();
            format!("class {name}(TypedDict):\n{}", indented(&(about + &members), INDENT))
        }
        Definition::Record(record) => {
            let entries = record
                .fields
                .iter()
                .map(|field| format!("{INDENT}{}: {},\n", quoted(&field.name), value(field)));
            format!("{name} = TypedDict({}, {{\n{}}})\n", quoted(name), entries.collect::<String>())
        }
    }
}

fn member(field: &Field) -> String {
    let mut about: Vec<&str> = field.doc.iter().flat_map(|doc| lines(doc)).collect();
    let default = field.default.as_ref().and_then(literal).map(|default| format!("By default {default}."));
    about.extend(default.as_deref());
    let about = if about.is_empty() { String::new() } else { docstring(&about) };
    format!("{}: {}\n{about}", field.name, value(field))
}

fn value(field: &Field) -> String {
    let kind = kind(&field.kind);
    if field.required { kind } else { format!("NotRequired[{kind}]") }
}

fn kind(kind: &Type) -> String {
    match kind {
        Type::Any => "Any".to_owned(),
        Type::Never => "Never".to_owned(),
        Type::Null => "None".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer { .. } => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::Text => "str".to_owned(),
        Type::Bytes => "bytes".to_owned(),
        Type::Moment => "datetime.datetime | str".to_owned(),
        Type::Literal(value) => format!("Literal[{}]", literal(value).expect("it is plain")),
        Type::List(item) => format!("list[{}]", self::kind(item)),
        Type::Tuple(items, None) if items.is_empty() => "tuple[()]".to_owned(),
        // They arrive as lists and may be given as tuples; what is open has no better type.
        Type::Tuple(items, None) => {
            format!("tuple[{}]", items.iter().map(self::kind).collect::<Vec<_>>().join(", "))
        }
        Type::Tuple(items, Some(rest)) => {
            let item = Type::union(items.iter().chain([&**rest]).cloned());
            format!("list[{}]", self::kind(&item))
        }
        Type::Map(value) => format!("dict[str, {}]", self::kind(value)),
        Type::Named(name) => name.clone(),
        Type::Union(members) => union(members),
    }
}

/// The type of a parameter: whatever is as good.
fn taken(kind: &Type) -> String {
    match kind {
        Type::Bytes => "bytes | bytearray | memoryview".to_owned(),
        Type::List(item) => format!("Sequence[{}]", self::kind(item)),
        Type::Map(value) => format!("Mapping[str, {}]", self::kind(value)),
        Type::Union(members) if members.iter().all(|member| !matches!(member, Type::Literal(_))) => {
            members.iter().map(taken).collect::<Vec<_>>().join(" | ")
        }
        Type::Any
        | Type::Never
        | Type::Null
        | Type::Boolean
        | Type::Integer { .. }
        | Type::Number
        | Type::Text
        | Type::Moment
        | Type::Literal(_)
        | Type::Tuple(..)
        | Type::Named(_)
        | Type::Union(_) => self::kind(kind),
    }
}

/// Literals are one Literal.
fn union(members: &[Type]) -> String {
    let is_literal = |member: &&Type| matches!(member, Type::Literal(_));
    let literals = members
        .iter()
        .filter_map(|member| if let Type::Literal(value) = member { literal(value) } else { None });
    let literals: Vec<_> = literals.collect();
    let together = (!literals.is_empty()).then(|| format!("Literal[{}]", literals.join(", ")));
    let others = members.iter().filter(|member| !is_literal(member)).map(kind);
    let mut parts: Vec<_> = together.into_iter().chain(others).collect();
    parts.dedup();
    parts.join(" | ")
}

/// In an alias names may not be there yet.
fn forward(kind: &Type) -> String {
    quoted(&self::kind(kind)).replace("\\\"", "'")
}

fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("None".to_owned()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => plain(value),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn docstring(text: &[impl AsRef<str>]) -> String {
    let quotes = "\"\"\"";
    let safe = text.iter().map(|line| line.as_ref().replace('\\', "\\\\").replace(quotes, "\\\"\\\"\\\""));
    let safe: Vec<_> = safe.collect();
    match safe.as_slice() {
        [line] if line.ends_with('"') => format!("{quotes}{line} {quotes}\n"),
        [line] => format!("{quotes}{line}{quotes}\n"),
        lines => format!("{quotes}{}\n{quotes}\n", lines.join("\n")),
    }
}

const INDENT: &str = "    ";
/// Of a method, without its indent.
const WIDTH: usize = 104;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_written_as_they_nest() {
        let words = Type::union(["a", "b"].map(|word| Type::Literal(json!(word))));
        let either = Type::union([Type::Null, words]);
        assert_eq!(kind(&either), "Literal[\"a\", \"b\"] | None");
        assert_eq!(
            kind(&Type::Map(Box::new(Type::List(Box::new(either))))),
            "dict[str, list[Literal[\"a\", \"b\"] | None]]"
        );
        assert_eq!(taken(&Type::List(Box::new(Type::Bytes))), "Sequence[bytes]");
    }

    #[test]
    fn texts_cannot_be_left() {
        assert_eq!(docstring(&["a\"\"\" \\ b"]), "\"\"\"a\\\"\\\"\\\" \\\\ b\"\"\"\n");
        assert_eq!(docstring(&["a \"b\""]), "\"\"\"a \"b\" \"\"\"\n");
    }

    #[test]
    fn a_default_is_shown_where_it_is_surely_of_the_type() {
        let field = |kind, default| {
            parameter(&Field { name: "a".into(), kind, required: false, default: Some(default), doc: None })
        };
        assert_eq!(field(Type::Number, json!(1)), "a: float = 1");
        assert_eq!(field(Type::Number, json!(null)), "a: float = ...");
        assert_eq!(field(Type::Boolean, json!(true)), "a: bool = True");
    }
}
