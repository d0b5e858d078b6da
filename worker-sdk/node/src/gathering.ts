// The batch that is coming in (SPEC 5.3): its calls come one after the other, and the last one sets it going.

import { owned } from './call.js'
import type { Call } from './effects.js'
import { type InBatch, type Seq, Violation } from './protocol.js'

export class Gathering {
  #batch: { first: Seq; last: Seq; calls: Call[] } | undefined

  /** The call of this number is one of it, whatever becomes of it. */
  join(seq: Seq, { first, count }: InBatch): void {
    const last = first + count - 1
    if (seq < first || seq > last || first !== (this.#batch?.first ?? first) || last !== (this.#batch?.last ?? last))
      throw new Violation(`seq ${seq} is in a batch of ${count} that begins with ${first}`)
    this.#batch ??= { first, last, calls: [] }
  }

  /** False: it goes by itself, and may be one whose pieces went between the calls of a batch. */
  add(call: Call): boolean {
    const { first, last, calls } = this.#batch ?? NO_BATCH
    const within = call.seq >= first && call.seq <= last
    if (within) calls.push(owned(call))
    return within
  }

  /** Whether the call had not begun: the rest of its batch was still to come. */
  leave(seq: Seq): boolean {
    const calls = this.#batch?.calls ?? []
    const at = calls.findIndex((call) => call.seq === seq)
    if (at >= 0) calls.splice(at, 1)
    return at >= 0
  }

  /** The calls to run now, if `seq` is the last of them, be it refused itself. */
  complete(seq: Seq): readonly Call[] {
    if (this.#batch === undefined || seq < this.#batch.last) return NONE
    const { calls } = this.#batch
    this.#batch = undefined
    return calls
  }
}

const NONE: readonly Call[] = []
const NO_BATCH = { first: Infinity, last: 0, calls: [] as Call[] }
