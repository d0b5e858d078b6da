//! `ganger functions`: what a worker offers, for people and for programs.

use std::io::{self, Write};

use ganger::FunctionInfo;
use ganger::options::Surface;
use ganger::shape::Shaped;
use serde_json::Value;

use crate::arguments::{FunctionsArguments, WorkerOptions};
use crate::failure::Failure;
use crate::host::with_pool;
use crate::signature::{behaviour, signature};
use crate::worker::pool_options;

/// Does what the command line says.
pub(crate) fn run(arguments: &FunctionsArguments) -> Result<(), Failure> {
    let functions = of_worker(arguments.target.as_deref(), &arguments.worker, arguments.quiet)?;
    let mut stdout = io::stdout().lock();
    if arguments.json {
        let list: Value = functions.iter().map(|function| function.to_value(Surface::Rust)).collect();
        writeln!(stdout, "{list:#}")?;
    } else {
        stdout.write_all(table(&functions).as_bytes())?;
    }
    Ok(stdout.flush()?)
}

/// The functions of a worker, by name: it is started, asked and stopped.
pub(crate) fn of_worker(
    target: Option<&str>,
    options: &WorkerOptions,
    quiet: bool,
) -> Result<Vec<FunctionInfo>, Failure> {
    let options = pool_options(target, options)?;
    let contracts = with_pool(options, quiet, async |host| host.functions().await)?;
    let mut functions: Vec<_> = contracts.iter().map(FunctionInfo::from).collect();
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(functions)
}

/// A line a function: how it is called, what it promises, what it is for.
fn table(functions: &[FunctionInfo]) -> String {
    let rows: Vec<[String; 3]> = functions
        .iter()
        .map(|function| {
            let summary = function.summary.as_deref().unwrap_or_default();
            let line = summary.lines().next().unwrap_or_default().to_owned();
            [signature(function), behaviour(function), line]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter()
        .map(|[call, promises, summary]| {
            let line = format!("{call:first$}  {promises:second$}  {summary}");
            format!("{}\n", line.trim_end())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ganger::Contract;

    #[test]
    fn columns_are_aligned_and_no_line_ends_in_blanks() {
        let named = |name: &str, summary: Option<&str>, idempotent| {
            let contract =
                Contract { summary: summary.map(str::to_owned), idempotent, ..Contract::new(name) };
            FunctionInfo::from(&contract)
        };
        let functions = [named("a", Some("First.\nMore."), false), named("longer", None, true)];
        assert_eq!(
            table(&functions),
            "a(any) -> any                   First.\nlonger(any) -> any  idempotent\n"
        );
    }
}
