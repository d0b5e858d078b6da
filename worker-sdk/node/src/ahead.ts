// Calls that were handed over ahead (SPEC 5.4): they wait here until it is their turn, and are the host's until they are claimed.

import { owned } from './call.js'
import type { Call, Claim } from './effects.js'
import type { Seq } from './protocol.js'

export class Ahead {
  /** In the order in which they came. */
  readonly #line: Call[] = []
  #takesUp = false

  constructor(
    private readonly claim: () => Claim,
    /** Nothing runs, and no call that came before is still on its way. */
    private readonly isFree: () => boolean,
    private readonly settle: { begin(call: Call): void; forget(seq: Seq): void },
  ) {}

  get isEmpty(): boolean {
    return this.#line.length === 0
  }

  has(seq: Seq): boolean {
    return this.#line.some((call) => call.seq === seq)
  }

  add(call: Call): void {
    this.#line.push(call)
  }

  /** Lets go of all of them: the host has taken them back. */
  clear(): void {
    for (const { seq } of this.#line.splice(0)) this.settle.forget(seq)
  }

  /** Takes up one after the other while it is their turn. A loop: calls that end at once must not pile up on the stack. */
  takeUp(): void {
    if (this.#takesUp) return
    this.#takesUp = true
    try {
      while (this.#line.length > 0 && this.isFree() && this.#takeNext());
    } finally {
      this.#takesUp = false
    }
    this.#keep()
  }

  #takeNext(): boolean {
    const claimed = this.claim()
    if (claimed === 'later') return false
    const call = this.#line.shift() as Call
    if (claimed === 'taken') this.settle.begin(call)
    else this.settle.forget(call.seq)
    return true
  }

  #keep(): void {
    for (let at = 0; at < this.#line.length; at++) this.#line[at] = owned(this.#line[at] as Call)
  }
}
