// The native part, if there is one: beside this file, as in the packages of apps, or as the package of this system that was installed along.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

export interface NativeArena {
  /** A part of the arena as memory of its own, without a copy; null if that cannot be had. */
  view(number: number, offset: number, length: number): ArrayBuffer | null
  /** Whether nobody has written to this part of a view. */
  isAsSent(view: ArrayBufferLike, at: number, length: number): boolean
}

export interface NativeWatch {
  /** The bytes that came since the last time. */
  take(): Uint8Array
}

export const TAKEN = -1

export interface Native {
  /**
   * Sends the first bytes and, if the kernel takes them all, takes a token: `TAKEN`, or less if there is none. Otherwise so many were
   * sent.
   */
  sendAndClaim(lane: number, bytes: Uint8Array, length: number, tokens: number): number
  /** A thread reads `lane` from now on. The first of `arrivals` is counted up whenever something came, and `wake` called soon after. */
  ControlWatch: new (
    lane: number,
    arrivals: Int32Array,
    wake: () => void,
  ) => NativeWatch
  /** `gone` is told the number of each view that was collected. */
  InputArena: new (
    descriptor: number,
    gone: (number: number) => void,
  ) => NativeArena
}

/** Undefined: there is none for this system, and payloads are copied. */
export function loadNative(): Native | undefined {
  const load = createRequire(__filename)
  const here = join(__dirname, 'ganger-worker.node')
  const system = `ganger-worker-${process.platform}-${process.arch}`
  for (const name of existsSync(here) ? [here] : [`${system}-gnu`, `${system}-musl`]) {
    try {
      return load(name) as Native
    } catch {
      // Not installed, or made for another system.
    }
  }
  return undefined
}
