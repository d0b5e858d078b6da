//! From a plain value to one that fits its row, or to an error that says what would.

use serde_json::{Map, Value};

use super::table::{Field, OptionKind, OptionRow, OptionValue};
use super::{OptionError, Surface, duration, size};

/// Fills `target` from a plain map. Null stands for "left out". `elsewhere` and `place`: see [`OptionError::unknown`].
pub(crate) fn fill<T, U>(
    target: &mut T,
    map: &Map<String, Value>,
    surface: Surface,
    table: &'static [Field<T>],
    (elsewhere, place): (&'static [Field<U>], &str),
) -> Result<(), OptionError> {
    for (written, value) in map {
        let Some(field) = table.iter().find(|field| surface.spells(field.row.name, written)) else {
            let (known, others) = (table.iter().map(|f| f.row.name), elsewhere.iter().map(|f| f.row.name));
            return Err(OptionError::unknown(written, surface, known, others, place));
        };
        if !value.is_null() {
            (field.set)(target, read(&field.row, value, surface)?);
        }
    }
    Ok(())
}

fn read(row: &OptionRow, value: &Value, surface: Surface) -> Result<OptionValue, OptionError> {
    accept(row.kind, value, surface).ok_or_else(|| {
        let expected = match hint(row.kind, value) {
            Some(hint) => format!("{}; {hint}", expected(row.kind, surface)),
            None => expected(row.kind, surface),
        };
        OptionError::invalid(row.name, surface, value, expected)
    })
}

fn accept(kind: OptionKind, value: &Value, surface: Surface) -> Option<OptionValue> {
    match kind {
        OptionKind::Argv | OptionKind::Texts => texts(value).map(OptionValue::List),
        OptionKind::Choice(words) => {
            let text = value.as_str()?;
            words.iter().find(|word| **word == text).map(|word| OptionValue::Choice(word))
        }
        OptionKind::Count { min, max } => {
            let count = whole(value, surface)?;
            (min..=max).contains(&count).then_some(OptionValue::Count(count))
        }
        OptionKind::Duration { zero, never } => span(value, surface, zero, never),
        OptionKind::Env => env(value).map(OptionValue::Env),
        OptionKind::Flag => value.as_bool().map(OptionValue::Flag),
        OptionKind::FlagOrPath => {
            value.as_bool().map(OptionValue::Flag).or_else(|| text(value).map(OptionValue::Text))
        }
        OptionKind::Path | OptionKind::Text => text(value).map(OptionValue::Text),
        OptionKind::Size { zero } => bytes(value, zero).map(OptionValue::Size),
        OptionKind::TextMap => text_map(value).map(OptionValue::TextMap),
    }
}

/// What a row of this kind takes, in the words of the language.
pub(crate) fn expected(kind: OptionKind, surface: Surface) -> String {
    match kind {
        OptionKind::Argv => "a list of texts: the program and its arguments".to_owned(),
        OptionKind::Texts => "a list of texts, at least one".to_owned(),
        OptionKind::Choice(words) => format!("one of: {}", words.join(", ")),
        OptionKind::Count { min, max: i64::MAX } => format!("a whole number of at least {min}"),
        OptionKind::Count { min, max } => format!("a whole number from {min} to {max}"),
        OptionKind::Duration { zero, never } => {
            let unit = match surface {
                Surface::Node => "milliseconds or ",
                Surface::Python => "seconds, a timedelta or ",
                Surface::Rust => "",
            };
            let zero = if zero { "" } else { " above zero" };
            let never = if never { " or \"never\"" } else { "" };
            format!("{unit}text such as \"10s\" or \"1m30s\"{zero}{never}")
        }
        OptionKind::Env => "a map of names to texts, or to null to remove a variable".to_owned(),
        OptionKind::Flag => "true or false".to_owned(),
        OptionKind::FlagOrPath => "true, false or a path".to_owned(),
        OptionKind::Path => "a path or name that is not empty".to_owned(),
        OptionKind::Size { .. } => "megabytes or text such as \"512mb\" or \"1.5GiB\"".to_owned(),
        OptionKind::Text => "text that is not empty".to_owned(),
        OptionKind::TextMap => "a map of names to texts".to_owned(),
    }
}

/// A word on the mistakes that are easy to make.
fn hint(kind: OptionKind, value: &Value) -> Option<String> {
    if !matches!(kind, OptionKind::Size { .. }) {
        return None;
    }
    // A bare million of megabytes is a terabyte: someone meant bytes.
    let number = value.as_f64().filter(|number| (BARE_LIMIT..SAFE_INTEGER).contains(number))?;
    Some(format!("write a unit, {:?} if bytes are meant", format!("{number}b")))
}

fn span(value: &Value, surface: Surface, zero: bool, never: bool) -> Option<OptionValue> {
    let span = match value {
        Value::Number(number) => match surface {
            Surface::Node => duration::from_seconds(number.as_f64()? / 1e3),
            Surface::Python => duration::from_seconds(number.as_f64()?),
            Surface::Rust => None,
        },
        Value::String(text) if text == "never" => return never.then_some(OptionValue::Never),
        Value::String(text) => duration::parse(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    span.filter(|span| zero || !span.is_zero()).map(OptionValue::Duration)
}

fn bytes(value: &Value, zero: bool) -> Option<u64> {
    match value {
        Value::Number(number) => {
            number.as_f64().filter(|number| *number < BARE_LIMIT).and_then(size::from_megabytes)
        }
        Value::String(text) => size::parse(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .filter(|bytes| zero || *bytes > 0)
}

/// JavaScript has one type of number, so there 4.0 is 4.
fn whole(value: &Value, surface: Surface) -> Option<i64> {
    let float = || value.as_f64().filter(|f| f.fract() == 0.0 && f.abs() <= SAFE_INTEGER).map(|f| f as i64);
    value.as_i64().or_else(|| if surface == Surface::Node { float() } else { None })
}

/// No system takes a path, argument or variable with a NUL in it.
fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty() && !text.contains('\0')).map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array().filter(|list| !list.is_empty())?;
    let (program, arguments) = list.split_first()?;
    let argument = |value: &Value| value.as_str().filter(|text| !text.contains('\0')).map(str::to_owned);
    std::iter::once(text(program)).chain(arguments.iter().map(argument)).collect()
}

fn env(value: &Value) -> Option<std::collections::BTreeMap<String, Option<String>>> {
    let variable = |(name, value): (&String, &Value)| {
        let legal = !name.is_empty() && !name.contains(['=', '\0']) && !RESERVED.contains(&name.as_str());
        let text = value.as_str().filter(|text| !text.contains('\0')).map(str::to_owned);
        (legal && (value.is_null() || text.is_some())).then(|| (name.clone(), text))
    };
    value.as_object()?.iter().map(variable).collect()
}

fn text_map(value: &Value) -> Option<std::collections::BTreeMap<String, String>> {
    let entry = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    value.as_object()?.iter().map(entry).collect()
}

/// From here on a bare size is refused.
const BARE_LIMIT: f64 = 1e6;
const SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;
/// How the host tells a worker where its lanes are.
const RESERVED: [&str; 4] = ["GANGER_DATA_FD", "GANGER_CONTROL_FD", "GANGER_ENDPOINT", "GANGER_TOKEN"];
