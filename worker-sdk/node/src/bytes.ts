// What is one byte string as a whole travels as it is.

import { ownOf } from './realms.js'

/** The bytes of a value that is nothing else. */
export function bytesOf(value: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) {
    if (value instanceof Uint8Array) return value
    if (!(value instanceof Object)) return foreignBytes(value)
    if (value instanceof DataView || value instanceof Uint8ClampedArray)
      return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  } else if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value)
  else if (!(value instanceof Object)) return foreignBytes(value)
  return undefined
}

function foreignBytes(value: object): Uint8Array | undefined {
  const own = ownOf(value)
  return own instanceof Uint8Array ? own : undefined
}
