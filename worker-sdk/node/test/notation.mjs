// Reads the protocol's test data: the notation of values, and frames by the names of their fields.

import { readFileSync } from 'node:fs'
import { Encoding, Flag, Kind } from '../dist/test/parts.mjs'
import { bytesOf, frame } from './host.mjs'

const PROTOCOL = new URL('../../protocol/', import.meta.url)

export function read(name) {
  return JSON.parse(readFileSync(new URL(name, PROTOCOL), 'utf8'))
}

export { PROTOCOL }

const FLOATS = { inf: Infinity, '-inf': -Infinity, nan: NaN }

/** A value as JavaScript has it. */
export function meaning(value) {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(meaning)
  if ('$int' in value) return BigInt(value.$int)
  if ('$float' in value) return FLOATS[value.$float] ?? Number(value.$float)
  if ('$bytes' in value) return Buffer.from(value.$bytes, 'hex')
  if ('$timestamp' in value) return new Date(value.$timestamp[0] * 1000 + Math.floor(value.$timestamp[1] / 1e6))
  const map = {}
  for (const key of Object.keys(value))
    Object.defineProperty(map, key, {
      value: meaning(value[key]),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  return map
}

const LISTS = {
  CALL: ['function', 'attempt', 'timeout_ms', 'shape', 'context', 'batch'],
  CANCEL: ['reason'],
  CREDIT: ['items', 'bytes'],
  PROGRESS: ['done', 'total', 'note'],
  LOG: ['level', 'logger', 'message', 'fields'],
}
const DEFAULTS = {
  function: '',
  attempt: 1,
  timeout_ms: null,
  shape: 0,
  context: null,
  batch: null,
  reason: 'cancel',
  items: 0,
  bytes: 0,
}

const ENCODINGS = { messagepack: 0, raw: Encoding.RAW, pickle5: Encoding.PICKLE, unknown: 0x30 }

/** The bytes of a `receive` step. */
export function bytesOfStep(step) {
  if (step.hex !== undefined) return Buffer.from(step.hex, 'hex')
  const critical = ['CALL', 'STOP', 'WELCOME'].includes(step.kind) ? ['CRITICAL'] : []
  const flags = (step.flags ?? critical).reduce(
    (bits, name) => bits | Flag[name],
    ENCODINGS[step.encoding ?? 'messagepack'],
  )
  return frame({ kind: Kind[step.kind], flags, seq: step.seq, body: bodyOfStep(step), payload: payloadOfStep(step) })
}

function bodyOfStep({ kind, body }) {
  if (body === undefined || !(kind in LISTS)) return body
  return LISTS[kind].map((field) => meaning(body[field] ?? DEFAULTS[field]))
}

function payloadOfStep({ payload, payload_hex }) {
  if (payload_hex !== undefined) return Buffer.from(payload_hex, 'hex')
  return payload === undefined ? Buffer.alloc(0) : bytesOf(meaning(payload))
}

/** A sent body by the names of its fields. */
export function namedBody(kind, body) {
  const name = Object.keys(Kind).find((key) => Kind[key] === kind)
  return name in LISTS ? Object.fromEntries(LISTS[name].map((field, index) => [field, body[index]])) : (body ?? {})
}
