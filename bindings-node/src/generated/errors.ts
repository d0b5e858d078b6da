// Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.

/** Every error code: what it means, whose fault it is, and whether calling again is safe in any case. */
export const errorCodes = {
  /** The queue has no room for another call; it has not run. */
  QUEUE_FULL: { fault: 'pool', safeToRepeat: true },
  /** The call waited as long as `queueTimeout` allows for its first attempt; it has not run. */
  QUEUE_TIMEOUT: { fault: 'pool', safeToRepeat: true },
  /** An attempt ran longer than `timeout` allows; its worker was asked to stop it. */
  TIMEOUT: { fault: 'function', safeToRepeat: false },
  /** The call was not done within its `deadline`; `started` tells whether it ran. */
  DEADLINE_EXCEEDED: { fault: 'pool', safeToRepeat: false },
  /** The caller gave up; `started` tells whether the call ran. */
  CANCELLED: { fault: 'caller', safeToRepeat: false },
  /** The worker died while it had the call; `worker` tells how. */
  WORKER_CRASHED: { fault: 'worker', safeToRepeat: false },
  /** No worker can be started; the report is the last one's own. */
  START_FAILED: { fault: 'worker', safeToRepeat: true },
  /** The function failed with an error of its own; the report has its type, text and traceback. */
  CALL_FAILED: { fault: 'function', safeToRepeat: false },
  /** The worker has no function of that name. */
  NO_SUCH_FUNCTION: { fault: 'caller', safeToRepeat: true },
  /** The input does not fit the function, which has not run. */
  INVALID_INPUT: { fault: 'caller', safeToRepeat: true },
  /** The function ran, but what it returned cannot be sent. */
  INVALID_RESULT: { fault: 'function', safeToRepeat: false },
  /** The input or the result is larger than `maxPayload` allows; `started` tells which. */
  PAYLOAD_TOO_LARGE: { fault: 'caller', safeToRepeat: false },
  /** The pool was closed before the call was done; `started` tells whether it ran. */
  POOL_CLOSED: { fault: 'pool', safeToRepeat: false },
  /** An option is unknown, of the wrong type or out of range; nothing was done. */
  INVALID_OPTION: { fault: 'caller', safeToRepeat: true },
  /** The worker sent what the protocol does not allow, and was killed. */
  PROTOCOL: { fault: 'worker', safeToRepeat: false },
  /** The pool belongs to the process that this one was forked from; make a new one. */
  FORKED: { fault: 'caller', safeToRepeat: true },
} as const

export type ErrorCode = keyof typeof errorCodes

/** An error as apps see it. */
export interface ErrorFields {
  /** What went wrong. */
  readonly code: ErrorCode
  /** The same for people. */
  readonly message: string
  /** Whose fault it is. */
  readonly fault: 'caller' | 'function' | 'node' | 'pool' | 'worker'
  /** Whether the function surely did not run, so that calling again cannot do its work twice. */
  readonly safeToRepeat: boolean
  /** Whether the function had begun to run. */
  readonly started: 'maybe' | 'no' | 'yes'
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
  /** What the worker said of the error, if it said anything. In Node.js it is the `cause`, a `RemoteError`. */
  readonly report: ErrorReport | null
  /** Figures that explain it: queue length, time waited. */
  readonly details: Readonly<Record<string, unknown>>
}

/** How a worker died. */
export interface WorkerDeath {
  /** The process; null if there never was one. */
  readonly pid: number | null
  /** Which place in the pool it had. */
  readonly index: number
  /** How many workers had that place before. */
  readonly generation: number
  /** Its exit code, if it exited. */
  readonly code: number | null
  /** The signal that ended it, if one did: `SIGKILL`. */
  readonly signal: string | null
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
  /** The function whose call had to be killed, if that was the cause. */
  readonly culprit: string | null
  /** The last lines that it wrote to stderr. */
  readonly stderrTail: string
  /** How long it lived, in milliseconds. */
  readonly uptimeMs: number
  /** Functions of the last calls that it had answered, the latest last. */
  readonly lastCalls: readonly string[]
  /** What it used in its last minute, in bytes, the latest last; empty where memory is not watched. */
  readonly memory: readonly number[]
}

/** An error as the worker reported it. */
export interface ErrorReport {
  /** Its type in the worker's language: `ValueError`. */
  readonly type: string
  /** Its text. */
  readonly message: string
  /** Its traceback, in the form that the language has for it. */
  readonly traceback: string | null
  /** The worker's language: `python`. */
  readonly language: string
  /** Properties of the error that could be sent: a map, or null. */
  readonly properties: unknown
  /** Properties that could not. */
  readonly dropped: readonly string[]
  /** Where in the input or result, if it is about one: `$.amount`. */
  readonly path: string | null
  /** The error that led to it. */
  readonly cause: ErrorReport | null
}

/** An error that happened in a worker, in whatever language it is written. */
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
