"""The trace context of whoever makes a call: it goes along to the worker."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._generated.options import CallOptions

# What calls carry that are made where it is set: `traceparent`, `tracestate`, `baggage` and names of your
# own. Apps that use OpenTelemetry need not set it: the context of the current span goes along.
trace_context: ContextVar[Mapping[str, str] | None] = ContextVar("ganger.trace_context", default=None)


def add_to(options: CallOptions) -> None:
    """Adds what is carried from here, unless the caller says what to carry."""
    carried = _carried()
    if carried and options.get("trace") is None:
        options["trace"] = carried


def _carried() -> Mapping[str, str] | None:
    chosen = trace_context.get()
    if chosen is not None:
        return chosen
    # Never the first to import it: who does not use it does not pay for it.
    return _of_opentelemetry() if "opentelemetry.trace" in sys.modules else None


def _of_opentelemetry() -> Mapping[str, str] | None:
    from importlib import import_module

    context: Any = import_module("opentelemetry.context")
    if not context.get_current():
        return None  # Nothing is set here, as in most apps most of the time.
    carrier: dict[str, str] = {}
    import_module("opentelemetry.propagate").inject(carrier)
    return carrier
