//! What a page refers to is there.

use std::path::Path;

use crate::assert_kept;
use crate::tree::{Source, root, sources};

#[test]
fn pages_link_to_what_is_there() {
    let root = root();
    let mut violations = Vec::new();
    for page in sources(&[".md"]) {
        let folder = root.join(&page.path).parent().map(Path::to_path_buf).expect("a page lies in a folder");
        let dead = links(&page).into_iter().filter(|(_, link)| !folder.join(link).exists());
        violations.extend(dead.map(|(number, link)| format!("{}:{number}: {link}", page.path)));
    }
    assert_kept("no dead links", &violations);
}

/// Rooms that pages name by their paths from the root.
const ROOMS: &[&str] =
    &["core/", "worker-sdk/", "bindings-node/", "bindings-python/", "examples/", "tests/", "docs/"];

#[test]
fn pages_name_files_that_are_there() {
    let (root, mut violations) = (root(), Vec::new());
    for page in sources(&[".md"]) {
        let page_at = root.join(&page.path);
        let is_there = |path: &str| page_at.ancestors().skip(1).any(|folder| folder.join(path).exists());
        for (number, line) in (1..).zip(page.text.lines()) {
            let named = line.split('`').skip(1).step_by(2).filter(|name| is_path(name));
            let gone = named.filter(|path| !is_there(path));
            violations.extend(gone.map(|path| format!("{}:{number}: {path}", page.path)));
        }
    }
    assert_kept("pages name what is there", &violations);
}

/// A path from the root, or from a folder of the page, that stands for itself, not for several or for one that is made.
fn is_path(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    ROOMS.iter().any(|room| name.starts_with(room)) && name.chars().all(is_plain)
}

/// Links to files, outside of code, without the place in the page.
fn links(page: &Source) -> Vec<(usize, String)> {
    let (mut links, mut in_code) = (Vec::new(), false);
    for (number, line) in (1..).zip(page.text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        // Every other part stands between backticks.
        let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in prose.split("](").skip(1).filter(|_| !in_code) {
            let link = rest.split([')', ' ']).next().unwrap_or_default();
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !link.contains(':') {
                links.push((number, file.to_owned()));
            }
        }
    }
    links
}

#[test]
fn links_are_read_as_markdown_means_them() {
    let text = "[a](b.md#c) and ![d](e.svg), [f](https://g) `[h](i)` [`j`](k/)\n```\n[l](m)\n```\n[n](#o)\n";
    let page = Source { path: "p.md".into(), text: text.into(), is_test: false };
    assert_eq!(links(&page), [(1, "b.md".to_owned()), (1, "e.svg".to_owned()), (1, "k/".to_owned())]);
}
