// From a frame to the call or item that it brings.

import type { Call, Payload } from './effects.js'
import { type CallBody, Flag, type Frame } from './protocol.js'

export function callOf({ seq, flags }: Frame, body: CallBody, payload: Omit<Payload, 'encoding'>): Call {
  return {
    seq,
    function: body.function,
    attempt: body.attempt,
    timeoutMs: body.timeoutMs,
    shape: body.shape,
    context: body.context,
    encoding: flags & Flag.ENCODING,
    bytes: payload.bytes,
    payloadAt: payload.payloadAt,
    end: payload.end,
    owned: payload.owned,
  }
}

export function payloadOf({ flags, bytes, payloadAt, end, owned }: Frame): Payload {
  return { encoding: flags & Flag.ENCODING, bytes, payloadAt, end, owned }
}

/** With bytes of its own: what was read is gone with the next read. */
export function owned(call: Call): Call {
  if (call.owned) return call
  const bytes = Buffer.from(call.bytes.subarray(call.payloadAt, call.end))
  return { ...call, bytes, payloadAt: 0, end: bytes.length, owned: true }
}
