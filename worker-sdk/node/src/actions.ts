// How a worker's author marks functions and hooks. Marks live on the functions themselves and in one registry of the
// process, so that they count whichever copy of `ganger-worker` the author's code imported.

import type { CallContext, WorkerContext } from './context.js'
import type { FunctionOptions } from './contract.js'

/** Anything callable: `(input, context) => result`, a promise of one, or a generator of items. */
export type WorkerFunction = (...args: never[]) => unknown
export type Hook = (context: WorkerContext) => unknown

/** `export const ganger = { … }`: describes a module's exported functions without importing anything. */
export interface ModuleDescription {
  functions?: Record<string, FunctionOptions>
  startup?: Hook
  shutdown?: Hook
}

const OPTIONS = Symbol.for('ganger-worker.options')
const HOOKS = Symbol.for('ganger-worker.hooks')

interface Hooks {
  startup: Hook[]
  shutdown: Hook[]
}

/** Describes an exported function: `export const convert = action({ idempotent: true }, async (input, context) => …)`. */
export function action<Input, Output, Item = unknown>(
  options: FunctionOptions,
  fn: (input: Input, context: CallContext<Item>) => Output,
): (input: Input, context: CallContext<Item>) => Output {
  if (typeof fn !== 'function') throw new TypeError('action(options, function): the function is missing')
  Object.defineProperty(fn, OPTIONS, { value: options })
  return fn
}

/** Runs before the worker is ready; several run in the order in which they were given. */
export function startup(hook: Hook): Hook {
  hooks().startup.push(hook)
  return hook
}

/** Runs when the worker stops in peace, the last given first. */
export function shutdown(hook: Hook): Hook {
  hooks().shutdown.push(hook)
  return hook
}

export function hooks(): Hooks {
  const place = globalThis as { [HOOKS]?: Hooks }
  place[HOOKS] ??= { startup: [], shutdown: [] }
  return place[HOOKS]
}

export function optionsOf(fn: WorkerFunction): FunctionOptions | undefined {
  return (fn as { [OPTIONS]?: FunctionOptions })[OPTIONS]
}

export function isHook(fn: unknown): boolean {
  const { startup, shutdown } = hooks()
  return startup.includes(fn as Hook) || shutdown.includes(fn as Hook)
}
