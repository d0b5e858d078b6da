// The main thread's end of the control lane. With inherited lanes the handshake is done here, synchronously, before
// anything else is loaded; then a thread reads the lane, so that cancels and the host's death are seen while the
// main thread computes.

import { readFully } from './blocking.js'
import type { ControlHandler, LaneOwner } from './lane-owner.js'
import { loadNative } from './native.js'
import { type Frame, HEADER_SIZE } from './protocol.js'
import { FrameReader } from './reader.js'
import { ThreadedLane } from './threaded-lane.js'
import { WatchedLane } from './watched-lane.js'

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
