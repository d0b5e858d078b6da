// Hands events to listeners. One that throws is warned of and disturbs nobody: neither the other listeners nor the pool.

import type { EventEmitter } from 'node:events'

/** `json` is a list of the event's name and its data. */
export function tell(emitter: EventEmitter, json: string): void {
  const [name, data] = JSON.parse(json) as [string, unknown]
  for (const listener of emitter.rawListeners(name)) tellOne(emitter, listener, name, data)
}

function tellOne(
  emitter: object,
  listener: ReturnType<EventEmitter['rawListeners']>[number],
  name: string,
  data: unknown,
): void {
  try {
    const returned: unknown = Reflect.apply(listener, emitter, [data])
    if (isThenable(returned)) returned.then(undefined, (error: unknown) => warn(name, error))
  } catch (error) {
    warn(name, error)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function warn(name: string, error: unknown): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning(`a listener of ${name} threw: ${detail}`, 'GangerWarning')
}
