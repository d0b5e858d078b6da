//! The command `ganger`: calls a worker's functions, lists them, checks that a worker keeps the protocol, and plays flight records.

mod arguments;
mod call;
mod check;
mod failure;
mod functions;
mod home;
mod host;
mod input;
mod interrupt;
mod items;
mod json;
mod output;
mod progress;
mod replay;
mod rules;
mod signature;
mod types;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    // Workers are started through this very program where no shim lies beside it.
    ganger::shim::run_if_asked();
    let arguments = Arguments::parse();
    home::find(arguments.own_python);
    let done = match arguments.command {
        Command::Call(arguments) => call::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Functions(arguments) => functions::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Types(arguments) => types::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            failure.exit_code().into()
        }
    }
}
