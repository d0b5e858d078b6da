// What a function says about itself: the options an author writes and the contract that READY sends (SPEC chapter 8).

/** Milliseconds, or text such as `'500ms'`, `'5s'`, `'2m'`, `'1h'`. */
export type Duration = number | string

export type JsonSchema = Readonly<Record<string, unknown>>

/** Options of `action` and of `export const ganger = { functions: { … } }`; all have defaults. */
export interface FunctionOptions {
  /** Default: the exported name. */
  name?: string
  /** Say `'stream'` of a function that returns an async iterable or a Readable; of generators it is known. */
  kind?: 'value' | 'stream'
  summary?: string
  /** It may run again after its worker died. Default false. */
  idempotent?: boolean
  /** How many of the worker's slots one call takes. Default 1. */
  slots?: number
  /** What one call costs a node, 1 to 100. Default 1. */
  weight?: number
  coefficient?: number
  /** Run alone on its worker or node. */
  exclusive?: 'worker' | 'node'
  /** Limit of one attempt; the host enforces it. */
  timeout?: Duration
  /**
   * Calls that wait are handed over together, `max` at most; one waits for others for `wait` at most. The function gets an array of inputs
   * and returns an array of as many results, in which an Error is that call's error.
   */
  batch?: { max: number; wait: Duration }
  /** Of one call's input, with `batch` as well. */
  input?: JsonSchema
  /** Of a stream: of an item. With `batch`: of one call's result. */
  output?: JsonSchema
  /** The function reads a stream of such items, `context.inputs`; `{}`: of anything. */
  inputs?: JsonSchema
}

export interface Contract {
  name: string
  kind: 'value' | 'stream'
  summary?: string
  idempotent?: true
  slots?: number
  weight?: number
  coefficient?: number
  exclusive?: 'worker' | 'node'
  timeout_ms?: number
  batch?: { max: number; wait_ms: number }
  input?: JsonSchema
  output?: JsonSchema
  inputs?: JsonSchema
}

const KNOWN_OPTIONS: ReadonlySet<string> = new Set([
  'name',
  'kind',
  'summary',
  'idempotent',
  'slots',
  'weight',
  'coefficient',
  'exclusive',
  'timeout',
  'batch',
  'input',
  'output',
  'inputs',
])

/** Leaves out what is at its default. Throws on options that mean nothing, so that a typo fails the start. */
export function contractOf(name: string, kind: Contract['kind'], options: FunctionOptions): Contract {
  for (const key of Object.keys(options))
    if (!KNOWN_OPTIONS.has(key)) throw new TypeError(`function ${name}: unknown option ${key}`)
  if (kind !== 'value' && kind !== 'stream') throw new TypeError(`${name}.kind: ${kind} is neither value nor stream`)
  const contract: Contract = { name, kind }
  if (options.summary !== undefined) contract.summary = options.summary
  if (options.idempotent === true) contract.idempotent = true
  if (options.slots !== undefined) contract.slots = whole(options.slots, `${name}.slots`, 1, 0xffffffff)
  if (options.weight !== undefined) contract.weight = whole(options.weight, `${name}.weight`, 1, 100)
  if (options.coefficient !== undefined) contract.coefficient = options.coefficient
  if (options.exclusive !== undefined) contract.exclusive = options.exclusive
  if (options.timeout !== undefined) contract.timeout_ms = milliseconds(options.timeout, `${name}.timeout`)
  if (options.batch !== undefined) contract.batch = batchOf(name, kind, options.batch, options.inputs)
  if (options.input !== undefined) contract.input = options.input
  if (options.output !== undefined) contract.output = options.output
  if (options.inputs !== undefined) contract.inputs = options.inputs
  return contract
}

function batchOf(
  name: string,
  kind: Contract['kind'],
  { max, wait }: NonNullable<FunctionOptions['batch']>,
  inputs: JsonSchema | undefined,
): Contract['batch'] & object {
  if (kind === 'stream' || inputs !== undefined)
    throw new TypeError(`${name}.batch: a function that yields items or reads an input stream takes no batches`)
  return { max: whole(max, `${name}.batch.max`, 1, 0xffffffff), wait_ms: milliseconds(wait, `${name}.batch.wait`) }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

export function milliseconds(duration: Duration, option: string): number {
  const match = typeof duration === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*$/.exec(duration) : null
  const value = match ? Number(match[1]) * (UNITS[match[2] as string] as number) : duration
  if (typeof value !== 'number' || !(value >= 0) || value > Number.MAX_SAFE_INTEGER)
    throw new TypeError(`${option}: ${JSON.stringify(duration)} is no duration; write milliseconds or '5s'`)
  return Math.ceil(value)
}

function whole(value: number, option: string, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new TypeError(`${option}: ${value} is not a whole number from ${least} to ${most}`)
  return value
}
