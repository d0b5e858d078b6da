// The control lane with the native part's help: a native thread reads it. What came is parsed here, by a busy function that
// polls or by the event loop, whichever comes first.

import { writeFully } from './blocking.js'
import { ControlFrames } from './control-frames.js'
import type { ControlHandler, LaneOwner } from './lane-owner.js'
import type { Native, NativeWatch } from './native.js'
import { type CancelReason, type Frame, Violation } from './protocol.js'

export class WatchedLane implements LaneOwner {
  readonly #arrivals = new Int32Array(new SharedArrayBuffer(4))
  readonly #frames: ControlFrames
  #seen = 0
  #watch: NativeWatch | undefined
  /** Handled once all that came is parsed: handling may end in a poll. */
  readonly #cancels: [number, CancelReason][] = []
  /** Frames wait for the event loop: a function that polls is in the middle of something. */
  #waiting: Frame[] = []
  #violation: string | undefined

  constructor(
    private readonly native: Native,
    private readonly fd: number,
    private readonly handler: ControlHandler,
  ) {
    this.#frames = new ControlFrames({
      cancel: (seq, reason) => this.#cancels.push([seq, reason]),
      frame: (frame) => this.#waiting.push(frame),
    })
  }

  handOver(): void {
    this.#watch = new this.native.ControlWatch(this.fd, this.#arrivals, () => this.#hear())
  }

  send(frames: Uint8Array): void {
    writeFully(this.fd, frames)
  }

  poll(): void {
    const arrivals = Atomics.load(this.#arrivals, 0)
    if (arrivals === this.#seen) return
    this.#seen = arrivals
    this.#parse((this.#watch as NativeWatch).take())
    for (let next = this.#cancels.shift(); next !== undefined; next = this.#cancels.shift())
      this.handler.cancel(...next)
  }

  #parse(bytes: Uint8Array): void {
    if (this.#violation !== undefined) return
    try {
      this.#frames.push(bytes)
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      this.#violation = error.message
    }
  }

  #hear(): void {
    this.poll()
    const waiting = this.#waiting
    this.#waiting = []
    for (const frame of waiting) this.handler.frame(frame)
    if (this.#violation !== undefined) this.handler.violation(this.#violation)
  }
}
