// The main thread's end of the control lane. With inherited lanes the handshake is done here, synchronously, before
// anything else is loaded; then a thread reads the lane, so that cancels and the host's death are seen while the
// main thread computes.

import { readFully } from './blocking.js'
import { loadNative } from './native.js'
import { type CancelReason, type Frame, HEADER_SIZE, type Seq } from './protocol.js'
import { FrameReader } from './reader.js'
import { ThreadedLane } from './threaded-lane.js'
import { WatchedLane } from './watched-lane.js'

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

export function inheritedControl(fd: number, handler: ControlHandler): LaneOwner {
  const native = loadNative()
  return native === undefined ? new ThreadedLane({ fd }, handler) : new WatchedLane(native, fd, handler)
}

export function attachedControl(endpoint: string, opening: Uint8Array, handler: ControlHandler): LaneOwner {
  return new ThreadedLane({ endpoint, opening }, handler)
}

/** Reads the one frame that answers HELLO. False: the lane ended. */
export function readWelcome(fd: number, onFrame: (frame: Frame) => void): boolean {
  const header = Buffer.alloc(HEADER_SIZE)
  if (!readFully(fd, header)) return false
  const reader = new FrameReader({ frame: onFrame, oversized: () => {} })
  reader.push(header)
  const rest = Buffer.alloc(Math.min(header.readUInt32LE(0), 64 * 1024))
  if (!readFully(fd, rest)) return false
  reader.push(rest)
  return true
}
