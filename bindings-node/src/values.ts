// Inputs to bytes and bytes to results, with the codec of the Node worker SDK: both ends of a call agree on every value.

import { types } from 'node:util'
import { bytesOf } from '../../worker-sdk/node/src/bytes.js'
import { decode } from '../../worker-sdk/node/src/decoder.js'
import { Encoder } from '../../worker-sdk/node/src/encoder.js'
import { NotDecodable, NotEncodable } from '../../worker-sdk/node/src/path.js'
import { refused } from './errors.js'
import { asLent, isGone } from './memory.js'
import { detach } from './native.js'

/** As the seam numbers them. */
export const encodings = { messagePack: 0, raw: 1, pickle5: 2 } as const

/** Bytes of an input; valid until the next one is encoded. */
export interface Encoded {
  bytes: Uint8Array
  length: number
  encoding: number
}

const encoder = new Encoder()
const encoded: Encoded = { bytes: encoder.buffer, length: 0, encoding: 0 }

export function encodeInput(input: unknown, fn: string): Encoded {
  if (typeof input === 'object' && input !== null) {
    const bytes = bytesOf(input)
    if (bytes !== undefined) return encodedRaw(bytes, fn)
  }
  encoder.clear()
  try {
    encoder.value(input)
  } catch (error) {
    throw unencoded(error, fn)
  }
  encoded.bytes = encoder.buffer
  encoded.length = encoder.position
  return encoded
}

/** The result in `bytes[start, end)`, which other results may share. */
export function decodeShared(bytes: Buffer, start: number, end: number, encoding: number, fn: string): unknown {
  if (encoding === encodings.raw) return Buffer.from(bytes.subarray(start, end))
  return readable(bytes, start, end, encoding, fn)
}

/** The result in `buffer`, which is its own. */
export function decodeOwn(buffer: ArrayBuffer, encoding: number, fn: string): unknown {
  if (encoding === encodings.raw) return asLent(buffer)
  try {
    return readable(Buffer.from(buffer), 0, buffer.byteLength, encoding, fn)
  } finally {
    detach(buffer)
  }
}

/** Something of the app's may have thrown as well: a getter, a `toJSON`. */
function unencoded(error: unknown, fn: string): unknown {
  if (error instanceof NotEncodable) return refused('INVALID_INPUT', error.message, fn, { path: error.path })
  const why = types.isNativeError(error) ? error.message : String(error)
  return refused('INVALID_INPUT', `$: it cannot be read: ${why}`, fn, { path: '$' }, { cause: error })
}

function encodedRaw(bytes: Uint8Array, fn: string): Encoded {
  if (isGone(bytes)) throw refused('INVALID_INPUT', 'the memory of this buffer was given to a call, or released', fn)
  return { bytes, length: bytes.byteLength, encoding: encodings.raw }
}

function readable(bytes: Buffer, start: number, end: number, encoding: number, fn: string): unknown {
  if (encoding !== encodings.messagePack)
    throw refused('INVALID_RESULT', 'the result is a pickle, which only Python reads', fn)
  try {
    return decode(bytes, start, end)
  } catch (error) {
    if (!(error instanceof NotDecodable)) throw error
    throw refused('INVALID_RESULT', `the result cannot be read: ${error.message}`, fn, { path: error.path })
  }
}
