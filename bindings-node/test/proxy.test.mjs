// Proxies: functions of workers as functions of the app, which are nothing else by mistake.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { failure, open, pythonWorker, workers } from './support.mjs'

const source = `
export const add = ({ a, b }) => a + b
export const echo = (input) => input
export async function* count(to) { for (let n = 0; n < to; n++) yield n }
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export const ganger = { functions: { add: { name: 'deep.down.add' }, echo: { name: 'my-file.stream' } } }
`

/** A worker with these functions. */
function worker(t) {
  const folder = mkdtempSync(join(tmpdir(), 'ganger-proxy-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const node = join(folder, 'shapes.mjs')
  writeFileSync(node, source)
  return { node }
}

test('a function is called by its name, in modules too', async (t) => {
  const pool = open(t, worker(t))
  const { deep, count } = pool.proxy()
  assert.equal(await deep.down.add({ a: 1, b: 2 }), 3)
  assert.equal(await pool.proxy()['my-file.stream']('x'), 'x')
  const items = []
  for await (const item of count.stream(3)) items.push(item)
  assert.deepEqual(items, [0, 1, 2])
})

test('options are for all calls or for one', async (t) => {
  const pool = open(t, { ...worker(t), cancelGrace: 0 })
  const workers = pool.proxy({ timeout: 50, idempotent: true })
  assert.equal((await failure(workers.sleep(60_000))).code, 'TIMEOUT')
  assert.equal(await workers.sleep(100, { timeout: '1m' }), null)
  assert.equal((await failure(workers.sleep(0, { timout: 1 }))).code, 'INVALID_OPTION')
  // A stream is never tried again; that is said of calls.
  assert.deepEqual(await workers.count.stream(1, { timeout: '1m' }).next(), { done: false, value: 0 })
})

test('a function that is not there fails as the pool says', async (t) => {
  const pool = open(t, pythonWorker)
  const error = await failure(pool.proxy().prices.convrt({}))
  assert.deepEqual([error.code, error.function], ['NO_SUCH_FUNCTION', 'prices.convrt'])
  assert.equal((await failure(pool.proxy().count_.stream().next())).code, 'NO_SUCH_FUNCTION')
})

test('a proxy is no promise, no list and no JSON, and shows what it is', async (t) => {
  const pool = open(t, { node: workers('node.mjs'), name: 'shop' })
  const proxy = pool.proxy()
  for (const one of [proxy, proxy.prices, proxy.prices.convert]) {
    assert.equal(one.then, undefined)
    assert.equal(await one, one)
    assert.equal(JSON.stringify({ one }), JSON.stringify({ one: typeof one === 'function' ? undefined : {} }))
    assert.equal(one[Symbol.iterator], undefined)
    assert.throws(() => {
      one.convert = 1
    }, TypeError)
  }
  assert.equal(inspect(proxy), '[workers of the pool shop]')
  assert.equal(inspect({ fn: proxy.prices.convert }), '{ fn: [prices.convert of the pool shop] }')
  assert.equal(`${proxy.prices}`, '[prices of the pool shop]')
  assert.throws(() => proxy(), TypeError)
  assert.throws(() => new proxy.Prices(), TypeError)
  assert.equal(pool.stats().submitted, 0, 'looking at it called nothing')
})
