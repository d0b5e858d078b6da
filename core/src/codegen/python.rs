//! Python: options, events and stats as typed dictionaries.

use super::text::{prose, wrap};
use super::{GENERATED, stats_records};
use crate::events::EVENTS;
use crate::options::{OptionKind, OptionRow, Surface, call_options, pool_options};
use crate::shape::{FieldKind, RecordShape};

pub(super) fn package() -> String {
    format!("# {GENERATED}\n\"\"\"What derives from the tables of the core.\"\"\"\n")
}

pub(super) fn options() -> String {
    let mut out = header("Options of pools and calls.");
    out += "import os\nfrom collections.abc import Mapping, Sequence\nfrom datetime import timedelta\n";
    out += "from typing import Literal, TypeAlias, TypedDict\n\n";
    out += "# A span of time: seconds, a timedelta, or text such as \"500ms\", \"10s\" or \"1m30s\".\n";
    out += "Duration: TypeAlias = float | str | timedelta\n\n";
    out += "# A span of time, or \"never\" for no limit.\nLimit: TypeAlias = float | str | timedelta\n\n";
    out += "# A size: megabytes, or text such as \"512mb\" or \"1.5GiB\".\nSize: TypeAlias = float | str\n\n";
    out += "# A file, folder or name.\nPath: TypeAlias = str | os.PathLike[str]\n";
    out +=
        &option_class("PoolOptions", "Options of a pool. None or left out is the default.", pool_options());
    out +=
        &option_class("CallOptions", "Options of a call. None or left out is the default.", call_options());
    out
}

pub(super) fn events() -> String {
    let mut out = header("Events of a pool.");
    out += "from typing import Any, Final, Literal, TypeAlias, TypedDict\n";
    for row in EVENTS {
        out += &class(row.record, "Event");
    }
    let names = EVENTS.iter().map(|row| row.name).collect::<Vec<_>>();
    out += &format!("\n\nEventName: TypeAlias = {}\n\n", choice(&names));
    out += "# The names of all events.\nEVENT_NAMES: Final[tuple[EventName, ...]] = (\n";
    out += &names.iter().map(|name| format!("    \"{name}\",\n")).collect::<String>();
    out += ")\n\n# The data of any event.\nEvent: TypeAlias = (\n";
    let types = EVENTS.iter().map(|row| format!("{}Event", row.record.name)).collect::<Vec<_>>();
    out + &format!("    {}\n)\n", types.join("\n    | "))
}

pub(super) fn stats() -> String {
    let mut out = header("What a pool does and has done, in numbers.");
    out += "from typing import Any, Literal, TypedDict\n";
    out + &stats_records().into_iter().map(|record| class(record, "")).collect::<String>()
}

pub(super) fn header(doc: &str) -> String {
    format!("# {GENERATED}\n\"\"\"{doc}\"\"\"\n\nfrom __future__ import annotations\n\n")
}

/// A typed dictionary for a record, with two empty lines before it.
pub(super) fn class(record: &RecordShape, suffix: &str) -> String {
    let mut out = format!("\n\nclass {}{suffix}(TypedDict):\n", record.name);
    out += &docstring(&prose(record.doc, Surface::Python));
    for field in record.fields {
        out.push('\n');
        out += &wrap(&prose(field.doc, Surface::Python), "    # ");
        out += &statement(field.name(), field.kind);
    }
    out
}

/// Long unions go one member a line.
fn statement(name: &str, kind: FieldKind) -> String {
    let line = format!("    {name}: {}\n", field_type(kind));
    let FieldKind::Choice(words) = kind else { return line };
    if line.len() <= 110 {
        return line;
    }
    let words = words.iter().map(|word| format!("        \"{word}\",\n")).collect::<String>();
    format!("    {name}: Literal[\n{words}    ]\n")
}

pub(super) fn docstring(text: &str) -> String {
    format!("    \"\"\"{text}\"\"\"\n")
}

pub(super) fn field_type(kind: FieldKind) -> String {
    match kind {
        FieldKind::Choice(words) => choice(words),
        FieldKind::Flag => "bool".to_owned(),
        FieldKind::Integer => "int".to_owned(),
        FieldKind::List(item) => format!("list[{}]", field_type(*item)),
        FieldKind::Names => "dict[str, Any]".to_owned(),
        FieldKind::Nullable(inner) => format!("{} | None", field_type(*inner)),
        FieldKind::Number => "float".to_owned(),
        FieldKind::Record(shape) => shape().name.to_owned(),
        FieldKind::Text => "str".to_owned(),
        FieldKind::Value => "Any".to_owned(),
    }
}

/// A literal type, on one line or on many.
pub(super) fn choice(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>();
    let line = format!("Literal[{}]", quoted.join(", "));
    if line.len() <= 80 { line } else { format!("Literal[\n    {},\n]", quoted.join(",\n    ")) }
}

fn option_class(name: &str, doc: &str, rows: impl Iterator<Item = &'static OptionRow>) -> String {
    let mut out = format!("\n\nclass {name}(TypedDict, total=False):\n");
    out += &docstring(doc);
    for row in rows {
        out.push('\n');
        out += &wrap(&prose(row.doc, Surface::Python), "    # ");
        out += &format!("    # Default: {}.\n", row.default.text());
        out += &format!("    {}: {} | None\n", row.name, option_type(row.kind));
    }
    out
}

fn option_type(kind: OptionKind) -> String {
    match kind {
        OptionKind::Argv | OptionKind::Texts => "Sequence[str]".to_owned(),
        OptionKind::Choice(words) => choice(words),
        OptionKind::Count { .. } => "int".to_owned(),
        OptionKind::Duration { never: true, .. } => "Limit".to_owned(),
        OptionKind::Duration { never: false, .. } => "Duration".to_owned(),
        OptionKind::Env => "Mapping[str, str | None]".to_owned(),
        OptionKind::Flag => "bool".to_owned(),
        OptionKind::FlagOrPath => "bool | Path".to_owned(),
        OptionKind::Path => "Path".to_owned(),
        OptionKind::Size { .. } => "Size".to_owned(),
        OptionKind::Text => "str".to_owned(),
        OptionKind::TextMap => "Mapping[str, str]".to_owned(),
    }
}
