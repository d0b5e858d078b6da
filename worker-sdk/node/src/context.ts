// What a function sees of its call, as its second argument.

import { inspect } from 'node:util'
import type { Call } from './effects.js'
import { Cancelled } from './errors.js'
import type { Inputs } from './inputs.js'
import { type CancelReason, Kind, type Level, type Seq, type Welcome } from './protocol.js'

const NO_TRACE: Readonly<Record<string, string>> = Object.freeze({})

/** Where a context's frames go. */
export interface Reporting {
  /** Takes in cancels that came while the main thread was busy. */
  poll(): void
  report(kind: number, seq: Seq, body: unknown): void
  /** Reports what was left out of a call's progress for want of room, if that was the last of it. */
  catchUp(seq: Seq): void
}

/** Log records that reach the host's logger. Fields that cannot be sent go as text. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** What hooks see. */
export class WorkerContext {
  readonly #reporting: Reporting
  readonly #welcome: Welcome
  #log: Log | undefined

  constructor(reporting: Reporting, welcome: Welcome) {
    this.#reporting = reporting
    this.#welcome = welcome
  }

  /** The device this worker is bound to, if the pool has devices. */
  get device(): string | undefined {
    return this.#welcome.device ?? undefined
  }

  /** The pool's name. */
  get pool(): string {
    return this.#welcome.pool
  }

  get worker(): { readonly index: number; readonly generation: number } {
    return { index: this.#welcome.worker, generation: this.#welcome.generation }
  }

  get log(): Log {
    this.#log ??= logTo(this.#reporting, this.seq, this.logger)
    return this.#log
  }

  protected get seq(): Seq {
    return 0
  }

  protected get logger(): string {
    return 'ganger'
  }
}

/** What functions see. `Item` is what the function's input stream consists of, if it has one. */
export class CallContext<Item = unknown> extends WorkerContext {
  readonly #reporting: Reporting
  readonly #seq: Seq
  readonly #deadline: number | undefined
  #reason: CancelReason | undefined
  #controller: AbortController | undefined
  readonly #inputs: Inputs | undefined

  /** The function's name, as it was called. */
  readonly function: string
  /** 1 for the first try of a call. */
  readonly attempt: number
  /** W3C trace context and what else the app sent along. */
  readonly trace: Readonly<Record<string, string>>

  constructor(reporting: Reporting, welcome: Welcome, call: Call, inputs?: Inputs) {
    super(reporting, welcome)
    this.#inputs = inputs
    this.#reporting = reporting
    this.#seq = call.seq
    this.#deadline = call.timeoutMs === null ? undefined : performance.now() + call.timeoutMs
    this.function = call.function
    this.attempt = call.attempt
    this.trace = call.context ?? NO_TRACE
  }

  /** Whether the call was asked to stop. May be polled from a busy loop: it costs one atomic load. */
  get cancelled(): boolean {
    if (this.#reason === undefined) this.#reporting.poll()
    return this.#reason !== undefined
  }

  /** Aborts when the call is asked to stop, as soon as the event loop turns. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.cancelled) this.#controller.abort(new Cancelled(this.#reason as CancelReason))
    }
    return this.#controller.signal
  }

  /** The items that the caller sends along, one after the other: `for await (const item of context.inputs)`. */
  get inputs(): AsyncIterableIterator<Item> {
    if (this.#inputs === undefined)
      throw new TypeError(`${this.function} reads no input stream: describe it with an option inputs`)
    return this.#inputs as AsyncIterableIterator<Item>
  }

  /** Milliseconds left of this attempt's time; undefined if it has no limit. */
  get remaining(): number | undefined {
    return this.#deadline === undefined ? undefined : Math.max(0, this.#deadline - performance.now())
  }

  /** Throws if the call was asked to stop. */
  check(): void {
    if (this.cancelled) throw new Cancelled(this.#reason as CancelReason)
  }

  /** Tells the caller how far the call is. */
  progress(done: number, total?: number, note?: string): void {
    this.#reporting.report(Kind.PROGRESS, this.#seq, [done, total ?? null, note ?? null])
  }

  protected override get seq(): Seq {
    return this.#seq
  }

  protected override get logger(): string {
    return `ganger.${this.function}`
  }

  /** @internal */
  static cancel(context: CallContext, reason: CancelReason): void {
    if (context.#reason !== undefined) return
    context.#reason = reason
    context.#controller?.abort(new Cancelled(reason))
    context.#inputs?.fail(new Cancelled(reason))
  }

  /** Why a cancelled call was cancelled. @internal */
  static reasonOf(context: CallContext): CancelReason {
    return context.#reason ?? 'cancel'
  }

  /** Whether an error is how a function ends that obeyed its cancel. @internal */
  static endedByCancel(context: CallContext, error: unknown): CancelReason | undefined {
    if (!context.cancelled) return undefined
    const name = (error as Error | null | undefined)?.name
    return error instanceof Cancelled || error === context.#controller?.signal.reason || name === 'AbortError'
      ? context.#reason
      : undefined
  }
}

function logTo(reporting: Reporting, seq: Seq, logger: string): Log {
  const at = (level: Level) => (message: string, fields?: Record<string, unknown>) =>
    reporting.report(Kind.LOG, seq, [level, logger, String(message), fields === undefined ? null : sendable(fields)])
  return { debug: at('debug'), info: at('info'), warn: at('warning'), error: at('error') }
}

/** One level of plain values; the rest as `inspect` shows it, so that a log line never fails. */
function sendable(fields: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) {
    const simple = value === null || ['string', 'number', 'boolean'].includes(typeof value)
    if (value !== undefined) result[key] = simple ? value : inspect(value, { depth: 4 })
  }
  return result
}
