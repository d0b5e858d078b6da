// Options on their way to core: as JSON, with nothing decided here. What JSON cannot say is put so that core refuses it
// and names it.

import { fileURLToPath } from 'node:url'

/** `except` are names that core does not know. `trace` is added unless the options have one. */
export function optionsJson(options: unknown, except?: ReadonlySet<string>, trace?: Record<string, string>): string {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new TypeError(`options must be an object, not ${options === null ? 'null' : typeof options}`)
  // Without a prototype, so that no name means anything here.
  const plain: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && except?.has(name) !== true) plain[name] = value
  if (trace !== undefined) plain['trace'] ??= trace
  return JSON.stringify(plain, sayable)
}

/** `value` is what `toJSON` made of it already; the object that holds it has the original. */
function sayable(this: unknown, name: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[name]
  if (original instanceof URL && original.protocol === 'file:') return fileURLToPath(original)
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
