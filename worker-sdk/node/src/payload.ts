// From a payload of the host's to a value.

import { decode } from './decoder.js'
import type { Payload } from './effects.js'
import { NotDecodable } from './path.js'
import { Encoding } from './protocol.js'

/** Throws `NotDecodable`. */
export function payloadValue({ encoding, bytes, payloadAt, end, owned }: Payload): unknown {
  if (encoding === Encoding.MESSAGEPACK) return payloadAt === end ? null : decode(bytes, payloadAt, end, owned)
  if (encoding === Encoding.RAW)
    return owned ? bytes.subarray(payloadAt, end) : Buffer.from(bytes.subarray(payloadAt, end))
  throw new NotDecodable('a Node worker does not read pickle: send plain values')
}
