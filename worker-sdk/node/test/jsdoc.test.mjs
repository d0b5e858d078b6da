// Contracts from comments: types to schemas, tags to options, and what a worker does with them.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkInput, described, InvalidInput, typeOf } from '../dist/test/parts.mjs'
import { Host, project } from './host.mjs'

test('types', () => {
  const string = { type: 'string' }
  for (const [text, schema] of [
    ['number', { type: 'number' }],
    ['integer', { type: 'integer' }],
    ['string[]', { type: 'array', items: string }],
    ['Array<string>', { type: 'array', items: string }],
    ['Array.<string>', { type: 'array', items: string }],
    ['(string | number)[]', { type: 'array', items: { type: ['string', 'number'] } }],
    ['?string', { type: ['string', 'null'] }],
    ['string | undefined', { type: ['string', 'null'] }],
    [`'EUR' | "USD"`, { enum: ['EUR', 'USD'] }],
    ['-1 | 2.5', { enum: [-1, 2.5] }],
    [
      'Record<string, number[]>',
      { type: 'object', additionalProperties: { type: 'array', items: { type: 'number' } } },
    ],
    ['Object.<string, string>', { type: 'object', additionalProperties: string }],
    ['[string, number]', { type: 'array', prefixItems: [string, { type: 'number' }], minItems: 2, maxItems: 2 }],
    ['Promise<Buffer>', { type: 'string', format: 'binary' }],
    ['Date', { type: 'string', format: 'date-time' }],
    [
      '{ a: number, b?: string; c: { d: boolean } }',
      {
        type: 'object',
        properties: {
          a: { type: 'number' },
          b: string,
          c: { type: 'object', properties: { d: { type: 'boolean' } }, required: ['d'] },
        },
        required: ['a', 'c'],
      },
    ],
    ['string | Date', { anyOf: [string, { type: 'string', format: 'date-time' }] }],
    ['*', {}],
    ['string | any', {}],
    ['Whatever<string>', {}],
    ['import("x").Y', {}],
    ['(a: string) => void', {}],
    ['', {}],
    ['string |', {}],
  ])
    assert.deepEqual(typeOf(text).schema, schema, text)
  assert.deepEqual(typeOf('AsyncGenerator<string>'), { schema: string, isStream: true })
  assert.deepEqual(typeOf('Promise<Readable>'), { schema: {}, isStream: true })
})

const source = `
/**
 * @typedef {object} Line
 * @property {string} sku
 * @property {integer} [count=1] how many
 */
/** @typedef {'EUR' | 'USD'} Currency */

/**
 * Adds an order up.
 *
 * Slowly.
 * @param {object} order - the order
 * @param {Line[]} order.lines
 * @param {Currency} [order.currency]
 * @param {object} order.to
 * @param {string} order.to.city where to
 * @param {import('ganger-worker').CallContext} context
 * @returns {Promise<number>} the sum
 * @idempotent
 * @timeout 5s
 */
export async function total(order, context) { return order.lines.length }

/** Writes on.
 * @param {string} prompt
 * @yields {string}
 */
export async function* tokens(prompt) { yield prompt }

/** @returns {ReadableStream<integer>} */
export const numbers = () => new ReadableStream({ start(controller) { controller.enqueue(1); controller.close() } })

/**
 * @param {integer} start
 * @inputs {{ amount: number }}
 */
export async function sum(start, { inputs }) { for await (const { amount } of inputs) start += amount; return start }

/** Says more. @param {string} */
export function plain(_, context) { return context.attempt }

/** Is overruled. @private
 * @param {number} input */
export const overruled = (input) => input

/** Only about the context.
 * @param {CallContext} context */
export const about = (_, context) => context.function

/** Just a comment. */

const other = 3
/** @param {number} [n] */
const later = (n) => n
export { later as renamed }
export const ganger = { functions: { overruled: { summary: 'Mine', input: {} } } }
`

