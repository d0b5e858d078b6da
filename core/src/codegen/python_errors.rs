//! Python: the exception classes, one for each code, with one real base.

use super::error_records;
use super::python::{choice, class, docstring, field_type, header};
use super::text::prose;
use crate::error::{ERRORS, ErrorRow, Fault};
use crate::options::Surface;
use crate::shape::Shaped;

pub(super) fn errors() -> String {
    let mut out = header("Why a call has no result: one class for each error code.");
    out += "from concurrent.futures import CancelledError\n";
    out += "from typing import Any, ClassVar, Final, Literal, TypeAlias, TypedDict\n\n";
    let codes = ERRORS.iter().map(|row| row.name).collect::<Vec<_>>();
    out += &format!("ErrorCode: TypeAlias = {}\n\n", choice(&codes));
    out += &format!("Fault: TypeAlias = {}\n", field_type(Fault::KIND));
    for record in error_records() {
        out += &with_code_name(&class(record, ""));
    }
    out += BASE;
    out += &ERRORS.iter().filter_map(exception).collect::<String>();
    out += "\n\n# The class of each code; a cancelled call raises the standard CancelledError instead.\n";
    out += "CLASSES: Final[dict[ErrorCode, type[GangerError]]] = {\n";
    for (row, class) in ERRORS.iter().filter_map(|row| row.python_class.map(|class| (row, class))) {
        out += &format!("    \"{}\": {class},\n", row.name);
    }
    out + "}\n" + FACTORY
}

fn exception(row: &ErrorRow) -> Option<String> {
    let base = row.python_base.map(|base| format!(", {base}")).unwrap_or_default();
    let mut out = format!("\n\nclass {}(GangerError{base}):\n", row.python_class?);
    out += &docstring(&prose(row.doc, Surface::Python));
    out += &format!("\n    code: ClassVar[ErrorCode] = \"{}\"\n", row.name);
    out += &format!("    fault: ClassVar[Fault] = \"{}\"\n", row.fault.as_str());
    Some(out)
}

/// The union of codes has a name of its own.
fn with_code_name(class: &str) -> String {
    match class.split_once("    code: Literal[") {
        Some((before, rest)) => {
            let (_, after) = rest.split_once("]\n").expect("a literal type ends");
            format!("{before}    code: ErrorCode\n{after}")
        }
        None => class.to_owned(),
    }
}

const BASE: &str = r#"

class RemoteError(Exception):
    """An error that happened in a worker, in whatever language it is written."""

    def __init__(self, report: ErrorReport) -> None:
        super().__init__(report)
        self.type: str = report["type"]
        self.message: str = report["message"]
        self.language: str = report["language"]
        self.traceback: str | None = report["traceback"]
        self.properties: dict[str, Any] = report["properties"] or {}
        self.dropped: list[str] = report["dropped"]
        self.path: str | None = report["path"]
        # Not __cause__: most tracebacks have the whole chain in them already.
        self.cause: RemoteError | None = None if report["cause"] is None else RemoteError(report["cause"])

    def __str__(self) -> str:
        if self.traceback is None:
            return f"{self.type}: {self.message}"
        return f'\n"""\n{self.traceback.rstrip()}\n"""'


class GangerError(Exception):
    """Why a call has no result, or why a pool could not do what it was asked to."""

    # What went wrong.
    code: ClassVar[ErrorCode]
    # Whose fault it is.
    fault: ClassVar[Fault]

    # Every argument but the text has a default, so that the error can be pickled.
    def __init__(self, message: str = "", fields: ErrorFields | None = None) -> None:
        super().__init__(message)
        # Whether the function surely did not run, so that calling again cannot do its work twice.
        self.safe_to_repeat: bool = fields is not None and fields["safe_to_repeat"]
        # Whether the function had begun to run.
        self.started: Literal["maybe", "no", "yes"] = "no" if fields is None else fields["started"]
        # Attempts that were started.
        self.attempts: int = 0 if fields is None else fields["attempts"]
        # The function that was called.
        self.function: str | None = None if fields is None else fields["function"]
        # The process of the worker that died, if one did.
        self.pid: int | None = None if fields is None else fields["pid"]
        # Its exit code, if it exited.
        self.exit_code: int | None = None if fields is None else fields["exit_code"]
        # The signal that ended it, if one did: "SIGKILL".
        self.signal: str | None = None if fields is None else fields["signal"]
        # How that worker died.
        self.worker: WorkerDeath | None = None if fields is None else fields["worker"]
        # What the worker said of the error, if it said anything.
        self.report: ErrorReport | None = None if fields is None else fields["report"]
        # Figures that explain it: queue length, time waited.
        self.details: dict[str, Any] = {} if fields is None else fields["details"]

    @property
    def message(self) -> str:
        """The text."""
        return str(self.args[0]) if self.args else ""
"#;

const FACTORY: &str = r#"

def error_from(fields: ErrorFields) -> GangerError | CancelledError:
    """The exception for an error of the core; its cause is the worker's own error, if there is one."""
    if fields["code"] == "CANCELLED":
        return CancelledError(fields["message"])
    error = CLASSES[fields["code"]](fields["message"], fields)
    if fields["report"] is not None:
        error.__cause__ = RemoteError(fields["report"])
    return error
"#;
