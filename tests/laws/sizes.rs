//! Files and functions fit the eye.

use std::collections::BTreeMap;

use crate::assert_kept;
use crate::tree::{Source, rust_code, sources};

const MOST_LINES_OF_A_FILE: usize = 400;
const MOST_LINES_OF_A_FUNCTION: usize = 60;
const USUAL_LINES_OF_A_FUNCTION: usize = 30;

#[test]
fn files_have_at_most_400_lines_without_tests() {
    let files = sources(&[".rs", ".py", ".ts", ".go"]).into_iter().filter(|source| !source.is_test);
    let violations: Vec<_> = files
        .filter(|source| source.lines_without_tests().len() > MOST_LINES_OF_A_FILE)
        .map(|source| format!("{}:1: {} lines", source.path, source.lines_without_tests().len()))
        .collect();
    assert_kept("one idea a file", &violations);
}

#[test]
fn functions_fit_the_eye() {
    let mut crates: BTreeMap<String, Vec<Function>> = BTreeMap::new();
    for source in rust_code("") {
        let name = source.path.split("/src/").next().unwrap_or_default().to_owned();
        crates.entry(name).or_default().extend(functions(&source));
    }
    let mut violations = Vec::new();
    for functions in crates.values() {
        let long: Vec<_> =
            functions.iter().filter(|function| function.lines > USUAL_LINES_OF_A_FUNCTION).collect();
        let too_many = long.len() * 100 > functions.len() * 5;
        let broken = long.iter().filter(|function| too_many || function.lines > MOST_LINES_OF_A_FUNCTION);
        violations.extend(broken.map(|function| format!("{}: {} lines", function.place, function.lines)));
    }
    assert_kept("95 % of a crate's functions within 30 lines, all within 60", &violations);
}

struct Function {
    place: String,
    lines: usize,
}

/// Functions with a body, as rustfmt lays them out: the end is the brace under the beginning.
fn functions(source: &Source) -> Vec<Function> {
    let lines = source.lines_without_tests();
    let heads = lines.iter().enumerate().filter(|(_, (_, line))| begins_function(line));
    let measured = heads.filter_map(|(index, &(number, line))| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let lines = length(indent, lines[index..].iter().map(|&(_, line)| line))?;
        Some(Function { place: format!("{}:{number}", source.path), lines })
    });
    measured.collect()
}

/// Lines from a head to its closing brace; none if there is no body, or none worth counting.
fn length<'a>(indent: &str, lines: impl Iterator<Item = &'a str>) -> Option<usize> {
    for (index, line) in lines.enumerate() {
        let Some(rest) = line.strip_prefix(indent) else { continue };
        let is_declaration = (index == 0 || rest.starts_with(')')) && rest.ends_with(';');
        let is_one_line = index == 0 && rest.ends_with('}');
        if is_declaration || is_one_line {
            return None;
        }
        if rest == "}" {
            return Some(index + 1);
        }
    }
    None
}

fn begins_function(line: &str) -> bool {
    let mut words =
        line.trim_start().split(' ').filter(|word| !word.starts_with("pub") && !word.starts_with("super"));
    let qualifier = |word: &&str| matches!(*word, "const" | "async" | "unsafe" | "extern" | "\"C\"");
    words.find(|word| !qualifier(word)) == Some("fn")
}

#[test]
fn functions_are_measured_from_their_head_to_their_brace() {
    let text = "trait A {\n    fn none(\n        a: u8,\n    ) -> u8;\n    pub(crate) async fn long(\n        a: u8,\n    ) -> u8 {\n        \
                if a {\n        }\n    }\n    fn short() {}\n}\n";
    let found = functions(&Source { path: "a.rs".into(), text: text.into(), is_test: false });
    let found: Vec<_> = found.iter().map(|function| (function.place.as_str(), function.lines)).collect();
    assert_eq!(found, [("a.rs:5", 6)]);
}
