// What went wrong, as the map of SPEC chapter 6. Making a report never fails (R32): whatever was thrown, however
// broken its properties are, the message survives.

import { sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { Encoder } from './encoder.js'
import type { CancelReason } from './protocol.js'

export type Code =
  | 'CALL_FAILED'
  | 'NO_SUCH_FUNCTION'
  | 'INVALID_INPUT'
  | 'INVALID_RESULT'
  | 'PAYLOAD_TOO_LARGE'
  | 'CANCELLED'
  | 'START_FAILED'

export interface ErrorDescription {
  type: string
  message: string
  language: 'node'
  traceback?: string
  properties?: Record<string, unknown>
  dropped?: string[]
  cause?: ErrorDescription
  path?: string
}

export interface ErrorReport extends ErrorDescription {
  code: Code
}

const MAX_MESSAGE = 64 * 1024
const MAX_TRACEBACK = 256 * 1024
const MAX_PROPERTY = 1024 * 1024
const MAX_CAUSES = 16
const MAX_ERRORS = 32
/** What the report says in its own fields. */
const SAID_ELSEWHERE: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause', 'errors'])

/** What `context.signal` aborts with and `context.check()` throws. */
export class Cancelled extends Error {
  override name = 'AbortError'
  readonly code = 'CANCELLED'

  constructor(readonly reason: CancelReason) {
    super(`the call was cancelled (${reason})`)
  }
}

/** A report of whatever was thrown. */
export function reportOf(code: Code, thrown: unknown): ErrorReport {
  return { code, ...describe(thrown, new Set()) }
}

/** A report of the SDK's own making: no traceback. */
export function plainReport(code: Code, type: string, message: string, path?: string): ErrorReport {
  const report: ErrorReport = { code, type, message: cut(message, MAX_MESSAGE), language: 'node' }
  if (path !== undefined) report.path = path
  return report
}

export function cancelledReport(reason: CancelReason): ErrorReport {
  return plainReport('CANCELLED', 'AbortError', `the call was cancelled (${reason})`)
}

export function tooLargeReport(what: 'input' | 'result' | 'item', limit: number): ErrorReport {
  return plainReport('PAYLOAD_TOO_LARGE', 'RangeError', `the ${what} has more than ${limit} bytes`)
}

function describe(thrown: unknown, seen: Set<unknown>): ErrorDescription {
  seen.add(thrown)
  const description: ErrorDescription = { type: typeOf(thrown), message: messageOf(thrown), language: 'node' }
  if (typeof thrown !== 'object' || thrown === null) return description
  const stack = attempt(() => (thrown as Error).stack)
  if (typeof stack === 'string') description.traceback = cut(withoutOwnFrames(stack), MAX_TRACEBACK)
  addProperties(description, thrown)
  addErrors(description, thrown, seen)
  const cause = attempt(() => (thrown as Error).cause)
  if (cause !== undefined && cause !== null && !seen.has(cause) && seen.size <= MAX_CAUSES)
    description.cause = describe(cause, seen)
  return description
}

/** The name if it was given one, else the class's: `class Broken extends Error {}` has the name "Error". */
function typeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return thrown === null ? 'null' : typeof thrown
  const name = attempt(() => (thrown as Error).name)
  if (typeof name === 'string' && name !== '' && name !== 'Error') return cut(name, 256)
  const className = attempt(() => (thrown as object).constructor?.name)
  if (typeof className === 'string' && className !== '') return cut(className, 256)
  return typeof name === 'string' && name !== '' ? name : 'object'
}

function messageOf(thrown: unknown): string {
  const message = attempt(() => (thrown as Error | null | undefined)?.message)
  if (typeof message === 'string') return cut(message, MAX_MESSAGE)
  if (typeof thrown === 'string') return cut(thrown, MAX_MESSAGE)
  const shown = attempt(() => inspect(thrown, { depth: 3, maxArrayLength: 50, maxStringLength: 10_000 }))
  return cut(shown ?? 'a value that cannot be shown', MAX_MESSAGE)
}

function addProperties(description: ErrorDescription, thrown: object): void {
  const probe = new Encoder()
  const properties: Record<string, unknown> = {}
  const dropped: string[] = []
  for (const key of attempt(() => Object.keys(thrown)) ?? []) {
    if (SAID_ELSEWHERE.has(key)) continue
    const value = attempt(() => (thrown as Record<string, unknown>)[key], probe)
    if (value === probe || !encodable(probe, value)) dropped.push(key)
    else if (value !== undefined) define(properties, key, plain(value))
  }
  if (Object.keys(properties).length > 0) description.properties = properties
  if (dropped.length > 0) description.dropped = dropped
}

/** The errors of an AggregateError go along as a property: a list of descriptions. */
function addErrors(description: ErrorDescription, thrown: object, seen: Set<unknown>): void {
  const errors = attempt(() => (thrown as AggregateError).errors)
  if (!Array.isArray(errors)) return
  const described = errors.slice(0, MAX_ERRORS).filter((error) => !seen.has(error) && seen.size <= MAX_ERRORS)
  description.properties = { ...description.properties, errors: described.map((error) => describe(error, seen)) }
}

function encodable(probe: Encoder, value: unknown): boolean {
  probe.clear()
  return attempt(() => probe.value(value), probe) !== probe && probe.position <= MAX_PROPERTY
}

/** Depth 64 is all that a body may have: deeper values go as text. */
function plain(value: unknown): unknown {
  return depth(value, 0) > 32 ? inspect(value, { depth: 8 }) : value
}

function depth(value: unknown, above: number): number {
  if (typeof value !== 'object' || value === null || above > 40) return above
  let deepest = above
  for (const item of Object.values(value)) deepest = Math.max(deepest, depth(item, above + 1))
  return deepest
}

function define(properties: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(properties, key, { value, enumerable: true })
}

/** Frames of the SDK and of Node below them say nothing about the user's code. */
export function withoutOwnFrames(stack: string): string {
  const folder = __dirname + sep
  const url = pathToFileURL(folder).href
  const isOwn = (line: string): boolean => line.startsWith('    at ') && (line.includes(folder) || line.includes(url))
  const lines = stack.split('\n').filter((line) => !isOwn(line))
  while (lines.length > 1 && /^ {4}at .*\(?node:/.test(lines[lines.length - 1] as string)) lines.pop()
  return lines.join('\n')
}

function cut(text: string, limit: number): string {
  if (text.length <= limit && Buffer.byteLength(text) <= limit) return text
  return Buffer.from(text.slice(0, limit))
    .subarray(0, limit)
    .toString()
    .replace(/\ufffd+$/, '')
}

function attempt<T>(read: () => T): T | undefined
function attempt<T, F>(read: () => T, fallback: F): T | F
function attempt<T, F>(read: () => T, fallback?: F): T | F | undefined {
  try {
    return read()
  } catch {
    return fallback
  }
}
