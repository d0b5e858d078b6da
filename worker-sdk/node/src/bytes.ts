// What is one byte string as a whole travels as it is.

/** The bytes of a value that is nothing else. */
export function bytesOf(value: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) {
    if (value instanceof Uint8Array) return value
    if (value instanceof DataView || value instanceof Uint8ClampedArray)
      return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  } else if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value)
  return undefined
}
