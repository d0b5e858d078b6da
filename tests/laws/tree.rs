//! The files of the house: which there are, which are tests, and what of a Rust file is code.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are made, fetched or private.
const NOT_OURS: &[&str] =
    &["target", "node_modules", "dist", "__pycache__", "generated", "_generated", "build"];

/// Copies of the SDKs that are gathered beside a native module; the originals are looked at.
const COPIES: &[&str] = &[
    "bindings-node/sdk",
    "bindings-python/python/ganger/_sdk",
    "bindings-python/python/ganger/node",
    "bindings-python/python/ganger/python",
];

pub(crate) struct Source {
    /// From the root of the house, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// It is, or belongs to, tests.
    pub(crate) is_test: bool,
}

/// A line and its number from 1.
pub(crate) type Line<'a> = (usize, &'a str);

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the house").to_path_buf()
}

/// Hand-written files with one of these endings.
pub(crate) fn sources(endings: &[&str]) -> Vec<Source> {
    let root = root();
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().expect("a file has a type");
            let is_ours = !name.starts_with('.') && !NOT_OURS.contains(&name.as_str());
            if kind.is_dir() && is_ours && !COPIES.iter().any(|copy| path.ends_with(copy)) {
                folders.push(path);
            } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
                sources.extend(read(&root, &path));
            }
        }
    }
    mark_modules_of_tests(&mut sources);
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!sources.is_empty(), "no {endings:?} under {}", root.display());
    sources
}

/// Rust files outside of tests, under a folder.
pub(crate) fn rust_code(under: &str) -> Vec<Source> {
    sources(&[".rs"]).into_iter().filter(|source| source.path.starts_with(under) && !source.is_test).collect()
}

impl Source {
    /// Lines up to the tests at the bottom of a Rust file; all of another.
    pub(crate) fn lines_without_tests(&self) -> Vec<Line<'_>> {
        let lines: Vec<_> = self.text.lines().collect();
        let begins = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        };
        let bottom = lines.windows(2).position(begins).unwrap_or(lines.len());
        lines[..bottom].iter().enumerate().map(|(index, &line)| (index + 1, line)).collect()
    }

    /// The same without comments.
    pub(crate) fn code(&self) -> Vec<Line<'_>> {
        let mark = if self.path.ends_with(".py") { "#" } else { "//" };
        let code = |line: &'_ str| line.find(mark).unwrap_or(line.len());
        self.lines_without_tests().into_iter().map(|(number, line)| (number, &line[..code(line)])).collect()
    }

    /// `path:line: text` of the lines of code that break a rule.
    pub(crate) fn lines_that(&self, breaks: impl Fn(&str) -> bool) -> Vec<String> {
        let broken = self.code().into_iter().filter(|(_, line)| breaks(line));
        broken.map(|(number, line)| format!("{}:{number}: {}", self.path, line.trim())).collect()
    }
}

/// The identifiers and words of a line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

fn read(root: &Path, path: &Path) -> Option<Source> {
    let text = fs::read_to_string(path).ok()?;
    let below = path.strip_prefix(root).expect("it was found below").to_string_lossy().replace('\\', "/");
    Some(Source { is_test: is_test(&below), path: below, text })
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().expect("a path has a name");
    let in_tests = path.split('/').any(|part| matches!(part, "tests" | "test" | "fuzz"));
    in_tests
        || name == "tests.rs"
        || name.starts_with("test_")
        || name.contains(".test.")
        || name.ends_with("_test.go")
}

/// A Rust file may be declared for tests only: `#[cfg(test)] mod name;`.
fn mark_modules_of_tests(sources: &mut [Source]) {
    let mut modules = Vec::new();
    for source in sources.iter() {
        let lines: Vec<_> = source.text.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]") {
            let name = pair[1].strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
            modules.extend(name.map(|name| format!("{}/{name}.rs", folder_of_modules(&source.path))));
        }
    }
    for source in sources.iter_mut() {
        source.is_test |= modules.contains(&source.path);
    }
}

/// Where the modules of a Rust file lie: beside `lib.rs`, below any other.
fn folder_of_modules(path: &str) -> &str {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    ["/lib", "/main", "/mod"].iter().find_map(|root| stem.strip_suffix(root)).unwrap_or(stem)
}

#[test]
fn tests_at_the_bottom_are_no_code_and_a_lone_test_item_is_no_bottom() {
    let text = "fn a() {} // x\n#[cfg(test)]\nfn b() {}\n\n#[cfg(test)]\nmod tests {\n}\n".into();
    let source = Source { path: "a/src/b.rs".into(), text, is_test: false };
    let code: Vec<_> = source.code().into_iter().map(|(_, line)| line).collect();
    assert_eq!(code, ["fn a() {} ", "#[cfg(test)]", "fn b() {}", ""]);
}
