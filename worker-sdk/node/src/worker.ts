// One worker, wired up: lanes to session, session to runner. This is where effects meet the process.

import { writeSync } from 'node:fs'
import { Arenas } from './arenas.js'
import { writeFully } from './blocking.js'
import { Claims } from './claims.js'
import { type Reporting, WorkerContext } from './context.js'
import { attachedControl, inheritedControl, readWelcome } from './control.js'
import { DataLane, type DataLaneHandler } from './data-lane.js'
import type { Call, Claim, Effects, Hello, Payload } from './effects.js'
import { type ErrorReport, reportOf } from './errors.js'
import type { ControlHandler, LaneOwner } from './lane-owner.js'
import { type Loaded, load } from './loader.js'
import {
  bodyFrame,
  type CancelReason,
  type CreditBody,
  Kind,
  type Lane,
  type Seq,
  Violation,
  type Welcome,
} from './protocol.js'
import { Runner } from './runner.js'
import { Session } from './session.js'
import { Streams } from './streams.js'

/** How this worker is joined to its host (SPEC chapter 1). */
export type Lanes = { dataFd: number; controlFd: number } | { endpoint: string; token: string; session: string }

const EXIT_NOT_ATTACHED = 1

export class Worker implements Effects, Reporting {
  readonly #session: Session
  #control: LaneOwner | undefined
  #data!: DataLane
  #runner: Runner | undefined
  #streams: Streams | undefined
  #loaded: Loaded | undefined
  #context: WorkerContext | undefined
  #arenas: Arenas | undefined
  #claims: Claims | undefined
  /** The last progress of calls that could not be sent. */
  readonly #leftOut = new Map<Seq, unknown>()
  /** Control frames sent before the thread owns the lane. */
  #opening: Buffer = Buffer.alloc(0)

  constructor(
    private readonly target: string,
    private readonly lanes: Lanes,
    hello: Hello,
  ) {
    const attach = 'endpoint' in lanes ? { token: lanes.token, session: lanes.session } : undefined
    this.#session = new Session(this, hello, attach)
  }

  start(): void {
    process.on('exit', () => this.#data?.outbox.flushBlocking())
    if ('dataFd' in this.lanes) this.#startInherited(this.lanes.dataFd, this.lanes.controlFd)
    else this.#startAttached(this.lanes.endpoint)
  }

  #startInherited(dataFd: number, controlFd: number): void {
    this.#session.start()
    writeFully(controlFd, this.#opening)
    // What takes time comes after HELLO: the host answers meanwhile.
    this.#control = inheritedControl(controlFd, this.#controlHandler())
    this.#data = DataLane.inherited(dataFd, this.#dataHandler())
    const welcomed = readWelcome(controlFd, (frame) => this.#session.receive('control', frame))
    if (!welcomed) return this.#session.closed()
    this.#control.handOver()
  }

  #startAttached(endpoint: string): void {
    this.#data = DataLane.attached(endpoint, this.#dataHandler())
    this.#session.start()
    this.#control = attachedControl(endpoint, this.#opening, this.#controlHandler())
  }

  #controlHandler(): ControlHandler {
    return {
      frame: (frame) => this.#session.receive('control', frame),
      cancel: (seq, reason) => this.#session.cancel(seq, reason),
      violation: (message) => this.#session.violation(message),
    }
  }

