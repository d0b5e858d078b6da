//! Reads what a module says of its functions. It may come from anybody, so nothing of it is taken for granted.

use std::collections::BTreeSet;

use ganger_protocol::Value;
use ganger_protocol::message::{Contract, Ready};

use crate::values::Codec;

/// The version of the ABI that this program knows.
const ABI: i64 = 1;

const MODULE_KEYS: &[&str] = &["ganger", "encoding", "functions"];

const FUNCTION_KEYS: &[&str] = &[
    "name",
    "kind",
    "summary",
    "idempotent",
    "slots",
    "weight",
    "coefficient",
    "exclusive",
    "timeout_ms",
    "input",
    "output",
    "encoding",
];

/// A function as its module declares it.
#[derive(Debug, PartialEq)]
pub(crate) struct Declared {
    pub(crate) contract: Contract,
    pub(crate) codec: Codec,
}

/// Reads a contract: JSON, or the same in MessagePack.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Declared>, String> {
    let contract = parse(bytes)?;
    only_known(&contract, MODULE_KEYS, "the contract")?;
    match contract.get("ganger") {
        Some(Value::Integer(ABI)) => {}
        Some(other) => {
            return Err(format!("it is written for version {} of the ABI, this is {ABI}", other.to_json()));
        }
        None => {
            return Err(
                "its contract does not say for which version of the ABI it is: \"ganger\": 1".to_owned()
            );
        }
    }
    let codec = codec(&contract, Codec::MessagePack)?;
    let Some(Value::List(functions)) = contract.get("functions") else {
        return Err("its contract has no list of \"functions\"".to_owned());
    };
    let declared: Vec<_> =
        functions.iter().map(|function| declared(function, codec)).collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    match declared.iter().find(|function| !names.insert(&function.contract.name)) {
        Some(twice) => Err(format!("its contract has two functions named {:?}", twice.contract.name)),
        None => Ok(declared),
    }
}

/// In MessagePack no map begins with a brace or a space.
fn parse(bytes: &[u8]) -> Result<Value, String> {
    let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let value = if is_json {
        serde_json::from_slice::<serde_json::Value>(bytes).map(Value::from).map_err(|error| error.to_string())
    } else {
        Value::decode(bytes).map_err(|error| error.to_string())
    };
    match value {
        Ok(map @ Value::Map(_)) => Ok(map),
        Ok(_) => Err("its contract is no map".to_owned()),
        Err(error) => Err(format!("its contract is neither JSON nor MessagePack: {error}")),
    }
}

fn declared(function: &Value, default: Codec) -> Result<Declared, String> {
    let name = match function.get("name") {
        Some(Value::String(name)) if is_name(name) => name,
        _ => {
            return Err(format!("a function of its contract has no proper \"name\": {}", function.to_json()));
        }
    };
    only_known(function, FUNCTION_KEYS, &format!("function {name:?} of the contract"))?;
    let contract =
        contract(function).map_err(|error| format!("function {name:?} of its contract: {error}"))?;
    Ok(Declared { contract, codec: codec(function, default)? })
}

/// The protocol's own reader checks types and ranges.
fn contract(function: &Value) -> Result<Contract, String> {
    let ready = Value::Map(vec![("functions".to_owned(), Value::List(vec![function.clone()]))]);
    let ready = Ready::decode(&ready.encode()).map_err(|error| error.to_string())?;
    let contract = ready.functions.into_iter().next().ok_or("it is missing")?;
    if contract.slots == 0 {
        return Err("\"slots\" is 0".to_owned());
    }
    Ok(contract)
}

fn codec(map: &Value, default: Codec) -> Result<Codec, String> {
    match map.get("encoding") {
        None | Some(Value::Nil) => Ok(default),
        Some(Value::String(name)) if Codec::named(name).is_some() => {
            Ok(Codec::named(name).unwrap_or(default))
        }
        Some(other) => Err(format!(
            "\"encoding\" is {}, but must be \"messagepack\", \"json\" or \"bytes\"",
            other.to_json()
        )),
    }
}

/// A key that nobody reads is most likely one that is misspelt.
fn only_known(map: &Value, known: &[&str], what: &str) -> Result<(), String> {
    let Value::Map(entries) = map else { return Err(format!("{what} is no map")) };
    match entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        Some((key, _)) => Err(format!("{what} has {key:?}, which is none of {known:?}")),
        None => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    let letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 200 && name.chars().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Result<Vec<Declared>, String> {
        read(text.as_bytes())
    }

    #[test]
    fn json_and_messagepack_say_the_same() {
        let text = r#" {"ganger": 1, "encoding": "json", "functions": [
            {"name": "score", "summary": "Scores", "idempotent": true, "timeout_ms": 5, "input": {"type": "string"}},
            {"name": "blur", "encoding": "bytes", "kind": "stream"}]}"#;
        let declared = json(text).unwrap();
        let [score, blur] = &declared[..] else { panic!("two functions") };
        assert_eq!((score.codec, blur.codec), (Codec::Json, Codec::Bytes));
        assert!(score.contract.idempotent && score.contract.input.is_some());
        assert_eq!((score.contract.summary.as_deref(), score.contract.timeout_ms), (Some("Scores"), Some(5)));
        let value = Value::from(serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(read(&value.encode()).unwrap(), declared);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, said) in [
            ("", "neither"),
            ("{", "neither"),
            ("3", "no map"),
            (r#"{"functions": []}"#, "\"ganger\": 1"),
            (r#"{"ganger": 2, "functions": []}"#, "version 2"),
            (r#"{"ganger": 1}"#, "no list"),
            (r#"{"ganger": 1, "functions": [3]}"#, "name"),
            (r#"{"ganger": 1, "functions": [{"name": "a b"}]}"#, "name"),
            (r#"{"ganger": 1, "functions": [{"name": "a"}, {"name": "a"}]}"#, "two functions"),
            (r#"{"ganger": 1, "functions": [{"name": "a", "idempotant": true}]}"#, "idempotant"),
            (r#"{"ganger": 1, "functions": [{"name": "a", "slots": 0}]}"#, "slots"),
            (r#"{"ganger": 1, "functions": [{"name": "a", "weight": 101}]}"#, "weight"),
            (r#"{"ganger": 1, "functions": [{"name": "a", "idempotent": "yes"}]}"#, "\"a\""),
            (r#"{"ganger": 1, "encoding": "xml", "functions": []}"#, "xml"),
        ] {
            let problem = json(text).unwrap_err();
            assert!(problem.contains(said), "{text}: {problem}");
        }
    }
}
