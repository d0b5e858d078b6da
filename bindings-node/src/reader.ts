// Reads one stream: takes what has come, as much as credit lets come, and tells core as it is used. The end is seen
// whether or not anybody reads: a stream that is over keeps nothing alive.

import { hold, release } from './alive.js'
import type { Bells } from './bells.js'
import { errorOf, refused } from './errors.js'
import { Failure } from './failure.js'
import { type Broken, type Fed, type Feed, unlessBroken } from './feed.js'
import type { NativeStream } from './native.js'
import { takeRecords } from './pending.js'
import { unwatchAbort, watchAbort } from './signals.js'
import { setImmediate } from './timers.js'

export type Step = IteratorResult<unknown, unknown>
type Waiting = (step: Step | Failure) => void

/** The ticket of an end; that of an item is 0. */
const END = 1
/** Core is told of used items by so many: it gathers them anyway. */
const GRANTED_TOGETHER = 8

export interface Reading {
  readonly native: NativeStream
  readonly bells: Bells
  /** Under which the seam rings. */
  readonly number: number
  readonly fn: string
  /** What is kept alive while the stream is open. */
  readonly holder: object
  readonly signal: AbortSignal | undefined
  /** Is told when the stream is no longer open. */
  readonly onEnd: () => void
}

export class Reader implements Fed {
  readonly fn: string
  readonly call: number
  /** Sends the call's input stream. */
  feed: Feed | undefined
  broken: Broken | undefined
  /** Items that were taken, from `#at` on not given yet. */
  #items: unknown[] = []
  #at = 0
  #used = 0
  #isHeavy = false
  /** Comes after the items; undefined before it has come and after it was given. */
  #end: Step | Failure | undefined
  #open = true
  readonly #waiting: Waiting[] = []
  readonly #onAbort = (): void => this.cancel(this.reading.signal?.reason)

  constructor(private readonly reading: Reading) {
    this.fn = reading.fn
    this.call = reading.native.call
    hold(reading.holder)
    if (reading.signal !== undefined) watchAbort(reading.signal, this.#onAbort)
    this.#look()
  }

  /** A promise only if nothing is there. */
  next(): Step | Failure | Promise<Step | Failure> {
    const step = this.#waiting.length === 0 ? this.#step() : undefined
    if (step !== undefined) return step
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Nobody reads any more. */
  leave(): void {
    if (this.#open) this.reading.native.cancel()
    this.#finish(undefined)
  }

  cancel(reason: unknown): void {
    if (!this.#open && this.#isRead()) return
    const json = this.#open ? this.reading.native.cancel() : null
    this.#finish(new Failure(() => cancelled(json, this.reading.fn, reason)))
  }

  ring(): void {
    if (!this.#open) return
    this.#take()
    this.#look()
    this.#serve()
  }

  #isRead(): boolean {
    return this.#at === this.#items.length && this.#end === undefined
  }

  /** The next step if it is here. */
  #step(): Step | Failure | undefined {
    if (this.#at < this.#items.length) {
      const value = this.#items[this.#at]
      this.#items[this.#at++] = undefined
      this.#use()
      return { done: false, value }
    }
    const end = this.#end
    if (end !== undefined) this.#forgetSignal()
    this.#end = undefined
    return end ?? (this.#open ? undefined : { done: true, value: undefined })
  }

  #use(): void {
    this.#used++
    if (!this.#open) return
    if (this.#used < GRANTED_TOGETHER && this.#at < this.#items.length && !this.#isHeavy) return
    this.reading.native.grant(this.#used)
    this.#used = 0
  }

  /** If something is there already it is taken in the next turn of the event loop: a fast worker must not hold up the app. */
  #look(): void {
    if (!this.#open) return
    const { native, bells, number } = this.reading
    if (native.ready(number)) setImmediate(() => this.ring())
    else bells.wait(number, this)
  }

  #take(): void {
    const { native, fn } = this.reading
    this.#items.splice(0, this.#at)
    this.#at = 0
    const isHeavy = takeRecords(native, fn, (ticket, outcome) => {
      if (ticket === END) return this.#close(endOf(unlessBroken(outcome, this.broken)))
      if (!this.#open) return
      if (!(outcome instanceof Failure)) return void this.#items.push(outcome)
      // An item that cannot be read ends the stream in its place.
      native.cancel()
      this.#close(outcome)
    })
    this.#isHeavy = isHeavy || (this.#isHeavy && this.#items.length > 0)
  }

  #serve(): void {
    for (let step = this.#wanted(); step !== undefined; step = this.#wanted()) this.#waiting.shift()?.(step)
  }

  #wanted(): Step | Failure | undefined {
    return this.#waiting.length === 0 ? undefined : this.#step()
  }

  /** Drops what was not given, and ends so. */
  #finish(end: Failure | undefined): void {
    this.#items = []
    this.#at = 0
    this.#close(end)
    this.#serve()
    if (end === undefined) this.#forgetSignal()
  }

  /** Nothing more comes of the pool. */
  #close(end: Step | Failure | undefined): void {
    this.#end = end
    if (!this.#open) return
    this.#open = false
    const { bells, number, holder, onEnd } = this.reading
    bells.forget(number)
    release(holder)
    this.feed?.stop()
    onEnd()
  }

  #forgetSignal(): void {
    if (this.reading.signal !== undefined) unwatchAbort(this.reading.signal, this.#onAbort)
  }
}

function endOf(outcome: unknown): Step | Failure {
  return outcome instanceof Failure ? outcome : { done: true, value: outcome }
}

/** `json` is how the call ended, if it was given up. */
function cancelled(json: string | null, fn: string, cause: unknown): unknown {
  const given = cause === undefined ? undefined : { cause }
  if (json === null) return refused('CANCELLED', 'the call was cancelled', fn, {}, given)
  const error = errorOf(json)
  return error.code === 'CANCELLED' && given !== undefined ? errorOf(json, given) : error
}
