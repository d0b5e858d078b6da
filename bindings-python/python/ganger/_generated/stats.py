# Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.
"""What a pool does and has done, in numbers."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class Stats(TypedDict):
    """What a pool does now, and what it has done since it began."""

    # The pool's name.
    pool: str

    # Workers that exist, starting ones included.
    workers: int

    # Workers that take calls.
    ready: int

    # Workers that have calls.
    busy: int

    # Workers that are not ready yet.
    starting: int

    # Calls in progress.
    running: int

    # Calls waiting.
    queued: int

    # Bytes of input waiting.
    queued_bytes: int

    # Calls submitted, refused ones included.
    submitted: int

    # Calls that ended with a result.
    completed: int

    # Calls that ended with an error, refused ones included.
    failed: int

    # Calls that were cancelled.
    cancelled: int

    # Attempts that were lost with a worker and followed by another.
    retried: int

    # Batches that workers were given: two calls or more of one function, together.
    batches: int

    # Calls that they were given in batches; a call that is tried again goes by itself.
    batched: int

    # Workers that died without being asked to.
    crashed: int

    # Workers that were replaced on purpose.
    recycled: Recycled

    # Workers that were killed because they did not answer the health check.
    unresponsive: int

    # The most that there was at once.
    peak: Peak

    # Memory that the app shares with its workers.
    shared_memory: SharedMemoryStats

    # How long calls waited for their first attempt.
    wait: Latency

    # How long attempts ran.
    run: Latency

    # Calls by function, in the order of names. From the 1001st name on they are counted together as
    # `(others)`.
    functions: list[FunctionStats]

    # Every worker.
    details: list[WorkerStats]


class Recycled(TypedDict):
    """Workers that were replaced on purpose, by reason."""

    # They had run enough calls.
    calls: int

    # They used too much memory.
    memory: int

    # The code changed.
    reload: int

    # They had lived long enough.
    age: int


class Peak(TypedDict):
    """The most that there was at once since the pool began."""

    # Workers, starting ones and replacements included.
    workers: int

    # Calls waiting.
    queued: int


class SharedMemoryStats(TypedDict):
    """Memory that the app shares with its workers, for large inputs."""

    # Bytes that it may have; 0 without shared memory.
    size: int

    # Bytes of it that hold inputs now.
    used: int

    # Large inputs that found no room and went through the socket.
    refused: int


class Latency(TypedDict):
    """How long something took, in milliseconds, exact to one percent."""

    # How many were measured.
    count: int

    # Their mean.
    mean: float

    # Half took at most so long.
    p50: float

    # 90 % took at most so long.
    p90: float

    # 99 % took at most so long.
    p99: float

    # 99.9 % took at most so long.
    p999: float

    # The longest.
    max: float


class FunctionStats(TypedDict):
    """What became of the calls of a function."""

    # The function.
    fn: str

    # Calls submitted, refused ones included.
    submitted: int

    # Calls that ended with a result.
    completed: int

    # Calls that ended with an error, refused ones included.
    failed: int

    # Calls that were cancelled.
    cancelled: int


class WorkerStats(TypedDict):
    """A worker now."""

    # Its place in the pool.
    index: int

    # How many workers had that place before.
    generation: int

    # Its process; None until there is one.
    pid: int | None

    # Whether it takes calls.
    ready: bool

    # Whether it has calls.
    busy: bool

    # Calls it has.
    running: int

    # Calls it has answered.
    calls: int

    # Its memory in bytes; None where that is not known.
    memory: int | None

    # Since it was started, in milliseconds.
    age: int

    # Whether it is being replaced.
    recycling: bool

    # The device that it is bound to; None if the pool has none.
    device: str | None


class CallInfo(TypedDict):
    """A call now."""

    # Its number in the pool.
    id: int

    # The function.
    fn: str

    # Whether it waits or runs.
    state: Literal["running", "waiting"]

    # Since it was submitted, in milliseconds.
    age: int

    # The place in the pool of the worker that runs it.
    worker: int | None

    # Attempts that were started.
    attempt: int


class FunctionInfo(TypedDict):
    """A function that workers offer."""

    # Its name.
    name: str

    # How it answers.
    kind: Literal["stream", "value"]

    # A line for people.
    summary: str | None

    # Whether a call of it may run again after its worker died.
    idempotent: bool

    # How much of a worker's `concurrency` a call takes.
    slots: int

    # What a call costs a node, from 1 to 100.
    weight: int

    # What the weight is multiplied with.
    coefficient: float

    # What a call wants to itself; None for nothing.
    exclusive: Literal["node", "worker"] | None

    # How long an attempt may run unless the call says otherwise, in milliseconds.
    timeout_ms: int | None

    # How calls that wait are handed over together; None if they are not.
    batch: BatchInfo | None

    # JSON Schema of the input, or null.
    input: Any

    # JSON Schema of the result, of a stream that of an item; or null.
    output: Any

    # JSON Schema of an item of the stream that it reads beside its input; None if it reads none.
    inputs: Any


class BatchInfo(TypedDict):
    """How calls may be gathered into one."""

    # The most calls in one.
    max: int

    # How long the first may wait for others, in milliseconds.
    wait_ms: int
