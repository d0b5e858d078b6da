// What an app passes, on its way to core; refused where it is wrong in a way that core does not see.

import { refused, thrownBySeam } from './errors.js'
import { flawOf } from './logger.js'
import { optionsJson } from './options.js'
import { activeTrace } from './trace.js'

export function nameOf(fn: unknown): string {
  if (typeof fn === 'string') return fn
  throw refused('INVALID_INPUT', `the name of a function is text, not ${typeof fn}`)
}

/** What is ours of the options of a call, and of a pool; core has the rest. */
const OF_CALL: ReadonlySet<string> = new Set(['signal', 'inputs', 'onProgress'])
export const OF_BROADCAST: ReadonlySet<string> = new Set(['signal'])
export const OF_POOL: ReadonlySet<string> = new Set(['logger'])

/** Null for no options at all, which is the usual case. */
export function callOptionsJson(fn: string, options: object | null | undefined, ours = OF_CALL): string | null {
  const trace = activeTrace()
  if (trace === undefined && (options === undefined || options === null)) return null
  return optionsOrInvalid(options ?? {}, fn, ours, trace)
}

export function optionsOrInvalid(
  options: object,
  fn: string | null = null,
  ...how: [ReadonlySet<string>?, Record<string, string>?]
): string {
  try {
    return optionsJson(options, ...how)
  } catch (error) {
    throw invalid(error, fn)
  }
}

export function refuseFlawed(logger: unknown): void {
  const flaw = flawOf(logger)
  if (flaw !== undefined) throw refused('INVALID_OPTION', flaw, null, { option: 'logger' })
}

export function invalid(error: unknown, fn: string | null = null): unknown {
  return error instanceof TypeError ? refused('INVALID_OPTION', error.message, fn) : thrownBySeam(error)
}
