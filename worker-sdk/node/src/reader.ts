// Bytes in, frames out. Small frames are parsed where they were read, in one buffer that is used again and again;
// a frame that does not fit there gets its own buffer, and the socket reads straight into the rest of it.

import { DEFAULT_MAX_PAYLOAD, type Frame, HEADER_SIZE, MAX_BODY, readUint64, type Seq, Violation } from './protocol.js'

const CAPACITY = 64 * 1024

export interface FrameHandler {
  frame(frame: Frame): void
  /** A frame whose payload exceeds `maxPayload` began; its bytes are skipped. */
  oversized(kind: number, flags: number, seq: Seq): void
}

export class FrameReader {
  readonly #scratch = Buffer.allocUnsafeSlow(CAPACITY)
  /** Bytes of an unfinished frame in the scratch buffer, and where: they go to its beginning before the next read. */
  #kept = 0
  #keptAt = 0
  #large: { bytes: Buffer; filled: number } | null = null
  #toSkip = 0
  /** One object for all frames: a frame is handled before the next is parsed. */
  readonly #frame: Frame = { ...NO_FRAME, bytes: this.#scratch }

  constructor(
    private readonly handler: FrameHandler,
    /** Payload bytes that the peer may send in one frame. */
    public maxPayload = DEFAULT_MAX_PAYLOAD,
  ) {}

  /** Where the next bytes go. */
  space(): Buffer {
    if (this.#large !== null) return this.#large.bytes.subarray(this.#large.filled)
    if (this.#keptAt > 0) this.#scratch.copyWithin(0, this.#keptAt, this.#keptAt + this.#kept)
    this.#keptAt = 0
    return this.#kept === 0 ? this.#scratch : this.#scratch.subarray(this.#kept)
  }

  /** `count` bytes were put into `space()`. */
  filled(count: number): void {
    if (this.#large !== null) this.#fillLarge(count)
    else this.#parse(this.#kept + count)
  }

  /** For sources that bring their own chunks. */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const space = this.space()
      const count = Math.min(space.length, chunk.length - at)
      space.set(chunk.subarray(at, at + count))
      this.filled(count)
      at += count
    }
  }

  #parse(end: number): void {
    const bytes = this.#scratch
    let at = this.#skip(0, end)
    while (end - at >= HEADER_SIZE) {
      const size = this.#size(bytes, at)
      if (size < 0) at = this.#skip(at, end)
      else if (size <= end - at) {
        this.#emit(bytes, at, at + size, false)
        at += size
      } else if (size > CAPACITY) return this.#beginLarge(at, end, size)
      else break
    }
    this.#kept = end - at
    this.#keptAt = at < end ? at : 0
  }

  /** The size of the frame that begins here; -1 if it is to be skipped. */
  #size(bytes: Buffer, at: number): number {
    const length = readUint64(bytes, at)
    const bodyLength = bytes.readUInt32LE(at + 8)
    if (bodyLength > length) throw new Violation('body_length exceeds length')
    if (bodyLength > MAX_BODY) throw new Violation('a body has more than 16 MiB')
    const size = HEADER_SIZE + Number(length)
    if (size - HEADER_SIZE - bodyLength <= this.maxPayload) return size
    this.#toSkip = size
    this.handler.oversized(bytes[at + 12] as number, bytes[at + 13] as number, readUint64(bytes, at + 16))
    return -1
  }

  #skip(at: number, end: number): number {
    const count = Math.min(this.#toSkip, end - at)
    this.#toSkip -= count
    return at + count
  }

  #beginLarge(at: number, end: number, size: number): void {
    const bytes = Buffer.allocUnsafeSlow(size)
    this.#scratch.copy(bytes, 0, at, end)
    this.#large = { bytes, filled: end - at }
    this.#kept = 0
  }

  #fillLarge(count: number): void {
    const large = this.#large as { bytes: Buffer; filled: number }
    large.filled += count
    if (large.filled < large.bytes.length) return
    this.#large = null
    this.#emit(large.bytes, 0, large.bytes.length, true)
  }

  #emit(bytes: Buffer, at: number, end: number, owned: boolean): void {
    const frame = this.#frame
    frame.kind = bytes[at + 12] as number
    frame.flags = bytes[at + 13] as number
    frame.seq = readUint64(bytes, at + 16)
    frame.bytes = bytes
    frame.bodyAt = at + HEADER_SIZE
    frame.payloadAt = frame.bodyAt + bytes.readUInt32LE(at + 8)
    frame.end = end
    frame.owned = owned
    this.handler.frame(frame)
    // Do not keep a large payload alive until the next frame comes.
    frame.bytes = this.#scratch
  }
}

const NO_FRAME = { kind: 0, flags: 0, seq: 0, bodyAt: 0, payloadAt: 0, end: 0, owned: false }
