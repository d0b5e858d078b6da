// Who waits for the seam to ring: streams for items, their inputs for room. Each has a number.

export interface Ringable {
  ring(): void
}

export class Bells {
  readonly #waiting = new Map<number, Ringable>()

  /** Rings once. */
  wait(number: number, who: Ringable): void {
    this.#waiting.set(number, who)
  }

  forget(number: number): void {
    this.#waiting.delete(number)
  }

  ring(numbers: readonly number[]): void {
    for (const number of numbers) {
      const who = this.#waiting.get(number)
      this.#waiting.delete(number)
      who?.ring()
    }
  }
}
