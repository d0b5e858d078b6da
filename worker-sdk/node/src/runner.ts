// Runs calls: input to arguments, function, result or error to a reply. Synchronous functions make no promise.

import { Batch, isThenable } from './batch.js'
import { BySeq } from './by-seq.js'
import { bytesOf } from './bytes.js'
import { CallContext, type Reporting } from './context.js'
import type { Call } from './effects.js'
import { cancelledReport, type ErrorReport, plainReport, reportOf, tooLargeReport } from './errors.js'
import type { Functions, Offered } from './functions.js'
import { type Source, sourceOf } from './items.js'
import type { Outbox } from './outbox.js'
import { isInvalidInput, NotDecodable, NotEncodable } from './path.js'
import { payloadValue } from './payload.js'
import { type CancelReason, Kind, type Seq, type Welcome } from './protocol.js'
import { checkInput } from './schema.js'
import { type Streams, TooLarge } from './streams.js'

export class Runner {
  readonly #contexts = new BySeq<CallContext>()
  readonly #batches = new Map<Seq, Batch>()
  /** Calls that end for an item of their input stream, whatever their functions do. */
  readonly #overfull = new Set<Seq>()

  constructor(
    private readonly functions: Functions,
    private readonly welcome: Welcome,
    private readonly outbox: Outbox,
    private readonly streams: Streams,
    private readonly reporting: Reporting,
    /** The call's one reply was sent. */
    private readonly onEnd: (seq: Seq) => void,
  ) {}

  run(call: Call): void {
    const offered = this.functions.find(call.function)
    if (offered === undefined)
      return this.#error(call.seq, plainReport('NO_SUCH_FUNCTION', 'Error', this.functions.missing(call.function)))
    if (offered.contract.batch !== undefined) return this.#runBatch([call], offered)
    const args = this.#argumentsFor(call, offered)
    if (args !== undefined) this.#invoke(call, offered, args)
  }

  /** Calls of one function that came together. */
  runTogether(calls: readonly Call[]): void {
    const name = calls[0]?.function ?? ''
    const offered = this.functions.find(name)
    if (offered?.contract.batch !== undefined) return this.#runBatch(calls, offered)
    const report =
      offered === undefined
        ? plainReport('NO_SUCH_FUNCTION', 'Error', this.functions.missing(name))
        : plainReport('INVALID_INPUT', 'TypeError', `${name} takes one input at a time, and was given a batch`)
    for (const { seq } of calls) this.#error(seq, report)
  }

