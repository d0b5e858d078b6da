//! The command line.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Calls functions of Ganger workers, lists them, and checks that workers keep the protocol.
#[derive(Debug, Parser)]
#[command(name = "ganger", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// The Python whose package this command came with.
    #[arg(long, hide = true, value_name = "PATH")]
    pub(crate) own_python: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Calls one function and prints its result as JSON
    Call(CallArguments),
    /// Checks that a worker keeps every rule of the protocol
    Check(CheckArguments),
    /// Lists the functions of a worker
    Functions(FunctionsArguments),
    /// Plays a pool's flight record again, and tells what happened
    Replay(ReplayArguments),
    /// Writes a typed client of a worker, for TypeScript and Python
    Types(TypesArguments),
}

/// The result goes to stdout as JSON: on one line, or indented for a terminal. A stream is one line an item. What the worker prints and logs
/// goes to stderr. Ctrl-C cancels the call; a second one kills the worker.
#[derive(Debug, Args)]
#[command(
    override_usage = "ganger call [OPTIONS] WORKER FUNCTION [INPUT]\n       ganger call [OPTIONS] FUNCTION [INPUT] -- COMMAND…",
    after_help = WORKERS_AND_EXIT_CODES
)]
pub(crate) struct CallArguments {
    /// The worker (unless a COMMAND is given), the function, and its input
    ///
    /// The input is JSON, `@FILE` to read it from a file or `-` to read it from stdin. Without one the function gets null. Bytes are written
    /// as {"$bytes": "00ff"}, in results too.
    #[arg(value_name = "WORKER|FUNCTION|INPUT", num_args = 1..=3, required = true, allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) worker: WorkerOptions,
    /// The longest that the call may run, such as 500ms, 10s or 1m30s
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Items for a function that reads an input stream, a line of JSON each: a file, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) items: Option<String>,
    /// Take the input's bytes as they are, and write a text or bytes as they are, not as JSON
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print neither what the worker says nor how far the call is
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Speaks the protocol to a worker in any language and says, rule by rule of SPEC.md, whether the worker keeps it. It starts the worker
/// dozens of times and calls none of its functions but those named check_…, which SPEC.md lists: the more of them the worker has, the more is checked.
#[derive(Debug, Args)]
#[command(override_usage = "ganger check [OPTIONS] -- COMMAND…", after_help = CHECK_EXIT_CODES)]
pub(crate) struct CheckArguments {
    /// Tell as JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Check this rule only, such as 17; may be given several times
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=crate::rules::LAST_RULE.into()))]
    pub(crate) rule: Vec<u8>,
    /// How long to wait for each thing that the worker should do
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: String,
    /// The program that is the worker, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) command: Vec<String>,
}

/// Starts one worker and asks it. Nothing is called.
#[derive(Debug, Args)]
#[command(
    override_usage = "ganger functions [OPTIONS] WORKER\n       ganger functions [OPTIONS] -- COMMAND…",
    after_help = WORKERS_AND_EXIT_CODES
)]
pub(crate) struct FunctionsArguments {
    /// The worker
    #[arg(value_name = "WORKER", required_unless_present = "command", conflicts_with = "command")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) worker: WorkerOptions,
    /// Print whole contracts, with the schemas of inputs and results, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not print what the worker says
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A record is what `pool.flight_record()` in Python and `pool.flightRecord()` in Node.js give, or a file that a pool wrote at its end because the variable
/// GANGER_FLIGHT_RECORDER named a folder. A line tells what the pool heard, with its moment in nanoseconds; the lines below it, what it did.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXIT_CODES)]
pub(crate) struct ReplayArguments {
    /// The record: a file, or `-` for stdin
    #[arg(value_name = "RECORD")]
    pub(crate) record: String,
}

/// Starts one worker, asks it, and writes what it offers as types: `NAME.d.ts` for `pool.proxy<Workers>()` in TypeScript, `NAME.pyi` for
/// `workers: Workers = pool.proxy()` in Python. Nothing is called.
#[derive(Debug, Args)]
#[command(
    override_usage = "ganger types [OPTIONS] WORKER\n       ganger types [OPTIONS] -- COMMAND…",
    after_help = TYPES_EXIT_CODES
)]
pub(crate) struct TypesArguments {
    /// The worker, as for `ganger functions`
    #[arg(value_name = "WORKER", required_unless_present = "command", conflicts_with = "command")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) worker: WorkerOptions,
    /// Where the files go
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) out: PathBuf,
    /// What the files are called: without it after the worker, as in `prices_client`
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Which languages to write
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["ts", "python"])]
    pub(crate) lang: Vec<ClientLanguage>,
    /// Write nothing: tell what differs from the files that are there, and fail if anything does
    #[arg(long)]
    pub(crate) check: bool,
    /// Do not print what the worker says
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A language that has clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientLanguage {
    Ts,
    Python,
}

/// How a worker is started.
#[derive(Debug, Args)]
pub(crate) struct WorkerOptions {
    /// The Python or Node.js that runs the worker
    #[arg(long, value_name = "PATH")]
    pub(crate) interpreter: Option<String>,
    /// Where the worker runs
    #[arg(long, value_name = "FOLDER")]
    pub(crate) directory: Option<String>,
    /// A variable for the worker, beside those of this shell; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// How many calls the worker may run at once
    #[arg(long, value_name = "CALLS")]
    pub(crate) concurrency: Option<u32>,
    /// How long the worker may take to be ready, such as 2m
    #[arg(long, value_name = "TIME")]
    pub(crate) start_timeout: Option<String>,
    /// Any other option of a pool, as in `max_payload=64mb`; may be given several times
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub(crate) option: Vec<String>,
    /// A worker that is a program of its own, with its arguments
    #[arg(last = true, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) command: Vec<String>,
}

const WORKERS_AND_EXIT_CODES: &str = "\
Workers:
  workers/prices.py   a file of Python or JavaScript
  workers/            a folder of such files
  python:my.workers   a module, or a file or folder that is to be taken for Python
  node:workers/       a file or folder that is to be taken for JavaScript
  plugin.wasm         a WebAssembly module
  -- ./hasher --fast  a program built with any worker SDK, and its arguments

Exit codes:
  0    the result was printed
  1    the function failed, or what it returned cannot be sent
  2    the command line, an option or the input makes no sense, or the worker has no such function
  3    the worker did not start, died or broke the protocol
  124  the call took too long
  130  it was interrupted with Ctrl-C (143: by SIGTERM)";

const CHECK_EXIT_CODES: &str = "\
Exit codes:
  0  no rule is broken
  1  a rule is broken
  2  the command line makes no sense
  3  the program cannot be started";

const REPLAY_EXIT_CODES: &str = "\
Exit codes:
  0  all happened again as it was recorded
  1  it cannot be played, or what happens is not what had happened: the record is of another version
  2  the command line makes no sense, or the record cannot be read";

const TYPES_EXIT_CODES: &str = "\
Exit codes:
  0  the files are written, or with --check: are as they should be
  1  with --check: a file differs from what the worker offers
  2  the command line makes no sense, or a file cannot be written
  3  the worker did not start";

const EXIT_CODES: &str = "`ganger COMMAND --help` says more, exit codes included.";
