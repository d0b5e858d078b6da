//! Functions fit the eye, in every language. The ends of functions are found by how formatters lay them out.

use std::collections::BTreeMap;

use crate::assert_kept;
use crate::tree::{Line, Source, sources};

const MOST_LINES: usize = 60;
const USUAL_LINES: usize = 30;

#[test]
fn functions_fit_the_eye() {
    let mut parts: BTreeMap<String, Vec<Function>> = BTreeMap::new();
    for source in sources(&[".rs", ".py", ".ts", ".mjs", ".go"]).iter().filter(|source| !source.is_test) {
        parts.entry(part_of(&source.path)).or_default().extend(functions(source));
    }
    let mut violations = Vec::new();
    for functions in parts.values() {
        let long: Vec<_> = functions.iter().filter(|function| function.lines > USUAL_LINES).collect();
        let too_many = long.len() * 100 > functions.len() * 5;
        let broken = long.iter().filter(|function| too_many || function.lines > MOST_LINES);
        violations.extend(broken.map(|function| format!("{}: {} lines", function.place, function.lines)));
    }
    assert_kept("95 % of a part's functions within 30 lines, all within 60", &violations);
}

struct Function {
    place: String,
    lines: usize,
}

/// A crate or package, and a language in it.
fn part_of(path: &str) -> String {
    let ending = path.rsplit('.').next().expect("a path has an end");
    let folder = match path.split_once("/src/") {
        Some((package, _)) => package.to_owned(),
        None => path.split('/').take(2).collect::<Vec<_>>().join("/"),
    };
    format!("{folder} .{ending}")
}

/// Functions with a body of more than a line.
fn functions(source: &Source) -> Vec<Function> {
    let lines = source.lines_without_tests();
    let length: fn(&[Line<'_>]) -> Option<usize> = match source.path.rsplit('.').next() {
        Some("rs") => length_in_rust,
        Some("py") => length_in_python,
        Some("go") => length_in_go,
        _ => length_in_typescript,
    };
    let measured = (0..lines.len()).filter_map(|index| {
        let place = format!("{}:{}", source.path, lines[index].0);
        Some(Function { place, lines: length(&lines[index..])? })
    });
    measured.collect()
}

/// Lines from a head, which is the first, to the brace under its beginning; none if there is no body, or none worth counting.
fn length_in_rust(lines: &[Line<'_>]) -> Option<usize> {
    let indent = indent_of(lines[0].1);
    let mut words = lines[0]
        .1
        .trim_start()
        .split(' ')
        .filter(|word| !word.starts_with("pub") && !word.starts_with("super"));
    let qualifier = |word: &&str| matches!(*word, "const" | "async" | "unsafe" | "extern" | "\"C\"");
    if words.find(|word| !qualifier(word)) != Some("fn") {
        return None;
    }
    for (index, (_, line)) in lines.iter().enumerate() {
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

fn length_in_go(lines: &[Line<'_>]) -> Option<usize> {
    let is_head = lines[0].1.starts_with("func ") && lines[0].1.ends_with(['{', '(']);
    let end = lines.iter().position(|(_, line)| *line == "}");
    is_head.then_some(end?).map(|end| end + 1)
}

/// To the last line that is further in than the head.
fn length_in_python(lines: &[Line<'_>]) -> Option<usize> {
    let head = lines[0].1.trim_start();
    if !(head.starts_with("def ") || head.starts_with("async def ")) {
        return None;
    }
    let (indent, mut last) = (indent_of(lines[0].1).len(), 0);
    for (index, (_, line)) in
        lines.iter().enumerate().skip(1).filter(|(_, (_, line))| !line.trim().is_empty())
    {
        let is_of_head = line.trim_start().starts_with(')');
        if indent_of(line).len() <= indent && !is_of_head {
            break;
        }
        last = index;
    }
    Some(last + 1)
}

/// Functions, methods and arrows that begin a line; calls that are given a function are none.
fn length_in_typescript(lines: &[Line<'_>]) -> Option<usize> {
    const NO_NAMES: &[&str] =
        &["if", "for", "while", "switch", "catch", "return", "new", "await", "import", "super"];
    const BEFORE: &[&str] =
        &["export", "default", "async", "static", "private", "protected", "override", "get", "set"];
    let indent = indent_of(lines[0].1);
    let head = lines[0].1.trim_start();
    let mut words = head.split(' ').skip_while(|word| BEFORE.contains(word));
    let first = words.next()?.split(['(', '<']).next()?;
    let is_arrow = first == "const" && (head.ends_with("=> {") || head.ends_with("= ("));
    let is_method = head.contains('(') && is_name(first) && !NO_NAMES.contains(&first);
    let at_its_indent =
        |(_, line): &&Line<'_>| line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '));
    let opens = match head.ends_with('{') {
        true => head,
        // The parameters stand on lines of their own.
        false if head.ends_with('(') => lines[1..].iter().find(at_its_indent)?.1.trim_start(),
        false => return None,
    };
    let has_body = match is_arrow {
        true => opens.ends_with("=> {"),
        // What ends in an arrow is a call that is given a function.
        false => is_method && opens.ends_with('{') && opens.contains(')') && !opens.ends_with("=> {"),
    };
    if !has_body {
        return None;
    }
    let ends = |(_, line): &Line<'_>| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}'));
    lines.iter().skip(1).position(ends).map(|end| end + 2)
}

fn is_name(word: &str) -> bool {
    word.trim_start_matches(['#', '*']).chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[test]
fn functions_are_measured_from_their_head_to_their_end() {
    let rust = "trait A {\n    fn none(\n        a: u8,\n    ) -> u8;\n    pub(crate) async fn long(\n        a: u8,\n    ) -> u8 {\n        \
                if a {\n        }\n    }\n    fn short() {}\n}\n";
    let python = "def a(\n    b: int,\n) -> int:\n    if b:\n\n        return 1\n\n\nclass C:\n    async def d(self):\n        pass\n";
    let go = "func (a A) b() {\n\tif c {\n\t}\n}\n\nfunc d() int { return 1 }\n";
    let typescript = "export async function a(\n  b: number,\n): Promise<void> {\n  if (b) {\n  }\n}\nclass C {\n  #d(e: string) {\n    \
                      call(() => {\n    })\n  }\n}\nconst f = (g) => {\n}\n";
    for (path, text, expected) in [
        ("a.rs", rust, &[(5, 6)][..]),
        ("a.py", python, &[(1, 6), (10, 2)]),
        ("a.go", go, &[(1, 4)]),
        ("a.ts", typescript, &[(1, 6), (8, 4), (13, 2)]),
    ] {
        let found = functions(&Source { path: path.into(), text: text.into(), is_test: false });
        let found: Vec<_> = found.iter().map(|function| (function.place.clone(), function.lines)).collect();
        let expected: Vec<_> = expected.iter().map(|(at, lines)| (format!("{path}:{at}"), *lines)).collect();
        assert_eq!(found, expected);
    }
}
