// The native module: what core offers, in numbers, text and bytes.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** What comes more rarely than the outcomes of calls: see `takeNews` in native/src/pool.rs. */
export type News = [
  events: string[],
  dropped: number,
  awaited: [number: number, error: string | null][],
  gathered: unknown[],
]

/** What a call has beside its input and its options. */
export interface Beside {
  ticket: number
  inputs: boolean
  progress: boolean
}

export interface NativeStream {
  readonly call: number
  ready(number: number): boolean
  take(inbox: Buffer): number
  takeApart(): unknown[]
  grant(items: number): void
  cancel(): string | null
}

export interface NativeInputs {
  ready(): number
  finish(): void
  fail(): void
}

export type Report = [ticket: number, done: number, total: number | null, note: string | null]

export interface NativePool {
  readonly name: string
  alloc(bytes: number): [number: number, buffer: ArrayBuffer] | null
  submit(ticket: number, fn: string, bytes: Uint8Array, length: number, form: number, options: string | null): number
  broadcast(
    number: number,
    fn: string,
    bytes: Uint8Array,
    length: number,
    form: number,
    options: string | null,
  ): number[]
  submitWith(
    beside: Beside,
    fn: string,
    bytes: Uint8Array,
    length: number,
    form: number,
    options: string | null,
  ): [call: number, inputs: NativeInputs | null]
  stream(
    beside: Beside,
    fn: string,
    bytes: Uint8Array,
    length: number,
    form: number,
    options: string | null,
  ): [stream: NativeStream, inputs: NativeInputs | null]
  send(inputs: NativeInputs, bytes: Uint8Array, length: number, form: number): number
  takeProgress(): Report[]
  takeBells(): number[]
  cancel(call: number): void
  cancelAll(calls: number[]): void
  takeSettled(inbox: Buffer): number
  takeApart(): unknown[]
  takeNews(): News
  listen(event: string, wanted: boolean): void
  stats(): string
  calls(): string
  flightRecord(): string
  functions(): string | null
  invite(): [address: string, token: string] | null
  warm(workers: number, number: number): void
  ready(number: number): void
  drained(number: number): void
  reload(): void
  close(options: string, ending: number): void
  terminate(ending: number): void
}

interface NativeModule {
  NativePool: new (options: string, wake: () => void, isMainThread: boolean) => NativePool
  prepare(home: string, interpreter: string): void
  detach(buffer: ArrayBuffer): void
}

const home = import.meta.dirname
const native = load()
native.prepare(home, process.execPath)

export const { NativePool, detach } = native

function load(): NativeModule {
  const path = join(home, 'ganger.node')
  try {
    return createRequire(path)(path) as NativeModule
  } catch (cause) {
    const here = `${process.platform} ${process.arch}, Node.js ${process.version}`
    const why = existsSync(path)
      ? `cannot be loaded on this system (${here})`
      : 'is not where its code is; a bundler has to leave ganger out, as external'
    throw new Error(`the native module of ganger ${why}: ${path}`, { cause })
  }
}
