// What apps await of a pool beside the outcomes of calls: its ends, that it is ready or drained, broadcasts. Each has a number
// under which the seam knows it.

import { hold, release } from './alive.js'
import { errorOf, thrownBySeam } from './errors.js'

interface Promised {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export class Awaited {
  #next = 0
  readonly #promised = new Map<number, Promised>()

  constructor(private readonly holder: object) {}

  /** `begin` asks the seam for it. */
  async begin<T>(begin: (number: number) => void): Promise<T> {
    const number = ++this.#next
    const promise = new Promise<T>((resolve, reject) => {
      this.#promised.set(number, { resolve: resolve as Promised['resolve'], reject })
    })
    hold(this.holder)
    try {
      begin(number)
      return await promise
    } catch (error) {
      throw thrownBySeam(error)
    } finally {
      this.#promised.delete(number)
      release(this.holder)
    }
  }

  /** It is so, or will never be if there is an error. */
  isSo(number: number, error: string | null): void {
    if (error === null) this.#promised.get(number)?.resolve(undefined)
    else this.#promised.get(number)?.reject(errorOf(error))
  }

  /** It has a result. */
  hasCome(number: number, result: unknown): void {
    this.#promised.get(number)?.resolve(result)
  }
}