  #dataHandler(): DataLaneHandler {
    return {
      frame: (frame) => {
        // Control may have overtaken data: a call that was cancelled already must not run.
        this.#control?.poll()
        this.#session.receive('data', frame)
      },
      oversized: (kind, flags, seq) => this.#session.oversized(kind, flags, seq),
      read: () => {
        this.#claims?.beginRow()
        this.#session.takeUp()
      },
      violation: (message) => this.#session.violation(message),
      closed: (error) => this.#closed(error),
    }
  }

  /** A person who attaches by hand wants to know why it did not work. */
  #closed(error?: Error): void {
    if ('endpoint' in this.lanes && this.#context === undefined) {
      const why = error?.message ?? 'it let this worker go at once; is the token right?'
      this.exit(EXIT_NOT_ATTACHED, `ganger-worker: cannot attach to ${this.lanes.endpoint}: ${why}`)
    }
    this.#session.closed()
  }

  // Effects of the session.

  send(lane: Lane, kind: number, seq: Seq, body?: unknown): void {
    if (lane === 'control') this.#opening = Buffer.concat([this.#opening, bodyFrame(kind, seq, body)])
    else this.report(kind, seq, body)
  }

  load(welcome: Welcome): void {
    this.#data.maxPayload = welcome.maxPayload
    if (welcome.sharedMemory !== null) {
      this.#arenas = new Arenas(welcome.sharedMemory, (seq) => this.#data.outbox.body(Kind.RELEASE, seq))
      this.#data.outbox.arenas = this.#arenas
    }
    if (welcome.claimsFd !== null)
      this.#claims = new Claims(welcome.claimsFd, this.#data.outbox, () => this.#session.takeUp())
    this.#context = new WorkerContext(this, welcome)
    this.#start(welcome, this.#context).catch((error) => this.#session.failed(reportOf('START_FAILED', error)))
  }

  fetch(offset: number, length: number, viewedBy?: Seq): Buffer {
    if (this.#arenas === undefined) throw new Violation('there is no shared memory')
    if (viewedBy !== undefined) return this.#arenas.input(viewedBy, offset, length)
    return this.#arenas.read(offset, length)
  }

  release(offsets: readonly number[]): void {
    this.#arenas?.release(offsets)
  }

  claim(): Claim {
    if (this.#claims === undefined) throw new Violation('there are no claims')
    const claimed = this.#claims.claim()
    // A cancel may have overtaken the call.
    this.#control?.poll()
    return claimed
  }

  run(call: Call): void {
    this.#runner?.run(call)
  }

  runTogether(calls: readonly Call[]): void {
    this.#runner?.runTogether(calls)
  }

  cancel(seq: Seq, reason: CancelReason): void {
    this.#runner?.cancel(seq, reason)
  }

  input(seq: Seq, item: Payload | string): void {
    this.#streams?.input(seq, item)
  }

  inputTooLarge(seq: Seq): void {
    this.#runner?.inputTooLarge(seq)
  }

  inputEnd(seq: Seq): void {
    this.#streams?.inputEnd(seq)
  }

  credit(seq: Seq, { items, bytes }: CreditBody): void {
    this.#streams?.credit(seq, items, bytes)
  }

  stop(): void {
    this.#runShutdownHooks().then(() => this.#session.stopped())
  }

  exit(code: number, line?: string): void {
    if (line !== undefined) writeSync(2, `${line}\n`)
    process.exit(code)
  }

  gone(): void {
    process.kill(process.pid, 'SIGKILL')
  }

  // What contexts use.

  poll(): void {
    this.#control?.poll()
  }

  catchUp(seq: Seq): void {
    const body = this.#leftOut.size === 0 ? undefined : this.#leftOut.get(seq)
    if (body !== undefined && this.#leftOut.delete(seq)) this.#put(Kind.PROGRESS, seq, body)
  }

  report(kind: number, seq: Seq, body: unknown): void {
    if (kind === Kind.PROGRESS) {
      if (this.#data.outbox.congested) return void this.#leftOut.set(seq, body)
      this.#leftOut.delete(seq)
    }
    this.#put(kind, seq, body)
    if (kind === Kind.LOG || kind === Kind.PROGRESS) this.#data.outbox.flush()
  }

  #put(kind: number, seq: Seq, body: unknown): void {
    try {
      this.#data.outbox.body(kind, seq, body)
    } catch {
      // Only what users brought along can be at fault; the frame itself must not be lost (R32).
      this.#data.outbox.body(kind, seq, bare(body))
    }
  }

  async #start(welcome: Welcome, context: WorkerContext): Promise<void> {
    // The control thread gets its lane first: the host may go away while the user's code loads.
    await undefined
    const loaded = await load(this.target)
    for (const hook of loaded.startup) await hook(context)
    this.#loaded = loaded
    const ended = (seq: Seq): void => this.#session.ended(seq)
    this.#streams = new Streams(this.#data.outbox, (seq, items, bytes) =>
      this.#control?.send(bodyFrame(Kind.CREDIT, seq, [items, bytes])),
    )
    this.#runner = new Runner(loaded.functions, welcome, this.#data.outbox, this.#streams, this, ended)
    this.#session.loaded(loaded.functions.contracts)
  }

  async #runShutdownHooks(): Promise<void> {
    for (const hook of this.#loaded?.shutdown ?? []) {
      try {
        await hook(this.#context as WorkerContext)
      } catch (error) {
        console.error('ganger-worker: a shutdown hook failed:', error)
      }
    }
  }
}

/** An error report without what came from the user's error objects. */
function bare(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('code' in body)) return null
  const { properties, cause, ...rest } = body as ErrorReport
  return { ...rest, dropped: Object.keys(properties ?? {}) }
}
