//! Files that import each other in a circle cannot be read one by one. Go's compiler refuses that itself; here are the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::assert_kept;
use crate::tree::{Source, sources};

/// Folders whose files know no circle, not even of types.
const TYPESCRIPT: &[&str] = &["bindings-node/src/", "worker-sdk/node/src/"];

/// Packages: none when they are imported. What a function imports late, or a type checker only, is no part of that.
const PYTHON: &[(&str, &str)] = &[
    ("bindings-python/python/ganger/", "ganger"),
    ("worker-sdk/python/src/ganger_worker/", "ganger_worker"),
];

/// Crates whose modules know no circle, those aside that a module forms with its own parts.
const RUST: &[&str] = &[
    "bindings-node/native/src/",
    "bindings-python/src/",
    "core/cli/src/",
    "core/shim/src/",
    "worker-sdk/node/native/src/",
    "worker-sdk/protocol/src/",
    "worker-sdk/rust/derive/src/",
    "worker-sdk/wasm/src/",
];

/// Who imports whom.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut violations = Vec::new();
    for folder in TYPESCRIPT {
        violations.extend(circle(&imports_under(folder, ".ts", imported_by_typescript)));
    }
    for (folder, package) in PYTHON {
        let imported = |source: &Source| imported_by_python(source, package);
        violations.extend(circle(&imports_under(folder, ".py", imported)));
    }
    for folder in RUST {
        violations.extend(circle(&imports_under(folder, ".rs", imported_by_rust)));
    }
    assert_kept("no circles", &violations);
}

/// Modules of a folder by their names below it, such as `check/rules`.
fn imports_under(folder: &str, ending: &str, imported: impl Fn(&Source) -> Vec<String>) -> Imports {
    let files = sources(&[ending]).into_iter().filter(|file| file.path.starts_with(folder) && !file.is_test);
    let name = |file: &Source| file.path[folder.len()..file.path.len() - ending.len()].to_owned();
    let mut all = Imports::new();
    for mut file in files {
        file.path = name(&file);
        let room = if ending == ".rs" { top(&file.path) } else { &file.path };
        all.entry(room.to_owned()).or_default().extend(imported(&file));
    }
    assert!(!all.is_empty(), "there is nothing under {folder}");
    all
}

/// One circle, if there is any.
fn circle(imports: &Imports) -> Option<String> {
    let mut done = BTreeSet::new();
    imports.keys().find_map(|file| closing(imports, file, &mut Vec::new(), &mut done))
}

fn closing<'a>(
    imports: &'a Imports,
    file: &'a str,
    path: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<String> {
    if let Some(at) = path.iter().position(|passed| *passed == file) {
        return Some(format!("{} → {file}", path[at..].join(" → ")));
    }
    if !done.insert(file) {
        return None;
    }
    path.push(file);
    let next = imports.get(file)?.iter().filter(|next| imports.contains_key(*next));
    let found = next.filter_map(|next| closing(imports, next, path, done)).next();
    path.pop();
    found
}

fn imported_by_typescript(file: &Source) -> Vec<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let from = file.text.lines().filter_map(|line| line.split_once(" from '").map(|(_, from)| from));
    let paths = from.filter_map(|from| from.trim_end_matches(';').strip_suffix(".js'"));
    paths.filter_map(|path| joined(folder, path)).collect()
}

/// `a/b` and `../c` make `a/c`.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<_> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.starts_with('.').then_some(path)?.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Lines at the left margin only: what is further in is imported late, or for type checkers.
fn imported_by_python(file: &Source, package: &str) -> Vec<String> {
    let mut imported = Vec::new();
    for line in file.text.lines() {
        let Some((from, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        else {
            continue;
        };
        let Some(module) = from.strip_prefix('.').or_else(|| from.strip_prefix(package)) else { continue };
        let module = module.trim_start_matches('.').replace('.', "/");
        match module.is_empty() {
            true => imported.extend(names.split(", ").map(|name| name.trim_matches(['(', ')']).to_owned())),
            false => imported.push(module),
        }
    }
    imported
}

/// The modules at the root of the crate that are named. A module and its parts are one.
fn imported_by_rust(file: &Source) -> Vec<String> {
    let lines = file.code().into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
    let paths = lines.split("crate::").skip(1).flat_map(|rest| {
        let path: String =
            rest.chars().take_while(|letter| letter.is_alphanumeric() || "_:".contains(*letter)).collect();
        match rest[path.len()..].strip_prefix('{') {
            Some(names) if path.is_empty() => {
                let names = names.split('}').next().unwrap_or_default();
                names.split(',').map(|name| name.trim().replace("::", "/")).collect()
            }
            _ => vec![path.trim_end_matches(':').replace("::", "/")],
        }
    });
    paths.map(|path| top(&path).to_owned()).filter(|module| module != top(&file.path)).collect()
}

fn top(module: &str) -> &str {
    module.split('/').next().unwrap_or_default()
}

#[test]
fn circles_are_found_in_each_language() {
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.into(), is_test: false };
    let typescript =
        file("a/b", "import { c } from '../c.js'\nimport type {\n  D,\n} from './d.js'\nimport 'node:fs'\n");
    assert_eq!(imported_by_typescript(&typescript), ["c", "a/d"]);
    let python = file(
        "a",
        "from . import b, c\nfrom .d import E\nfrom ganger.f import g\n    from .h import i\nimport os\n",
    );
    assert_eq!(imported_by_python(&python, "ganger"), ["b", "c", "d", "f"]);
    let rust =
        file("a/b.rs", "use crate::c::D;\nuse crate::{e, f};\nuse crate::a::g;\nlet h = crate::i::J;\n");
    assert_eq!(imported_by_rust(&rust), ["c", "e", "f", "i"]);
    let arrows = |of: &[(&str, &[&str])]| -> Imports {
        let set = |to: &[&str]| to.iter().map(|&name| name.to_owned()).collect();
        of.iter().map(|(from, to)| ((*from).to_owned(), set(to))).collect()
    };
    assert_eq!(circle(&arrows(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &["std"])])), None);
    let found = circle(&arrows(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]));
    assert_eq!(found.as_deref(), Some("b → c → b"));
}
