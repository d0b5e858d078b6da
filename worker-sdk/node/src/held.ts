// Which inputs something in this worker may still look at. Only a collection tells that nothing does, so it is seen to that there is
// one: after an answer, when much is held; and when the worker has been idle for a while, for the rest.

import * as collecting from './collecting.js'
import { MANY_BYTES } from './collecting.js'
import type { Seq } from './protocol.js'

/** The part of an arena that may lie with one worker for want of a collection. */
const PART = 32
const IDLE_MS = 20
/** Then what has survived some collections is looked for as well: in vain twice as late the next time, up to a limit. */
const LONG_IDLE_MS = 1000
const LONGEST_IDLE_MS = 60_000

/** How to look for what nobody can reach; tests have one that counts. */
export type Collector = Pick<
  typeof collecting,
  'collectAll' | 'collectAlone' | 'collectMany' | 'collectYoung' | 'giveUpAtOnce' | 'heapIsSmall'
>

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
  /** How many of answered calls outlived the last look at everything, and when that was. */
  #kept = 0
  #keptSince = 0
  #lookedAtAll = false
  #answeredAt = 0
  #patienceMs = LONG_IDLE_MS
  #timer: NodeJS.Timeout | undefined

  constructor(
    arenaSize: number,
    private readonly giveBack: (seq: Seq) => void,
    private readonly collector: Collector = collecting,
  ) {
    this.#most = Math.min(MANY_BYTES, arenaSize / PART)
    collector.giveUpAtOnce()
  }

  add(seq: Seq, bytes: number): void {
    if (bytes >= MANY_BYTES) this.collector.collectAlone()
    this.#held.set(seq, { bytes, told: false })
    this.#bytes += bytes
  }

  /** Nothing looks at it any more. */
  remove(seq: Seq): void {
    const held = this.#held.get(seq)
    if (held === undefined) return
    this.#held.delete(seq)
    this.#bytes -= held.bytes
    this.#patienceMs = LONG_IDLE_MS
    if (held.told) this.giveBack(seq)
  }

  /** A call is being answered. Whether something may still look at its input. */
  isHeldAtAnswer(seq: Seq): boolean {
    if (this.#held.size === 0) return false
    this.#answeredAt = performance.now()
    this.#timer ??= setTimeout(() => this.#idle(), IDLE_MS).unref()
    const held = this.#held.get(seq)
    if (held === undefined) return false
    held.told = true
    if (this.#bytes >= this.#most && !this.#looksSoon) {
      this.#looksSoon = true
      // Once the call's own stack is gone.
      setImmediate(() => this.#look())
    }
    return true
  }

  #look(): void {
    this.#looksSoon = false
    if (this.#bytes < MANY_BYTES) return this.collector.collectYoung()
    this.collector.collectMany()
    // In a large heap V8 goes on looking by itself, beside what the worker does.
    if (this.collector.heapIsSmall()) this.#lookForOld()
  }

  /** What is there still from calls before the last is no longer young: only a look at everything finds it. In vain, it is left alone for a while. */
  #lookForOld(): void {
    const old = this.#told() - 1
    this.#kept = this.#lookedAtAll ? old : Math.min(this.#kept, old)
    const isLate = old > 0 && this.#answeredAt - this.#keptSince > this.#patienceMs
    this.#lookedAtAll = old > this.#kept || isLate
    if (!this.#lookedAtAll) return
    this.collector.collectAll()
    this.#keptSince = this.#answeredAt
    if (isLate) this.#loseHope()
  }

  #loseHope(): void {
    this.#patienceMs = Math.min(2 * this.#patienceMs, LONGEST_IDLE_MS)
  }

  #told(): number {
    let told = 0
    for (const held of this.#held.values()) if (held.told) told++
    return told
  }

  #idle(): void {
    this.#timer = undefined
    if (this.#held.size === 0) return
    const idle = performance.now() - this.#answeredAt
    if (idle < IDLE_MS) this.#wait(IDLE_MS)
    else if (idle < this.#patienceMs) {
      this.collector.collectYoung()
      this.#wait(this.#patienceMs - idle + IDLE_MS)
    } else {
      this.collector.collectAll()
      this.#loseHope()
    }
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#idle(), ms).unref()
  }
}
