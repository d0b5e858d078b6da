// Hands events to listeners. One that throws is warned of and disturbs nobody: neither the other listeners nor the pool.

import type { EventEmitter } from 'node:events'
import type { WarningEvent } from './generated/events.js'
import type { NativePool } from './native.js'
import type { Progress } from './surface.js'

/** Core tells only what somebody listens to, and warnings. What this returns sees to that; it may be called again. */
export function follower(emitter: EventEmitter, native: Pick<NativePool, 'listen'>): () => void {
  const added = (name: string | symbol): void => {
    if (typeof name === 'string') native.listen(name, true)
  }
  const removed = (name: string | symbol): void => {
    if (typeof name === 'string' && name !== 'warning' && emitter.listenerCount(name) === 0) native.listen(name, false)
  }
  return () => {
    native.listen('warning', true)
    if (!emitter.listeners('newListener').includes(added)) emitter.on('newListener', added)
    if (!emitter.listeners('removeListener').includes(removed)) emitter.on('removeListener', removed)
  }
}

/** `json` is a list of the event's name and its data. `warned` are the warnings that nobody listened to. */
export function tell(emitter: EventEmitter, json: string, warned: Set<string>): void {
  const [name, data] = JSON.parse(json) as [string, unknown]
  const listeners = emitter.rawListeners(name)
  for (const listener of listeners) tellOne(emitter, listener, name, data)
  if (name === 'warning' && listeners.length === 0) warnOnce(data as WarningEvent, warned)
}

/** An observer that throws is warned of, too. */
export function tellProgress(observer: (progress: Progress) => unknown, progress: Progress): void {
  tellOne({}, observer, 'progress', progress)
}

function warnOnce({ pool, message }: WarningEvent, warned: Set<string>): void {
  if (warned.has(message)) return
  warned.add(message)
  process.emitWarning(`pool ${pool}: ${message}`, 'GangerWarning')
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
