// The native module: what core offers, in numbers, text and bytes.

import { createRequire } from 'node:module'
import { join } from 'node:path'

/** `[bytes, news, …]` and then four elements for each settled call: see `takeSettled` in native/src/pool.rs. */
export type Settled = [bytes: Buffer | null, news: boolean, ...rest: unknown[]]

export interface NativePool {
  readonly name: string
  submit(
    ticket: number,
    fn: string,
    bytes: Uint8Array,
    length: number,
    encoding: number,
    options: string | null,
  ): number
  cancel(call: number): void
  takeSettled(): Settled
  takeNews(): [events: string[], dropped: number, endings: number[]]
  listen(event: string, wanted: boolean): void
  stats(): string
  calls(): string
  functions(): string | null
  invite(): [address: string, token: string] | null
  close(options: string, ending: number): void
  terminate(ending: number): void
}

interface NativeModule {
  NativePool: new (options: string, wake: () => void) => NativePool
  prepare(home: string, interpreter: string): void
}

const home = import.meta.dirname
const native = load()
native.prepare(home, process.execPath)

export const { NativePool } = native

function load(): NativeModule {
  const path = join(home, 'ganger.node')
  try {
    return createRequire(path)(path) as NativeModule
  } catch (cause) {
    const here = `${process.platform} ${process.arch}, Node.js ${process.version}`
    throw new Error(`the native module of ganger cannot be loaded on this system (${here}): ${path}`, { cause })
  }
}
