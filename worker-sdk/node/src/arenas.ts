// Shared memory as a worker sees it (SPEC 2.3). Without native code it cannot be mapped: what lies there is read and written
// through the descriptors, which is one copy. (Node has marked them close-on-exec itself.)

import { readSync, writeSync } from 'node:fs'
import { Blocks } from './blocks.js'
import { ARENA, type Reference, type SharedMemory, Violation } from './protocol.js'

/** What one system call is asked for: `fs` takes no more than 2 GiB. */
const MOST_AT_ONCE = 2 ** 30

export class Arenas {
  readonly #blocks: Blocks

  constructor(private readonly memory: SharedMemory) {
    this.#blocks = new Blocks(memory.resultSize)
  }

  /** Whether a payload of so many bytes is worth it. */
  takes(bytes: number): boolean {
    return bytes >= this.memory.threshold
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
}
