//! `ganger functions`: what a worker offers, for people and for programs.

use std::io::{self, Write};

use ganger::options::Surface;
use ganger::shape::Shaped;
use ganger::{Contract, FunctionInfo};
use serde_json::Value;

use crate::arguments::{FunctionsArguments, WorkerOptions};
use crate::failure::Failure;
use crate::host::with_pool;
use crate::signature::{behaviour, signature};
use crate::worker::pool_options;

/// Does what the command line says.
pub(crate) fn run(arguments: &FunctionsArguments) -> Result<(), Failure> {
    let FunctionsArguments { target, worker, json, quiet } = arguments;
    let text = if *json {
        let functions = of_worker(target.as_deref(), worker, *quiet)?;
        let list: Value = functions.iter().map(|function| function.to_value(Surface::Rust)).collect();
        format!("{list:#}\n")
    } else {
        table(&contracts(target.as_deref(), worker, *quiet)?)
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// The functions of a worker, by name: it is started, asked and stopped.
pub(crate) fn of_worker(
    target: Option<&str>,
    options: &WorkerOptions,
    quiet: bool,
) -> Result<Vec<FunctionInfo>, Failure> {
    Ok(contracts(target, options, quiet)?.iter().map(FunctionInfo::from).collect())
}

fn contracts(target: Option<&str>, options: &WorkerOptions, quiet: bool) -> Result<Vec<Contract>, Failure> {
    let options = pool_options(target, options)?;
    let mut contracts = with_pool(options, quiet, async |host| host.functions().await)?.to_vec();
    contracts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(contracts)
}

/// A line a function: how it is called, what it promises, what it is for.
fn table(contracts: &[Contract]) -> String {
    let rows: Vec<[String; 3]> = contracts
        .iter()
        .map(|contract| {
            let summary = contract.summary.as_deref().unwrap_or_default();
            let line = summary.lines().next().unwrap_or_default().to_owned();
            [signature(contract), behaviour(contract), line]
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

    #[test]
    fn columns_are_aligned_and_no_line_ends_in_blanks() {
        let named = |name: &str, summary: Option<&str>, idempotent| Contract {
            summary: summary.map(str::to_owned),
            idempotent,
            ..Contract::new(name)
        };
        let functions = [named("a", Some("First.\nMore."), false), named("longer", None, true)];
        assert_eq!(
            table(&functions),
            "a(any) -> any                   First.\nlonger(any) -> any  idempotent\n"
        );
    }
}
