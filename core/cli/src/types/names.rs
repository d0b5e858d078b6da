//! Names for types, and which names a language can write.

/// The words of a text as one name: `my-file.convert` becomes `MyFileConvert`.
pub(super) fn pascal(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            format!("{}{rest}", first.to_ascii_uppercase())
        })
        .collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("Type{name}") } else { name }
}

/// A name that is neither taken nor means something else in a client.
pub(super) fn unique(wanted: &str, taken: &[String]) -> String {
    let wanted = if wanted.is_empty() { "Type" } else { wanted };
    let is_free = |name: &str| !RESERVED.contains(&name) && !taken.iter().any(|known| known == name);
    let numbered = (2..).map(|number| format!("{wanted}{number}"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(|name| is_free(name)).expect("numbers do not end")
}

/// Whether Python can write it behind a dot or as a parameter.
pub(super) fn is_python_name(name: &str) -> bool {
    is_plain(name, false) && !PYTHON_KEYWORDS.contains(&name)
}

/// Whether JavaScript can write it behind a dot.
pub(super) fn is_script_name(name: &str) -> bool {
    is_plain(name, true)
}

fn is_plain(name: &str, dollar: bool) -> bool {
    let fits = |letter: char| letter == '_' || letter.is_ascii_alphanumeric() || (dollar && letter == '$');
    !name.is_empty() && name.chars().all(fits) && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// What clients import, and what every program of the language has.
const RESERVED: &[&str] = &[
    "Any",
    "Array",
    "AsyncIterable",
    "Buffer",
    "CallOptions",
    "Date",
    "False",
    "Function",
    "Iterable",
    "Literal",
    "Mapping",
    "Never",
    "None",
    "NotRequired",
    "Object",
    "Promise",
    "Protocol",
    "Record",
    "Sequence",
    "Stream",
    "StreamFunction",
    "StreamOptions",
    "String",
    "True",
    "TypeAlias",
    "TypedDict",
    "Uint8Array",
    "Workers",
];

const PYTHON_KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_name() {
        assert_eq!(pascal("my-file.convert_all"), "MyFileConvertAll");
        assert_eq!(pascal("2nd"), "Type2nd");
        assert_eq!(pascal("Price"), "Price");
        assert_eq!(pascal("é"), "");
        assert_eq!(unique("", &[]), "Type");
        assert_eq!(unique("Record", &["Record2".to_owned()]), "Record3");
    }

    #[test]
    fn names_are_those_of_the_language() {
        assert!(is_python_name("a_1") && is_script_name("$a") && is_script_name("import"));
        assert!(!is_python_name("import") && !is_python_name("$a") && !is_python_name("1a"));
        assert!(!is_script_name("a-b") && !is_script_name(""));
    }
}
