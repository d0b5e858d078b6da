// Inputs where they lie, with the native part's help: each is mapped by itself, copied on write, and goes back to the host once
// nothing in this worker can reach it (R44).

import { HeldViews } from './held.js'
import type { Native, NativeArena } from './native.js'
import { ARENA, type Reference, type Seq } from './protocol.js'

/** Below this, a copy costs less than a mapping. */
const WORTH_IT = 256 * 1024

interface Origin {
  seq: Seq
  offset: number
}

export class Views {
  readonly #arena: NativeArena
  readonly #held: HeldViews
  readonly #origins = new WeakMap<ArrayBufferLike, Origin>()

  constructor(native: Native, descriptor: number, size: number, giveBack: (seq: Seq) => void) {
    this.#held = new HeldViews(size, giveBack)
    this.#arena = new native.InputArena(descriptor, (seq) => this.#held.remove(seq))
  }

  /** The call's input, to be written as well: nobody else sees that. Undefined: it is to be copied. */
  view(seq: Seq, offset: number, length: number): Buffer | undefined {
    if (length < WORTH_IT || typeof seq !== 'number') return undefined
    this.#held.add(seq, length)
    const buffer = this.#arena.view(seq, offset, length)
    if (buffer === null) {
      this.#held.remove(seq)
      return undefined
    }
    this.#origins.set(buffer, { seq, offset })
    return Buffer.from(buffer)
  }

  /** Where these bytes lie in the input arena, if they came with this call and nobody has written to them since. */
  find(seq: Seq, bytes: Uint8Array): Reference | undefined {
    const { buffer, byteOffset, length } = bytes
    const origin = this.#origins.get(buffer)
    if (origin?.seq !== seq || !this.#arena.isAsSent(buffer, byteOffset, length)) return undefined
    return { arena: ARENA.INPUT, offset: origin.offset + byteOffset, length }
  }

  /** The call is being answered. Whether something may still look at its input. */
  areHeldAtAnswer(seq: Seq): boolean {
    return this.#held.isHeldAtAnswer(seq)
  }
}
