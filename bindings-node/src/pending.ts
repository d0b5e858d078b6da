// Calls that are not settled, by the ticket under which core knows them.

import { hold, release } from './alive.js'
import { errorOf, madeAt } from './errors.js'
import type { Settled } from './native.js'
import { unwatchAbort } from './signals.js'
import { decodeOwn, decodeShared } from './values.js'

export interface PendingCall {
  readonly fn: string
  /** Where it was made. */
  readonly origin: { stack?: string }
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  /** Its number in core, once that is known. */
  id: number
  readonly signal: AbortSignal | undefined
  onAbort: (() => void) | undefined
  /** Why it was given up, if it was. */
  reason: { readonly cause: unknown } | undefined
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

  /** Settles the calls in a list of the seam. */
  settle(list: Settled): void {
    const bytes = list[0]
    for (let index = 2; index < list.length; index += 4) {
      const call = this.remove(list[index] as number)
      if (call === undefined) continue
      try {
        call.resolve(outcome(call, bytes, list[index + 1] as number, list[index + 2], list[index + 3]))
      } catch (error) {
        call.reject(error)
      }
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

const FAILED = -1

/** The result of a call, or its error thrown. */
function outcome(call: PendingCall, bytes: Buffer | null, encoding: number, first: unknown, second: unknown): unknown {
  if (encoding === FAILED) throw madeAt(errorOf(first as string, call.reason), call.origin)
  if (second === null) return decodeOwn(first as Buffer, encoding, call.fn)
  return decodeShared(bytes ?? NO_BYTES, first as number, second as number, encoding, call.fn)
}

const NO_BYTES = Buffer.alloc(0)
