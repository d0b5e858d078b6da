// What an app passes, on its way to core; refused where it is wrong in a way that core does not see.

import { AsyncResource } from 'node:async_hooks'
import { inspect } from 'node:util'
import { refused, thrownBySeam } from './errors.js'
import { flawOf } from './logger.js'
import { optionsJson } from './options.js'
import type { OnProgress } from './pending.js'
import { isSignal } from './signals.js'
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
  const given = options ?? undefined
  if (trace === undefined && given === undefined) return null
  if (given !== undefined) refuseMistaken(given, fn)
  return optionsOrInvalid(given ?? {}, fn, ours, trace)
}

/** What is ours must be refused before the call begins: it is of use only later, when nobody could be told. */
function refuseMistaken({ signal, onProgress }: Mistakable, fn: string): void {
  if (signal !== undefined && signal !== null && !isSignal(signal))
    throw mistaken(
      'signal',
      signal,
      isSignal((signal as Mistakable).signal) ? 'an AbortSignal; pass its signal' : 'an AbortSignal',
      fn,
    )
  if (onProgress !== undefined && onProgress !== null && typeof onProgress !== 'function')
    throw mistaken('onProgress', onProgress, 'a function', fn)
}

interface Mistakable {
  readonly signal?: unknown
  readonly onProgress?: unknown
}

function mistaken(option: string, given: unknown, expected: string, fn: string): unknown {
  const shown = inspect(given, { depth: 0, breakLength: Number.POSITIVE_INFINITY })
  return refused('INVALID_OPTION', `option "${option}" is ${shown}, but must be ${expected}`, fn, { option })
}

/** Hears of a call where its options were given: in the same asynchronous context. */
export function observerOf(
  options: { onProgress?: OnProgress | null | undefined } | null | undefined,
): OnProgress | undefined {
  const observer = options?.onProgress ?? undefined
  return typeof observer === 'function' ? AsyncResource.bind(observer) : observer
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
