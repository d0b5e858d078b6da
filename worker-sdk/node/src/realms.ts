// Values of other realms: what comes from a `vm` context, as test runners give each file one, is of no class that is known here.

import { types } from 'node:util'

/** The same as a value of this realm; undefined if there is nothing special about it. */
export function ownOf(value: object): object | undefined {
  const isOwn: boolean = value instanceof Object
  if (isOwn) return undefined
  if (types.isDate(value)) return new Date(value.getTime())
  if (types.isUint8Array(value) || types.isUint8ClampedArray(value) || types.isDataView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  if (types.isAnyArrayBuffer(value)) return new Uint8Array(value)
  if (types.isMap(value)) return new Map(value)
  return refusedOf(value)
}

function refusedOf(value: object): object | undefined {
  if (types.isSet(value)) return new Set()
  if (types.isPromise(value)) return Promise.resolve()
  if (types.isRegExp(value)) return /(?:)/
  if (types.isNativeError(value)) return new Error(value.message)
  return undefined
}
