// What is kept of calls, by their numbers. Most workers run one call at a time, and a map that is filled and emptied for each
// is slow: the first entry lies outside of it.

import type { Seq } from './protocol.js'

export class BySeq<Kept> {
  #seq: Seq | undefined
  #kept: Kept | undefined
  readonly #others = new Map<Seq, Kept>()

  get isEmpty(): boolean {
    return this.#seq === undefined && this.#others.size === 0
  }

  has(seq: Seq): boolean {
    return seq === this.#seq || (this.#others.size > 0 && this.#others.has(seq))
  }

  get(seq: Seq): Kept | undefined {
    if (seq === this.#seq) return this.#kept
    return this.#others.size > 0 ? this.#others.get(seq) : undefined
  }

  set(seq: Seq, kept: Kept): void {
    if (seq !== this.#seq && (this.#seq !== undefined || this.#others.has(seq))) this.#others.set(seq, kept)
    else {
      this.#seq = seq
      this.#kept = kept
    }
  }

  delete(seq: Seq): void {
    if (seq === this.#seq) {
      this.#seq = undefined
      this.#kept = undefined
    } else if (this.#others.size > 0) this.#others.delete(seq)
  }
}
