// What values become on the wire, and what is said about those that cannot go there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, Encoder, NotDecodable, NotEncodable } from '../dist/test/parts.mjs'
import { bytesOf } from './host.mjs'

const roundTrip = (value) => decode(bytesOf(value))
const refused = (value, expected) =>
  assert.throws(
    () => bytesOf(value),
    (error) => {
      assert.ok(error instanceof NotEncodable, String(error))
      for (const [key, pattern] of Object.entries(expected)) assert.match(error[key], pattern)
      return true
    },
  )

test('integral numbers are integers, whatever their size', () => {
  for (const number of [0, 1, -1, 127, 128, -33, 2 ** 31, 2 ** 32, 5e9, -5e9, Number.MAX_SAFE_INTEGER])
    assert.notEqual(bytesOf(number)[0], 0xcb, `${number} went as a float`)
  assert.equal(bytesOf(-0)[0], 0xcb)
  assert.equal(bytesOf(1e300)[0], 0xcb)
})

test('integers beyond 2^53 arrive as BigInt, smaller BigInts as numbers', () => {
  assert.equal(roundTrip(2n ** 63n), 2n ** 63n)
  assert.equal(roundTrip(-(2n ** 63n)), -(2n ** 63n))
  assert.equal(roundTrip(5n), 5)
  refused(2n ** 64n, { what: /bigint/, hint: /64 bits/ })
})

test('undefined is nil in lists and maps', () => {
  assert.deepEqual(roundTrip([undefined, { a: undefined }]), [null, { a: null }])
})

test('bytes come from Buffer, typed arrays of bytes, ArrayBuffer and DataView', () => {
  const bytes = Uint8Array.of(1, 2, 3)
  for (const value of [
    bytes,
    Buffer.from(bytes),
    bytes.buffer,
    new DataView(bytes.buffer),
    new Uint8ClampedArray(bytes),
  ])
    assert.deepEqual(roundTrip({ value }).value, Buffer.from(bytes))
})

test('received bytes are a copy', () => {
  const source = bytesOf([Buffer.from('abc')])
  const [bytes] = decode(source)
  source.fill(0)
  assert.equal(bytes.toString(), 'abc')
})

test('dates are timestamps, before 1970 too', () => {
  for (const time of [0, 1, 999, 1000, -1, -1000, 1.7e12, 4e12, 2 ** 34 * 1000 + 5, -8.64e15, 8.64e15])
    assert.equal(roundTrip(new Date(time)).getTime(), time)
  refused(new Date(Number.NaN), { what: /Date/, hint: /invalid/ })
})

test('strings of every length and script survive; half characters are replaced', () => {
  for (const length of [0, 1, 31, 32, 47, 48, 63, 64, 85, 86, 255, 256, 21_845, 21_846, 65_535, 65_536, 200_000])
    for (const letter of ['x', 'ü', '\u20ac', '🍋'])
      assert.equal(roundTrip(letter.repeat(length)), letter.repeat(length))
  assert.equal(roundTrip('a\ufffdb'), 'a\ufffdb')
  assert.equal(roundTrip('a\ud800b'), 'a\ufffdb')
})

test('objects with toJSON and boxed values are what they stand for; class instances are maps', () => {
  class Point {
    constructor(x) {
      this.x = x
    }
  }
  assert.deepEqual(roundTrip({ url: new URL('http://a/b'), boxed: Object('text'), point: new Point(2) }), {
    url: 'http://a/b',
    boxed: 'text',
    point: { x: 2 },
  })
})

test('a Map needs string keys', () => {
  assert.deepEqual(roundTrip(new Map([['a', 1]])), { a: 1 })
  refused({ m: new Map([[1, 2]]) }, { path: /^\$\.m$/, what: /key of type number/ })
})

test('what cannot be sent is named with its path', () => {
  refused({ rows: [0, { 'first name': () => {} }] }, { path: /^\$\.rows\[1\]\["first name"\]$/, what: /function/ })
  refused([Symbol('x')], { path: /^\$\[0\]$/, what: /symbol/ })
  refused({ p: Promise.resolve() }, { path: /^\$\.p$/, what: /Promise/, hint: /await/ })
  refused({ s: new Set() }, { what: /Set/, hint: /list/ })
  refused({ e: new Error('x') }, { what: /Error/ })
  refused({ f: new Float32Array(2) }, { what: /Float32Array/, hint: /Array\.from.*byteOffset/ })
  refused({ b: new Blob(['x']) }, { path: /^\$\.b$/, what: /Blob/, hint: /arrayBuffer/ })
  refused({ s: AbortSignal.abort() }, { what: /AbortSignal/, hint: /options/ })
  refused(
    (function* () {
      yield 1
    })(),
    { what: /Generator/, hint: /list/ },
  )
})

test('cycles and bottomless values are refused', () => {
  const cycle = { a: [] }
  cycle.a.push(cycle)
  refused(cycle, { path: /^\$\.a\[0\]$/, what: /cycle/ })
  let deep = []
  for (let level = 0; level < 100_000; level++) deep = [deep]
  refused(deep, { what: /too deep/ })
})

test('the same object twice is no cycle', () => {
  const shared = { x: 1 }
  assert.deepEqual(roundTrip([shared, shared]), [{ x: 1 }, { x: 1 }])
})

test('a failed value leaves nothing behind', () => {
  const encoder = new Encoder()
  encoder.value(1)
  assert.throws(() => encoder.value(['x'.repeat(100_000), () => {}]))
  encoder.value(2)
  assert.equal(encoder.take().toString('hex'), '0102')
})

test('a key named __proto__ is data', () => {
  const value = roundTrip(JSON.parse('{"__proto__": {"admin": true}}'))
  assert.equal(value.admin, undefined)
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
})

test('a misread names its path', () => {
  // {"a": [1, ext 5]}
  const bytes = Buffer.from('81a1619201d40500', 'hex')
  assert.throws(
    () => decode(bytes),
    (error) => error instanceof NotDecodable && error.path === '$.a[1]',
  )
})

test('random values survive', () => {
  let state = 7
  const random = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return (state >>> 8) % below
  }
  const value = (depth) => {
    switch (random(depth > 4 ? 6 : 8)) {
      case 0:
        return null
      case 1:
        return random(2) === 1
      case 2:
        return (random(2 ** 20) - 2 ** 19) * 2 ** random(33)
      case 3:
        return random(1000) / 7
      case 4:
        return 'aü€🍋'.repeat(random(30)).slice(0, random(60) * 2)
      case 5:
        return Buffer.alloc(random(300), random(256))
      case 6:
        return Array.from({ length: random(20) }, () => value(depth + 1))
      default:
        return Object.fromEntries(Array.from({ length: random(20) }, (_, index) => [`k${index}`, value(depth + 1)]))
    }
  }
  for (let round = 0; round < 300; round++) {
    const original = value(0)
    assert.deepStrictEqual(roundTrip(original), replaceHalves(original))
  }
})

/** slice() above may cut a character in half. */
function replaceHalves(value) {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(replaceHalves)
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceHalves(item)]))
}
