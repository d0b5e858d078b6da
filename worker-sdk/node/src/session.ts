// The protocol's state machine, without IO: frames and facts in, effects out. It knows what may come when,
// which calls run, and which cancels came early; it does not know functions, values, sockets or clocks.

import { Ahead } from './ahead.js'
import { BySeq } from './by-seq.js'
import { callOf, payloadOf } from './call.js'
import { CallBodies } from './call-bodies.js'
import { Chunks } from './chunks.js'
import type { Contract } from './contract.js'
import type { Attach, Call, Effects, Hello, Payload } from './effects.js'
import { cancelledReport, type ErrorReport, plainReport, tooLargeReport } from './errors.js'
import { Gathering } from './gathering.js'
import {
  type CallBody,
  type CancelReason,
  DEFAULT_MAX_PAYLOAD,
  Encoding,
  Flag,
  type Frame,
  Kind,
  type Lane,
  readCancel,
  readCredit,
  readReference,
  readRelease,
  readStop,
  readWelcome,
  type Seq,
  unexpected,
  VERSION,
  Violation,
} from './protocol.js'

export const EXIT_VIOLATION = 70
const EXIT_START_FAILED = 1

/** Where in the input arena a payload lies. */
type Shared = { offset: number; length: number }
/** A running call was cancelled; its input stream has ended. */
const CANCELLED = 1
const INPUT_ENDED = 2
type Phase = 'greeting' | 'loading' | 'ready' | 'over'

export class Session {
  #phase: Phase = 'greeting'
  #stopping = false
  /** The highest number of a call or ping so far. */
  #highest: Seq = 0
  #maxPayload = DEFAULT_MAX_PAYLOAD
  /** Bytes of the input arena; null: none was agreed on. */
  #inputSize: number | null = null
  /** The running calls, and what is over about them. */
  readonly #running = new BySeq<number>()
  readonly #early = new Map<Seq, CancelReason>()
  readonly #chunks = new Chunks(() => this.#maxPayload)
  readonly #bodies = new CallBodies()
  readonly #gathering = new Gathering()
  readonly #ahead: Ahead
  /** Calls may be handed over ahead. */
  #handsAhead = false

