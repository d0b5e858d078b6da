// The items of a call's input stream: those that came and were not taken yet, in order, and who waits for the next.

import { Owed } from './window.js'

interface Arrived {
  /** What the item is, once it is taken: an item that does not fit fails in its turn. */
  read: () => unknown
  bytes: number
}

interface Waiting {
  resolve: (step: IteratorResult<unknown, undefined>) => void
  reject: (error: unknown) => void
}

const DONE: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined })

/** Taking an item gives credit back, so the caller's source is read no faster than this. */
export class Inputs implements AsyncIterableIterator<unknown> {
  readonly #owed: Owed
  /** Credit bounds how many they are. */
  #arrived: Arrived[] = []
  #waiting: Waiting[] = []
  #end: 'open' | 'ended' | { error: unknown } = 'open'

  constructor(give: (items: number, bytes: number) => void) {
    this.#owed = new Owed(give)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<unknown, undefined>> {
    const item = this.#arrived.shift()
    if (item !== undefined) return this.#taken(item)
    if (this.#end === 'ended') return Promise.resolve(DONE)
    if (this.#end !== 'open') return Promise.reject(this.#end.error)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** The function wants no more of it. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.#arrived = []
    this.end()
    return Promise.resolve(DONE)
  }

  put(read: () => unknown, bytes: number): void {
    if (this.#end !== 'open') return
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#arrived.push({ read, bytes })
    else this.#taken({ read, bytes }).then(waiting.resolve, waiting.reject)
  }

  end(): void {
    if (this.#end !== 'open') return
    this.#end = 'ended'
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(DONE)
  }

  /** What has not been taken is of no use any more. */
  fail(error: unknown): void {
    if (typeof this.#end === 'object') return
    this.#end = { error }
    this.#arrived = []
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
  }

  async #taken(item: Arrived): Promise<IteratorYieldResult<unknown>> {
    this.#owed.read(item.bytes)
    return { done: false, value: item.read() }
  }
}
