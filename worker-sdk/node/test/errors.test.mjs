// Reports of what was thrown: whatever it is, a report can be made and sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, reportOf } from '../dist/test/parts.mjs'
import { bytesOf } from './host.mjs'

const report = (thrown) => {
  const made = reportOf('CALL_FAILED', thrown)
  return decode(bytesOf(made))
}

test('type, message, traceback and cause chain', () => {
  class TooHot extends RangeError {}
  const error = new TooHot('over 9000', { cause: new Error('sensor', { cause: 'dust' }) })
  const made = report(error)
  assert.equal(made.code, 'CALL_FAILED')
  assert.equal(made.type, 'RangeError')
  assert.equal(made.message, 'over 9000')
  assert.match(made.traceback, /errors\.test\.mjs/)
  assert.equal(made.cause.message, 'sensor')
  assert.equal(made.cause.cause.type, 'string')
  assert.equal(made.cause.cause.message, 'dust')
})

test('a class without a name of its own reports its class', () => {
  class Broken extends Error {}
  assert.equal(report(new Broken('x')).type, 'Broken')
  assert.equal(report(Object.assign(new Error('x'), { name: 'Special' })).type, 'Special')
})

test('own properties go along, what cannot is named', () => {
  const error = Object.assign(new Error('x'), {
    code: 'ENOENT',
    errno: -2,
    socket: { close() {} },
    nested: { ok: [1] },
  })
  const made = report(error)
  assert.deepEqual(made.properties, { code: 'ENOENT', errno: -2, nested: { ok: [1] } })
  assert.deepEqual(made.dropped, ['socket'])
})

test('an AggregateError brings its errors', () => {
  const made = report(new AggregateError([new TypeError('one'), 'two'], 'both'))
  assert.deepEqual(
    made.properties.errors.map(({ type, message }) => [type, message]),
    [
      ['TypeError', 'one'],
      ['string', 'two'],
    ],
  )
})

test('what is no error is reported by its value', () => {
  for (const [thrown, type, message] of [
    ['text', 'string', 'text'],
    [null, 'null', 'null'],
    [undefined, 'undefined', 'undefined'],
    [42, 'number', '42'],
    [{ a: 1 }, 'Object', '{ a: 1 }'],
    [Symbol('s'), 'symbol', 'Symbol(s)'],
    [Object.create(null), 'object', '[Object: null prototype] {}'],
  ]) {
    const made = report(thrown)
    assert.equal(made.type, type)
    assert.equal(made.message, message)
  }
})

test('objects that fight back still give a report', () => {
  const hostile = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('no')
    },
    ownKeys: () => {
      throw new Error('no')
    },
  })
  assert.equal(typeof report(hostile).message, 'string')
  const getters = new Error('kept')
  Object.defineProperty(getters, 'bad', {
    enumerable: true,
    get: () => {
      throw new Error('no')
    },
  })
  const made = report(getters)
  assert.equal(made.message, 'kept')
  assert.deepEqual(made.dropped, ['bad'])
})

test('cycles and endless chains of causes end', () => {
  const error = new Error('self')
  error.cause = error
  error.me = error
  const made = report(error)
  assert.equal(made.cause, undefined)
  assert.deepEqual(made.dropped, ['me'])
  let chain = new Error('last')
  for (let index = 0; index < 100; index++) chain = new Error(`e${index}`, { cause: chain })
  let length = 0
  for (let at = report(chain); at; at = at.cause) length++
  assert.ok(length <= 17 && length > 10, `${length} long`)
})

test('a huge message and traceback are cut', () => {
  const made = report(new Error('ü'.repeat(1e6)))
  assert.ok(Buffer.byteLength(made.message) <= 64 * 1024)
  assert.ok(Buffer.byteLength(made.traceback) <= 256 * 1024)
  assert.ok(made.message.startsWith('üü') && !made.message.includes('\ufffd'))
})

test('half characters in a message are replaced', () => {
  assert.equal(report(new Error('a\ud800')).message, 'a\ufffd')
})
