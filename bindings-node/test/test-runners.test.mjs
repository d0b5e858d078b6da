// Within test runners: Jest gives each file globals of its own, and all of them can put timers in the place of the real ones.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'
import { failure, leaveNothing, nodeWorker, open, workers } from './support.mjs'

leaveNothing()

test('timers and a clock that a test has put in place hold up neither calls nor streams', async (t) => {
  const pool = open(t, { node: workers('streams.mjs') })
  await pool.warm()
  const { now } = performance
  t.mock.timers.enable({ apis: ['setImmediate', 'setInterval', 'setTimeout'] })
  // A clock that leaps lets every turn of the loop look long.
  let leaps = 0
  performance.now = () => now.call(performance) + 1000 * ++leaps
  try {
    for (let call = 0; call < 20; call++) assert.deepEqual(await pool.call('count', 1), [0])
    let items = 0
    for await (const _ of pool.stream('count', 500)) items++
    assert.equal(items, 500)
  } finally {
    performance.now = now
    t.mock.timers.reset()
  }
  assert.deepEqual(await pool.call('count', 1), [0])
})

/** The package as Jest loads it: with globals of its own, but for those that Jest passes on. */
function inContext() {
  const passedOn = { ArrayBuffer, Buffer, Uint8Array, URL, AbortController, AbortSignal, TextDecoder, process }
  const context = vm.createContext({ ...passedOn, console, performance, setImmediate, queueMicrotask })
  const path = fileURLToPath(import.meta.resolve('ganger')).replace(/index\.js$/, 'index.cjs')
  const code = `(function (exports, require, module, __dirname) {${readFileSync(path, 'utf8')}\n})`
  const module = { exports: {} }
  vm.runInContext(code, context)(module.exports, createRequire(path), module, dirname(path))
  return module.exports
}

test('in a context of its own the pool refuses with its own errors', async (t) => {
  const { Pool, GangerError } = inContext()
  const refused = (options) => {
    try {
      new Pool(options)
    } catch (error) {
      return error
    }
    return assert.fail('it was expected to be refused')
  }
  for (const options of [{ ...nodeWorker, workes: 2 }, 'workers/'])
    assert.ok(refused(options) instanceof GangerError, String(refused(options)))
  const pool = new Pool(nodeWorker)
  t.after(() => pool.terminate())
  const wrong = await failure(pool.call('echo', 1, { slots: 2 }))
  assert.ok(wrong instanceof GangerError, String(wrong))
  await pool.close()
  assert.equal((await failure(pool.call('echo', 1))).code, 'POOL_CLOSED')
})

test('values of another context are what they are in their own', async (t) => {
  const pool = open(t, nodeWorker)
  const foreign = (source) => vm.runInNewContext(source)
  const date = await pool.call('echo', foreign('new Date(5)'))
  assert.ok(date instanceof Date && date.getTime() === 5, String(date))
  assert.deepEqual(await pool.call('echo', foreign('({ map: new Map([["a", [1]]]) })')), { map: { a: [1] } })
  const bytes = Buffer.from([2, 3])
  for (const whole of ['new Uint8Array([1, 2, 3]).subarray(1)', 'new Uint8Array([2, 3]).buffer']) {
    assert.deepEqual(await pool.call('echo', foreign(whole)), bytes, whole)
    assert.deepEqual(await pool.call('echo', [foreign(whole)]), [bytes], whole)
  }
  for (const [source, text] of [
    ['new Error("x")', /Error cannot be sent/],
    ['new Set([1])', /Set cannot be sent/],
    ['Promise.resolve()', /Promise cannot be sent/],
    ['/x/', /RegExp cannot be sent/],
  ])
    assert.match((await failure(pool.call('echo', foreign(source)))).message, text)
})
