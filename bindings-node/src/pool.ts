// The pool as apps hold it.

import { EventEmitter } from 'node:events'
import { isMainThread } from 'node:worker_threads'
import type { Source } from '../../worker-sdk/node/src/items.js'
import { Awaited } from './awaited.js'
import { Bells } from './bells.js'
import { Call } from './call.js'
import { type AnyFunction, abortedBefore, madeIn, refused, thrownBySeam } from './errors.js'
import { type Fed, Feed, inputsSource } from './feed.js'
import type { PoolEventName, PoolEvents } from './generated/events.js'
import type { CloseOptions } from './generated/options.js'
import type { CallInfo, FunctionInfo, Stats } from './generated/stats.js'
import {
  callOptionsJson,
  invalid,
  nameOf,
  OF_BROADCAST,
  OF_POOL,
  observerOf,
  optionsOrInvalid,
  refuseFlawed,
} from './given.js'
import { isOfItself, refuseWhileLoading } from './itself.js'
import { follower, tell } from './listeners.js'
import { forward } from './logger.js'
import { Blocks, empty, lookForGone } from './memory.js'
import { type NativeInputs, NativePool } from './native.js'
import { optionsJson } from './options.js'
import { resultOf, workerOutcomes } from './outcomes.js'
import { type PendingCall, PendingCalls, pendingCall } from './pending.js'
import { type UncheckedWorkers, workersProxy } from './proxy.js'
import { Reader } from './reader.js'
import { unwatchAbort, watchAbort } from './signals.js'
import { Stream } from './stream.js'
import type { BroadcastOptions, CallOptions, Invitation, PoolOptions, StreamOptions, WorkerOutcome } from './surface.js'
import { letTurn } from './turns.js'
import { encodeInput } from './values.js'

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
  readonly #bells = new Bells()
  readonly #pending = new PendingCalls(this, this.#bells)
  readonly #awaited = new Awaited(this)
  readonly #blocks: Blocks
  readonly #isOfItself: boolean
  readonly #follow: () => void
  readonly #warned = new Set<string>()
  #droppedEvents = 0
  /** What has come is taken in the loop's next turn. */
  #isPutOff = false

  constructor(options: PoolOptions) {
    super()
    const logger = options?.logger
    try {
      if (logger !== undefined && logger !== null) refuseFlawed(logger)
      this.#native = new NativePool(optionsJson(options, OF_POOL), waker(new WeakRef(this)), isMainThread)
    } catch (error) {
      throw invalid(error)
    }
    this.#isOfItself = isOfItself(options.node)
    this.#blocks = new Blocks(this.#native)
    this.name = this.#native.name
    dropped.register(this, this.name, this)
    this.#follow = follower(this as EventEmitter, this.#native)
    this.#follow()
    if (logger !== undefined && logger !== null) this.on('worker:log', (event) => forward(logger, event))
  }

  /** Calls a function of a worker. The result is null where the function returned nothing. */
  async call<T = unknown>(fn: string, input?: unknown, options?: CallOptions | null): Promise<T> {
    return resultOf<T>(await this.#submit(fn, input, options, this.call).outcome, this.call)
  }

  /** The same, but returns what can be given up without an AbortSignal. */
  submit<T = unknown>(fn: string, input?: unknown, options?: CallOptions | null): Call<T> {
    let submitted: Submitted
    try {
      submitted = this.#submit(fn, input, options, this.submit)
    } catch (error) {
      return new Call<T>(0, fn, Promise.reject(error), () => {})
    }
    const { outcome, pending } = submitted
    const result = async (): Promise<T> => resultOf<T>(await outcome, result)
    return new Call(pending.id, fn, result(), (reason) => this.#cancel(pending, reason))
  }

  /**
   * Calls a function that yields many values, and gives them as they come: `for await (const item of pool.stream('llm.tokens', { prompt }))`. What is wrong with
   * the call is told when the first item is asked for.
   */
  stream<T = unknown>(fn: string, input?: unknown, options?: StreamOptions | null): Stream<T> {
    try {
      return new Stream<T>(fn, this.#open(nameOf(fn), input, options))
    } catch (error) {
      return new Stream<T>(String(fn), { error: madeIn(this.stream, error) })
    }
  }

  /**
   * The functions of the workers as functions: `proxy.prices.convert(input)` is `call('prices.convert', input)`, and
   * `proxy.llm.tokens.stream(input)` is `stream('llm.tokens', input)`. Options come behind the input; those given here are for all its calls.
   * Names that no dot reaches are written whole: `proxy['my-file.convert']`. `ganger types` writes types for it.
   */
  proxy<Workers extends object = UncheckedWorkers>(options?: CallOptions | null): Workers {
    return workersProxy(this, options) as Workers
  }

  /**
   * Calls a function once on every worker that is ready now, before the calls that wait. Resolves when all are over, with what
   * became of each, in the order of workers; with nothing if no worker is ready. Fails only if it cannot be made, or is aborted.
   */
  async broadcast<T = unknown>(
    fn: string,
    input?: unknown,
    options?: BroadcastOptions | null,
  ): Promise<WorkerOutcome<T>[]> {
    const signal = options?.signal ?? undefined
    let calls: number[] = []
    const giveUp = (): void => this.#native.cancelAll(calls)
    try {
      const json = callOptionsJson(nameOf(fn), options, OF_BROADCAST)
      if (signal?.aborted) throw abortedBefore(signal, fn)
      const { bytes, length, encoding } = encodeInput(input, fn)
      const block = this.#blocks.find(bytes)
      const list = await this.#awaited.begin<unknown[]>((number) => {
        calls = this.#native.broadcast(number, fn, bytes, length, block ?? encoding, json)
        if (block !== undefined) empty(bytes.buffer)
        if (signal !== undefined) watchAbort(signal, giveUp)
      })
      return workerOutcomes<T>(list, fn, signal)
    } catch (error) {
      throw madeIn(this.broadcast, error)
    } finally {
      if (signal !== undefined) unwatchAbort(signal, giveUp)
    }
  }

  /**
   * A buffer for the input of a call, in memory where workers look: what is made in it and passed as the whole input is not copied at all.
   * The call takes it: from then on it is empty, and it cannot be passed again. It is not zeroed. One for which there is no room, or
   * that is too short for it to matter, lies in the app's own memory and behaves alike. A Python function gets it as a memoryview unless its
   * parameter says otherwise.
   */
  alloc(bytes: number): Buffer {
    if (!Number.isSafeInteger(bytes) || bytes < 0)
      throw refused('INVALID_INPUT', `a number of bytes is expected, not ${String(bytes)}`)
    return this.#blocks.alloc(bytes)
  }

  /**
   * Starts workers ahead of calls. Resolves when so many are ready, by default all that the pool may have; fails with
   * START_FAILED if they cannot be started.
   */
  async warm(workers?: number): Promise<void> {
    if (workers !== undefined && !(Number.isInteger(workers) && workers >= 0 && workers <= ALL))
      throw refused('INVALID_OPTION', `a number of workers is expected, not ${String(workers)}`)
    await this.#awaited.begin((number) => this.#native.warm(workers ?? ALL, number))
  }

  /** Resolves as soon as a call that is made now finds room, at once if it does already; fails if the pool closes before. */
  async ready(): Promise<void> {
    await this.#awaited.begin((number) => this.#native.ready(number))
  }

  /** Resolves as soon as no call waits or runs, at once if none does. */
  async drained(): Promise<void> {
    await this.#awaited.begin((number) => this.#native.drained(number))
  }

  /** Replaces every worker by one that loads the code anew. It is ready before the old one leaves; code that cannot start keeps it. */
  reload(): void {
    this.#native.reload()
  }

  /** What the pool does now and has done. */
  stats(): Stats {
    return JSON.parse(this.#native.stats()) as Stats
  }

  /** The calls that run or wait now, oldest first. */
  calls(): CallInfo[] {
    return JSON.parse(this.#native.calls()) as CallInfo[]
  }

  /**
   * The last 10 000 things that the pool heard and decided by, about three a call, as text: to send with a report of what went wrong. It has ids, sizes and times,
   * and no names, inputs or results. `ganger replay` plays it again while its beginning is among them.
   */
  flightRecord(): string {
    return this.#native.flightRecord()
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

  /** With them may go those by which core is told who listens. */
  override removeAllListeners(...name: [name?: PoolEventName]): this {
    // No name is not the same as undefined.
    super.removeAllListeners(...name)
    this.#follow()
    return this
  }

  #submit(fn: string, input: unknown, options: CallOptions | null | undefined, from: AnyFunction): Submitted {
    const signal = options?.signal ?? undefined
    let settle!: PendingCall['settle']
    const outcome = new Promise<unknown>((resolve) => {
      settle = resolve
    })
    const pending = pendingCall(fn, settle, signal, observerOf(options))
    try {
      this.#begin(pending, input, options)
    } catch (error) {
      throw madeIn(from, error)
    }
    return { outcome, pending }
  }

  #begin(call: PendingCall, input: unknown, options: CallOptions | null | undefined): void {
    const { fn, signal } = call
    if (this.#isOfItself) refuseWhileLoading(fn)
    const json = callOptionsJson(nameOf(fn), options)
    if (signal?.aborted) throw abortedBefore(signal, fn)
    const source = inputsSource(options?.inputs, fn)
    const { bytes, length, encoding } = encodeInput(input, fn)
    const block = this.#blocks.find(bytes)
    const ticket = this.#pending.add(call)
    try {
      this.#hand(call, ticket, source, [fn, bytes, length, block ?? encoding, json])
      if (block !== undefined) empty(bytes.buffer)
      lookForGone(length)
    } catch (error) {
      this.#pending.remove(ticket)
      throw thrownBySeam(error)
    }
    if (signal === undefined) return
    call.onAbort = () => this.#cancel(call, signal.reason)
    watchAbort(signal, call.onAbort)
  }

  #hand(call: PendingCall, ticket: number, source: Source | undefined, made: Made): void {
    if (source === undefined && call.onProgress === undefined) {
      call.id = this.#native.submit(ticket, ...made)
      return
    }
    const beside = { ticket, inputs: source !== undefined, progress: call.onProgress !== undefined }
    const [id, inputs] = this.#native.submitWith(beside, ...made)
    call.id = id
    call.feed = this.#feed(source, inputs, ticket, call)
  }

  #open(fn: string, input: unknown, options: StreamOptions | null | undefined): Reader {
    if (this.#isOfItself) refuseWhileLoading(fn)
    const signal = options?.signal ?? undefined
    const json = callOptionsJson(fn, options)
    if (signal?.aborted) throw abortedBefore(signal, fn)
    const source = inputsSource(options?.inputs, fn)
    const { bytes, length, encoding } = encodeInput(input, fn)
    const block = this.#blocks.find(bytes)
    const number = this.#pending.observe(observerOf(options))
    const beside = { ticket: number, inputs: source !== undefined, progress: this.#pending.observes(number) }
    const onEnd = (): void => this.#pending.ignore(number, this.#native)
    try {
      const [native, inputs] = this.#native.stream(beside, fn, bytes, length, block ?? encoding, json)
      if (block !== undefined) empty(bytes.buffer)
      const reader = new Reader({ native, bells: this.#bells, number, fn, holder: this, signal, onEnd })
      reader.feed = this.#feed(source, inputs, number, reader)
      return reader
    } catch (error) {
      onEnd()
      throw thrownBySeam(error)
    }
  }

  #feed(source: Source | undefined, inputs: NativeInputs | null, ticket: number, call: Fed): Feed | undefined {
    if (source === undefined || inputs === null) return undefined
    const to = {
      native: this.#native,
      inputs,
      blocks: this.#blocks,
      bells: this.#bells,
      number: ticket + 1,
      fn: call.fn,
    }
    return new Feed(source, to, call)
  }

  /** Core settles it now or has done so; the outcome comes the usual way. */
  #cancel(call: PendingCall, cause: unknown): void {
    if (call.id === 0) return
    call.reason ??= cause === undefined ? undefined : { cause }
    call.feed?.stop()
    this.#native.cancel(call.id)
  }

  async #end(begin: (ending: number) => void): Promise<void> {
    await this.#awaited.begin((ending) => {
      begin(ending)
      dropped.unregister(this)
    })
  }

  /** @internal The seam has something for us. It does not say so again before that was taken. */
  [wakeUp](): void {
    // Once: what an app does in one such turn may take so long that there are answers for a second one, and others would never have theirs.
    if (this.#isPutOff) return
    this.#isPutOff = letTurn(() => {
      this.#isPutOff = false
      this.#take()
    })
  }

  #take(): void {
    if (!this.#pending.settle(this.#native)) return
    const [events, lost, awaited, gathered] = this.#native.takeNews()
    for (const event of events) tell(this as EventEmitter, event, this.#warned)
    if (lost > 0 && this.#droppedEvents === 0)
      process.emitWarning(`pool ${this.name}: listeners are too slow, events are being dropped`, 'GangerWarning')
    this.#droppedEvents += lost
    for (const [number, error] of awaited) this.#awaited.isSo(number, error)
    for (let at = 0; at < gathered.length; at += 2) this.#awaited.hasCome(gathered[at] as number, gathered[at + 1])
  }
}

/** More workers than a pool can have. */
const ALL = 2 ** 32 - 1

/** What a call is made of for the seam. */
type Made = Parameters<NativePool['submit']> extends [number, ...infer Rest] ? Rest : never

interface Submitted {
  outcome: Promise<unknown>
  pending: PendingCall
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
