// The main thread's end of the control lane. With inherited lanes the handshake is done here, synchronously, before
// anything else is loaded; then a thread owns the lane, so that cancels and the host's death are seen while the
// main thread computes. The thread takes longest to start: it is made before the host answers.

import { readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { Cancels } from './cancels.js'
import type { ControlNews, ControlStart } from './control-thread.js'
import { type CancelReason, type Frame, HEADER_SIZE, type Seq } from './protocol.js'
import { FrameReader } from './reader.js'

export interface ControlHandler {
  frame(frame: Frame): void
  cancel(seq: Seq, reason: CancelReason): void
  violation(message: string): void
  closed(): void
}

export class ControlLane {
  readonly #cancels = new Cancels()
  readonly #handedOver = new Int32Array(new SharedArrayBuffer(4))
  #thread: Worker | undefined

  constructor(private readonly handler: ControlHandler) {}

  /** Starts the thread. It leaves a lane of ours alone until `handOver`. */
  start(where: { fd: number } | { endpoint: string; opening: Uint8Array }): void {
    const threads = process.getBuiltinModule('node:worker_threads')
    const workerData: ControlStart = { ...where, cancels: this.#cancels.memory, handedOver: this.#handedOver }
    // An empty environment: NODE_OPTIONS meant for the worker (--import, --require) must not run in here again.
    // It prints nothing: pipes from it would only cost the start of our own stdout and stderr.
    const silent = { stdin: false, stdout: true, stderr: true }
    const options = { workerData, env: {}, execArgv: [], name: 'ganger control', ...silent }
    const thread = new threads.Worker(join(__dirname, 'control-thread.cjs'), options)
    thread.on('message', (news: ControlNews) => this.#hear(news))
    thread.on('error', (error) => {
      throw error
    })
    thread.unref()
    this.#thread = thread
  }

  /** Writes frames to the lane, which the thread owns. */
  send(frames: Uint8Array): void {
    this.#thread?.postMessage(frames)
  }

  /** From now on the thread alone reads the lane. */
  handOver(): void {
    Atomics.store(this.#handedOver, 0, 1)
    Atomics.notify(this.#handedOver, 0)
  }

  /** Takes what the thread has put down since the last time. */
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

export function sendHello(fd: number, hello: Uint8Array): void {
  for (let at = 0; at < hello.length; ) {
    const count = retried(() => writeSync(fd, hello, at))
    // The host is gone: reading will say so.
    if (count === 0) return
    at += count
  }
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

/** Reads exactly as much: not a byte that the thread is to read. */
function readFully(fd: number, target: Buffer): boolean {
  for (let at = 0; at < target.length; ) {
    const count = retried(() => readSync(fd, target, at, target.length - at, null))
    if (count === 0) return false
    at += count
  }
  return true
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/** The host may have made our end non-blocking. */
function retried(call: () => number): number {
  for (;;) {
    try {
      return call()
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'ECONNRESET' || code === 'EPIPE') return 0
      if (code !== 'EAGAIN' && code !== 'EINTR') throw error
      Atomics.wait(sleeper, 0, 0, 1)
    }
  }
}
