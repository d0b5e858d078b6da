// Checks an input against the JSON Schema of its function, before the function runs. The keywords that describe data
// are honoured; those that only annotate are ignored. What JSON lacks is let through where a schema would mean it:
// bytes where `format: "binary"` or a content encoding is asked for, a Date where `format: "date-time"` is.

import type { JsonSchema } from './contract.js'
import { InvalidInput, type PathStep, pathText } from './path.js'

type Schema = JsonSchema | boolean
type Values = Readonly<Record<string, unknown>>

/** Throws `InvalidInput` with the path of the first thing that does not fit. */
export function checkInput(schema: JsonSchema, input: unknown): void {
  new Check(schema).value(schema, input, [])
}

class Check {
  constructor(private readonly root: JsonSchema) {}

  value(schema: Schema, value: unknown, path: readonly PathStep[]): void {
    if (typeof schema === 'boolean') return schema ? undefined : misfit(path, 'is not allowed')
    if (typeof schema['$ref'] === 'string') this.value(this.#definition(schema['$ref']), value, path)
    this.#kind(schema, value, path)
    this.#combinations(schema, value, path)
    if (typeof value === 'string') checkText(schema, value, path)
    else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(schema, value, path)
    else if (Array.isArray(value)) this.#list(schema, value, path)
    else if (isMap(value)) this.#map(schema, value, path)
  }

  #kind(schema: JsonSchema, value: unknown, path: readonly PathStep[]): void {
    const { type } = schema
    const types = (Array.isArray(type) ? type : type === undefined ? [] : [type]) as string[]
    if (types.length > 0 && !types.some((wanted) => isOf(wanted, schema, value)))
      misfit(path, `is ${kindOf(value)}, not ${types.join(' or ')}`)
    if ('const' in schema && !equal(schema['const'], value)) misfit(path, `is not ${JSON.stringify(schema['const'])}`)
    const choices = schema['enum']
    if (Array.isArray(choices) && !choices.some((choice) => equal(choice, value)))
      misfit(path, `is none of ${JSON.stringify(choices)}`)
  }

