//! Files fit the eye.

use crate::assert_kept;
use crate::tree::sources;

const MOST_LINES_OF_A_FILE: usize = 400;

#[test]
fn files_have_at_most_400_lines_without_tests() {
    let files = sources(&[".rs", ".py", ".ts", ".go"]).into_iter().filter(|source| !source.is_test);
    let violations: Vec<_> = files
        .filter(|source| source.lines_without_tests().len() > MOST_LINES_OF_A_FILE)
        .map(|source| format!("{}:1: {} lines", source.path, source.lines_without_tests().len()))
        .collect();
    assert_kept("one idea a file", &violations);
}
