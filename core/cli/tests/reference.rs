//! The reference page is what the command's own help says. `UPDATE=1` writes it.

use std::path::Path;
use std::process::Command;

const HEAD: &str = "\
# The command `ganger`

<!-- Written from the command's own help by `make docs`. -->

It comes with both packages (`npx ganger`, `python -m ganger`), or alone with `cargo install ganger-cli`: then Python and Node workers run with the `ganger-worker` that is installed for them.
";

fn page() -> String {
    let help = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ganger")).args(arguments).arg("--help").output();
        String::from_utf8(output.expect("it runs").stdout).expect("text")
    };
    let mut page = HEAD.to_owned();
    let commands: Vec<String> = help(&[])
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let help = help(&[&command]);
        let lines: Vec<&str> = help.trim().lines().map(str::trim_end).collect();
        page += &format!("\n## ganger {command}\n\n```\n{}\n```\n", lines.join("\n"));
    }
    page
}

#[test]
fn the_reference_page_is_what_the_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page(), "write it anew: make docs");
}
