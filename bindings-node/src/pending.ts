// Calls that are not settled, by the ticket under which core knows them, and how their outcomes are read.

import { hold, release } from './alive.js'
import type { Bells } from './bells.js'
import { errorOf } from './errors.js'
import { Failure } from './failure.js'
import { type Fed, type Feed, unlessBroken } from './feed.js'
import { tellProgress } from './listeners.js'
import type { NativePool, NativeStream } from './native.js'
import { unwatchAbort } from './signals.js'
import type { Progress } from './surface.js'
import { decodeOwn, decodeShared } from './values.js'

export interface PendingCall extends Fed {
  /** Takes its result, or a `Failure`. */
  readonly settle: (outcome: unknown) => void
  /** Its number in core, once that is known. */
  id: number
  readonly signal: AbortSignal | undefined
  onAbort: (() => void) | undefined
  /** Why it was given up, if it was. */
  reason: { readonly cause: unknown } | undefined
  onProgress: OnProgress | undefined
  /** Sends its input stream. */
  feed: Feed | undefined
}

/** A call that begins. Field by field: every call goes through here, and copying a pattern takes longer. */
export function pendingCall(
  fn: string,
  settle: PendingCall['settle'],
  signal: AbortSignal | undefined,
  onProgress: OnProgress | undefined,
): PendingCall {
  return {
    fn,
    settle,
    id: 0,
    signal,
    onAbort: undefined,
    reason: undefined,
    onProgress,
    feed: undefined,
    broken: undefined,
  }
}

export type OnProgress = (progress: Progress) => unknown

export class PendingCalls {
  #next = 0
  readonly #calls = new Map<number, PendingCall>()
  /** Who hears how far streams are. Calls that are settled one by one keep that themselves. */
  readonly #observers = new Map<number, OnProgress>()

  constructor(
    private readonly holder: object,
    private readonly bells: Bells,
  ) {}

  /** A number for a ticket; the next one is that of its input stream. */
  #number(): number {
    this.#next += 2
    return this.#next
  }

  /** The number of a stream. */
  observe(observer: OnProgress | undefined): number {
    const number = this.#number()
    if (observer !== undefined) this.#observers.set(number, observer)
    return number
  }

  observes(stream: number): boolean {
    return this.#observers.has(stream)
  }

  /** What was said before its end is told before. */
  ignore(stream: number, native: NativePool): void {
    if (!this.#observers.has(stream)) return
    this.#report(native)
    this.#observers.delete(stream)
  }

  add(call: PendingCall): number {
    const ticket = this.#number()
    if (this.#calls.size === 0) hold(this.holder)
    this.#calls.set(ticket, call)
    return ticket
  }

  /** Settles the calls whose outcomes the seam has. Says whether it has news too. */
  settle(native: NativePool): boolean {
    for (;;) {
      const taken = native.takeSettled(inbox)
      const records = taken >>> 5
      // Before the outcomes, which are apart from the seam's next answers only as long as they lie in the inbox.
      if (taken & SOME_PROGRESS) this.#report(native)
      for (let at = 0; at < records * RECORD; at += RECORD) {
        const kind = numbers[at + 1] as number
        if (kind === APART) continue
        const call = this.remove(numbers[at] as number)
        if (call === undefined) continue
        const outcome = sharedOutcome(numbers[at + 2] as number, numbers[at + 3] as number, kind, call.fn)
        call.settle(outcome)
      }
      if (taken & SOME_APART) this.#settleApart(native.takeApart())
      if (taken & SOME_BELLS) this.bells.ring(native.takeBells())
      if (!(taken & MORE_SETTLED)) return (taken & SOME_NEWS) !== 0
    }
  }

  #report(native: NativePool): void {
    for (const [ticket, done, total, note] of native.takeProgress()) {
      const observer = this.#calls.get(ticket)?.onProgress ?? this.#observers.get(ticket)
      if (observer !== undefined) tellProgress(observer, { done, total: total ?? null, note: note ?? null })
    }
  }

  #settleApart(list: unknown[]): void {
    for (let at = 0; at < list.length; at += 3) {
      const call = this.remove(list[at] as number)
      call?.settle(unlessBroken(outcomeApart(list, at, call), call.broken))
    }
  }

  remove(ticket: number): PendingCall | undefined {
    const call = this.#calls.get(ticket)
    if (call === undefined) return undefined
    this.#calls.delete(ticket)
    if (this.#calls.size === 0) release(this.holder)
    call.feed?.stop()
    if (call.signal !== undefined && call.onAbort !== undefined) unwatchAbort(call.signal, call.onAbort)
    return call
  }
}

/** The three elements at `at` in a list of outcomes that lie apart: see native/src/delivery.rs. */
export function outcomeApart(list: unknown[], at: number, call: Pick<PendingCall, 'fn' | 'reason'>): unknown {
  const kind = list[at + 1] as number
  if (kind === APART) return new Failure(() => errorOf(list[at + 2] as string, call.reason))
  try {
    return decodeOwn(list[at + 2] as ArrayBuffer, kind, call.fn)
  } catch (error) {
    return new Failure(() => error)
  }
}

/** What the seam writes outcomes into, in the format of native/src/delivery.rs. All pools share it: it is read at once. */
const inbox = Buffer.allocUnsafeSlow(64 * 1024)
const numbers = new Float64Array(inbox.buffer)
/** Numbers of a record. */
const RECORD = 4
const APART = -1
const SOME_NEWS = 1
const SOME_APART = 2
const MORE_SETTLED = 4
const SOME_PROGRESS = 8
const SOME_BELLS = 16

/** Takes what has come for a stream, in order. True: some of it was large. */
export function takeRecords(
  native: NativeStream,
  fn: string,
  visit: (ticket: number, outcome: unknown) => void,
): boolean {
  const taken = native.take(inbox)
  const isHeavy = (taken & 1) !== 0
  const apart = isHeavy ? native.takeApart() : []
  let next = 0
  for (let at = 0; at < (taken >>> 1) * RECORD; at += RECORD) {
    const [ticket, kind] = [numbers[at] as number, numbers[at + 1] as number]
    if (kind !== APART) {
      visit(ticket, sharedOutcome(numbers[at + 2] as number, numbers[at + 3] as number, kind, fn))
      continue
    }
    visit(ticket, outcomeApart(apart, next, { fn, reason: undefined }))
    next += 3
  }
  return isHeavy
}

/** The outcome whose payload lies in the inbox. */
function sharedOutcome(from: number, to: number, kind: number, fn: string): unknown {
  try {
    return decodeShared(inbox, from, to, kind, fn)
  } catch (error) {
    return new Failure(() => error)
  }
}
