// The thread of JavaScript that owns the control lane where no native thread reads it. It puts cancels where a busy main thread can see them, and ends the process
// when the host is gone, whatever the main thread is doing (R1, R27). Everything else it passes on.

import { writeSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { Cancels } from './cancels.js'
import { ControlFrames } from './control-frames.js'
import { type CancelReason, type Frame, Violation } from './protocol.js'

export interface ControlStart {
  fd?: number
  endpoint?: string
  /** What to write first on a connection of our own: ATTACH and HELLO. */
  opening?: Uint8Array
  cancels: SharedArrayBuffer
  /** Zero while the main thread still reads from `fd`. */
  handedOver: Int32Array
}

export interface ControlNews {
  frame?: Frame
  violation?: string
}

/** How long the main thread has to exit with its code before it is taken down. */
const VIOLATION_GRACE_MS = 1000
const RETRY_MS = 2

const start = workerData as ControlStart
const cancels = new Cancels(start.cancels)
let welcomed = false
const waiting: [number, CancelReason][] = []
const frames = new ControlFrames({ cancel, frame: onFrame })

if (start.fd !== undefined) Atomics.wait(start.handedOver, 0, 0)
const socket = start.fd === undefined ? connect({ path: start.endpoint as string }) : new Socket({ fd: start.fd })
socket.on('data', read).on('end', endProcess).on('error', endProcess).on('close', endProcess)
if (start.opening !== undefined) socket.write(start.opening)
parentPort?.on('message', (sent: Uint8Array) => socket.write(sent))

function read(chunk: Buffer): void {
  try {
    frames.push(chunk)
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    post({ violation: error.message })
    setTimeout(endProcess, VIOLATION_GRACE_MS)
    socket.pause()
  }
}

function onFrame(frame: Frame): void {
  welcomed = true
  post({ frame })
}

function cancel(seq: number, reason: CancelReason): void {
  if (waiting.length > 0 || !cancels.put(seq, reason)) {
    if (waiting.push([seq, reason]) === 1) setTimeout(retry, RETRY_MS)
  }
  post({})
}

function retry(): void {
  while (waiting[0] !== undefined && cancels.put(...waiting[0])) waiting.shift()
  if (waiting.length > 0) setTimeout(retry, RETRY_MS)
  post({})
}

function post(news: ControlNews): void {
  parentPort?.postMessage(news)
}

/** process.exit() would end this thread only; a signal ends the process even while the main thread computes. */
function endProcess(): void {
  if (start.endpoint !== undefined && !welcomed)
    writeSync(
      2,
      `ganger-worker: cannot attach to ${start.endpoint}: it let this worker go at once; is the token right?\n`,
    )
  process.kill(process.pid, 'SIGKILL')
}
