// Errors: from the seam's JSON, and those that are found on this side of it.

import { types } from 'node:util'
import { type ErrorCode, type ErrorFields, errorCodes, GangerError } from './generated/errors.js'

/** An error that core made. `options` has another cause than the worker's own error. */
export function errorOf(json: string, options?: ErrorOptions): GangerError {
  return new GangerError(JSON.parse(json) as ErrorFields, options)
}

/** What the seam threw: an error of core, its fields in the message, or a bug. Its errors may be of another realm than this module. */
export function thrownBySeam(thrown: unknown): unknown {
  const message = types.isNativeError(thrown) ? thrown.message : ''
  return message.startsWith('{') ? errorOf(message) : thrown
}

/** An error of a call that core never saw. */
export function refused(
  code: ErrorCode,
  message: string,
  fn: string | null = null,
  details: Readonly<Record<string, unknown>> = {},
  options?: ErrorOptions,
): GangerError {
  const known: Known = { ...nothingKnown, code, message, function: fn, details }
  return new GangerError({ ...known, ...errorCodes[code], safeToRepeat: code !== 'CANCELLED' }, options)
}

/** The call's caller gave up before it began. */
export function abortedBefore(signal: AbortSignal, fn: string): GangerError {
  return refused('CANCELLED', 'the call was cancelled', fn, {}, { cause: signal.reason })
}

/**
 * Lets an error show where `from` was called instead of what happened in it. What the worker says of the place is in the
 * cause. After an await there are only the frames of those that await `from`, which cost no call anything.
 */
export function madeIn(from: AnyFunction, error: unknown): unknown {
  if (error instanceof GangerError) Error.captureStackTrace(error, from)
  return error
}

export type AnyFunction = (...args: never[]) => unknown

type Known = Omit<ErrorFields, 'fault' | 'safeToRepeat'>

const nothingKnown = {
  started: 'no',
  attempts: 0,
  pid: null,
  exitCode: null,
  signal: null,
  worker: null,
  report: null,
} as const
