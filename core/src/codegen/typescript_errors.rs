//! TypeScript: error codes and the error classes.

use super::error_records;
use super::text::prose;
use super::typescript::{comment, header, interface};
use crate::error::ERRORS;
use crate::options::Surface;

pub(super) fn errors() -> String {
    let mut out = header();
    out += "/** Every error code: what it means, whose fault it is, and whether calling again is safe in any case. */\n";
    out += "export const errorCodes = {\n";
    for row in ERRORS {
        out += &comment("  ", &prose(row.doc, Surface::Node), None);
        let (fault, safe) = (row.fault.as_str(), row.safe_to_repeat);
        out += &format!("  {}: {{ fault: '{fault}', safeToRepeat: {safe} }},\n", row.name);
    }
    out += "} as const\n\nexport type ErrorCode = keyof typeof errorCodes\n\n";
    for record in error_records() {
        out += &with_code_name(interface(record, ""));
        out.push('\n');
    }
    out + CLASSES
}

/// The union of codes has a name of its own.
fn with_code_name(interface: String) -> String {
    match interface.split_once("  readonly code:\n    | '") {
        Some((before, rest)) => {
            let (_, after) = rest.split_once("'\n  /**").expect("fields follow the code");
            format!("{before}  readonly code: ErrorCode\n  /**{after}")
        }
        None => interface,
    }
}

const CLASSES: &str = r"/** An error that happened in a worker, in whatever language it is written. */
export class RemoteError extends Error {
  /** Its type in the worker's language: `ValueError`. */
  readonly type: string
  /** The worker's language. */
  readonly language: string
  /** Its traceback, in the form that the language has for it. */
  readonly traceback: string | null
  /** Properties of the error that could be sent. */
  readonly properties: Readonly<Record<string, unknown>>
  /** Properties that could not. */
  readonly dropped: readonly string[]
  /** Where in the input or result, if it is about one. */
  readonly path: string | null

  constructor(report: ErrorReport) {
    super(report.message, report.cause === null ? undefined : { cause: new RemoteError(report.cause) })
    this.name = report.type
    this.type = report.type
    this.language = report.language
    this.traceback = report.traceback
    this.properties = (report.properties ?? {}) as Readonly<Record<string, unknown>>
    this.dropped = report.dropped
    this.path = report.path
    this.stack = report.traceback ?? `${report.type}: ${report.message}`
  }
}

/** Why a call has no result, or why a pool could not do what it was asked to. */
export class GangerError extends Error {
  /** What went wrong. */
  readonly code: ErrorCode
  /** Whose fault it is. */
  readonly fault: ErrorFields['fault']
  /** Whether the function surely did not run, so that calling again cannot do its work twice. */
  readonly safeToRepeat: boolean
  /** Whether the function had begun to run. */
  readonly started: ErrorFields['started']
  /** Attempts that were started. */
  readonly attempts: number
  /** The function that was called. */
  readonly function: string | null
  /** The process of the worker that died, if one did. */
  readonly pid: number | null
  /** Its exit code, if it exited. */
  readonly exitCode: number | null
  /** The signal that ended it, if one did: `SIGKILL`. */
  readonly signal: string | null
  /** How that worker died. */
  readonly worker: WorkerDeath | null
  /** Figures that explain it: queue length, time waited. */
  readonly details: Readonly<Record<string, unknown>>
  /** The cause shows it already. */
  readonly #report: ErrorReport | null

  /** The cause is the worker's own error unless `options` has another, such as the reason of an abort. */
  constructor(fields: ErrorFields, options?: ErrorOptions) {
    super(fields.message, options ?? (fields.report === null ? undefined : { cause: new RemoteError(fields.report) }))
    this.name = fields.code === 'CANCELLED' ? 'AbortError' : 'GangerError'
    this.code = fields.code
    this.fault = fields.fault
    this.safeToRepeat = fields.safeToRepeat
    this.started = fields.started
    this.attempts = fields.attempts
    this.function = fields.function
    this.pid = fields.pid
    this.exitCode = fields.exitCode
    this.signal = fields.signal
    this.worker = fields.worker
    this.details = fields.details
    this.#report = fields.report
  }

  /** What the worker said of the error, if it said anything. */
  get report(): ErrorReport | null {
    return this.#report
  }
}

/** Whether a value is an error of this library, and of that code if one is given. */
export function isGangerError<Code extends ErrorCode = ErrorCode>(
  value: unknown,
  code?: Code,
): value is GangerError & { readonly code: Code } {
  return value instanceof GangerError && (code === undefined || value.code === code)
}
";
