// Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.

/** What a pool does now, and what it has done since it began. */
export interface Stats {
  /** The pool's name. */
  readonly pool: string
  /** Workers that exist, starting ones included. */
  readonly workers: number
  /** Workers that take calls. */
  readonly ready: number
  /** Workers that have calls. */
  readonly busy: number
  /** Workers that are not ready yet. */
  readonly starting: number
  /** Calls in progress. */
  readonly running: number
  /** Calls waiting. */
  readonly queued: number
  /** Bytes of input waiting. */
  readonly queuedBytes: number
  /** Calls submitted, refused ones included. */
  readonly submitted: number
  /** Calls that ended with a result. */
  readonly completed: number
  /** Calls that ended with an error, refused ones included. */
  readonly failed: number
  /** Calls that were cancelled. */
  readonly cancelled: number
  /** Attempts that were lost with a worker and followed by another. */
  readonly retried: number
  /** Batches that workers were given: two calls or more of one function, together. */
  readonly batches: number
  /** Calls that they were given in batches; a call that is tried again goes by itself. */
  readonly batched: number
  /** Workers that died without being asked to. */
  readonly crashed: number
  /** Workers that were replaced on purpose. */
  readonly recycled: Recycled
  /** Workers that were killed because they did not answer the health check. */
  readonly unresponsive: number
  /** The most that there was at once. */
  readonly peak: Peak
  /** Memory that the app shares with its workers. */
  readonly sharedMemory: SharedMemoryStats
  /** How long calls waited for their first attempt. */
  readonly wait: Latency
  /** How long attempts ran. */
  readonly run: Latency
  /** Calls by function, in the order of names. From the 1001st name on they are counted together as `(others)`. */
  readonly functions: readonly FunctionStats[]
  /** Every worker. */
  readonly details: readonly WorkerStats[]
}

/** Workers that were replaced on purpose, by reason. */
export interface Recycled {
  /** They had run enough calls. */
  readonly calls: number
  /** They used too much memory. */
  readonly memory: number
  /** The code changed. */
  readonly reload: number
  /** They had lived long enough. */
  readonly age: number
}

/** The most that there was at once since the pool began. */
export interface Peak {
  /** Workers, starting ones and replacements included. */
  readonly workers: number
  /** Calls waiting. */
  readonly queued: number
}

/** Memory that the app shares with its workers, for large inputs. */
export interface SharedMemoryStats {
  /** Bytes that it may have; 0 without shared memory. */
  readonly size: number
  /** Bytes of it that hold inputs now. */
  readonly used: number
  /** Large inputs that found no room and went through the socket. */
  readonly refused: number
}

/** How long something took, in milliseconds, exact to one percent. */
export interface Latency {
  /** How many were measured. */
  readonly count: number
  /** Their mean. */
  readonly mean: number
  /** Half took at most so long. */
  readonly p50: number
  /** 90 % took at most so long. */
  readonly p90: number
  /** 99 % took at most so long. */
  readonly p99: number
  /** 99.9 % took at most so long. */
  readonly p999: number
  /** The longest. */
  readonly max: number
}

/** What became of the calls of a function. */
export interface FunctionStats {
  /** The function. */
  readonly fn: string
  /** Calls submitted, refused ones included. */
  readonly submitted: number
  /** Calls that ended with a result. */
  readonly completed: number
  /** Calls that ended with an error, refused ones included. */
  readonly failed: number
  /** Calls that were cancelled. */
  readonly cancelled: number
}

/** A worker now. */
export interface WorkerStats {
  /** Its place in the pool. */
  readonly index: number
  /** How many workers had that place before. */
  readonly generation: number
  /** Its process; null until there is one. */
  readonly pid: number | null
  /** Whether it takes calls. */
  readonly ready: boolean
  /** Whether it has calls. */
  readonly busy: boolean
  /** Calls it has. */
  readonly running: number
  /** Calls it has answered. */
  readonly calls: number
  /** Its memory in bytes; null where that is not known. */
  readonly memory: number | null
  /** Since it was started, in milliseconds. */
  readonly age: number
  /** Whether it is being replaced. */
  readonly recycling: boolean
  /** The device that it is bound to; null if the pool has none. */
  readonly device: string | null
}

/** A call now. */
export interface CallInfo {
  /** Its number in the pool. */
  readonly id: number
  /** The function. */
  readonly fn: string
  /** Whether it waits or runs. */
  readonly state: 'running' | 'waiting'
  /** Since it was submitted, in milliseconds. */
  readonly age: number
  /** The place in the pool of the worker that runs it. */
  readonly worker: number | null
  /** Attempts that were started. */
  readonly attempt: number
}

/** A function that workers offer. */
export interface FunctionInfo {
  /** Its name. */
  readonly name: string
  /** How it answers. */
  readonly kind: 'stream' | 'value'
  /** A line for people. */
  readonly summary: string | null
  /** Whether a call of it may run again after its worker died. */
  readonly idempotent: boolean
  /** How much of a worker's `concurrency` a call takes. */
  readonly slots: number
  /** What a call costs a node, from 1 to 100. */
  readonly weight: number
  /** What the weight is multiplied with. */
  readonly coefficient: number
  /** What a call wants to itself; null for nothing. */
  readonly exclusive: 'node' | 'worker' | null
  /** How long an attempt may run unless the call says otherwise, in milliseconds. */
  readonly timeoutMs: number | null
  /** How calls that wait are handed over together; null if they are not. */
  readonly batch: BatchInfo | null
  /** JSON Schema of the input, or null. */
  readonly input: unknown
  /** JSON Schema of the result, of a stream that of an item; or null. */
  readonly output: unknown
  /** JSON Schema of an item of the stream that it reads beside its input; null if it reads none. */
  readonly inputs: unknown
}

/** How calls may be gathered into one. */
export interface BatchInfo {
  /** The most calls in one. */
  readonly max: number
  /** How long the first may wait for others, in milliseconds. */
  readonly waitMs: number
}
