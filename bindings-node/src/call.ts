// A call that was submitted: a promise of its result, and a way to give it up.

/** What `Pool.submit` returns. Awaiting it gives the result. */
export class Call<T = unknown> implements PromiseLike<T> {
  /** Its number in the pool, as `Pool.calls` and events know it; 0 if it was refused at once. */
  readonly id: number
  /** The function that was called. */
  readonly function: string
  /** The promise of its result. */
  readonly promise: Promise<T>
  readonly #cancel: (reason: unknown) => void

  /** @internal */
  constructor(id: number, fn: string, promise: Promise<T>, cancel: (reason: unknown) => void) {
    this.id = id
    this.function = fn
    this.promise = promise
    this.#cancel = cancel
  }

  /** Gives the call up: it fails with CANCELLED now, its cause is `reason`, and its worker is asked to stop it. */
  cancel(reason?: unknown): void {
    this.#cancel(reason)
  }

  // biome-ignore lint/suspicious/noThenProperty: it is meant to be awaited
  then<A = T, B = never>(
    resolved?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.promise.then(resolved, rejected)
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.promise.catch(rejected)
  }

  finally(settled?: (() => void) | null): Promise<T> {
    return this.promise.finally(settled)
  }
}