test('comments', () => {
  const found = described(source)
  assert.deepEqual(found.get('total'), {
    summary: 'Adds an order up.',
    idempotent: true,
    timeout: '5s',
    input: {
      type: 'object',
      properties: {
        lines: {
          type: 'array',
          items: {
            type: 'object',
            properties: { sku: { type: 'string' }, count: { type: 'integer', description: 'how many' } },
            required: ['sku'],
          },
        },
        currency: { enum: ['EUR', 'USD'] },
        to: { type: 'object', properties: { city: { type: 'string', description: 'where to' } }, required: ['city'] },
      },
      required: ['lines', 'to'],
    },
    output: { type: 'number' },
  })
  assert.deepEqual(found.get('tokens'), {
    summary: 'Writes on.',
    input: { type: 'string' },
    output: { type: 'string' },
  })
  assert.deepEqual(found.get('numbers'), { kind: 'stream', output: { type: 'integer' } })
  assert.deepEqual(found.get('sum').inputs, {
    type: 'object',
    properties: { amount: { type: 'number' } },
    required: ['amount'],
  })
  assert.deepEqual(found.get('about'), { summary: 'Only about the context.' })
  assert.deepEqual(found.get('later').input, { anyOf: [{ type: 'number' }, { type: 'null' }] })
  const odd = `const glob = 'src/**'; const all = 'a/**/b' /* plain */\n/** Says. */\nexport function f() {}\n/* no */ export function g() {}`
  assert.deepEqual([...described(odd)], [['f', { summary: 'Says.' }]])
  assert.equal(described(`/** ${'long '.repeat(1e6)}*/ export function f() {}`).size, 1)
  for (const text of [
    '',
    '/**',
    '*/ /**',
    '/***/ export function f() {}',
    '/** @param */ export function f() {}',
    '/** @param {{ */ export function f() {}',
  ])
    assert.doesNotThrow(() => described(text))
})

test('a worker has contracts from its comments, and holds inputs to them', async () => {
  const host = await Host.started(join(project({ 'w.mjs': source }), 'w.mjs'))
  const of = Object.fromEntries(host.last.body.functions.map((contract) => [contract.name, contract]))
  assert.deepEqual(
    [of.total.summary, of.total.idempotent, of.total.timeout_ms, of.total.kind, of.tokens.kind, of.numbers.kind],
    ['Adds an order up.', true, 5000, 'value', 'stream', 'stream'],
  )
  assert.deepEqual([of.overruled.summary, of.overruled.input], ['Mine', {}])
  assert.deepEqual(of.renamed.input, { anyOf: [{ type: 'number' }, { type: 'null' }] })
  const { code, path } = await host.error('total', { lines: [{ sku: 'a' }, { sku: 3 }], to: { city: 'Ur' } })
  assert.deepEqual([code, path], ['INVALID_INPUT', '$.lines[1].sku'])
  assert.equal(await host.call('total', { lines: [{ sku: 'a' }], to: { city: 'Ur' } }), 1)
  assert.equal(await host.call('overruled', 'text'), 'text')
  await host.leave()
})

const BRANCHES = '{ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "minimum": 3 } }'

test('more of JSON Schema', () => {
  const fits = (schema, input) => {
    try {
      checkInput(schema, input)
      return true
    } catch (error) {
      if (error instanceof InvalidInput) return error.path
      throw error
    }
  }
  for (const [schema, input, wanted] of [
    [{ multipleOf: 0.1 }, 0.3, true],
    [{ multipleOf: 2 }, 3, '$'],
    [{ uniqueItems: true }, [1, { a: 1 }, { a: 1 }], '$'],
    [{ contains: { type: 'string' } }, [1, 'a'], true],
    [{ contains: { type: 'string' } }, [1], '$'],
    [{ minProperties: 1 }, {}, '$'],
    [{ patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false }, { 'x-a': 'b' }, true],
    [{ patternProperties: { '^x-': { type: 'string' } } }, { 'x-a': 1 }, '$["x-a"]'],
    [{ propertyNames: { pattern: '^[a-z]+$' } }, { A: 1 }, '$.A'],
    [JSON.parse(BRANCHES), 'a', '$'],
    [JSON.parse(BRANCHES), 3, true],
  ])
    assert.equal(fits(schema, input), wanted, JSON.stringify([schema, input]))
})
