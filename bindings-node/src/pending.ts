// Calls that are not settled, by the ticket under which core knows them, and how their outcomes are read.

import { hold, release } from './alive.js'
import { errorOf } from './errors.js'
import type { NativePool } from './native.js'
import { unwatchAbort } from './signals.js'
import { decodeOwn, decodeShared } from './values.js'

export interface PendingCall {
  readonly fn: string
  /** Takes its result, or a `Failure`. */
  readonly settle: (outcome: unknown) => void
  /** Its number in core, once that is known. */
  id: number
  readonly signal: AbortSignal | undefined
  onAbort: (() => void) | undefined
  /** Why it was given up, if it was. */
  reason: { readonly cause: unknown } | undefined
}

/** Why a call has no result. The error is made where the call is awaited: so it shows that place, and no call pays for it. */
export class Failure {
  constructor(readonly error: () => unknown) {}
}

export class PendingCalls {
  #next = 0
  readonly #calls = new Map<number, PendingCall>()

  constructor(private readonly holder: object) {}

  add(call: PendingCall): number {
    const ticket = ++this.#next
    if (this.#calls.size === 0) hold(this.holder)
    this.#calls.set(ticket, call)
    return ticket
  }

  /** Settles the calls whose outcomes the seam has. Says whether it has news too. */
  settle(native: NativePool): boolean {
    for (;;) {
      const taken = native.takeSettled(inbox)
      const records = taken >>> 3
      for (let at = 0; at < records * RECORD; at += RECORD) {
        const kind = numbers[at + 1] as number
        if (kind === APART) continue
        const call = this.remove(numbers[at] as number)
        if (call === undefined) continue
        call.settle(sharedOutcome(numbers[at + 2] as number, numbers[at + 3] as number, kind, call.fn))
      }
      if (taken & SOME_APART) this.#settleApart(native.takeApart())
      if (!(taken & MORE_SETTLED)) return (taken & SOME_NEWS) !== 0
    }
  }

  #settleApart(list: unknown[]): void {
    for (let at = 0; at < list.length; at += 3) {
      const call = this.remove(list[at] as number)
      call?.settle(outcomeApart(list, at, call))
    }
  }

  remove(ticket: number): PendingCall | undefined {
    const call = this.#calls.get(ticket)
    if (call === undefined) return undefined
    this.#calls.delete(ticket)
    if (this.#calls.size === 0) release(this.holder)
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

/** The outcome whose payload lies in the inbox. */
function sharedOutcome(from: number, to: number, kind: number, fn: string): unknown {
  try {
    return decodeShared(inbox, from, to, kind, fn)
  } catch (error) {
    return new Failure(() => error)
  }
}
