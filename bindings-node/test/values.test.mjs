// Values go out and come back the same, through workers in both languages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure, leaveNothing, nodeWorker, open, pythonWorker } from './support.mjs'

leaveNothing()

const same = {
  null: null,
  booleans: [true, false],
  integers: [
    0,
    -1,
    127,
    128,
    -32,
    -33,
    255,
    256,
    65535,
    65536,
    2 ** 32 - 1,
    2 ** 32,
    -(2 ** 31),
    2 ** 53 - 1,
    -(2 ** 53 - 1),
  ],
  'large integers': [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n],
  floats: [0.5, -1e300, 5e-324, Number.MAX_VALUE, Infinity, -Infinity, NaN, -0],
  strings: ['', 'a', 'ä€😀', 'x'.repeat(31), 'x'.repeat(32), 'x'.repeat(70_000), '\0'],
  bytes: { inside: [Buffer.from([0, 255]), Buffer.alloc(300)] },
  'lists and maps': { a: [{ b: [[], {}] }], '': 1, 'ä b': 2, ['__proto__']: 3 },
  dates: [new Date(0), new Date(1_700_000_000_123), new Date(-1), new Date('9999-12-31T23:59:59.999Z')],
}

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  test(`values round trip through ${language}`, async (t) => {
    const pool = open(t, worker)
    const shared = new Uint8Array(new SharedArrayBuffer(3))
    shared.set([97, 98, 99])
    // Python would spread a map over the parameters of `echo`.
    const map = worker === nodeWorker ? 'echo' : 'echo_map'
    for (const [name, value] of Object.entries(same))
      assert.deepStrictEqual(await pool.call(isMap(value) ? map : 'echo', value), value, name)
    assert.equal(await pool.call('echo', undefined), null, 'undefined is null')
    assert.deepEqual(await pool.call(map, { a: undefined }), { a: null })
    assert.deepEqual(await pool.call(map, new Map([['k', 1n]])), { k: 1 })
    assert.deepEqual(await pool.call('echo', [new URL('file:///said')]), ['file:///said'], 'toJSON is asked')
    for (const bytes of [Buffer.from('abc'), new Uint8Array([97, 98, 99]), new Uint8Array([97, 98, 99]).buffer, shared])
      assert.deepEqual(await pool.call('echo', bytes), Buffer.from('abc'))
  })

function isMap(value) {
  return value !== null && Object.getPrototypeOf(value) === Object.prototype
}

test('payloads of every size arrive whole', async (t) => {
  const pool = open(t, { ...nodeWorker, concurrency: 4 })
  const sizes = [
    0,
    1,
    4095,
    4096,
    16_383,
    16_384,
    65_535,
    65_536,
    65_537,
    219_264,
    262_144,
    300_000,
    1 << 20,
    7_000_000,
  ]
  for (const size of sizes) {
    const bytes = Buffer.alloc(size, size % 251)
    assert.ok(bytes.equals(await pool.call('echo', bytes)), `raw, ${size}`)
    const nested = await pool.call('echo', { bytes })
    assert.ok(bytes.equals(nested.bytes), `in a map, ${size}`)
  }
  const [first, second] = await Promise.all([1, 2].map((fill) => pool.call('echo', Buffer.alloc(7_000_000, fill))))
  assert.ok(first.every((byte) => byte === 1) && second.every((byte) => byte === 2), 'two at once keep apart')
})

test('results of a batch do not share memory', async (t) => {
  const pool = open(t, nodeWorker)
  const [first, second] = await Promise.all(['aa', 'bb'].map((text) => pool.call('echo', Buffer.from(text))))
  first.fill(0)
  assert.equal(second.toString(), 'bb')
})

test('an input may be changed once call has returned', async (t) => {
  const pool = open(t, nodeWorker)
  const bytes = Buffer.alloc(1 << 20, 1)
  const answer = pool.call('echo', bytes)
  bytes.fill(9)
  assert.ok((await answer).every((byte) => byte === 1))
})

test('what cannot be sent is INVALID_INPUT and names its path', async (t) => {
  const pool = open(t, nodeWorker)
  const cycle = { list: [] }
  cycle.list.push(cycle)
  const cases = [
    [{ a: [1, () => 1] }, '$.a[1]'],
    [Symbol('s'), '$'],
    [{ b: new Map([[1, 2]]) }, '$.b'],
    [cycle, '$.list[0]'],
    [{ big: 2n ** 64n }, '$.big'],
    [{ 'two words': new Set([1]) }, '$["two words"]'],
    [{ when: new Date(NaN) }, '$.when'],
    [[Promise.resolve()], '$[0]'],
    [{ file: new Blob(['x']) }, '$.file'],
    [{ signal: AbortSignal.timeout(60_000) }, '$.signal'],
  ]
  for (const [input, path] of cases) {
    const error = await failure(pool.call('echo', input))
    assert.equal(error.code, 'INVALID_INPUT', error.message)
    assert.equal(error.details.path, path, error.message)
    assert.equal(error.started, 'no')
    assert.ok(error.message.startsWith(`${path}: `), error.message)
  }
  assert.equal(pool.stats().submitted, 0, 'core never saw them')
  assert.equal(await pool.call('echo', 1), 1)
})

test('a getter that throws fails its own call, and its error is the cause', async (t) => {
  const pool = open(t, nodeWorker)
  const input = {
    get bad() {
      throw new Error('from a getter')
    },
  }
  const error = await failure(pool.call('echo', input))
  assert.deepEqual([error.code, error.started, error.cause.message], ['INVALID_INPUT', 'no', 'from a getter'])
  assert.match(error.message, /from a getter/)
  assert.equal(await pool.call('echo', 1), 1)
})