  #combinations(schema: JsonSchema, value: unknown, path: readonly PathStep[]): void {
    for (const part of listOf(schema['allOf'])) this.value(part, value, path)
    const any = listOf(schema['anyOf'])
    if (any.length > 0 && !any.some((part) => this.#fits(part, value, path))) misfit(path, 'fits none of the choices')
    const one = listOf(schema['oneOf'])
    const fitting = one.filter((part) => this.#fits(part, value, path)).length
    if (one.length > 0 && fitting !== 1)
      misfit(path, fitting === 0 ? 'fits none of the choices' : 'fits several choices')
    if (schema['not'] !== undefined && this.#fits(schema['not'] as Schema, value, path)) misfit(path, 'is not allowed')
    if (schema['if'] === undefined) return
    const branch = schema[this.#fits(schema['if'] as Schema, value, path) ? 'then' : 'else'] as Schema | undefined
    if (branch !== undefined) this.value(branch, value, path)
  }

  #fits(schema: Schema, value: unknown, path: readonly PathStep[]): boolean {
    try {
      this.value(schema, value, path)
      return true
    } catch (error) {
      if (error instanceof InvalidInput) return false
      throw error
    }
  }

  #list(schema: JsonSchema, list: readonly unknown[], path: readonly PathStep[]): void {
    bounds(schema['minItems'], schema['maxItems'], list.length, path, 'items')
    const first = listOf(schema['prefixItems'])
    const rest = schema['items'] as Schema | undefined
    for (const [index, item] of list.entries()) {
      const part = first[index] ?? rest
      if (part !== undefined) this.value(part, item, [...path, index])
    }
    const wanted = schema['contains'] as Schema | undefined
    if (wanted !== undefined && !list.some((item) => this.#fits(wanted, item, path))) misfit(path, 'lacks an item')
    if (
      schema['uniqueItems'] === true &&
      list.some((item, index) => list.slice(0, index).some((one) => equal(one, item)))
    )
      misfit(path, 'has an item twice')
  }

  #map(schema: JsonSchema, map: Values, path: readonly PathStep[]): void {
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
    for (const name of (schema['required'] ?? []) as string[])
      if (!Object.hasOwn(map, name)) misfit([...path, name], 'is missing')
    bounds(schema['minProperties'], schema['maxProperties'], Object.keys(map).length, path, 'fields')
    const others = schema['additionalProperties'] as Schema | undefined
    const names = schema['propertyNames'] as Schema | undefined
    const patterns = Object.entries((schema['patternProperties'] ?? {}) as Readonly<Record<string, Schema>>)
    for (const [name, value] of Object.entries(map)) {
      if (names !== undefined && !this.#fits(names, name, path)) misfit([...path, name], 'is no name that is allowed')
      const parts = patterns.filter(([pattern]) => expression(pattern).test(name)).map(([, part]) => part)
      if (Object.hasOwn(properties, name)) parts.push(properties[name] as Schema)
      else if (parts.length === 0 && others !== undefined) parts.push(others)
      for (const part of parts) {
        if (part === false) misfit([...path, name], 'is not known')
        this.value(part, value, [...path, name])
      }
    }
  }

  #definition(reference: string): Schema {
    let at: unknown = reference.startsWith('#') ? this.root : undefined
    for (const step of reference.slice(1).split('/').filter(Boolean))
      at = (at as Values | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')]
    if (at === undefined) throw new TypeError(`the schema refers to ${reference}, which it does not have`)
    return at as Schema
  }
}

function checkText(schema: JsonSchema, text: string, path: readonly PathStep[]): void {
  const { minLength, maxLength, pattern } = schema
  if (minLength !== undefined || maxLength !== undefined)
    bounds(minLength, maxLength, [...text].length, path, 'characters')
  if (typeof pattern === 'string' && !expression(pattern).test(text)) misfit(path, `does not match ${pattern}`)
}

function checkNumber(schema: JsonSchema, value: number | bigint, path: readonly PathStep[]): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema as Record<string, number | undefined>
  if (minimum !== undefined && value < minimum) misfit(path, `is below ${minimum}`)
  if (maximum !== undefined && value > maximum) misfit(path, `is above ${maximum}`)
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) misfit(path, `is not above ${exclusiveMinimum}`)
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) misfit(path, `is not below ${exclusiveMaximum}`)
  const step = schema['multipleOf']
  if (typeof step === 'number' && !Number.isInteger(Number((Number(value) / step).toPrecision(12))))
    misfit(path, `is no multiple of ${step}`)
}

const expressions = new Map<string, RegExp>()

function expression(pattern: string): RegExp {
  const made = expressions.get(pattern) ?? new RegExp(pattern, 'u')
  expressions.set(pattern, made)
  return made
}

function bounds(least: unknown, most: unknown, count: number, path: readonly PathStep[], what: string): void {
  if (typeof least === 'number' && count < least) misfit(path, `has fewer than ${least} ${what}`)
  if (typeof most === 'number' && count > most) misfit(path, `has more than ${most} ${what}`)
}

function isOf(type: string, schema: JsonSchema, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' || Number.isInteger(value)
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint'
    case 'string':
      return typeof value === 'string' || meansBytes(schema, value) || meansMoment(schema, value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isMap(value)
    default:
      return kindOf(value) === type
  }
}

function meansBytes(schema: JsonSchema, value: unknown): boolean {
  return value instanceof Uint8Array && (schema['format'] === 'binary' || schema['contentEncoding'] !== undefined)
}

function meansMoment(schema: JsonSchema, value: unknown): boolean {
  return value instanceof Date && schema['format'] === 'date-time'
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Date) return 'timestamp'
  return typeof value === 'bigint' ? 'integer' : typeof value
}

function isMap(value: unknown): value is Values {
  return kindOf(value) === 'object'
}

function listOf(value: unknown): readonly Schema[] {
  return Array.isArray(value) ? value : []
}

function equal(left: unknown, right: unknown): boolean {
  return left === right || (typeof left === 'object' && JSON.stringify(left) === JSON.stringify(right))
}

function misfit(path: readonly PathStep[], what: string): never {
  throw new InvalidInput(`${pathText(path)} ${what}`, pathText(path))
}
