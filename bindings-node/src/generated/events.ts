// Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.

/** A worker's process was started. */
export interface WorkerStartEvent {
  /** The pool's name. */
  readonly pool: string
  /** The worker's place in the pool. */
  readonly worker: number
  /** Its process. */
  readonly pid: number
}

/** A worker is ready to take calls. */
export interface WorkerReadyEvent {
  /** The pool's name. */
  readonly pool: string
  /** The worker's place in the pool. */
  readonly worker: number
  /** Its process. */
  readonly pid: number
  /** From its start to ready, in milliseconds. */
  readonly startedIn: number
}

/** A worker ended. */
export interface WorkerExitEvent {
  /** The pool's name. */
  readonly pool: string
  /** The worker's place in the pool. */
  readonly worker: number
  /** Its process; null if there never was one. */
  readonly pid: number | null
  /** Its exit code, if it exited. */
  readonly code: number | null
  /** The signal that ended it, if one did: `SIGKILL`. */
  readonly signal: string | null
  /** Calls it had. */
  readonly running: number
  /** Calls it had answered. */
  readonly calls: number
  /** Why, in a word. */
  readonly reason: 'crash' | 'recycled' | 'start-failed' | 'shutdown' | 'unresponsive'
  /** Why exactly. */
  readonly cause:
    | 'cancel-kill'
    | 'close'
    | 'detached'
    | 'exit'
    | 'idle'
    | 'memory-limit'
    | 'not-started'
    | 'oom-killer'
    | 'protocol'
    | 'recycled'
    | 'signal'
    | 'start-timeout'
    | 'unresponsive'
  /**
   * Why it could not start, with its own traceback or the end of its stderr; null unless the reason is
   * `start-failed`.
   */
  readonly error: string | null
}

/** A worker is going to be replaced. */
export interface WorkerRecycleEvent {
  /** The pool's name. */
  readonly pool: string
  /** The worker's place in the pool. */
  readonly worker: number
  /** Its process. */
  readonly pid: number
  /** Why. */
  readonly reason: 'age' | 'calls' | 'memory' | 'reload'
  /** What it was last seen to use, in bytes; null where that is not known. */
  readonly memory: number | null
  /** Calls it has answered. */
  readonly calls: number
  /** Whether it leaves before its replacement starts, because there is no memory for both. */
  readonly cold: boolean
}

/** A worker without calls did not answer the health check and is killed. */
export interface WorkerUnresponsiveEvent {
  /** The pool's name. */
  readonly pool: string
  /** The worker's place in the pool. */
  readonly worker: number
  /** Its process. */
  readonly pid: number
  /** How long it had to answer, in milliseconds. */
  readonly timeout: number
}

/** A worker printed or logged something. */
export interface WorkerLogEvent {
  /** The pool's name. */
  readonly pool: string
  /** The worker's place in the pool. */
  readonly worker: number
  /** Its process. */
  readonly pid: number
  /** Where it came from. */
  readonly source: 'log' | 'stderr' | 'stdout'
  /** `debug`, `info`, `warning`, `error` or `critical`; null for what was printed. */
  readonly level: string | null
  /** The logger's name; null for what was printed. */
  readonly logger: string | null
  /** The line, without its end. */
  readonly message: string
  /** What the log call carried beside its text. */
  readonly fields: unknown
  /** The function that was running, where known. */
  readonly fn: string | null
}

/** A call that was declared idempotent is going to run again, because its worker died. */
export interface CallRetryEvent {
  /** The pool's name. */
  readonly pool: string
  /** The place in the pool of the worker that died. */
  readonly worker: number
  /** The process of the worker that died; null if there never was one. */
  readonly pid: number | null
  /** The function. */
  readonly fn: string
  /** The attempt that was lost; the first is 1. */
  readonly attempt: number
  /** How often the call may run again in all: its `retries`. */
  readonly retries: number
}

/** The code has changed and workers are going to be replaced. */
export interface ReloadEvent {
  /** The pool's name. */
  readonly pool: string
  /** What has changed: a hundred names at most. */
  readonly files: readonly string[]
  /** How many workers are going to be replaced. */
  readonly replaced: number
}

/** A call was refused because the queue is full. Told once, until the queue has drained. */
export interface QueueFullEvent {
  /** The pool's name. */
  readonly pool: string
  /** Calls waiting. */
  readonly queued: number
  /** Bytes of input waiting. */
  readonly queuedBytes: number
}

/** The queue is empty again after it had been full. */
export interface QueueDrainEvent {
  /** The pool's name. */
  readonly pool: string
}

/** Something about the pool that its owner should know and may want to change. */
export interface WarningEvent {
  /** The pool's name. */
  readonly pool: string
  /** What, in a sentence. */
  readonly message: string
}

/** Every event of a pool and its data. */
export interface PoolEvents {
  'worker:start': WorkerStartEvent
  'worker:ready': WorkerReadyEvent
  'worker:exit': WorkerExitEvent
  'worker:recycle': WorkerRecycleEvent
  'worker:unresponsive': WorkerUnresponsiveEvent
  'worker:log': WorkerLogEvent
  'call:retry': CallRetryEvent
  'reload': ReloadEvent
  'queue:full': QueueFullEvent
  'queue:drain': QueueDrainEvent
  'warning': WarningEvent
}

export type PoolEventName = keyof PoolEvents

/** The names of all events. */
export const eventNames = [
  'worker:start',
  'worker:ready',
  'worker:exit',
  'worker:recycle',
  'worker:unresponsive',
  'worker:log',
  'call:retry',
  'reload',
  'queue:full',
  'queue:drain',
  'warning',
] as const satisfies readonly PoolEventName[]
