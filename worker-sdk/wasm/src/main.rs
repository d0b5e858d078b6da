//! `ganger-wasm`: a worker that runs the functions of WebAssembly modules, which need not be trusted.
//!
//! A pool starts it (`wasm: 'plugin.wasm'`). `ABI.md` says what a module exports and what it may import.
//!
//! - [`arguments`]: the command line.
//! - [`plugin`]: a module with its functions and its spare instances; [`contract`] reads what it says of them.
//! - [`guest`]: an instance as the ABI sees it; [`host`] is what it may ask of this program, [`ration`] what it may
//!   use, [`values`] and [`schema`] what goes in and out.
//! - [`engine`]: what executes it.

#![deny(unsafe_code)]

mod arguments;
mod contract;
mod engine;
mod failure;
mod guest;
mod host;
mod plugin;
mod ration;
mod schema;
mod values;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use ganger_protocol::message::{Contract, ErrorReport, FunctionKind, code};
use ganger_worker::{Function, StartContext, Worker};

use crate::arguments::{Asked, Settings};
use crate::contract::Declared;
use crate::failure::PluginError;
use crate::plugin::Plugin;
use crate::values::Codec;

fn main() -> ExitCode {
    match arguments::read(std::env::args_os().skip(1)) {
        Ok(Asked::Serve(settings)) => serve(settings),
        Ok(Asked::Check(settings)) => check(&settings),
        Ok(Asked::Say(text)) => say(&mut std::io::stdout(), &text, ExitCode::SUCCESS),
        Err(problem) => say(&mut std::io::stderr(), &format!("ganger-wasm: {problem}\n"), ExitCode::from(2)),
    }
}

fn serve(settings: Settings) -> ! {
    Worker::hosting("wasm", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .load(move |start| match load(&settings, Some(start)) {
            Ok(offered) => Ok(offered.into_iter().map(|(_, function)| function).collect()),
            Err(error) => Err(Box::new(start_report(&error))),
        })
        .run()
}

/// What an author wants to know before anybody calls it.
fn check(settings: &Settings) -> ExitCode {
    match load(settings, None) {
        Ok(offered) => {
            let lines: String = offered.iter().map(|(contract, _)| line(contract)).collect();
            say(&mut std::io::stdout(), &lines, ExitCode::SUCCESS)
        }
        Err(error) => say(&mut std::io::stderr(), &format!("ganger-wasm: {error}\n"), ExitCode::FAILURE),
    }
}

fn line(contract: &Contract) -> String {
    let summary = contract.summary.as_deref().unwrap_or("");
    let stream = if contract.kind == FunctionKind::Stream { " (stream)" } else { "" };
    format!("{:<24} {summary}{stream}", contract.name).trim_end().to_owned() + "\n"
}

/// Opens the modules; gives the functions of all.
fn load(
    settings: &Settings,
    start: Option<&StartContext<'_>>,
) -> Result<Vec<(Contract, Function)>, PluginError> {
    let mut offered: Vec<(Contract, Function)> = Vec::new();
    for (prefix, path) in plugin::files(&settings.target)? {
        let (plugin, declared) = Plugin::open(&path, settings.limits, start)?;
        let plugin = Arc::new(plugin);
        for (index, Declared { mut contract, codec }) in (0..).zip(declared) {
            contract.name.insert_str(0, &prefix);
            if offered.iter().any(|(other, _)| other.name == contract.name) {
                let problem = format!("there are two functions named {:?}", contract.name);
                return Err(PluginError::new(&path, problem));
            }
            offered.push((contract.clone(), function(&plugin, index, contract, codec)));
        }
    }
    if offered.is_empty() {
        return Err(PluginError::new(&settings.target, "there is no function in it"));
    }
    Ok(offered)
}

fn function(plugin: &Arc<Plugin>, index: u32, contract: Contract, codec: Codec) -> Function {
    let (plugin, schema) = (Arc::clone(plugin), contract.input.clone());
    Function::foreign(contract, move |input, context| {
        plugin.call(index, codec, schema.as_ref(), input, context)
    })
}

fn start_report(error: &PluginError) -> ErrorReport {
    ErrorReport::new(code::START_FAILED, "PluginError", error.to_string())
}

fn say(stream: &mut dyn Write, text: &str, code: ExitCode) -> ExitCode {
    drop(stream.write_all(text.as_bytes()));
    code
}