  #runBatch(calls: readonly Call[], offered: Offered): void {
    const batch = new Batch(this.reporting, this.welcome, calls)
    const fitting: Array<{ seq: Seq; input: unknown }> = []
    for (const call of calls) {
      const args = this.#argumentsFor(call, offered)
      if (args !== undefined) fitting.push({ seq: call.seq, input: args[0] })
    }
    for (const { seq } of fitting) this.#batches.set(seq, batch)
    batch.run(offered, fitting, {
      succeeded: (seq, result) => this.#succeeded(seq, result),
      failed: (seq, context, error) => this.#failed(seq, context, error),
      refused: (seq, report) => this.#error(seq, report),
    })
  }

  /** Undefined: they do not fit, and the call is answered. */
  #argumentsFor(call: Call, offered: Offered): unknown[] | undefined {
    try {
      const args = argumentsOf(call)
      const schema = offered.contract.input
      if (schema !== undefined && args.length === 1) checkInput(schema, args[0])
      return args
    } catch (error) {
      this.#invalidInput(call.seq, error)
      return undefined
    }
  }

  cancel(seq: Seq, reason: CancelReason): void {
    const batch = this.#batches.get(seq)
    if (batch !== undefined) {
      batch.cancel(seq, reason)
      // It may have been answered from within a busy function.
      return this.outbox.flush()
    }
    const context = this.#contexts.get(seq)
    if (context !== undefined) CallContext.cancel(context, reason)
    this.streams.cancel(seq)
  }

  inputTooLarge(seq: Seq): void {
    this.#overfull.add(seq)
  }

  #invoke(call: Call, offered: Offered, args: unknown[]): void {
    const { seq } = call
    const { inputs } = offered.contract
    const opened = inputs === undefined ? undefined : this.streams.open(seq, inputs)
    const context = new CallContext(this.reporting, this.welcome, call, opened)
    this.#contexts.set(seq, context)
    let result: unknown
    try {
      const fn = offered.fn as (...args: unknown[]) => unknown
      result = args.length === 1 ? fn(args[0], context) : fn(...args, context)
    } catch (error) {
      return this.#failed(seq, context, error)
    }
    if (isThenable(result))
      result.then(
        (value) => this.#returned(seq, offered, context, value),
        (error) => this.#failed(seq, context, error),
      )
    else this.#returned(seq, offered, context, result)
  }

  #returned(seq: Seq, offered: Offered, context: CallContext, result: unknown): void {
    const isStream = offered.contract.kind === 'stream'
    if (!isStream && (typeof result !== 'object' || result === null)) return this.#succeeded(seq, result)
    let source: Source | undefined
    try {
      source = sourceOf(result, isStream)
    } catch (error) {
      return this.#error(seq, reportOf('INVALID_RESULT', error))
    }
    if (source === undefined) this.#succeeded(seq, result)
    else this.#stream(seq, context, source)
  }

  #stream(seq: Seq, context: CallContext, source: Source): void {
    this.streams.produce(seq, source, {
      cancelled: () => context.cancelled,
      ended: (final) => this.#succeeded(seq, final),
      failed: (error) => this.#failed(seq, context, error),
      unsendable: (error) => this.#unsendable(seq, error),
      stopped: () => this.#error(seq, cancelledReport(CallContext.reasonOf(context))),
    })
  }

  #succeeded(seq: Seq, result: unknown): void {
    if (this.#overfull.size > 0 && this.#overfull.has(seq)) return this.#error(seq, this.#tooLarge('item'))
    this.reporting.catchUp(seq)
    try {
      const bytes = typeof result === 'object' && result !== null ? bytesOf(result) : undefined
      const sent =
        bytes === undefined ? this.outbox.value(Kind.RESULT, seq, result) : this.outbox.raw(Kind.RESULT, seq, bytes)
      if (sent === undefined) return this.#error(seq, this.#tooLarge('result'))
    } catch (error) {
      return this.#error(seq, invalidResult(error))
    }
    this.#ended(seq)
  }

  #unsendable(seq: Seq, error: unknown): void {
    this.#error(seq, error instanceof TooLarge ? this.#tooLarge('item') : invalidResult(error))
  }

  #tooLarge(what: 'result' | 'item'): ErrorReport {
    return tooLargeReport(what, this.welcome.maxPayload)
  }

  #failed(seq: Seq, context: CallContext, error: unknown): void {
    if (isInvalidInput(error)) return this.#invalidInput(seq, error)
    const reason = CallContext.endedByCancel(context, error)
    this.#error(seq, reason === undefined ? reportOf('CALL_FAILED', error) : cancelledReport(reason))
  }

  #invalidInput(seq: Seq, error: unknown): void {
    if (error instanceof NotDecodable || isInvalidInput(error))
      this.#error(seq, plainReport('INVALID_INPUT', 'TypeError', error.message, error.path))
    // A schema that cannot be used is the author's fault, not the caller's.
    else this.#error(seq, reportOf('CALL_FAILED', error))
  }

  #error(seq: Seq, report: ErrorReport): void {
    this.reporting.catchUp(seq)
    this.reporting.report(Kind.ERROR, seq, this.#overfull.delete(seq) ? this.#tooLarge('item') : report)
    this.#ended(seq)
  }

  #ended(seq: Seq): void {
    this.#contexts.delete(seq)
    if (this.#batches.size > 0) this.#batches.delete(seq)
    this.streams.ended(seq)
    this.onEnd(seq)
  }
}

function argumentsOf(call: Call): unknown[] {
  const value = payloadValue(call)
  if (call.shape === 0) return [value]
  if (call.shape !== 1) throw new NotDecodable(`this worker knows no input of shape ${call.shape}`)
  if (!Array.isArray(value) || value.length !== 2 || !Array.isArray(value[0]))
    throw new NotDecodable('the input is no list of positional and named arguments')
  const [positional, named] = value as [unknown[], object | null]
  // Named arguments are an object of options in JavaScript: the last argument.
  const args = named === null || Object.keys(named).length === 0 ? positional : [...positional, named]
  return args.length === 0 ? [null] : args
}

function invalidResult(error: unknown): ErrorReport {
  if (error instanceof NotEncodable) return plainReport('INVALID_RESULT', 'TypeError', error.message, error.path)
  // A getter or toJSON of the user's threw.
  return { ...reportOf('INVALID_RESULT', error), path: '$' }
}
