"""What a start imports: one more import is what makes it slow. A test by the clock would prove little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from host import Host, write

# Beside the package itself. All of them are small, and written in C but for the first.
FEW = {"__future__", "_contextvars", "_struct", "select"}
WHEN_NEEDED = {
    f"ganger_worker.{name}"
    for name in (
        *(
            "ahead",
            "errors",
            "huge_pages",
            "logs",
            "main_thread",
            "msgspec_codec",
            "msgspec_schemas",
            "pickling",
            "plain",
        ),
        *("reflection", "tasks", "threaded", "timestamps", "typing_rules"),
    )
}
SLOW = {
    *("ast", "asyncio", "collections", "contextlib", "dataclasses", "datetime", "enum", "functools"),
    *("importlib.util", "inspect", "logging", "msgspec", "pathlib", "pickle", "re", "socket", "struct"),
    *("threading", "traceback", "typing", "uuid", "warnings"),
}
LOADED = """
    import sys
    from ganger_worker import action, context, shutdown, startup

    @startup
    def begin():
        assert context.pool

    @shutdown
    def end(): pass

    @action
    def loaded(): return sorted(sys.modules)

    @action
    def same(x): return x
    """
HINTED = """
    @action(summary="Hints that are simple", idempotent=True, timeout="1.5s")
    def hinted(a: int, b: float = 1.5, *, c: str = "c", d: bool = False, e: bytes | None = None,
               f: list[str] | None = None, g: dict[str, list[int]] = {}, h: list = [], **rest) -> None: ...
    """
IN_TEXT = """
    @action
    def in_text(a: "int", b: "dict[str, float] | None" = None) -> "str": ...
    """


@pytest.mark.parametrize("more", ["", HINTED, IN_TEXT], ids=["no hints", "simple hints", "hints as text"])
def test_a_start_imports_little(tmp_path: Path, more: str) -> None:
    loaded = modules(tmp_path, LOADED + more)
    assert "ganger_worker.session" in loaded
    assert {name for name in loaded if not name.startswith("ganger_worker")} <= FEW
    assert not loaded & WHEN_NEEDED


def test_a_start_with_threads_imports_no_event_loop(tmp_path: Path) -> None:
    loaded = modules(tmp_path, LOADED, concurrency=4)
    assert "ganger_worker.threaded" in loaded
    # What threading needs itself.
    assert loaded & SLOW <= {"threading", "functools", "collections", "warnings"}


def test_the_list_of_slow_modules_is_no_list_of_misspelt_ones() -> None:
    assert {name.partition(".")[0] for name in SLOW} <= sys.stdlib_module_names | {"msgspec"}
    package = Path(__file__).resolve().parents[1] / "src/ganger_worker"
    assert {f"ganger_worker.{path.stem}" for path in package.glob("*.py")} >= WHEN_NEEDED


def test_contracts_are_whole_without_those_modules(tmp_path: Path) -> None:
    with Host.start(write(tmp_path, "workers.py", LOADED + HINTED)) as host:
        contract = next(found for found in host.ready() if found["name"] == "hinted")
    assert contract["timeout_ms"] == 1500
    assert contract["output"] == {"type": "null"}
    assert contract["input"] == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "number", "default": 1.5},
            "c": {"type": "string", "default": "c"},
            "d": {"type": "boolean", "default": False},
            "e": {
                "anyOf": [{"type": "string", "contentEncoding": "base64"}, {"type": "null"}],
                "default": None,
            },
            "f": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "default": None,
            },
            "g": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": "integer"}},
                "default": {},
            },
            "h": {"type": "array", "default": []},
        },
        "required": ["a"],
        "x-positional": ["a", "b"],
    }


def test_few_small_payloads_need_no_msgspec(tmp_path: Path) -> None:
    with started(tmp_path) as host:
        for value in (1, "text", [1, {"a": None}], {"b": 2.5}):
            assert host.result("same", {"x": value}) == value
        assert "msgspec" not in host.result("loaded")


def test_a_worker_that_took_long_to_load_has_msgspec_before_its_first_call(tmp_path: Path) -> None:
    slow = LOADED.replace("assert context.pool", "import time; time.sleep(0.6)")
    with Host.start(write(tmp_path, "workers.py", slow)) as host:
        host.ready()
        assert {"msgspec", "ganger_worker.typing_rules"} <= set(host.result("loaded"))


def test_bytes_of_any_length_need_no_msgspec(tmp_path: Path) -> None:
    with started(tmp_path) as host:
        assert host.result("same", b"x" * 300_000) == b"x" * 300_000
        assert "msgspec" not in host.result("loaded")


@pytest.mark.parametrize("value", ["x" * 2000, list(range(500)), b"x" * 2000], ids=["str", "list", "bytes"])
def test_a_large_payload_is_left_to_msgspec(tmp_path: Path, value: object) -> None:
    with started(tmp_path) as host:
        assert host.result("same", {"x": value}) == value
        assert "msgspec" in host.result("loaded")


def test_many_payloads_are_left_to_msgspec(tmp_path: Path) -> None:
    with started(tmp_path) as host:
        for number in range(100):
            assert host.result("same", {"x": number}) == number
        assert "msgspec" in host.result("loaded")


def test_typed_parameters_are_checked_from_the_first_call(tmp_path: Path) -> None:
    with started(tmp_path, HINTED) as host:
        assert host.error("hinted", {"a": "one"})["path"] == "$.a"


def started(tmp_path: Path, more: str = "") -> Host:
    host = Host.start(write(tmp_path, "workers.py", LOADED + more))
    host.ready()
    return host


def modules(tmp_path: Path, code: str, concurrency: int = 1) -> set[str]:
    """What a worker has loaded in its first call beside its code and what the interpreter loads anyway."""
    bare = subprocess.check_output(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], text=True, cwd=tmp_path
    )
    with Host.start(write(tmp_path, "workers.py", code), concurrency=concurrency) as host:
        host.ready()
        return set(host.result("loaded")) - set(bare.split()) - {"workers"}


FITTING: list[dict[str, object]] = [
    {"a": 1},
    {"a": 1, "b": 2.5, "c": "text", "d": True, "e": b"bytes"},
    {"a": 1, "e": None, "f": ["x", "y"], "g": {"key": [1, 2]}, "h": [1, None]},
]
OTHERS: list[dict[str, object]] = [{"a": 1, "b": 2}, {"a": 1, "e": "Ynl0ZXM="}]


@pytest.mark.parametrize("value", FITTING)
def test_arguments_that_are_just_what_simple_hints_say_need_no_msgspec(
    tmp_path: Path, value: dict[str, object]
) -> None:
    with started(tmp_path, LOADED + HINTED) as host:
        assert host.result("hinted", value) is None
        assert "msgspec" not in host.result("loaded")


@pytest.mark.parametrize("value", OTHERS)
def test_what_has_to_be_converted_is_left_to_msgspec(tmp_path: Path, value: dict[str, object]) -> None:
    with started(tmp_path, LOADED + HINTED) as host:
        host.result("hinted", value)
        assert "msgspec" in host.result("loaded")


@pytest.mark.parametrize(
    "value",
    [{"a": True}, {"a": 1.5}, {"a": 1, "c": b"c"}, {"a": 1, "f": ["x", 1]}, {"a": 1, "g": {"k": [None]}}],
)
def test_what_does_not_fit_is_refused_before_msgspec_is_there(
    tmp_path: Path, value: dict[str, object]
) -> None:
    with started(tmp_path, LOADED + HINTED) as host:
        assert host.error("hinted", value)["code"] == "INVALID_INPUT"
