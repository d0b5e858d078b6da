// What comes on the control lane, told apart: cancels, which are urgent, and all other frames.

import { type CancelReason, type Frame, Kind, readCancel, Violation } from './protocol.js'
import { FrameReader } from './reader.js'

export interface ControlFramesHandler {
  cancel(seq: number, reason: CancelReason): void
  /** The frame is the handler's to keep. */
  frame(frame: Frame): void
}

export class ControlFrames {
  readonly #reader: FrameReader

  constructor(handler: ControlFramesHandler) {
    this.#reader = new FrameReader({
      frame: (frame) => {
        const { kind, seq } = frame
        if (kind === Kind.CANCEL && typeof seq === 'number') handler.cancel(seq, readCancel(frame))
        else handler.frame(copyOf(frame))
      },
      oversized: () => {
        throw new Violation('a frame on control has a payload of gigabytes')
      },
    })
  }

  /** Throws a `Violation`; then nothing more is to be pushed. */
  push(bytes: Uint8Array): void {
    this.#reader.push(bytes)
  }
}

function copyOf(frame: Frame): Frame {
  const bytes = Buffer.from(frame.bytes.subarray(frame.bodyAt, frame.end))
  const payloadAt = frame.payloadAt - frame.bodyAt
  return { ...frame, bytes, bodyAt: 0, payloadAt, end: bytes.length, owned: true }
}
