// Calls whose function gets their inputs together: one context, one run, and an end for each call.

import { CallContext, type Reporting } from './context.js'
import type { Call } from './effects.js'
import { cancelledReport, type ErrorReport, plainReport } from './errors.js'
import type { Offered } from './functions.js'
import { type CancelReason, Kind, type Seq, type Welcome } from './protocol.js'

/** How a call of a batch ends. */
export interface Ends {
  succeeded(seq: Seq, result: unknown): void
  failed(seq: Seq, context: CallContext, error: unknown): void
  refused(seq: Seq, report: ErrorReport): void
}

export class Batch {
  readonly #context: CallContext
  /** The calls that wait for an answer. */
  readonly #waiting = new Set<Seq>()
  #ends: Ends | undefined

  constructor(reporting: Reporting, welcome: Welcome, calls: readonly Call[]) {
    const about = { ...(calls[0] as Call), timeoutMs: longest(calls) }
    this.#context = new CallContext(this.#reportingOfAll(reporting), welcome, about)
  }

  run(offered: Offered, calls: ReadonlyArray<{ seq: Seq; input: unknown }>, ends: Ends): void {
    if (calls.length === 0) return
    this.#ends = ends
    const seqs = calls.map(({ seq }) => seq)
    for (const seq of seqs) this.#waiting.add(seq)
    let results: unknown
    try {
      const fn = offered.fn as (...args: unknown[]) => unknown
      results = fn(
        calls.map(({ input }) => input),
        this.#context,
      )
    } catch (error) {
      return this.#failed(seqs, error)
    }
    if (isThenable(results))
      results.then(
        (value) => this.#returned(seqs, value),
        (error) => this.#failed(seqs, error),
      )
    else this.#returned(seqs, results)
  }

  /** The function is asked to stop once nobody waits for it; until then each call is let go by itself. */
  cancel(seq: Seq, reason: CancelReason): void {
    if (!this.#waiting.has(seq)) return
    if (this.#waiting.size === 1) CallContext.cancel(this.#context, reason)
    else if (this.#waiting.delete(seq)) this.#ends?.refused(seq, cancelledReport(reason))
  }

  #returned(seqs: readonly Seq[], results: unknown): void {
    if (!Array.isArray(results) || results.length !== seqs.length) return this.#misfit(seqs, results)
    for (const [at, seq] of seqs.entries()) {
      if (!this.#waiting.delete(seq)) continue
      const result: unknown = results[at]
      if (result instanceof Error) this.#ends?.failed(seq, this.#context, result)
      else this.#ends?.succeeded(seq, result)
    }
  }

  #misfit(seqs: readonly Seq[], results: unknown): void {
    const found = Array.isArray(results) ? `an array of ${results.length}` : typeof results
    const text = `$: a batch of ${seqs.length} needs an array of as many results, not ${found}`
    for (const seq of seqs)
      if (this.#waiting.delete(seq)) this.#ends?.refused(seq, plainReport('INVALID_RESULT', 'TypeError', text, '$'))
  }

  #failed(seqs: readonly Seq[], error: unknown): void {
    for (const seq of seqs) if (this.#waiting.delete(seq)) this.#ends?.failed(seq, this.#context, error)
  }

  /** Progress is told of every call; a log record is about the first. */
  #reportingOfAll(reporting: Reporting): Reporting {
    return {
      poll: () => reporting.poll(),
      catchUp: (seq) => reporting.catchUp(seq),
      report: (kind, seq, body) => {
        if (kind !== Kind.PROGRESS) return reporting.report(kind, seq, body)
        for (const waiting of this.#waiting) reporting.report(kind, waiting, body)
      },
    }
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** Null: some call has no limit. */
function longest(calls: readonly Call[]): number | null {
  const limits = calls.map((call) => call.timeoutMs)
  return limits.every((limit) => limit !== null) ? Math.max(...limits) : null
}
