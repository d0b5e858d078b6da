//! Writes what derives from the tables: types and classes of the bindings, pages of the reference. `tests/codegen.rs` compares the files
//! in the repository with this, or rewrites them.

mod markdown;
mod python;
mod python_errors;
mod text;
mod typescript;
mod typescript_errors;

use crate::error::ErrorFields;
use crate::function_info::FunctionInfo;
use crate::shape::{FieldKind, RecordShape, Shaped};
use crate::stats::{CallInfo, Stats};

/// A file as it should be.
#[derive(Debug)]
pub struct GeneratedFile {
    /// Where, from the root of the repository.
    pub path: &'static str,
    /// All of it.
    pub text: String,
}

/// Every file that derives from the tables.
pub fn generated_files() -> Vec<GeneratedFile> {
    let file = |path, text| GeneratedFile { path, text };
    vec![
        file("bindings-node/src/generated/options.ts", typescript::options()),
        file("bindings-node/src/generated/errors.ts", typescript_errors::errors()),
        file("bindings-node/src/generated/events.ts", typescript::events()),
        file("bindings-node/src/generated/stats.ts", typescript::stats()),
        file("bindings-python/python/ganger/_generated/__init__.py", python::package()),
        file("bindings-python/python/ganger/_generated/options.py", python::options()),
        file("bindings-python/python/ganger/_generated/errors.py", python_errors::errors()),
        file("bindings-python/python/ganger/_generated/events.py", python::events()),
        file("bindings-python/python/ganger/_generated/stats.py", python::stats()),
        file("docs/reference/options.md", markdown::options()),
        file("docs/reference/errors.md", markdown::errors()),
        file("docs/reference/events.md", markdown::events()),
        file("docs/reference/stats.md", markdown::stats()),
    ]
}

/// The first line of every file, without the comment sign.
const GENERATED: &str =
    "Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.";

fn stats_records() -> Vec<&'static RecordShape> {
    let mut records = Vec::new();
    collect(Stats::KIND, &mut records);
    collect(CallInfo::KIND, &mut records);
    collect(FunctionInfo::KIND, &mut records);
    records
}

fn error_records() -> Vec<&'static RecordShape> {
    let mut records = Vec::new();
    collect(ErrorFields::KIND, &mut records);
    records
}

/// A record and those that it holds, each once, in the order of their first use.
fn collect(kind: FieldKind, records: &mut Vec<&'static RecordShape>) {
    match kind {
        FieldKind::List(inner) | FieldKind::Nullable(inner) => collect(*inner, records),
        FieldKind::Record(shape) => {
            let shape = shape();
            if !records.iter().any(|known| known.name == shape.name) {
                records.push(shape);
                shape.fields.iter().for_each(|field| collect(field.kind, records));
            }
        }
        FieldKind::Choice(_)
        | FieldKind::Flag
        | FieldKind::Integer
        | FieldKind::Names
        | FieldKind::Number
        | FieldKind::Text
        | FieldKind::Value => {}
    }
}
