//! The client in TypeScript: interfaces for `pool.proxy<Workers>()`.

use super::model::{Client, Definition, Field, Function, Input, Module, Record, Type};
use super::names::is_script_name;
use super::text::{indented, lines, plain};

/// All of the file.
pub(super) fn client(client: &Client, header: &[String]) -> String {
    let root = client.tree(is_reachable);
    let mut body = doc(&["What the worker offers: `pool.proxy<Workers>()` has it.".to_owned()]);
    body += &format!("export interface Workers {}\n", module(&root));
    for (name, definition) in &client.definitions {
        body += &format!("\n{}", self::definition(name, definition));
    }
    let mut out: String = header.iter().map(|line| format!("// {line}\n")).collect();
    out += "/* eslint-disable */\n\n";
    out += &imports(client);
    out + &body
}

/// What a proxy keeps for itself, at the depth at which it does.
fn is_reachable(depth: usize, step: &str) -> bool {
    !matches!(step, "then" | "toJSON") && (depth == 0 || step != "stream")
}

fn imports(client: &Client) -> String {
    let any = |streams| client.functions.iter().any(|function| function.streams == streams);
    let names: &[&str] = match (any(false), any(true)) {
        (false, false) => return "export {}\n\n".to_owned(),
        (true, false) => &["CallOptions"],
        (false, true) => &["Stream", "StreamOptions"],
        (true, true) => &["CallOptions", "Stream", "StreamOptions"],
    };
    format!("import type {{ {} }} from 'ganger'\n\n", names.join(", "))
}

fn module(module: &Module<'_>) -> String {
    let mut members = String::new();
    for (name, function) in &module.functions {
        members += &member(&key(name), function);
    }
    for (name, inside) in &module.modules {
        members += &format!("readonly {}: {}\n", key(name), self::module(inside));
    }
    // What no proxy can give at the root has no other name than this one.
    for function in module.apart.iter().filter(|function| function.name.contains('.')) {
        members += &member(&quoted(&function.name), function);
    }
    block(&members)
}

fn member(name: &str, function: &Function) -> String {
    let options = if function.streams { "StreamOptions" } else { "CallOptions" };
    let items = function.inputs.as_ref().map(|item| format!("<{}>", kind(item))).unwrap_or_default();
    let call = format!("({}, options?: {options}{items} | null)", input(&function.input));
    let output = kind(&function.output);
    let mut about: Vec<String> = function.doc.iter().flat_map(|doc| lines(doc)).map(str::to_owned).collect();
    if function.inputs.is_some() {
        about.push("Reads a stream of items: the option `inputs`.".to_owned());
    }
    let kind = match function.streams {
        true => format!("{{ readonly stream: {call} => Stream<{output}> }}"),
        false => format!("{call} => Promise<{output}>"),
    };
    format!("{}readonly {name}: {kind}\n", doc(&about))
}

fn input(input: &Input) -> String {
    match input {
        Input::Nothing => "input?: null".to_owned(),
        Input::One { kind: Type::Any, .. } => "input?: unknown".to_owned(),
        Input::One { kind, optional: true } => format!("input?: {}", self::kind(kind)),
        Input::One { kind, optional: false } => format!("input: {}", self::kind(kind)),
        Input::Fields { name, record, positional } => {
            // Only a function with parameters of its own makes nothing of no input.
            let needless = !positional.is_empty() && record.fields.iter().all(|field| !field.required);
            if needless { format!("input?: {name} | null") } else { format!("input: {name}") }
        }
    }
}

fn definition(name: &str, definition: &Definition) -> String {
    match definition {
        Definition::Record(record) => {
            format!("{}export interface {name} {}\n", about(record.doc.as_deref()), fields(record))
        }
        Definition::Alias { doc, kind } => {
            format!("{}export type {name} = {}\n", about(doc.as_deref()), self::kind(kind))
        }
    }
}

