// What reads the control lane once the handshake is over, and who is told what came.

import type { CancelReason, Frame, Seq } from './protocol.js'

export interface ControlHandler {
  frame(frame: Frame): void
  cancel(seq: Seq, reason: CancelReason): void
  violation(message: string): void
}

/** Who reads the lane once the handshake is over. */
export interface LaneOwner {
  /** From now on it alone reads the lane. */
  handOver(): void
  /** Writes frames to the lane. */
  send(frames: Uint8Array): void
  /** Takes what has come since the last time; cancels are told at once. */
  poll(): void
}
