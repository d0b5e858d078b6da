// The pool as apps hold it.

import { EventEmitter } from 'node:events'
import { hold, release } from './alive.js'
import { Call } from './call.js'
import { abortedBefore, madeAt, refused, thrownBySeam } from './errors.js'
import { GangerError } from './generated/errors.js'
import type { PoolEventName, PoolEvents } from './generated/events.js'
import type { CloseOptions, CallOptions as CommonCallOptions, PoolOptions } from './generated/options.js'
import type { CallInfo, FunctionInfo, Stats } from './generated/stats.js'
import { tell } from './listeners.js'
import { NativePool } from './native.js'
import { optionsJson } from './options.js'
import { type PendingCall, PendingCalls } from './pending.js'
import { watchAbort } from './signals.js'
import { encodeInput } from './values.js'

/** Options of a call. */
export interface CallOptions extends CommonCallOptions {
  /** Gives the call up when it aborts: the call fails with an AbortError of the code CANCELLED, whose cause is the signal's reason. */
  signal?: AbortSignal | null | undefined
}

/** Where a worker that is started by hand attaches, and its one-time token. */
export interface Invitation {
  /** For `GANGER_ENDPOINT`. */
  readonly address: string
  /** For `GANGER_TOKEN`; good for one worker. */
  readonly token: string
}

const wakeUp = Symbol('wakeUp')

type PoolEventMap = { [Name in PoolEventName]: [event: PoolEvents[Name]] }

/**
 * A pool of worker processes with one queue. It starts no worker before there is a call. An idle pool does not keep the
 * process alive; calls that are not settled do.
 */
export class Pool extends EventEmitter<PoolEventMap> implements AsyncDisposable {
  /** What events, errors and workers call the pool. */
  readonly name: string
  readonly #native: NativePool
  readonly #pending = new PendingCalls(this)
  readonly #endings = new Map<number, () => void>()
  #nextEnding = 0
  #droppedEvents = 0

