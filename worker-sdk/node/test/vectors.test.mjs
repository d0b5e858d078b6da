// The protocol's golden vectors: bytes and what they mean, and bytes that must be refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as sdk from '../dist/test/parts.mjs'
import { bytesOf } from './host.mjs'
import { meaning, read } from './notation.mjs'

for (const { name, hex, value, shortest } of read('vectors/values.json').values) {
  test(`value: ${name}`, () => {
    const bytes = Buffer.from(hex, 'hex')
    const decoded = sdk.decode(bytes)
    assert.deepStrictEqual(decoded, meaning(value))
    if (shortest && !isIntegralFloat(value) && !isPreciseTimestamp(value))
      assert.equal(bytesOf(decoded).toString('hex'), hex)
  })
}

function isIntegralFloat(value) {
  return value?.$float !== undefined && Number.isSafeInteger(meaning(value)) && !Object.is(meaning(value), -0)
}

/** A Date has milliseconds. */
function isPreciseTimestamp(value) {
  return value?.$timestamp !== undefined && value.$timestamp[1] % 1e6 !== 0
}

const READERS = {
  CALL: (frame) => {
    const { function: name, attempt, timeoutMs, shape, context, batch } = sdk.readCall(frame)
    return { function: name, attempt, timeout_ms: timeoutMs, shape, context, ...(batch && { batch }) }
  },
  STOP: (frame) => {
    const { reason, timeoutMs } = sdk.readStop(frame)
    return { reason, timeout_ms: timeoutMs }
  },
  WELCOME: (frame) => {
    const { version, pool, worker, generation, concurrency, maxPayload, cancelGraceMs, stopTimeoutMs, device } =
      sdk.readWelcome(frame)
    const { sharedMemory: shared, claimsFd } = sdk.readWelcome(frame)
    return {
      version,
      pool,
      worker,
      generation,
      concurrency,
      max_payload: maxPayload,
      cancel_grace_ms: cancelGraceMs,
      stop_timeout_ms: stopTimeoutMs,
      device,
      ...(shared && { shared_memory: sharedMeaning(shared) }),
      ...(claimsFd !== null && { claims_fd: claimsFd }),
    }
  },
  CANCEL: (frame) => ({ reason: sdk.readCancel(frame) }),
  CREDIT: (frame) => sdk.readCredit(frame),
  RELEASE: (frame) => ({ offsets: sdk.readRelease(frame) }),
}
function sharedMeaning({ inputFd, resultFd, inputSize, resultSize, threshold }) {
  return { input_fd: inputFd, result_fd: resultFd, input_size: inputSize, result_size: resultSize, threshold }
}

const LIMITS = new Set(['timeout_ms', 'max_payload', 'bytes', 'cancel_grace_ms', 'stop_timeout_ms'])
const ENCODINGS = { 0: 'messagepack', 16: 'raw', 32: 'pickle5', 48: 'unknown' }
const NAMES = Object.fromEntries(Object.entries(sdk.Kind).map(([name, kind]) => [kind, name]))

/** Reads a stream as a worker does; returns whole frames in the vectors' form. */
function framesOf(bytes, piece, maxPayload, failed = []) {
  const frames = []
  const limit = maxPayload ?? sdk.DEFAULT_MAX_PAYLOAD
  const chunks = new sdk.Chunks(() => limit)
  const whole = (frame) => frames.push(described(frame))
  const reader = new sdk.FrameReader(
    {
      oversized(_kind, flags, seq) {
        if (flags & sdk.Flag.MORE) chunks.ignore(seq)
        failed.push(seq)
      },
      frame(frame) {
        if (NAMES[frame.kind] === undefined) {
          if (frame.flags & sdk.Flag.CRITICAL) throw new sdk.Violation('critical')
        } else if (frame.kind === sdk.Kind.CHUNK) {
          const last = chunks.add(frame)
          if (last !== undefined) whole(last)
        } else if (frame.flags & sdk.Flag.MORE) {
          if (!chunks.begin(frame)) failed.push(frame.seq)
        } else whole(frame)
      },
    },
    limit,
  )
  for (let at = 0; at < bytes.length; at += piece) reader.push(bytes.subarray(at, at + piece))
  return frames
}

function described(frame) {
  const kind = NAMES[frame.kind]
  return {
    kind,
    seq: frame.seq,
    flags: ['CRITICAL', 'SHARED', ...(kind === 'CALL' ? ['AHEAD'] : [])].filter((name) => frame.flags & sdk.Flag[name]),
    encoding: ENCODINGS[frame.flags & sdk.Flag.ENCODING],
    body: READERS[kind]?.(frame) ?? null,
    payload_hex: frame.bytes.subarray(frame.payloadAt, frame.end).toString('hex'),
  }
}

/** What a worker makes of limits beyond 2^53: 2^53 - 1. */
function expected(frame) {
  const body = meaning(frame.body)
  for (const key of Object.keys(body ?? {}))
    if (LIMITS.has(key) && typeof body[key] === 'bigint') body[key] = Number.MAX_SAFE_INTEGER
  return { ...frame, seq: meaning(frame.seq), body }
}

const toWorker = ({ direction }) => direction === 'to_worker'

for (const vector of read('vectors/frames.json').vectors.filter(toWorker)) {
  test(`frames: ${vector.name}`, () => {
    const bytes = Buffer.from(vector.hex, 'hex')
    const frames = vector.frames.map(expected)
    for (const piece of [bytes.length, 1, 7]) assert.deepStrictEqual(framesOf(bytes, piece), frames)
  })
}

const malformed = read('vectors/malformed.json')

for (const vector of malformed.frames.filter(toWorker)) {
  test(`malformed: ${vector.name}`, () => {
    const bytes = Buffer.from(vector.hex, 'hex')
    if (vector.violation) return assert.throws(() => framesOf(bytes, bytes.length, vector.max_payload), sdk.Violation)
    const failed = []
    assert.deepStrictEqual(framesOf(bytes, 5, vector.max_payload, failed), vector.frames.map(expected))
    assert.deepStrictEqual(failed, [vector.seq])
  })
}

for (const { name, hex } of malformed.values) {
  test(`malformed value: ${name}`, () => {
    assert.throws(() => sdk.decode(Buffer.from(hex, 'hex')), sdk.NotDecodable)
  })
}
