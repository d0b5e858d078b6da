// Shared memory as a worker sees it (SPEC 2.3). With the native part inputs are looked at where they lie; without it, as results
// always, what lies there is read and written through the descriptors, which is one copy. (Node has marked them close-on-exec itself.)

import { readSync, writeSync } from 'node:fs'
import { Blocks } from './blocks.js'
import { loadNative } from './native.js'
import { ARENA, type Reference, type Seq, type SharedMemory, Violation } from './protocol.js'
import { Views } from './views.js'

/** What one system call is asked for: `fs` takes no more than 2 GiB. */
const MOST_AT_ONCE = 2 ** 30

export class Arenas {
  readonly #blocks: Blocks
  /** Undefined before the first input, null if there are none. */
  #views: Views | null | undefined

  constructor(
    private readonly memory: SharedMemory,
    /** Nothing looks at the input of an answered call any more. */
    private readonly giveBack: (seq: Seq) => void,
  ) {
    this.#blocks = new Blocks(memory.resultSize)
  }

  /** Whether a payload of so many bytes is worth it. */
  takes(bytes: number): boolean {
    return bytes >= this.memory.threshold
  }

  /** The input of a call that is one byte string: a view of it if that can be had. Throws as `read` does. */
  input(seq: Seq, offset: number, length: number): Buffer {
    if (this.#views === undefined) this.#views = this.#findViews()
    return this.#views?.view(seq, offset, length) ?? this.read(offset, length)
  }

  /** A copy of an input. Throws a `RangeError` if it is longer than this Node.js allows. */
  read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(length)
    for (let at = 0; at < length; ) {
      const count = readSync(this.memory.inputFd, bytes, at, Math.min(length - at, MOST_AT_ONCE), offset + at)
      if (count === 0) throw new Violation('the input arena is shorter than it was said to be')
      at += count
    }
    return bytes
  }

  /** Where a call's result lies if it is the call's input or a part of it; nothing is copied then. */
  find(seq: Seq, bytes: Uint8Array): Reference | undefined {
    return this.#views?.find(seq, bytes)
  }

  /** The call is being answered. Whether the host must not take its input back yet. */
  holds(seq: Seq): boolean {
    return this.#views?.areHeldAtAnswer(seq) ?? false
  }

  /** Copies a result for the host. Undefined: there is no room, or the system has no memory. */
  write(bytes: Uint8Array): Reference | undefined {
    const { length } = bytes
    const offset = this.#blocks.take(length)
    if (offset === undefined) return undefined
    try {
      for (let at = 0; at < length; )
        at += writeSync(this.memory.resultFd, bytes, at, Math.min(length - at, MOST_AT_ONCE), offset + at)
    } catch {
      this.#blocks.give(offset)
      return undefined
    }
    return { arena: ARENA.RESULT, offset, length }
  }

  /** The host looks no more at what lies there. */
  release(offsets: readonly number[]): void {
    for (const offset of offsets) this.#blocks.give(offset)
  }

  #findViews(): Views | null {
    const native = loadNative()
    return native === undefined ? null : new Views(native, this.memory.inputFd, this.memory.inputSize, this.giveBack)
  }
}
