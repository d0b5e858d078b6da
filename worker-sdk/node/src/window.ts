// Credit of one direction of a call (R29): what may still be sent, and what was read but not given back yet.

const ITEMS = 64
const BYTES = 4 * 1024 * 1024

/** The sender's side. */
export class Window {
  #items = ITEMS
  #bytes = BYTES

  get open(): boolean {
    return this.#items > 0 && this.#bytes > 0
  }

  take(bytes: number): void {
    this.#items--
    this.#bytes -= bytes
  }

  give(items: number, bytes: number): void {
    this.#items += items
    this.#bytes += bytes
  }
}

/** The reader's side. Credit goes back by halves of the window: few frames, and a sender need not wait for a reader that reads. */
export class Owed {
  #items = 0
  #bytes = 0

  constructor(private readonly give: (items: number, bytes: number) => void) {}

  read(bytes: number): void {
    this.#items++
    this.#bytes += bytes
    if (this.#items < ITEMS / 2 && this.#bytes < BYTES / 2) return
    this.give(this.#items, this.#bytes)
    this.#items = 0
    this.#bytes = 0
  }
}
