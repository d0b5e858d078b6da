// What the session wants of the rest of the worker, and what it gives along.

import type { CancelReason, CreditBody, Lane, Seq, Welcome } from './protocol.js'

/** What lies in `bytes[payloadAt, end)`, gone after the effect returns unless `owned`. */
export interface Payload {
  encoding: number
  bytes: Buffer
  payloadAt: number
  end: number
  owned: boolean
}

/** A call to run now. */
export interface Call extends Payload {
  seq: Seq
  function: string
  attempt: number
  timeoutMs: number | null
  shape: number
  context: Readonly<Record<string, string>> | null
}

/** Whether a call that was handed over ahead is this worker's now, was taken back, or has to wait until `takeUp` is told. */
export type Claim = 'taken' | 'gone' | 'later'

/** What the session wants done, in the order it asks. */
export interface Effects {
  send(lane: Lane, kind: number, seq: Seq, body?: unknown): void
  /** Load the user's code and run its start-up hooks; then tell `loaded` or `failed`. */
  load(welcome: Welcome): void
  /**
   * What lies in the input arena: a copy, or, for a call whose input is one byte string, maybe a view. Throws a `RangeError` if
   * there is no room for it.
   */
  fetch(offset: number, length: number, viewedBy?: Seq): Buffer
  /** The host looks no more at these blocks of the result arena. */
  release(offsets: readonly number[]): void
  /** All that was sent is with the kernel: take a token for the call whose turn it is. */
  claim(): Claim
  run(call: Call): void
  /** Calls of one function that came together. Their payloads are owned. */
  runTogether(calls: readonly Call[]): void
  cancel(seq: Seq, reason: CancelReason): void
  /** An item of a running call's input stream; a message instead says why it could not be held. */
  input(seq: Seq, item: Payload | string): void
  /** An item of its input stream has too many bytes: whatever the function makes of its cancel, the call ends so (R53). */
  inputTooLarge(seq: Seq): void
  inputEnd(seq: Seq): void
  /** A running call may send so much more of its stream. */
  credit(seq: Seq, credit: CreditBody): void
  /** Nothing runs any more: run the shutdown hooks, then tell `stopped`. */
  stop(): void
  /** Flush what was sent, then end the process. `line` goes to stderr. */
  exit(code: number, line?: string): void
  /** The host is gone: end the process at once, flush nothing. */
  gone(): void
}

export interface Hello {
  sdk: string
  sdkVersion: string
  language: string
  pid: number
  /** It inherited its descriptors, on a system where arenas can be among them. */
  sharedMemory: boolean
  /** It takes calls that are handed over ahead: it inherited its descriptors, on a system where an eventfd can be among them. */
  ahead: boolean
}

/** What a worker shows that joins a running pool through a named endpoint (SPEC 1.2). */
export interface Attach {
  token: string
  session: string
}
