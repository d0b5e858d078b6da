# Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.
"""Options of pools and calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Literal, TypeAlias, TypedDict

# A span of time: seconds, a timedelta, or text such as "500ms", "10s" or "1m30s".
Duration: TypeAlias = float | str | timedelta

# A span of time, or "never" for no limit.
Limit: TypeAlias = float | str | timedelta

# A size: megabytes, or text such as "512mb" or "1.5GiB".
Size: TypeAlias = float | str

# A file, folder or name.
Path: TypeAlias = str | os.PathLike[str]


class PoolOptions(TypedDict, total=False):
    """Options of a pool. None or left out is the default."""

    # Workers written in Python: a file, a folder whose files are modules, or the name of a module. A pool has
    # one worker kind.
    # Default: none.
    python: Path | None

    # Workers written for Node.js: a file, or a folder whose files are modules. A pool has one worker kind.
    # Default: none.
    node: Path | None

    # Workers that run WebAssembly: a module, or a folder of them. They may come from somebody who is not
    # trusted: a module sees its input and nothing else. It takes the program `ganger-wasm`. A pool has one
    # worker kind.
    # Default: none.
    wasm: Path | None

    # The most memory that one instance of a WebAssembly module may have. An allocation beyond it fails inside
    # the module. A worker has as many instances as it runs calls at once.
    # Default: 128MiB.
    wasm_memory: Size | None

    # Gives each call a new instance of its WebAssembly module, so that nothing of one call is left for the
    # next. Otherwise an instance serves one call after the other.
    # Default: false.
    wasm_fresh: bool | None

    # Workers that are a program of their own, built with any worker SDK: the program and its arguments. No
    # shell reads it.
    # Default: none.
    command: Sequence[str] | None

    # The Python or Node.js that runs `python` or `node` workers, or the `ganger-wasm` that runs `wasm`
    # workers.
    # Default: the app's own if it is of that language, else the one on PATH; the installed `ganger-wasm`.
    interpreter: Path | None

    # What events, errors and workers call the pool.
    # Default: from the worker's file or module.
    name: str | None

    # The most worker processes. They start as calls need them; each costs its memory. By default one for each
    # CPU that the app may use, by affinity and container quota. 0 is allowed with `endpoint`: then only
    # attached workers run calls.
    # Default: usable CPUs.
    workers: int | None

    # How many calls a worker runs at once. More than 1 suits calls that wait, and languages with real
    # threads; a crash then costs all of them.
    # Default: 1.
    concurrency: int | None

    # The fewest workers: so many are started with the pool, and `idle_timeout` stops none of them.
    # Default: 0.
    min_workers: int | None

    # How long a worker may have no calls before it is stopped, down to `min_workers`. By default workers
    # stay.
    # Default: none.
    idle_timeout: Limit | None

    # The most calls that may wait, beyond those that workers have room for. What is more is handled as
    # `when_full` says.
    # Default: 10000.
    max_queue: int | None

    # The most bytes of input that may wait. One call is admitted to an empty queue whatever its size.
    # Default: 256MiB.
    max_queue_bytes: Size | None

    # What a full queue does with another call. `reject` fails it at once with `QUEUE_FULL`; `wait` lets it
    # wait for room, in the order of submission, at most `full_timeout`.
    # Default: reject.
    when_full: Literal["reject", "wait"] | None

    # The longest that a call may wait for room in a full queue with `when_full` `wait`. Then it fails with
    # `QUEUE_FULL`.
    # Default: none.
    full_timeout: Limit | None

    # The longest that one attempt of a call may run. Then the caller gets `TIMEOUT` at once, the worker is
    # asked to stop the call, and is killed if it does not within `cancel_grace`.
    # Default: none.
    timeout: Limit | None

    # The longest that a call may wait for its first attempt. Then it fails with `QUEUE_TIMEOUT` and has not
    # run.
    # Default: none.
    queue_timeout: Limit | None

    # The longest that a call may take in all, waiting and retries included. Then it fails with
    # `DEADLINE_EXCEEDED`.
    # Default: none.
    deadline: Limit | None

    # How long a call that was cancelled or timed out may take to stop. Then its worker is killed, and the
    # calls beside it fail with `WORKER_CRASHED`.
    # Default: 2s.
    cancel_grace: Duration | None

    # How long closing the pool lets queued and running calls go on. What is left then fails with
    # `POOL_CLOSED`.
    # Default: 10s.
    close_timeout: Duration | None

    # How long a worker that was asked to stop may take for its shutdown hooks. Then it is killed.
    # Default: 5s.
    stop_timeout: Duration | None

    # How long a worker may take from its start until it is ready, start-up hooks included. Then it is killed
    # and the start has failed.
    # Default: 1m.
    start_timeout: Duration | None

    # How often a worker without calls is asked whether it lives. Busy and starting workers are never asked:
    # their calls' clocks protect them.
    # Default: 10s.
    health_interval: Limit | None

    # How long a worker without calls may take to answer the health check. Then it is killed and replaced at
    # once.
    # Default: 10s.
    health_timeout: Duration | None

    # A worker that has answered so many calls, give or take 10 %, is replaced: the replacement is ready
    # first, then the old one finishes what it has and leaves. No call fails or waits for it.
    # Default: none.
    max_calls: int | None

    # A worker whose processes use so much memory, give or take 10 %, is replaced in the same way. It is a
    # soft limit: current memory, without what is shared, seen twice in a row, a second apart.
    # Default: none.
    max_memory: Size | None

    # A worker that has lived so long, give or take 10 %, is replaced in the same way.
    # Default: none.
    max_age: Limit | None

    # The most workers that are replaced at once. Each costs the memory of one more worker while its
    # replacement starts, and until the old one is gone; but one with a call left to finish, which may take
    # hours, holds up no other.
    # Default: 1.
    max_replacing: int | None

    # How many threads numerical libraries may use in a worker: sets the variables of OpenMP, OpenBLAS, MKL,
    # BLIS, NumExpr and Accelerate.
    # Default: as the libraries do.
    inner_threads: int | None

    # Devices, one a worker: each worker has one that no other has, in the variable `GANGER_DEVICE` and as
    # `context.device`. A device `cuda:N` also sets `CUDA_VISIBLE_DEVICES`. By default there are as many
    # workers as devices, and there may not be more; one that is named twice has two workers.
    # Default: none.
    devices: Sequence[str] | None

    # Reloads the workers when their code changes: `True` watches the worker's file or folder, a path watches
    # that. Workers are replaced one by one, ready before the old ones leave; code that cannot start keeps the
    # old workers.
    # Default: false.
    watch: bool | Path | None

    # How often an idempotent call may run again after its worker died. It concerns no other calls: those
    # never repeat.
    # Default: 1.
    retries: int | None

    # The largest input or result. A larger one fails its call with `PAYLOAD_TOO_LARGE` and nothing else.
    # Default: 4GiB.
    max_payload: Size | None

    # Payloads of 128 KiB and more travel in memory that the app and its workers share: one arena of so many
    # bytes for inputs, and one for the results of each worker. Memory is taken as payloads need it. What
    # finds no room goes through the socket, as all does with 0.
    # Default: 1GiB.
    shared_memory: Size | None

    # The most memory that the operating system gives one worker process. An allocation beyond it fails inside
    # the worker, which may end it.
    # Default: none.
    memory_limit: Size | None

    # Variables for the workers, beside those of the app. None removes one that they would inherit.
    # Default: none.
    env: Mapping[str, str | None] | None

    # The directory that workers run in. Paths of worker files are those of the app, not relative to it.
    # Default: the app's.
    cwd: Path | None

    # Lets workers attach that you start by hand, under a debugger for example. `True` listens in a private
    # directory, a path there.
    # Default: false.
    endpoint: bool | Path | None


class CallOptions(TypedDict, total=False):
    """Options of a call. None or left out is the default."""

    # The longest that one attempt may run. Then the caller gets `TIMEOUT` at once, the worker is asked to
    # stop the call, and is killed if it does not within `cancel_grace`.
    # Default: as the function, else the pool.
    timeout: Limit | None

    # The longest that the call may wait for its first attempt. Then it fails with `QUEUE_TIMEOUT` and has not
    # run.
    # Default: as the pool.
    queue_timeout: Limit | None

    # The longest that everything may take, waiting and retries included. Then the call fails with
    # `DEADLINE_EXCEEDED`.
    # Default: as the pool.
    deadline: Limit | None

    # Says that running the call twice does no harm: if its worker dies, it runs again on another one. Without
    # it a call never repeats.
    # Default: as the function, else false.
    idempotent: bool | None

    # How often an idempotent call may run again after its worker died. A call that kills its worker costs
    # `retries` + 1 workers.
    # Default: as the pool.
    retries: int | None

    # Calls of a higher priority leave the queue first; equal ones in the order of submission.
    # Default: 0.
    priority: int | None

    # How much of a worker's `concurrency` the call takes. A call of many slots waits until one worker has
    # them all free.
    # Default: as the function, else 1.
    slots: int | None

    # What the call costs a node, from 1 to 100. A local pool carries it and ignores it.
    # Default: as the function, else 1.
    weight: int | None

    # How long the call may take to stop once it was cancelled or timed out; then its worker is killed.
    # Default: as the pool.
    cancel_grace: Duration | None

    # Calls with the same text prefer the worker that served the last of them. It is a preference: if that
    # worker has no room the call goes to another, and so do those after it.
    # Default: none.
    affinity: str | None

    # Runs the call alone on its worker, whatever its `concurrency`. `node` is for clusters; a local pool
    # treats both alike.
    # Default: as the function, else none.
    exclusive: Literal["worker", "node"] | None

    # Trace context that the function sees: `traceparent`, `tracestate`, `baggage` and names of your own. It
    # travels with every attempt.
    # Default: none.
    trace: Mapping[str, str] | None
