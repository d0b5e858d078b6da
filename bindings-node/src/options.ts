// Options on their way to core: as JSON, with nothing decided here. What JSON cannot say is put so that core refuses it
// and names it.

import { fileURLToPath } from 'node:url'
import { pathOptions } from './generated/options.js'
import { isSignal } from './signals.js'

/** `except` are names that core does not know. `trace` is added unless the options have one. */
export function optionsJson(options: unknown, except?: ReadonlySet<string>, trace?: Record<string, string>): string {
  if (typeof options !== 'object' || options === null || Array.isArray(options) || isSignal(options))
    throw new TypeError(`options must be an object, not ${shown(options)}`)
  // Without a prototype, so that no name means anything here.
  const plain: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && except?.has(name) !== true) plain[name] = pathOptions.has(name) ? pathOf(value) : value
  if (trace !== undefined) plain['trace'] ??= trace
  return JSON.stringify(plain, sayable)
}

/** Modules know where they are as URLs, `import.meta.url` and `import.meta.resolve()` as their text. */
export function pathOf(value: unknown): unknown {
  if (value instanceof URL) return value.protocol === 'file:' ? fileURLToPath(value) : { URL: [value.href] }
  return typeof value === 'string' && value.startsWith('file:') ? fileURLToPath(value) : value
}

function sayable(_: string, value: unknown): unknown {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value)
    case 'function':
    case 'symbol':
      // No option takes a map of lists.
      return { [typeof value]: [String(value)] }
    default:
      return value
  }
}

function shown(options: unknown): string {
  if (Array.isArray(options)) return 'a list'
  if (isSignal(options)) return 'an AbortSignal: it goes into one, as { signal }'
  return options === null ? 'null' : typeof options
}
