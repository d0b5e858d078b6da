// Which parts of this worker's result arena are free. Numbers only: it touches no memory. Blocks come in classes of length,
// four to each doubling, so that a block that is free again serves the next result of about its length.

const GRAIN = 16 * 1024

interface Span {
  offset: number
  length: number
}

export class Blocks {
  readonly #taken = new Map<number, number>()
  /** Offsets of blocks that are free again, by length: the one that became free last is taken first. */
  readonly #kept = new Map<number, number[]>()
  /** What is no block, by offset. */
  #bare: Span[]

  constructor(size: number) {
    const whole = size - (size % GRAIN)
    this.#bare = whole === 0 ? [] : [{ offset: 0, length: whole }]
  }

  /** The offset of a block for so many bytes; undefined: there is no room. */
  take(bytes: number): number | undefined {
    const length = classOf(bytes)
    let offset = this.#kept.get(length)?.pop() ?? this.#takeBare(length)
    if (offset === undefined && this.#join()) offset = this.#takeBare(length)
    if (offset !== undefined) this.#taken.set(offset, length)
    return offset
  }

  /** An offset at which no block is taken is ignored (R45). */
  give(offset: number): void {
    const length = this.#taken.get(offset)
    if (length === undefined) return
    this.#taken.delete(offset)
    const kept = this.#kept.get(length)
    if (kept === undefined) this.#kept.set(length, [offset])
    else kept.push(offset)
  }

  /** The first that is long enough: low addresses stay in use. */
  #takeBare(length: number): number | undefined {
    const index = this.#bare.findIndex((span) => span.length >= length)
    const span = this.#bare[index]
    if (span === undefined) return undefined
    const { offset } = span
    if (span.length === length) this.#bare.splice(index, 1)
    else this.#bare[index] = { offset: offset + length, length: span.length - length }
    return offset
  }

  /** Gives up what is kept and makes one span of neighbours. False: nothing was kept. */
  #join(): boolean {
    const free = [...this.#kept].flatMap(([length, offsets]) => offsets.map((offset) => ({ offset, length })))
    if (free.length === 0) return false
    this.#kept.clear()
    const joined: Span[] = []
    for (const span of [...this.#bare, ...free].sort((left, right) => left.offset - right.offset)) {
      const before = joined.at(-1)
      if (before !== undefined && before.offset + before.length === span.offset) before.length += span.length
      else joined.push({ ...span })
    }
    this.#bare = joined
    return true
  }
}

/** The length of a block for so many bytes: a fourth of a power of two at most above them. */
function classOf(bytes: number): number {
  const least = Math.max(bytes, GRAIN)
  const step = Math.max(2 ** Math.ceil(Math.log2(least)) / 8, GRAIN)
  return Math.ceil(least / step) * step
}
