// Memory of the native module's that apps look at without a copy: large results, and blocks that inputs are made in.

import { collectMany } from '../../worker-sdk/node/src/collecting.js'
import { detach, type NativePool } from './native.js'

/** What lies in memory that can be given back. */
const lent = new WeakSet<ArrayBufferLike>()
/** What was given back, or to a call. */
const gone = new WeakSet<ArrayBufferLike>()

/**
 * Gives the memory of a large result back now, instead of when it is collected; also that of a buffer from `pool.alloc` that is
 * not needed after all. From then on the buffer, and every other view of the same memory, is empty. False: there was nothing to
 * give back, and the bytes stay as they are.
 */
export function release(bytes: ArrayBufferView | ArrayBufferLike): boolean {
  const buffer = ArrayBuffer.isView(bytes) ? bytes.buffer : bytes
  if (!lent.has(buffer)) return false
  empty(buffer)
  return true
}

/** A result's memory as a Buffer. */
export function asLent(buffer: ArrayBuffer): Buffer {
  lent.add(buffer)
  return Buffer.from(buffer)
}

/** Whether its memory was given away, so that it is empty by mistake. */
export function isGone(bytes: Uint8Array): boolean {
  return bytes.byteLength === 0 && gone.has(bytes.buffer)
}

/** Nobody reaches the memory through this any more. */
export function empty(buffer: ArrayBufferLike): void {
  lent.delete(buffer)
  gone.add(buffer)
  detach(buffer as ArrayBuffer)
}

/** The buffers that an app makes inputs of one pool in. */
export class Blocks {
  /** How the seam knows each: by the number of its block. */
  readonly #forms = new WeakMap<ArrayBufferLike, number>()

  constructor(private readonly native: NativePool) {}

  alloc(bytes: number): Buffer {
    const [form, buffer] = this.native.alloc(bytes) ?? [NO_BLOCK, new ArrayBuffer(bytes)]
    this.#forms.set(buffer, form)
    return asLent(buffer)
  }

  /** How the seam knows what these bytes are the whole of; undefined if that is none of these buffers. */
  find(bytes: Uint8Array): number | undefined {
    return bytes.byteLength === bytes.buffer.byteLength ? this.#forms.get(bytes.buffer) : undefined
  }
}

/** After a call was given so many bytes: large results of earlier calls that nobody needs keep what inputs and results could lie in. */
export function lookForGone(bytes: number): void {
  if (bytes >= LARGE) collectMany()
}

const LARGE = 128 * 1024
/** The number of a buffer that is to be copied. Those of blocks are less. */
const NO_BLOCK = -1