  constructor(
    private readonly effects: Effects,
    private readonly hello: Hello,
    private readonly attach?: Attach,
  ) {
    const isFree = (): boolean => this.#phase === 'ready' && this.#running.isEmpty && !this.#chunks.hasCall
    this.#ahead = new Ahead(() => effects.claim(), isFree, {
      begin: (call) => this.#begun(call),
      forget: (seq) => this.#takenBack(seq),
    })
  }

  start(): void {
    if (this.attach !== undefined) {
      this.effects.send('control', Kind.ATTACH, 0, { ...this.attach, lane: 'control' })
      this.effects.send('data', Kind.ATTACH, 0, { ...this.attach, lane: 'data' })
    }
    const { sdk, sdkVersion, language, pid, sharedMemory, ahead } = this.hello
    const about = { sdk, sdk_version: sdkVersion, language, pid, shared_memory: sharedMemory, ahead }
    this.effects.send('control', Kind.HELLO, 0, { min_version: VERSION, max_version: VERSION, ...about })
  }

  receive(lane: Lane, frame: Frame): void {
    if (this.#phase === 'over') return
    try {
      if (lane === 'data') this.#data(frame)
      else this.#control(frame)
    } catch (error) {
      this.#caught(error)
    }
  }

  /** A frame on data has a payload larger than the host may send: that fails its call alone (R6). */
  oversized(kind: number, flags: number, seq: Seq): void {
    if (this.#phase === 'over') return
    try {
      this.#check(kind, flags, seq)
      if (kind === Kind.CALL && this.#isAhead(flags)) throw new Violation('a call handed over ahead is too large')
      if (flags & Flag.MORE && kind !== Kind.CHUNK) this.#chunks.ignore(seq)
      if (this.#running.has(seq)) this.#inputTooLarge(seq)
      else if (kind === Kind.CALL || (kind === Kind.CHUNK && this.#chunks.drop(seq))) this.#tooLarge(seq)
    } catch (error) {
      this.#caught(error)
    }
  }

  violation(message: string): void {
    this.#end(EXIT_VIOLATION, `ganger-worker: protocol violation: ${message}`)
  }

  /** End of file or an error on a lane (R1). */
  closed(): void {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.effects.gone()
  }

  loaded(functions: readonly Contract[]): void {
    if (this.#phase !== 'loading') return
    this.#phase = 'ready'
    this.effects.send('data', Kind.READY, 0, { functions })
    this.#stopIfIdle()
  }

  failed(report: ErrorReport): void {
    if (this.#phase !== 'loading') return
    this.effects.send('data', Kind.ERROR, 0, report)
    this.#end(EXIT_START_FAILED)
  }

  /** The call's RESULT or ERROR was sent. */
  ended(seq: Seq): void {
    this.#running.delete(seq)
    if (!this.#ahead.isEmpty) this.#ahead.takeUp()
    else if (this.#stopping) this.#stopIfIdle()
  }

  /** Goes on with calls that were handed over ahead, as far as it is their turn. */
  takeUp(): void {
    if (!this.#ahead.isEmpty) this.#ahead.takeUp()
  }

  stopped(): void {
    this.#end(0)
  }

  cancel(seq: Seq, reason: CancelReason): void {
    if (this.#running.has(seq)) this.#cancelRunning(seq, reason)
    // Answered now: the host may have given the rest of its chunks up, and waits for the slot.
    else if (this.#chunks.drop(seq)) {
      this.#refuse(seq, cancelledReport(reason))
      this.takeUp()
    } else if (seq > this.#highest || this.#ahead.has(seq)) this.#early.set(seq, reason)
  }

  #cancelRunning(seq: Seq, reason: CancelReason): void {
    const over = this.#running.get(seq) ?? 0
    if (over & CANCELLED) return
    this.#running.set(seq, over | CANCELLED)
    if (this.#gathering.leave(seq)) {
      this.#running.delete(seq)
      return this.#refuse(seq, cancelledReport(reason))
    }
    this.effects.cancel(seq, reason)
  }

  #caught(error: unknown): void {
    if (!(error instanceof Violation)) throw error
    this.violation(error.message)
  }

  #data(frame: Frame): void {
    if (frame.kind === Kind.CHUNK) {
      const whole = this.#chunks.add(frame)
      if (whole !== undefined) this.#arrived(whole)
      return
    }
    this.#check(frame.kind, frame.flags, frame.seq)
    if (frame.flags & Flag.SHARED) this.#arrivedShared(frame)
    else if (frame.flags & Flag.MORE) this.#begin(frame)
    else this.#arrived(frame)
  }

  /** What can be said of a frame before its payload is complete. */
  #check(kind: number, flags: number, seq: Seq): void {
    switch (kind) {
      case Kind.CALL:
      case Kind.PING:
        if (this.#phase !== 'ready') throw new Violation('a call or ping before READY')
        if (seq <= this.#highest) throw new Violation(`seq ${seq} does not rise`)
        if (kind === Kind.CALL && this.#stopping) throw new Violation('a call after STOP')
        this.#highest = seq
        if (kind === Kind.CALL) this.#checkOrder(flags)
        break
      case Kind.STOP:
        if (this.#phase === 'greeting') throw new Violation('STOP before WELCOME')
        break
      case Kind.CHUNK:
      case Kind.INPUT:
      case Kind.INPUT_END:
      case Kind.RELEASE:
        break
      default:
        unexpected(kind, flags, 'data')
    }
  }

  /** Behind calls that wait, one that does not says that the host has taken them back (R61). */
  #checkOrder(flags: number): void {
    if (!this.#isAhead(flags)) this.#ahead.clear()
    else if (flags & (Flag.MORE | Flag.SHARED)) throw new Violation('a call handed over ahead does not go by itself')
  }

  #begin(frame: Frame): void {
    const fits = this.#chunks.begin(frame)
    if (frame.kind !== Kind.CALL) return fits ? undefined : this.#inputTooLarge(frame.seq)
    if (!fits) return this.#tooLarge(frame.seq)
    const reason = this.#takeEarly(frame.seq)
    if (reason === undefined) return
    this.#chunks.drop(frame.seq)
    this.#refuse(frame.seq, cancelledReport(reason))
  }

  #arrived(frame: Frame): void {
    if (frame.kind === Kind.CALL) this.#call(frame)
    else if (frame.kind === Kind.PING) this.effects.send('data', Kind.PONG, frame.seq)
    else if (frame.kind === Kind.STOP) this.#stop(frame)
    else if (frame.kind === Kind.RELEASE) this.effects.release(readRelease(frame))
    else if (frame.kind === Kind.INPUT && this.#reads(frame.seq)) this.effects.input(frame.seq, payloadOf(frame))
    else if (frame.kind === Kind.INPUT_END) this.#inputEnd(frame.seq)
  }

  /** What has ended or was cancelled while an item was on its way reads no more (R51, R52). */
  #reads(seq: Seq): boolean {
    return this.#running.get(seq) === 0
  }

  #inputEnd(seq: Seq): void {
    if (!this.#reads(seq)) return
    this.#running.set(seq, INPUT_ENDED)
    this.effects.inputEnd(seq)
  }

  /** From here on it is as if the payload had come in the frame. */
  #arrivedShared(frame: Frame): void {
    if (frame.kind !== Kind.CALL && frame.kind !== Kind.INPUT) return this.#arrived(frame)
    if (this.#inputSize === null) throw new Violation('a payload in shared memory, which was not agreed')
    const { offset, length } = readReference(frame, this.#inputSize)
    if (frame.kind === Kind.CALL && length > this.#maxPayload) return this.#tooLarge(frame.seq)
    if (frame.kind === Kind.CALL) return this.#call(frame, { offset, length })
    if (this.#reads(frame.seq)) this.#inputShared(frame, { offset, length })
  }

  /** It is copied, so that its block is free again (R54). */
  #inputShared(frame: Frame, shared: Shared): void {
    if (shared.length > this.#maxPayload) return this.#inputTooLarge(frame.seq)
    const item = this.#fetched(frame, shared)
    this.effects.send('data', Kind.RELEASE, frame.seq, [shared.offset])
    this.effects.input(frame.seq, item)
  }

  #call(frame: Frame, shared?: Shared): void {
    const body = this.#bodies.read(frame)
    if (this.#isAhead(frame.flags)) return this.#ahead.add(callOf(frame, body, frame))
    if (body.batch !== null) this.#gathering.join(frame.seq, body.batch)
    const call = this.#accepted(frame, body, shared)
    if (call !== undefined) {
      this.#running.set(frame.seq, 0)
      if (!this.#gathering.add(call)) return this.effects.run(call)
    }
    this.#runBatch(frame.seq)
  }

  #isAhead(flags: number): boolean {
    return this.#handsAhead && (flags & Flag.AHEAD) !== 0
  }

  /** It is this worker's now. */
  #begun(call: Call): void {
    const reason = this.#takeEarly(call.seq)
    if (reason !== undefined) return this.#refuse(call.seq, cancelledReport(reason))
    this.#running.set(call.seq, 0)
    this.effects.run(call)
  }

  #takenBack(seq: Seq): void {
    this.#takeEarly(seq)
    if (this.#stopping) this.#stopIfIdle()
  }

  /** Undefined: it is answered already. */
  #accepted(frame: Frame, body: CallBody, shared?: Shared): Call | undefined {
    const { seq } = frame
    const reason = this.#takeEarly(seq)
    if (reason !== undefined) return void this.#refuse(seq, cancelledReport(reason))
    const payload = shared === undefined ? frame : this.#fetched(frame, shared)
    if (typeof payload === 'string') return void this.#refuse(seq, plainReport('INVALID_INPUT', 'RangeError', payload))
    return callOf(frame, body, payload)
  }

  /** The last one of a batch sets it going. */
  #runBatch(seq: Seq): void {
    const calls = this.#gathering.complete(seq)
    if (calls.length > 0) this.effects.runTogether(calls)
  }

  /** A message instead says why it could not be held. */
  #fetched(frame: Frame, { offset, length }: Shared): Payload | string {
    const isBytes = (frame.flags & Flag.ENCODING) === Encoding.RAW
    const viewedBy = isBytes && frame.kind === Kind.CALL ? frame.seq : undefined
    try {
      const bytes = this.effects.fetch(offset, length, viewedBy)
      return { encoding: frame.flags & Flag.ENCODING, bytes, payloadAt: 0, end: length, owned: true }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return `the input cannot be held: ${error.message}`
    }
  }

  #inputTooLarge(seq: Seq): void {
    this.#chunks.drop(seq)
    if (!this.#reads(seq)) return
    this.effects.inputTooLarge(seq)
    this.#cancelRunning(seq, 'cancel')
  }

  #takeEarly(seq: Seq): CancelReason | undefined {
    if (this.#early.size === 0) return undefined
    const reason = this.#early.get(seq)
    // Numbers rise: what was skipped never comes.
    for (const early of this.#early.keys()) if (early <= seq) this.#early.delete(early)
    return reason
  }

  #tooLarge(seq: Seq): void {
    this.#takeEarly(seq)
    this.#refuse(seq, tooLargeReport('input', this.#maxPayload))
    this.#runBatch(seq)
  }

  /** Answers a call that never runs. A STOP may have waited for it (R35). */
  #refuse(seq: Seq, report: ErrorReport): void {
    this.effects.send('data', Kind.ERROR, seq, report)
    if (this.#stopping) this.#stopIfIdle()
  }

  #stop(frame: Frame): void {
    readStop(frame)
    if (this.#stopping) throw new Violation('STOP twice')
    this.#stopping = true
    if (this.#phase === 'ready') this.#stopIfIdle()
  }

  #stopIfIdle(): void {
    if (this.#stopping && this.#running.isEmpty && this.#ahead.isEmpty && !this.#chunks.hasCall) this.effects.stop()
  }

  #control(frame: Frame): void {
    switch (frame.kind) {
      case Kind.WELCOME:
        return this.#welcome(frame)
      case Kind.CANCEL:
      case Kind.CREDIT:
        if (this.#phase === 'greeting') throw new Violation('the first frame of control is not WELCOME')
        if (frame.kind === Kind.CANCEL) this.cancel(frame.seq, readCancel(frame))
        else this.#credit(frame)
        break
      default:
        unexpected(frame.kind, frame.flags, 'control')
    }
  }

  #credit(frame: Frame): void {
    const credit = readCredit(frame)
    if (this.#running.has(frame.seq)) this.effects.credit(frame.seq, credit)
  }

  #welcome(frame: Frame): void {
    if (this.#phase !== 'greeting') throw new Violation('WELCOME twice')
    const welcome = readWelcome(frame)
    if (welcome.version !== VERSION)
      throw new Violation(`WELCOME chose version ${welcome.version}, offered was ${VERSION}`)
    this.#phase = 'loading'
    this.#maxPayload = welcome.maxPayload
    this.#inputSize = welcome.sharedMemory?.inputSize ?? null
    this.#handsAhead = welcome.claimsFd !== null
    this.effects.load(welcome)
  }

  #end(code: number, line?: string): void {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.effects.exit(code, line)
  }
}
