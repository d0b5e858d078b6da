// Types as JSDoc writes them, in braces, to JSON Schema. What is not understood is anything: a contract never refuses more than was said.

import type { JsonSchema } from './contract.js'

export type Named = ReadonlyMap<string, JsonSchema>

const ANYTHING: JsonSchema = Object.freeze({})
const TOKEN = /\s*(=>|\.{3}|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|[\w$]+(?:\.[\w$]+)*|\[\]|[^\s\w])/gy

const BYTES: JsonSchema = { type: 'string', format: 'binary' }
const NAMES: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ['string', { type: 'string' }],
  ['String', { type: 'string' }],
  ['number', { type: 'number' }],
  ['Number', { type: 'number' }],
  ['integer', { type: 'integer' }],
  ['int', { type: 'integer' }],
  ['bigint', { type: 'integer' }],
  ['boolean', { type: 'boolean' }],
  ['Boolean', { type: 'boolean' }],
  ['bool', { type: 'boolean' }],
  ['null', { type: 'null' }],
  ['undefined', { type: 'null' }],
  ['void', { type: 'null' }],
  ['object', { type: 'object' }],
  ['Object', { type: 'object' }],
  ['Array', { type: 'array' }],
  ['true', { const: true }],
  ['false', { const: false }],
  ['Date', { type: 'string', format: 'date-time' }],
  ['Buffer', BYTES],
  ['Uint8Array', BYTES],
  ['ArrayBuffer', BYTES],
])
/** What has many values of its type, one after the other. */
export const STREAMS: ReadonlySet<string> = new Set([
  'Generator',
  'AsyncGenerator',
  'Iterator',
  'AsyncIterator',
  'AsyncIterable',
  'AsyncIterableIterator',
  'ReadableStream',
  'Readable',
])

export interface TypeOf {
  schema: JsonSchema
  isStream: boolean
}

/** `text` is what stands between the braces. `named` are the types that the file defines. */
export function typeOf(text: string, named: Named = new Map()): TypeOf {
  const type = new Type(text.match(TOKEN)?.map((token) => token.trim()) ?? [], named)
  try {
    const schema = type.whole()
    return { schema, isStream: type.isStream }
  } catch (error) {
    if (error instanceof Unclear) return { schema: ANYTHING, isStream: type.isStream }
    throw error
  }
}

class Unclear extends Error {}

class Type {
  #at = 0
  isStream = false

  constructor(
    private readonly tokens: readonly string[],
    private readonly named: Named,
  ) {}

  whole(): JsonSchema {
    const schema = this.#union()
    this.#take('=')
    if (this.#at < this.tokens.length) throw new Unclear()
    return schema
  }

  #take(token: string): boolean {
    if (this.tokens[this.#at] !== token) return false
    this.#at++
    return true
  }

  #need(token: string): void {
    if (!this.#take(token)) throw new Unclear()
  }

  #next(): string {
    const token = this.tokens[this.#at++]
    if (token === undefined) throw new Unclear()
    return token
  }

  #union(): JsonSchema {
    this.#take('|')
    const choices = [this.#one()]
    while (this.#take('|')) choices.push(this.#one())
    return choices.length === 1 ? (choices[0] as JsonSchema) : joined(choices)
  }

  #one(): JsonSchema {
    const nullable = this.#take('?')
    this.#take('!')
    let schema = this.#plain()
    while (this.#take('[]')) schema = { type: 'array', items: schema }
    return nullable || this.#take('?') ? joined([schema, { type: 'null' }]) : schema
  }

  #plain(): JsonSchema {
    const token = this.#next()
    if (token === '(') return this.#closed(this.#union(), ')')
    if (token === '{') return this.#object()
    if (token === '[') return this.#tuple()
    if (token === '[]') return { type: 'array', maxItems: 0 }
    if (token === '*') return ANYTHING
    if (/^['"]/.test(token)) return { const: token.slice(1, -1).replaceAll(/\\(.)/g, '$1') }
    if (/^-?\d/.test(token)) return { const: Number(token) }
    if (!/^[\w$]/.test(token)) throw new Unclear()
    return this.#name(token)
  }

  #closed(schema: JsonSchema, by: string): JsonSchema {
    this.#need(by)
    return schema
  }

  #name(name: string): JsonSchema {
    const of = this.#arguments()
    const [first = ANYTHING, second] = of
    if (STREAMS.has(name)) {
      this.isStream = true
      return first
    }
    if (name === 'Promise') return first
    if (of.length === 0) return NAMES.get(name) ?? this.named.get(name) ?? ANYTHING
    if (name === 'Array' || name === 'ReadonlyArray') return { type: 'array', items: first }
    if (name === 'Record' || name === 'Map' || name === 'Object' || name === 'object')
      return { type: 'object', additionalProperties: second ?? ANYTHING }
    return ANYTHING
  }

  /** `<A, B>`, or `.<A, B>` as JSDoc writes it of old. */
  #arguments(): JsonSchema[] {
    if (this.tokens[this.#at] === '.' && this.tokens[this.#at + 1] === '<') this.#at++
    if (!this.#take('<')) return []
    const list = [this.#union()]
    while (this.#take(',')) list.push(this.#union())
    this.#need('>')
    return list
  }

  #object(): JsonSchema {
    const properties: Record<string, JsonSchema> = {}
    const required: string[] = []
    while (!this.#take('}')) {
      const name = this.#next().replace(/^(['"])(.*)\1$/, '$2')
      const optional = this.#take('?')
      properties[name] = this.#take(':') ? this.#union() : ANYTHING
      if (!optional) required.push(name)
      if (!this.#take(',')) this.#take(';')
    }
    return objectOf(properties, required)
  }

  #tuple(): JsonSchema {
    const prefixItems: JsonSchema[] = []
    while (!this.#take(']')) {
      prefixItems.push(this.#union())
      this.#take(',')
    }
    return { type: 'array', prefixItems, minItems: prefixItems.length, maxItems: prefixItems.length }
  }
}

export function objectOf(properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}) }
}

/** One of several, as short as it goes: literals are an `enum`, plain types a list of them. */
function joined(choices: readonly JsonSchema[]): JsonSchema {
  if (choices.some((choice) => Object.keys(choice).length === 0)) return ANYTHING
  if (choices.every((choice) => 'const' in choice)) return { enum: choices.map((choice) => choice['const']) }
  const isPlain = (choice: JsonSchema): boolean =>
    typeof choice['type'] === 'string' && Object.keys(choice).length === 1
  if (choices.every(isPlain)) return { type: choices.map((choice) => choice['type']) }
  return { anyOf: choices }
}
