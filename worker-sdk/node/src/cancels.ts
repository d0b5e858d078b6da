// Cancels on their way from the control thread to the main thread, in shared memory: a busy synchronous function
// sees them by polling, with one atomic load when there is nothing new. A ring with one writer and one reader.

import type { CancelReason } from './protocol.js'

const CAPACITY = 4096
const REASONS: readonly CancelReason[] = ['cancel', 'timeout', 'deadline', 'stop']
const WRITTEN = 0
const TAKEN = 1

export class Cancels {
  readonly #counts: Int32Array
  readonly #seqs: Float64Array
  readonly #reasons: Uint8Array
  /** The reader's own count: spares a load of what only it writes. */
  #taken = 0

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(16 + CAPACITY * 9)) {
    this.#counts = new Int32Array(memory, 0, 2)
    this.#seqs = new Float64Array(memory, 16, CAPACITY)
    this.#reasons = new Uint8Array(memory, 16 + CAPACITY * 8, CAPACITY)
  }

  /** False when the reader is `CAPACITY` behind: keep it and try again later. */
  put(seq: number, reason: CancelReason): boolean {
    const written = Atomics.load(this.#counts, WRITTEN)
    if (((written - Atomics.load(this.#counts, TAKEN)) | 0) >= CAPACITY) return false
    const at = (written >>> 0) % CAPACITY
    this.#seqs[at] = seq
    this.#reasons[at] = REASONS.indexOf(reason)
    Atomics.store(this.#counts, WRITTEN, (written + 1) | 0)
    return true
  }

  take(visit: (seq: number, reason: CancelReason) => void): void {
    while (Atomics.load(this.#counts, WRITTEN) !== this.#taken) {
      const at = (this.#taken >>> 0) % CAPACITY
      const seq = this.#seqs[at] as number
      const reason = REASONS[this.#reasons[at] as number] as CancelReason
      this.#taken = (this.#taken + 1) | 0
      Atomics.store(this.#counts, TAKEN, this.#taken)
      visit(seq, reason)
    }
  }
}
