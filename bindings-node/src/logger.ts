// Hands what workers log and print to the app's logger.

import type { WorkerLogEvent } from './generated/events.js'

type Write = (...args: never[]) => unknown

/**
 * Where what workers log and print goes. With a method `fatal`, as loggers like pino have, it is called with the fields and then
 * the message; without one, like the console, with the message and then the fields.
 */
export interface Logger {
  debug: Write
  info: Write
  warn: Write
  error: Write
  fatal?: Write
}

type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal'

/** Says what is wrong with a logger, if something is. */
export function flawOf(logger: unknown): string | undefined {
  for (const level of ['debug', 'info', 'warn', 'error'])
    if (typeof (logger as Record<string, unknown> | null)?.[level] !== 'function')
      return `the option "logger" has no method "${level}"`
  return undefined
}

export function forward(logger: Logger, event: WorkerLogEvent): void {
  const { message, level, fields, ...about } = event
  const known = Object.fromEntries(Object.entries(about).filter(([, value]) => value !== null))
  const all = { ...known, ...(typeof fields === 'object' ? fields : { fields }) }
  const fatalIs = typeof logger.fatal === 'function'
  const args = fatalIs ? [all, message] : [message, all]
  const name = levels[level ?? ''] ?? (event.source === 'stderr' ? 'warn' : 'info')
  const method = name === 'fatal' && !fatalIs ? 'error' : name
  ;(logger[method] as (...args: unknown[]) => unknown)(...args)
}

/** By the names that records have. What was printed has none. */
const levels: Readonly<Record<string, Level | undefined>> = {
  debug: 'debug',
  info: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'fatal',
}
