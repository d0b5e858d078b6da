// WebAssembly workers: plug-ins that may come from anybody.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Pool } from 'ganger'
import { eventually, failure, leaveNothing, nodeWorker, open, record, scratch } from './support.mjs'

leaveNothing()

const root = fileURLToPath(new URL('../..', import.meta.url))
const plugin = join(root, 'tests/behavior/workers/wasm/plugin.wat')
const interpreter = join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'debug/ganger-wasm')
const wasm = { wasm: plugin, interpreter }

test('a plug-in is called like any worker', async (t) => {
  const pool = open(t, wasm)
  const value = { text: 'ä', list: [1, null, 2.5] }
  assert.deepEqual(await pool.call('echo', value), value)
  assert.deepEqual(await pool.call('greet', { name: 'Ada' }), { name: 'Ada' })
  const error = await failure(pool.call('greet', { name: 3 }))
  assert.deepEqual([error.code, error.cause.path], ['INVALID_INPUT', '$.name'])
  const functions = Object.fromEntries((await pool.functions()).map((row) => [row.name, row]))
  assert.deepEqual([functions.echo.idempotent, functions.echo.summary], [true, 'What it is given'])
  assert.deepEqual(functions.greet.input.required, ['name'])
})

test('its failures are errors of the call', async (t) => {
  const pool = open(t, wasm)
  const failed = await failure(pool.call('fail'))
  assert.deepEqual([failed.code, failed.message], ['CALL_FAILED', 'QuotaError: over quota'])
  assert.deepEqual([failed.cause.language, failed.cause.properties], ['wasm', { limit: 42 }])
  assert.deepEqual([await pool.call('count'), await pool.call('count')], [1, 2])
  const trapped = await failure(pool.call('trap'))
  assert.deepEqual([trapped.cause.name, trapped.cause.properties], ['Trap', { trap: 'unreachable' }])
  assert.equal(await pool.call('count'), 1, 'a fresh instance')
  assert.equal(pool.stats().crashed, 0)
})

test('a spinning call times out alone', async (t) => {
  const pool = open(t, { ...wasm, workers: 2, cancelGrace: '20s' })
  const lives = record(pool, 'worker:ready', 'worker:exit')
  await pool.warm(2)
  const controller = new AbortController()
  const neighbour = failure(pool.call('spin', null, { signal: controller.signal }))
  await eventually(() => pool.calls().some((call) => call.state === 'running'), 'the neighbour runs')
  for (let round = 0; round < 3; round++) {
    assert.equal((await failure(pool.call('spin', null, { timeout: 100 }))).code, 'TIMEOUT')
    // The one worker that is left serves again, long before the grace ends in a kill.
    const begun = performance.now()
    assert.equal(await pool.call('echo', 1), 1)
    assert.ok(performance.now() - begun < 10_000)
  }
  controller.abort()
  assert.equal((await neighbour).code, 'CANCELLED')
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => pool.call('echo', n))), [1, 2, 3])
  assert.deepEqual(
    lives.map((event) => event.name),
    ['worker:ready', 'worker:ready'],
    'the same processes before and after',
  )
})

test('memory has its limit, and calls may have an instance each', async (t) => {
  const pool = open(t, { ...wasm, wasmMemory: '1MiB', wasmFresh: true })
  assert.equal((await failure(pool.call('hog'))).cause.name, 'MemoryLimit')
  assert.deepEqual([await pool.call('count'), await pool.call('count')], [1, 1])
})

test('what cannot be served is said', async (t) => {
  const module = scratch(t, 'plugin.wasm')
  mkdirSync(dirname(module))
  writeFileSync(module, '\0asm\x01\0\0\0')
  const unfit = await failure(open(t, { wasm: module, interpreter }).call('echo'))
  assert.equal(unfit.code, 'START_FAILED')
  assert.match(unfit.message, /plugin\.wasm.*memory/)
  const missing = await failure(open(t, { wasm: plugin, interpreter: '/nowhere/ganger-wasm' }).call('echo'))
  assert.match(missing.message, /not installed.*\/nowhere\/ganger-wasm/)
  assert.throws(() => new Pool({ ...nodeWorker, wasmMemory: '1MiB' }), /"wasmMemory" goes with "wasm"/)
})
