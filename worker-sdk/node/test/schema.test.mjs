// Inputs against JSON Schemas: what fits, and the path of what does not.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkInput, InvalidInput } from '../dist/test/parts.mjs'
import { Host, project } from './host.mjs'

const SCHEMA = {
  type: 'object',
  required: ['amount'],
  additionalProperties: false,
  properties: {
    amount: { type: 'number', minimum: 0, exclusiveMaximum: 100 },
    currency: { enum: ['EUR', 'USD'] },
    tags: { type: 'array', items: { type: 'string', minLength: 1, pattern: '^[a-z]' }, maxItems: 2 },
    count: { type: ['integer', 'null'] },
    file: { type: 'string', format: 'binary' },
    when: { type: 'string', format: 'date-time' },
    shape: { oneOf: [{ $ref: '#/$defs/circle' }, { type: 'string' }] },
    either: { anyOf: [{ type: 'boolean' }, { const: 'auto' }] },
    rest: { not: { type: 'string' } },
  },
  $defs: { circle: { type: 'object', required: ['r'], properties: { r: { type: 'integer' } } } },
}

const where = (input) => {
  try {
    checkInput(SCHEMA, input)
    return 'fits'
  } catch (error) {
    if (error instanceof InvalidInput) return error.path
    throw error
  }
}

test('what fits', () => {
  for (const extra of [
    {},
    { currency: 'EUR' },
    { tags: ['a', 'b'] },
    { count: 3 },
    { count: 2n ** 60n },
    { count: null },
    { file: Buffer.from('x') },
    { when: new Date() },
    { shape: { r: 1 } },
    { shape: 'x' },
    { either: 'auto' },
    { either: false },
    { rest: 1 },
  ])
    assert.equal(
      where({ amount: 3, ...extra }),
      'fits',
      JSON.stringify(extra, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    )
})

test('what does not, and where', () => {
  for (const [input, path] of [
    [3, '$'],
    [null, '$'],
    [[], '$'],
    [{}, '$.amount'],
    [{ amount: 'x' }, '$.amount'],
    [{ amount: -1 }, '$.amount'],
    [{ amount: 100 }, '$.amount'],
    [{ amount: 1, currency: 'GBP' }, '$.currency'],
    [{ amount: 1, other: 1 }, '$.other'],
    [{ amount: 1, tags: 'a' }, '$.tags'],
    [{ amount: 1, tags: ['a', ''] }, '$.tags[1]'],
    [{ amount: 1, tags: ['A'] }, '$.tags[0]'],
    [{ amount: 1, tags: ['a', 'b', 'c'] }, '$.tags'],
    [{ amount: 1, count: 1.5 }, '$.count'],
    [{ amount: 1, when: 5 }, '$.when'],
    [{ amount: 1, shape: { r: 'x' } }, '$.shape'],
    [{ amount: 1, either: 1 }, '$.either'],
    [{ amount: 1, rest: '' }, '$.rest'],
    [{ amount: Buffer.from('x') }, '$.amount'],
  ])
    assert.equal(where(input), path, JSON.stringify(input))
})

test('a worker refuses a misfit before the function runs, and its contract carries the schema', async () => {
  const folder = project({
    'w.mjs': `
      import { action } from 'ganger-worker'
      let ran = 0
      export const convert = action({ input: ${JSON.stringify(SCHEMA)} }, ({ amount }) => { ran++; return amount })
      export const count = () => ran`,
  })
  const host = await Host.started(join(folder, 'w.mjs'))
  assert.deepEqual(host.last.body.functions.find(({ name }) => name === 'convert').input, SCHEMA)
  const error = await host.error('convert', { amount: 'x' })
  assert.deepEqual([error.code, error.path], ['INVALID_INPUT', '$.amount'])
  assert.match(error.message, /string, not number/)
  assert.equal(await host.call('count'), 0)
  assert.equal(await host.call('convert', { amount: 2 }), 2)
  await host.leave()
})
