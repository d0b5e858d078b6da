// Outcomes of calls as apps get them.

import { type AnyFunction, madeIn } from './errors.js'
import { Failure } from './failure.js'
import { GangerError } from './generated/errors.js'
import { outcomeApart } from './pending.js'
import type { WorkerOutcome } from './surface.js'

/** Throws where `from` was called. */
export function resultOf<T>(outcome: unknown, from: AnyFunction): T {
  if (outcome instanceof Failure) throw madeIn(from, outcome.error())
  return outcome as T
}

/** Throws if some outcome did not come because of the signal. */
export function workerOutcomes<T>(list: unknown[], fn: string, signal: AbortSignal | undefined): WorkerOutcome<T>[] {
  return Array.from({ length: list.length / 3 }, (_, index) => {
    const worker = list[3 * index] as number
    const outcome = (reason?: { cause: unknown }) => outcomeApart(list, 3 * index, { fn, reason })
    const came = outcome()
    if (!(came instanceof Failure)) return { worker, status: 'fulfilled', value: came as T }
    const reason = came.error()
    if (signal?.aborted && reason instanceof GangerError && reason.code === 'CANCELLED')
      return resultOf(outcome({ cause: signal.reason }), workerOutcomes)
    return { worker, status: 'rejected', reason }
  })
}
