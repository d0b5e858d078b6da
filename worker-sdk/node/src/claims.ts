// The tokens of calls that were handed over ahead: one is taken when all that was sent is with the kernel, so that a call which
// was answered is never lost and one that was not claimed never began. And the event loop is let breathe in between.

import { readSync } from 'node:fs'
import type { Claim } from './effects.js'
import { loadNative, type Native } from './native.js'
import type { Outbox } from './outbox.js'

/** So many calls in a row, or for so long, and timers, cancels and other IO have their turn. */
const MOST_IN_A_ROW = 64
const LONGEST_ROW_MS = 5
/** The global one is looked up each time. */
const clock = performance

export class Claims {
  readonly #token = Buffer.alloc(8)
  #inARow = 0
  #rowBegan = 0
  #breathes = false
  /** Undefined before the first claim, null without the native part. */
  #native: Native | null | undefined

  constructor(
    private readonly fd: number,
    private readonly outbox: Outbox,
    /** It may be the next one's turn. */
    private readonly goOn: () => void,
  ) {
    outbox.onDrained = goOn
  }

  /** The event loop has turned. */
  beginRow(): void {
    this.#inARow = 0
    this.#rowBegan = clock.now()
  }

  claim(): Claim {
    if (this.#breathes || this.#isLong()) return 'later'
    this.#inARow++
    if (this.#native === undefined) this.#native = loadNative() ?? null
    if (this.#native !== null) return this.outbox.flushAndClaim(this.#native, this.fd)
    this.outbox.flush()
    if (!this.outbox.isEmpty) return 'later'
    return this.#take() ? 'taken' : 'gone'
  }

  #isLong(): boolean {
    if (this.#inARow < MOST_IN_A_ROW && clock.now() - this.#rowBegan < LONGEST_ROW_MS) return false
    this.#breathes = true
    setImmediate(() => {
      this.#breathes = false
      this.beginRow()
      this.goOn()
    })
    return true
  }

  #take(): boolean {
    try {
      readSync(this.fd, this.#token, 0, this.#token.length, null)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      return false
    }
  }
}
