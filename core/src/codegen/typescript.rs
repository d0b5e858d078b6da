//! TypeScript: options, events and stats as interfaces.

use super::text::{prose, wrap};
use super::{GENERATED, stats_records};
use crate::events::EVENTS;
use crate::options::{OptionKind, OptionRow, Surface, call_options, camel, close_options, pool_options};
use crate::shape::{FieldKind, RecordShape};

pub(super) fn options() -> String {
    let mut out = header();
    out += "/** A span of time: milliseconds, or text such as `'500ms'`, `'10s'` or `'1m30s'`. */\n";
    out += "export type Duration = number | string\n\n";
    out += "/** A span of time, or `'never'` for no limit. */\n";
    out += "export type Limit = Duration | 'never'\n\n";
    out += "/** A size: megabytes, or text such as `'512mb'` or `'1.5GiB'`. */\n";
    out += "export type Size = number | string\n\n";
    out += &option_interface(
        "PoolOptions",
        "Options of a pool. Null or left out is the default.",
        pool_options(),
    );
    out.push('\n');
    out += &option_interface(
        "CallOptions",
        "Options of a call. Null or left out is the default.",
        call_options(),
    );
    out.push('\n');
    out += &option_interface(
        "CloseOptions",
        "Options of closing a pool. Null or left out is the default.",
        close_options(),
    );
    out + &path_options()
}

/// For the binding, which makes paths of URLs.
fn path_options() -> String {
    let takes_path = |row: &&OptionRow| matches!(row.kind, OptionKind::Path | OptionKind::FlagOrPath);
    let names = pool_options().filter(takes_path).map(|row| format!("  '{}',\n", camel(row.name)));
    let list = names.collect::<String>();
    format!(
        "\n/** Options that take a path. */\nexport const pathOptions: ReadonlySet<string> = new Set([\n{list}])\n"
    )
}

pub(super) fn events() -> String {
    let mut out = header();
    for row in EVENTS {
        out += &interface(row.record, "Event");
        out.push('\n');
    }
    out += "/** Every event of a pool and its data. */\nexport interface PoolEvents {\n";
    for row in EVENTS {
        out += &format!("  '{}': {}Event\n", row.name, row.record.name);
    }
    out += "}\n\nexport type PoolEventName = keyof PoolEvents\n\n";
    out += "/** The names of all events. */\nexport const eventNames = [\n";
    for row in EVENTS {
        out += &format!("  '{}',\n", row.name);
    }
    out + "] as const satisfies readonly PoolEventName[]\n"
}

pub(super) fn stats() -> String {
    let interfaces = stats_records().into_iter().map(|record| interface(record, ""));
    header() + &interfaces.collect::<Vec<_>>().join("\n")
}

pub(super) fn header() -> String {
    format!("// {GENERATED}\n\n")
}

/// An interface for a record; its name with a suffix where the bare one would say too little.
pub(super) fn interface(record: &RecordShape, suffix: &str) -> String {
    let mut out = comment("", &prose(record.doc, Surface::Node), None);
    out += &format!("export interface {}{suffix} {{\n", record.name);
    for field in record.fields {
        out += &comment("  ", &prose(field.doc, Surface::Node), None);
        out += &member(&camel(field.name()), field.kind);
    }
    out + "}\n"
}

/// Long unions go one member a line.
fn member(name: &str, kind: FieldKind) -> String {
    let line = format!("  readonly {name}: {}\n", field_type(kind));
    let FieldKind::Choice(words) = kind else { return line };
    if line.len() <= WIDTH {
        return line;
    }
    let words = words.iter().map(|word| format!("\n    | '{word}'")).collect::<String>();
    format!("  readonly {name}:{words}\n")
}

pub(super) fn field_type(kind: FieldKind) -> String {
    match kind {
        FieldKind::Choice(words) => choice(words),
        FieldKind::Flag => "boolean".to_owned(),
        FieldKind::Integer | FieldKind::Number => "number".to_owned(),
        FieldKind::List(item) => format!("readonly {}[]", field_type(*item)),
        FieldKind::Names => "Readonly<Record<string, unknown>>".to_owned(),
        FieldKind::Nullable(inner) => format!("{} | null", field_type(*inner)),
        FieldKind::Record(shape) => shape().name.to_owned(),
        FieldKind::Text => "string".to_owned(),
        FieldKind::Value => "unknown".to_owned(),
    }
}

pub(super) fn comment(indent: &str, text: &str, default: Option<&str>) -> String {
    let single = format!("{indent}/** {text} */\n");
    if default.is_none() && single.len() <= WIDTH {
        return single;
    }
    let default = default.map(|default| format!("{indent} * @default {default}\n")).unwrap_or_default();
    format!("{indent}/**\n{}{default}{indent} */\n", wrap(text, &format!("{indent} * ")))
}

fn option_interface(name: &str, doc: &str, rows: impl Iterator<Item = &'static OptionRow>) -> String {
    let mut out = format!("/** {doc} */\nexport interface {name} {{\n");
    for row in rows {
        out += &comment("  ", &prose(row.doc, Surface::Node), Some(&row.default.text()));
        out += &format!("  {}?: {} | null | undefined\n", camel(row.name), option_type(row.kind));
    }
    out + "}\n"
}

fn option_type(kind: OptionKind) -> String {
    match kind {
        OptionKind::Argv | OptionKind::Texts => "readonly string[]".to_owned(),
        OptionKind::Choice(words) => choice(words),
        OptionKind::Count { .. } => "number".to_owned(),
        OptionKind::Duration { never: true, .. } => "Limit".to_owned(),
        OptionKind::Duration { never: false, .. } => "Duration".to_owned(),
        OptionKind::Env => "Readonly<Record<string, string | null | undefined>>".to_owned(),
        OptionKind::Flag => "boolean".to_owned(),
        OptionKind::FlagOrPath => "boolean | string | URL".to_owned(),
        OptionKind::Path => "string | URL".to_owned(),
        OptionKind::Size { .. } => "Size".to_owned(),
        OptionKind::Text => "string".to_owned(),
        OptionKind::TextMap => "Readonly<Record<string, string>>".to_owned(),
    }
}

fn choice(words: &[&str]) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" | ")
}

const WIDTH: usize = 120;
