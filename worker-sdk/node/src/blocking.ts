// A lane that is read and written by hand, for the few frames that are neither large nor many.

import { readSync, writeSync } from 'node:fs'

/** Stops early if the host is gone: reading will say so. */
export function writeFully(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    const count = retried(() => writeSync(fd, bytes, at))
    if (count === 0) return
    at += count
  }
}

/** Reads exactly as much: not a byte that somebody else is to read. False: the lane ended. */
export function readFully(fd: number, target: Buffer): boolean {
  for (let at = 0; at < target.length; ) {
    const count = retried(() => readSync(fd, target, at, target.length - at, null))
    if (count === 0) return false
    at += count
  }
  return true
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/** The host may have made our end non-blocking. */
function retried(call: () => number): number {
  for (;;) {
    try {
      return call()
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'ECONNRESET' || code === 'EPIPE') return 0
      if (code !== 'EAGAIN' && code !== 'EINTR') throw error
      Atomics.wait(sleeper, 0, 0, 1)
    }
  }
}
