// The control lane where there is no native part, or where the worker attaches: a thread of JavaScript owns it. It takes longest to
// start of all, so it is made before the host answers.

import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { Cancels } from './cancels.js'
import type { ControlNews, ControlStart } from './control-thread.js'
import type { ControlHandler, LaneOwner } from './lane-owner.js'
import type { Frame } from './protocol.js'

export class ThreadedLane implements LaneOwner {
  readonly #cancels = new Cancels()
  readonly #handedOver = new Int32Array(new SharedArrayBuffer(4))
  readonly #thread: Worker

  /** Starts the thread. It leaves a lane of ours alone until `handOver`. */
  constructor(
    where: { fd: number } | { endpoint: string; opening: Uint8Array },
    private readonly handler: ControlHandler,
  ) {
    const threads = process.getBuiltinModule('node:worker_threads')
    const workerData: ControlStart = { ...where, cancels: this.#cancels.memory, handedOver: this.#handedOver }
    // An empty environment: NODE_OPTIONS meant for the worker (--import, --require) must not run in here again.
    // It prints nothing: pipes from it would only cost the start of our own stdout and stderr.
    const silent = { stdin: false, stdout: true, stderr: true }
    const options = { workerData, env: {}, execArgv: [], name: 'ganger control', ...silent }
    this.#thread = new threads.Worker(join(__dirname, 'control-thread.cjs'), options)
    this.#thread.on('message', (news: ControlNews) => this.#hear(news))
    this.#thread.on('error', (error) => {
      throw error
    })
    this.#thread.unref()
  }

  handOver(): void {
    Atomics.store(this.#handedOver, 0, 1)
    Atomics.notify(this.#handedOver, 0)
  }

  send(frames: Uint8Array): void {
    this.#thread.postMessage(frames)
  }

  poll(): void {
    this.#cancels.take((seq, reason) => this.handler.cancel(seq, reason))
  }

  #hear(news: ControlNews): void {
    this.poll()
    if (news.frame !== undefined) this.handler.frame(received(news.frame))
    else if (news.violation !== undefined) this.handler.violation(news.violation)
  }
}

/** A Buffer arrives as a plain Uint8Array. */
function received(frame: Frame): Frame {
  const { buffer, byteOffset, byteLength } = frame.bytes
  return { ...frame, bytes: Buffer.from(buffer, byteOffset, byteLength) }
}
