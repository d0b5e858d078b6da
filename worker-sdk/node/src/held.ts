// Which inputs something in this worker may still look at. Only a collection tells that nothing does, so it is seen to that there is
// one: after an answer, when much is held; and when the worker has been idle for a while, for the rest.

import { collectMany, collectNow, MANY_BYTES } from './collecting.js'
import type { Seq } from './protocol.js'

/** The part of an arena that may lie with one worker for want of a collection. */
const PART = 32
const IDLE_MS = 20
/** Then what has survived some collections is looked for as well, once. */
const LONG_IDLE_MS = 1000

interface Held {
  bytes: number
  /** The host was told so with the call's answer, and waits for it to be given back. */
  told: boolean
}

export class HeldViews {
  readonly #held = new Map<Seq, Held>()
  readonly #most: number
  #bytes = 0
  #looksSoon = false
  #answeredAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(
    arenaSize: number,
    private readonly giveBack: (seq: Seq) => void,
  ) {
    this.#most = Math.min(MANY_BYTES, arenaSize / PART)
  }

  add(seq: Seq, bytes: number): void {
    this.#held.set(seq, { bytes, told: false })
    this.#bytes += bytes
  }

  /** Nothing looks at it any more. */
  remove(seq: Seq): void {
    const held = this.#held.get(seq)
    if (held === undefined) return
    this.#held.delete(seq)
    this.#bytes -= held.bytes
    if (held.told) this.giveBack(seq)
  }

  isHeldAtAnswer(seq: Seq): boolean {
    const held = this.#held.get(seq)
    if (held === undefined) return false
    held.told = true
    this.#answeredAt = performance.now()
    if (this.#bytes >= this.#most && !this.#looksSoon) {
      this.#looksSoon = true
      // Once the call's own stack is gone.
      setImmediate(() => this.#look())
    }
    this.#timer ??= setTimeout(() => this.#idle(), IDLE_MS).unref()
    return true
  }

  #look(): void {
    this.#looksSoon = false
    if (this.#bytes >= MANY_BYTES) collectMany()
    else collectNow('minor')
  }

  #idle(): void {
    this.#timer = undefined
    if (this.#held.size === 0) return
    const idle = performance.now() - this.#answeredAt
    if (idle < IDLE_MS) this.#timer = setTimeout(() => this.#idle(), IDLE_MS).unref()
    else if (idle < LONG_IDLE_MS) {
      collectNow('minor')
      this.#timer = setTimeout(() => this.#idle(), LONG_IDLE_MS).unref()
    } else collectNow('major')
  }
}
