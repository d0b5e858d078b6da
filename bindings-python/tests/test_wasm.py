"""WebAssembly workers: plug-ins that may come from anybody."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import CallFailed, CallTimeout, InvalidInput, InvalidOption, Pool, StartFailed

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "tests/behavior/workers/wasm/plugin.wat"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WASM: dict[str, Any] = {"wasm": PLUGIN, "interpreter": TARGET / "debug/ganger-wasm"}


def test_a_plug_in_is_called_like_any_worker() -> None:
    with Pool(**WASM, workers=1) as pool:
        assert pool.call("echo", {"text": "ä", "list": [1, None, 2.5]}) == {
            "text": "ä",
            "list": [1, None, 2.5],
        }
        assert pool.call("greet", {"name": "Ada"}) == {"name": "Ada"}
        with pytest.raises(InvalidInput) as caught:
            pool.call("greet", {"name": 3})
        assert caught.value.report is not None
        assert caught.value.report["path"] == "$.name"
        functions = {function["name"]: function for function in pool.functions()}
        assert functions["echo"]["idempotent"]
        assert functions["echo"]["summary"] == "What it is given"
        assert functions["greet"]["input"]["required"] == ["name"]


def test_its_failures_are_errors_of_the_call() -> None:
    with Pool(**WASM, workers=1) as pool:
        with pytest.raises(CallFailed, match="over quota") as caught:
            pool.call("fail")
        report = caught.value.report
        assert report is not None
        assert (report["type"], report["language"], report["properties"]) == (
            "QuotaError",
            "wasm",
            {"limit": 42},
        )
        assert [pool.call("count"), pool.call("count")] == [1, 2]
        with pytest.raises(CallFailed) as caught:
            pool.call("trap")
        report = caught.value.report
        assert report is not None
        assert (report["type"], report["properties"]) == ("Trap", {"trap": "unreachable"})
        assert pool.call("count") == 1, "a fresh instance"
        assert pool.stats()["crashed"] == 0


def test_a_spinning_call_times_out_alone() -> None:
    pids: list[int] = []
    exits: list[int | None] = []
    with Pool(**WASM, workers=2, cancel_grace=20) as pool:
        pool.on("worker:ready", lambda event: pids.append(event["pid"]))
        pool.on("worker:exit", lambda event: exits.append(event["pid"]))
        pool.warm(2)
        neighbour = pool.submit("spin")
        support.eventually(lambda: neighbour.running())
        for _ in range(3):
            with pytest.raises(CallTimeout):
                pool.call("spin", timeout=0.1)
            # The one worker that is left serves again, long before the grace ends in a kill.
            begun = time.monotonic()
            assert pool.call("echo", 1) == 1
            assert time.monotonic() - begun < 10
        assert neighbour.running(), "its neighbour does not notice"
        neighbour.cancel()
        assert [pool.call("echo", n) for n in range(4)] == [0, 1, 2, 3]
        assert (len(pids), exits) == (2, []), "the same processes before and after"


def test_memory_has_its_limit_and_calls_may_have_an_instance_each() -> None:
    with Pool(**WASM, workers=1, wasm_memory="1MiB", wasm_fresh=True) as pool:
        with pytest.raises(CallFailed) as caught:
            pool.call("hog")
        assert caught.value.report is not None
        assert caught.value.report["type"] == "MemoryLimit"
        assert [pool.call("count"), pool.call("count")] == [1, 1]


def test_a_worker_may_run_several_instances() -> None:
    with Pool(**WASM, workers=1, concurrency=3) as pool:
        spinning = [pool.submit("spin") for _ in range(2)]
        assert pool.call("echo", "beside") == "beside"
        for call in spinning:
            call.cancel()
        assert pool.call("echo", "after") == "after"
        assert pool.stats()["crashed"] == 0


def test_a_pool_heals_when_the_program_that_runs_modules_appears(tmp_path: Path) -> None:
    program = tmp_path / "ganger-wasm"
    with Pool(wasm=PLUGIN, interpreter=program, workers=1) as pool:
        with pytest.raises(StartFailed, match="is not installed"):
            pool.call("echo", 1)
        program.symlink_to(WASM["interpreter"])

        def answers() -> bool:
            try:
                return bool(pool.call("echo", 2) == 2)
            except StartFailed:
                return False

        support.eventually(answers, "a start is tried again")


def test_a_changed_plug_in_is_loaded_again(tmp_path: Path) -> None:
    module = tmp_path / "plugin.wat"
    module.write_text(PLUGIN.read_text())
    with Pool(wasm=module, interpreter=WASM["interpreter"], workers=1, watch=True) as pool:
        with pytest.raises(CallFailed, match="over quota"):
            pool.call("fail")
        module.write_text(PLUGIN.read_text().replace("over quota", "over there"))
        support.eventually(lambda: failure(pool) == "QuotaError: over there", "the new one serves")


def failure(pool: Pool) -> str:
    with pytest.raises(CallFailed) as caught:
        pool.call("fail")
    return caught.value.message


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    module = tmp_path / "plugin.wasm"
    module.write_bytes(b"\0asm\x01\0\0\0")
    with (
        Pool(wasm=module, interpreter=WASM["interpreter"], workers=1) as pool,
        pytest.raises(StartFailed, match=r"plugin\.wasm.*memory"),
    ):
        pool.call("echo")
    with (
        Pool(wasm=PLUGIN, interpreter="/nowhere/ganger-wasm", workers=1) as pool,
        pytest.raises(StartFailed, match=r"not installed.*/nowhere/ganger-wasm"),
    ):
        pool.call("echo")
    with pytest.raises(InvalidOption, match='"wasm_memory" goes with "wasm"'):
        Pool(python=support.BASICS, wasm_memory="1MiB")