fn fields(record: &Record) -> String {
    let mut members: String = record.fields.iter().map(field).collect();
    if record.open {
        members += "[name: string]: unknown\n";
    }
    block(&members)
}

fn field(field: &Field) -> String {
    let mut about: Vec<String> = field.doc.iter().flat_map(|doc| lines(doc)).map(str::to_owned).collect();
    if let Some(default) = field.default.as_ref().and_then(plain) {
        about.push(format!("@default {default}"));
    }
    let mark = if field.required { "" } else { "?" };
    format!("{}{}{mark}: {}\n", doc(&about), key(&field.name), kind(&field.kind))
}

fn kind(kind: &Type) -> String {
    match kind {
        Type::Any => "unknown".to_owned(),
        Type::Never => "never".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer { wide: true } => "number | bigint".to_owned(),
        Type::Integer { wide: false } | Type::Number => "number".to_owned(),
        Type::Text => "string".to_owned(),
        Type::Bytes => "Uint8Array".to_owned(),
        Type::Moment => "Date | string".to_owned(),
        Type::Literal(value) => value.as_str().map_or_else(|| value.to_string(), quoted),
        Type::List(item) => format!("{}[]", single(item)),
        Type::Tuple(items, rest) => {
            let rest = rest.iter().map(|rest| format!("...{}[]", single(rest)));
            format!("[{}]", items.iter().map(self::kind).chain(rest).collect::<Vec<_>>().join(", "))
        }
        Type::Map(value) => format!("Record<string, {}>", self::kind(value)),
        Type::Named(name) => name.clone(),
        Type::Union(members) => {
            let mut parts: Vec<_> = members.iter().map(self::kind).collect();
            parts.dedup();
            parts.join(" | ")
        }
    }
}

fn single(kind: &Type) -> String {
    let text = self::kind(kind);
    if matches!(kind, Type::Union(_) | Type::Moment | Type::Integer { wide: true }) {
        format!("({text})")
    } else {
        text
    }
}

fn block(members: &str) -> String {
    if members.is_empty() { "{}".to_owned() } else { format!("{{\n{}}}", indented(members, "  ")) }
}

fn key(name: &str) -> String {
    if is_script_name(name) { name.to_owned() } else { quoted(name) }
}

/// As JavaScript has it in single quotes.
fn quoted(text: &str) -> String {
    let inside = serde_json::Value::from(text).to_string();
    format!("'{}'", inside[1..inside.len() - 1].replace("\\\"", "\"").replace('\'', "\\'"))
}

fn about(text: Option<&str>) -> String {
    doc(&text.map(lines).unwrap_or_default())
}

fn doc(text: &[impl AsRef<str>]) -> String {
    let safe: Vec<_> = text.iter().map(|line| line.as_ref().replace("*/", "*\\/")).collect();
    match safe.as_slice() {
        [] => String::new(),
        [line] => format!("/** {line} */\n"),
        several => {
            let lines: String =
                several.iter().map(|line| format!(" * {line}").trim_end().to_owned() + "\n").collect();
            format!("/**\n{lines} */\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_written_as_they_nest() {
        let union = Type::union([Type::Text, Type::Null]);
        assert_eq!(kind(&Type::List(Box::new(union.clone()))), "(string | null)[]");
        let tuple = Type::Tuple(vec![Type::Number, union], Some(Box::new(Type::Boolean)));
        assert_eq!(kind(&tuple), "[number, string | null, ...boolean[]]");
        assert_eq!(kind(&Type::Literal(json!("it's \"x\"\n"))), "'it\\'s \"x\"\\n'");
        assert_eq!(kind(&Type::Map(Box::new(Type::Moment))), "Record<string, Date | string>");
    }

    #[test]
    fn comments_cannot_be_left() {
        assert_eq!(doc(&["a */ b"]), "/** a *\\/ b */\n");
        assert_eq!(doc(&["a", "", "b"]), "/**\n * a\n *\n * b\n */\n");
    }
}
