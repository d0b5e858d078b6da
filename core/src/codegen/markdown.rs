//! Markdown: the pages of the reference.

use super::text::prose;
use super::{GENERATED, error_records, stats_records};
use crate::error::ERRORS;
use crate::events::EVENTS;
use crate::options::{OptionKind, OptionRow, Surface, call_options, camel, close_options, pool_options};
use crate::shape::{FieldKind, RecordShape};

pub(super) fn options() -> String {
    let mut out = page("Options");
    out += "Node spells names in camelCase, Python in snake_case. An option that is left out, `null` or `None` has its default; an \
            unknown one is refused.\n\n";
    out += "- **Durations**: a bare number is milliseconds in Node and seconds in Python. Text has its units: `500ms`, `10s`, `1m30s`, \
            `2h`, `1d`. Python takes a `timedelta` too. A *limit* may also be `never`.\n";
    out += "- **Sizes**: a bare number is megabytes. Text has its unit: `512mb` and `1.5gb` are decimal, `512MiB` and `1.5GiB` binary. \
            A bare number of a million or more is refused, for it was most likely meant as bytes.\n\n";
    out += "## Pool\n\n";
    out += &option_table(pool_options());
    out += "\n## Call\n\n";
    out += &option_table(call_options());
    out += "\n## Closing\n\n";
    out + &option_table(close_options())
}

pub(super) fn errors() -> String {
    let mut out = page("Errors");
    out += "Node throws one class, `GangerError`, with a `code`. Python has a class for each code, all derived from `GangerError`; those \
            that say so are a `TimeoutError` too, and a cancelled call raises the standard `CancelledError`.\n\n";
    out += "*Safe to repeat* means that the function surely did not run. Whatever the code, an error whose `started` is `no` is safe, and \
            the error's own `safe_to_repeat` tells.\n\n";
    out += "| code | Python | whose fault | safe to repeat | meaning |\n|---|---|---|---|---|\n";
    for row in ERRORS {
        let base = row.python_base.map(|base| format!(" (`{base}`)")).unwrap_or_default();
        let class = row.python_class.unwrap_or("CancelledError");
        let safe = if row.safe_to_repeat { "yes" } else { "" };
        let (name, fault, doc) = (row.name, row.fault.as_str(), prose(row.doc, Surface::Rust));
        out += &format!("| `{name}` | `{class}`{base} | {fault} | {safe} | {doc} |\n");
    }
    out + &records(error_records())
}

pub(super) fn events() -> String {
    let mut out = page("Events");
    out += "Observers are called in the order of the events, away from the pool's own threads. One that throws disturbs nobody. If \
            observers are more than 10 000 events behind, further ones are dropped.\n";
    for row in EVENTS {
        out += &format!("\n## `{}`\n\n{}\n\n", row.name, prose(row.record.doc, Surface::Rust));
        out += &field_table(row.record);
    }
    out
}

pub(super) fn stats() -> String {
    let mut out = page("Stats");
    out += "`stats()` gives one `Stats`, `calls()` a list of `CallInfo`, `functions()` a list of `FunctionInfo`.\n";
    out += &records(stats_records());
    out
}

fn page(title: &str) -> String {
    format!("<!-- {GENERATED} -->\n\n# {title}\n\n")
}

fn records(records: Vec<&'static RecordShape>) -> String {
    let section = |record: &RecordShape| {
        let doc = prose(record.doc, Surface::Rust);
        format!("\n## {}\n\n{doc}\n\n{}", record.name, field_table(record))
    };
    records.into_iter().map(section).collect()
}

fn field_table(record: &RecordShape) -> String {
    let mut out = "| Node | Python | type | meaning |\n|---|---|---|---|\n".to_owned();
    for field in record.fields {
        let (name, doc) = (field.name(), prose(field.doc, Surface::Rust));
        out += &format!("| `{}` | `{name}` | {} | {doc} |\n", camel(name), field_type(field.kind));
    }
    out
}

fn field_type(kind: FieldKind) -> String {
    match kind {
        FieldKind::Choice(words) if words.len() > 12 => "a code".to_owned(),
        FieldKind::Choice(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        FieldKind::Flag => "yes or no".to_owned(),
        FieldKind::Integer => "whole number".to_owned(),
        FieldKind::List(item) => format!("list of {}", field_type(*item)),
        FieldKind::Names => "map".to_owned(),
        FieldKind::Nullable(inner) => format!("{} or null", field_type(*inner)),
        FieldKind::Number => "number".to_owned(),
        FieldKind::Record(shape) => format!("[{0}](#{1})", shape().name, shape().name.to_lowercase()),
        FieldKind::Text => "text".to_owned(),
        FieldKind::Value => "value".to_owned(),
    }
}

fn option_table(rows: impl Iterator<Item = &'static OptionRow>) -> String {
    let mut out = "| Node | Python | takes | default | what it does |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let (name, doc) = (row.name, prose(row.doc, Surface::Rust));
        let (takes, default) = (option_type(row.kind), row.default.text());
        out += &format!("| `{}` | `{name}` | {takes} | {default} | {doc} |\n", camel(name));
    }
    out
}

fn option_type(kind: OptionKind) -> String {
    match kind {
        OptionKind::Argv | OptionKind::Texts => "list of text".to_owned(),
        OptionKind::Choice(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        OptionKind::Count { min, max } => format!("whole number, {min} to {max}"),
        OptionKind::Duration { never: true, .. } => "limit".to_owned(),
        OptionKind::Duration { never: false, .. } => "duration".to_owned(),
        OptionKind::Env => "map of text or null".to_owned(),
        OptionKind::Flag => "yes or no".to_owned(),
        OptionKind::FlagOrPath => "yes, no or a path".to_owned(),
        OptionKind::Path => "path or name".to_owned(),
        OptionKind::Size { .. } => "size".to_owned(),
        OptionKind::Text => "text".to_owned(),
        OptionKind::TextMap => "map of text".to_owned(),
    }
}
