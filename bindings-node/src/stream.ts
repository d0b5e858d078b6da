// A stream as apps hold it: an async iterator of the items that a function yields.

import { madeIn } from './errors.js'
import { Failure } from './failure.js'
import type { Reader, Step } from './reader.js'

/**
 * What `Pool.stream` returns. The call begins at once; items come as they are asked for, and the function may be ahead of who
 * reads by 64 of them or 4 MiB. Leaving a `for await` early, `return()`, `cancel()`, an aborted signal, and letting go of the stream
 * give the call up. Like any iterator it is read once.
 */
export class Stream<T = unknown> implements AsyncIterableIterator<T>, AsyncDisposable {
  /** The call's number in the pool, as `Pool.calls` and events know it; 0 if it was refused at once. */
  readonly id: number
  /** The function that was called. */
  readonly function: string
  readonly #reader: Reader | undefined
  /** Why there is no reader, until that was told. */
  #refused: { readonly error: unknown } | undefined

  /** @internal */
  constructor(fn: string, reader: Reader | { readonly error: unknown }) {
    this.function = fn
    if ('error' in reader) {
      this.id = 0
      this.#refused = reader
      return
    }
    this.id = reader.call
    this.#reader = reader
    forgotten.register(this, reader)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next item; after the last one `done`, with what the function returned beside its items. */
  next(): Promise<IteratorResult<T, unknown>> {
    const step = this.#reader === undefined ? this.#refusal() : this.#reader.next()
    return step instanceof Promise || step instanceof Failure ? awaited<T>(step) : Promise.resolve(step as Given<T>)
  }

  /** Gives the call up, if it has not ended: what has come and was not taken is dropped. */
  return(value?: unknown): Promise<IteratorResult<T, unknown>> {
    this.#refused = undefined
    this.#reader?.leave()
    return Promise.resolve({ done: true, value })
  }

  /** Gives the call up: who waits for an item gets CANCELLED, whose cause is `reason`. */
  cancel(reason?: unknown): void {
    this.#reader?.cancel(reason)
  }

  /** As `return`: for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  #refusal(): Step | Failure {
    const refused = this.#refused
    this.#refused = undefined
    return refused === undefined ? { done: true, value: undefined } : new Failure(() => refused.error)
  }
}

/** A stream that nobody holds any more is given up. The reader does not know the stream: so this can happen. */
const forgotten = new FinalizationRegistry<Reader>((reader) => reader.leave())

type Given<T> = IteratorResult<T, unknown>

/** An error shows where the item was awaited. */
async function awaited<T>(coming: Failure | Promise<Step | Failure>): Promise<Given<T>> {
  const step = await coming
  if (step instanceof Failure) throw madeIn(awaited, step.error())
  return step as Given<T>
}
