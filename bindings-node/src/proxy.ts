// Functions of workers as functions of the app: `workers.prices.convert(input)` for `pool.call('prices.convert', input)`.

import { inspect } from 'node:util'
import { isSignal } from './signals.js'
import type { Stream } from './stream.js'
import type { CallOptions, StreamOptions } from './surface.js'

/** What a proxy needs of a pool. */
export interface Calls {
  readonly name: string
  call(fn: string, input?: unknown, options?: CallOptions | null): Promise<unknown>
  stream(fn: string, input?: unknown, options?: StreamOptions | null): Stream<unknown>
}

/** A proxy of which nothing is known. `ganger types` writes what is. */
export interface UncheckedWorkers {
  readonly [name: string]: UncheckedFunction
}

/** A function, or a module with functions: `stream` makes a call whose items come one by one. */
export type UncheckedFunction = {
  readonly stream: (input?: unknown, options?: StreamOptions | null) => Stream
} & ((input?: unknown, options?: CallOptions | null) => Promise<unknown>) &
  UncheckedWorkers

/** Of the functions of a pool's workers. */
export function workersProxy(calls: Calls, options: CallOptions | null | undefined): object {
  const defaults = options ?? {}
  return new Proxy(named(Object.create(null), `[workers of the pool ${calls.name}]`), {
    ...closed,
    get: (target, name) => (isOwn(name) ? Reflect.get(target, name) : functionProxy(calls, name, defaults)),
  })
}

function functionProxy(calls: Calls, path: string, defaults: CallOptions): object {
  const call = (input?: unknown, options?: CallOptions | null): Promise<unknown> =>
    calls.call(path, input, over(defaults, options))
  const { idempotent: _, retries: __, ...ofStreams } = defaults
  const stream = (input?: unknown, options?: StreamOptions | null): Stream<unknown> =>
    calls.stream(path, input, over(ofStreams, options))
  return new Proxy(named(call, `[${path} of the pool ${calls.name}]`), {
    ...closed,
    get(target, name) {
      if (isOwn(name)) return Reflect.get(target, name)
      return name === 'stream' ? stream : functionProxy(calls, `${path}.${name}`, defaults)
    },
  })
}

/** What is no options at all is left as it is, to be refused. */
function over<Options extends object>(defaults: object, options: Options | null | undefined): Options {
  return typeof options !== 'object' || Array.isArray(options) || isSignal(options)
    ? ((options ?? defaults) as Options)
    : ({ ...defaults, ...options } as Options)
}

/** What languages and tools ask of any object is no function of a worker: a proxy is neither a promise nor JSON. */
function isOwn(name: string | symbol): name is symbol {
  return typeof name === 'symbol' || name === 'then' || name === 'toJSON'
}

/** Shows it as text, in a REPL too. */
function named<Target extends object>(target: Target, text: string): Target {
  const show = { value: () => text }
  return Object.defineProperties(target, { [inspect.custom]: show, [Symbol.toPrimitive]: show })
}

const closed: ProxyHandler<object> = {
  set: () => false,
  defineProperty: () => false,
  deleteProperty: () => false,
}
