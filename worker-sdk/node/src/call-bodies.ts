// The bodies of CALL frames. One is mostly like the last, which is sooner seen than read.

import { type CallBody, type Frame, readCall } from './protocol.js'

const CAPACITY = 64

export class CallBodies {
  readonly #bytes = new Uint8Array(CAPACITY)
  #length = 0
  #last: CallBody | undefined

  read(frame: Frame): CallBody {
    if (this.#last !== undefined && this.#isLikeLast(frame)) return this.#last
    const body = readCall(frame)
    // Others have something of their own.
    if (body.timeoutMs === null && body.context === null && body.batch === null) this.#keep(frame, body)
    return body
  }

  #isLikeLast({ bytes, bodyAt, payloadAt }: Frame): boolean {
    const length = this.#length
    if (payloadAt - bodyAt !== length) return false
    for (let at = 0; at < length; at++) if (bytes[bodyAt + at] !== this.#bytes[at]) return false
    return true
  }

  #keep({ bytes, bodyAt, payloadAt }: Frame, body: CallBody): void {
    if (payloadAt - bodyAt > CAPACITY) return
    this.#length = payloadAt - bodyAt
    for (let at = 0; at < this.#length; at++) this.#bytes[at] = bytes[bodyAt + at] as number
    this.#last = body
  }
}