  constructor(options: PoolOptions) {
    super()
    try {
      this.#native = new NativePool(optionsJson(options), waker(new WeakRef(this)))
    } catch (error) {
      throw invalid(error)
    }
    this.name = this.#native.name
    dropped.register(this, this.name, this)
    followListeners(this, this.#native)
  }

  /** Calls a function of a worker. The result is null where the function returned nothing. */
  call<T = unknown>(fn: string, input?: unknown, options?: CallOptions | null): Promise<T> {
    return this.#submit<T>(fn, input, options, this.call).promise
  }

  /** The same, but returns what can be given up without an AbortSignal. */
  submit<T = unknown>(fn: string, input?: unknown, options?: CallOptions | null): Call<T> {
    const { promise, pending } = this.#submit<T>(fn, input, options, this.submit)
    return new Call(pending?.id ?? 0, fn, promise, (reason) => this.#cancel(pending, reason))
  }

  /** What the pool does now and has done. */
  stats(): Stats {
    return JSON.parse(this.#native.stats()) as Stats
  }

  /** The calls that run or wait now, oldest first. */
  calls(): CallInfo[] {
    return JSON.parse(this.#native.calls()) as CallInfo[]
  }

  /** The functions that workers offer; null before the first worker was ready. */
  functions(): FunctionInfo[] | null {
    const functions = this.#native.functions()
    return functions === null ? null : (JSON.parse(functions) as FunctionInfo[])
  }

  /** Where a worker that you start by hand attaches; null without the option `endpoint`. Each invitation is good for one worker. */
  invite(): Invitation | null {
    const invitation = this.#native.invite()
    return invitation === null ? null : { address: invitation[0], token: invitation[1] }
  }

  /** Takes no more calls, finishes those it has within `timeout`, stops the workers, and resolves when the last one is gone. */
  async close(options?: CloseOptions | null): Promise<void> {
    const json = optionsOrInvalid(options ?? {})
    await this.#end((ending) => this.#native.close(json, ending))
  }

  /** Fails every call with POOL_CLOSED, kills every worker, and resolves when the last one is gone. */
  async terminate(): Promise<void> {
    await this.#end((ending) => this.#native.terminate(ending))
  }

  /** As `close`: for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #submit<T>(fn: string, input: unknown, options: CallOptions | null | undefined, from: AnyFunction): Submitted<T> {
    let pending: PendingCall | undefined
    const promise = new Promise<T>((resolve, reject) => {
      pending = newCall(fn, options?.signal, from, resolve as PendingCall['resolve'], reject)
      try {
        this.#begin(pending, input, options)
      } catch (error) {
        reject(error instanceof GangerError ? madeAt(error, pending.origin) : error)
      }
    })
    return { promise, pending }
  }

  #begin(call: PendingCall, input: unknown, options: CallOptions | null | undefined): void {
    const { fn, signal } = call
    if (typeof fn !== 'string') throw refused('INVALID_INPUT', `the name of a function is text, not ${typeof fn}`)
    const json = options === undefined || options === null ? null : optionsOrInvalid(options, fn)
    if (signal?.aborted) throw abortedBefore(signal, fn)
    const { bytes, length, encoding } = encodeInput(input, fn)
    const ticket = this.#pending.add(call)
    try {
      call.id = this.#native.submit(ticket, fn, bytes, length, encoding, json)
    } catch (error) {
      this.#pending.remove(ticket)
      throw thrownBySeam(error)
    }
    if (signal === undefined) return
    call.onAbort = () => this.#cancel(call, signal.reason)
    watchAbort(signal, call.onAbort)
  }

  /** Core settles it now or has done so; the outcome comes the usual way. */
  #cancel(call: PendingCall | undefined, cause: unknown): void {
    if (call === undefined || call.id === 0) return
    call.reason ??= cause === undefined ? undefined : { cause }
    this.#native.cancel(call.id)
  }

  async #end(begin: (ending: number) => void): Promise<void> {
    const ending = ++this.#nextEnding
    const ended = new Promise<void>((resolve) => this.#endings.set(ending, resolve))
    try {
      begin(ending)
    } catch (error) {
      this.#endings.delete(ending)
      throw thrownBySeam(error)
    }
    dropped.unregister(this)
    hold(this)
    await ended
    release(this)
  }

  /** @internal The seam has something for us. */
  [wakeUp](): void {
    const settled = this.#native.takeSettled()
    this.#pending.settle(settled)
    if (!settled[1]) return
    const [events, lost, endings] = this.#native.takeNews()
    for (const event of events) tell(this as EventEmitter, event)
    if (lost > 0 && this.#droppedEvents === 0)
      process.emitWarning(`pool ${this.name}: listeners are too slow, events are being dropped`, 'GangerWarning')
    this.#droppedEvents += lost
    for (const ending of endings) this.#endings.get(ending)?.()
    for (const ending of endings) this.#endings.delete(ending)
  }
}

type AnyFunction = (...args: never[]) => unknown

interface Submitted<T> {
  promise: Promise<T>
  pending: PendingCall | undefined
}

/** Outside of the pool, so that what the seam holds on to does not hold the pool. */
function waker(pool: WeakRef<{ [wakeUp](): void }>): () => void {
  return () => pool.deref()?.[wakeUp]()
}

let warnedOfDropped = false
/** The workers of such a pool end when its native part is collected too; this only says so. */
const dropped = new FinalizationRegistry<string>((name) => {
  if (warnedOfDropped) return
  warnedOfDropped = true
  process.emitWarning(`pool ${name} was dropped without close(); its workers are terminated`, 'GangerWarning')
})

/** Core tells only what somebody listens to. */
function followListeners(pool: Pool, native: NativePool): void {
  const emitter = pool as EventEmitter
  emitter.on('newListener', (name: string | symbol) => typeof name === 'string' && native.listen(name, true))
  emitter.on('removeListener', (name: string | symbol) => {
    if (typeof name === 'string' && emitter.listenerCount(name) === 0) native.listen(name, false)
  })
}

function newCall(
  fn: string,
  signal: AbortSignal | null | undefined,
  from: AnyFunction,
  resolve: PendingCall['resolve'],
  reject: PendingCall['reject'],
): PendingCall {
  const origin = {}
  Error.captureStackTrace(origin, from)
  return { fn, origin, resolve, reject, id: 0, signal: signal ?? undefined, onAbort: undefined, reason: undefined }
}

function optionsOrInvalid(options: CallOptions | CloseOptions, fn: string | null = null): string {
  try {
    return optionsJson(options, 'signal')
  } catch (error) {
    throw invalid(error, fn)
  }
}

function invalid(error: unknown, fn: string | null = null): unknown {
  return error instanceof TypeError ? refused('INVALID_OPTION', error.message, fn) : thrownBySeam(error)
}
