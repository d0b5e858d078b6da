// The surface beyond calls: events, stats, what runs, functions, closing.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { eventNames, Pool } from 'ganger'
import {
  eventually,
  failure,
  killed,
  leaveNothing,
  lives,
  nodeWorker,
  open,
  pythonWorker,
  record,
  scratch,
  workers,
} from './support.mjs'

leaveNothing()

test('a worker is told from start to exit, and the exit before close resolves', async (t) => {
  const pool = open(t, { ...nodeWorker, name: 'mine' })
  const seen = record(pool, 'worker:start', 'worker:ready', 'worker:exit')
  const pid = await pool.call('pid')
  await pool.close()
  assert.deepEqual(
    seen.map((event) => event.name),
    ['worker:start', 'worker:ready', 'worker:exit'],
  )
  assert.ok(seen.every((event) => event.pool === 'mine' && event.worker === 0 && event.pid === pid))
  const [, ready, exit] = seen
  assert.ok(ready.startedIn > 0)
  assert.deepEqual([exit.code, exit.signal, exit.calls, exit.running, exit.reason], [0, null, 1, 0, 'shutdown'])
  assert.ok(!lives(pid))
})

test('what happens to a worker is told with all that is known of it', async (t) => {
  const pool = open(t, { ...nodeWorker, name: 'mine', healthInterval: 100, healthTimeout: 300 })
  const fields = {
    'worker:ready': { pid: 'number', startedIn: 'number' },
    'worker:exit': {
      pid: 'number',
      code: 'object',
      signal: 'string',
      running: 'number',
      calls: 'number',
      reason: 'string',
    },
    'call:retry': { fn: 'string', attempt: 'number', retries: 'number', pid: 'number' },
    reload: { files: 'object', replaced: 'number' },
    'worker:recycle': { pid: 'number', reason: 'string', memory: 'number', calls: 'number' },
    'worker:unresponsive': { pid: 'number', timeout: 'number' },
  }
  const seen = record(pool, ...Object.keys(fields))
  await failure(pool.call('kill', 'SIGKILL', { idempotent: true, retries: 1 }))
  const before = await pool.call('pid')
  pool.reload()
  const after = await eventually(async () => (await pool.call('pid').then((pid) => pid !== before && pid)) || undefined)
  process.kill(after, 'SIGSTOP')
  await eventually(() => Object.keys(fields).every((name) => seen.some((event) => event.name === name)))
  for (const [name, kinds] of Object.entries(fields)) {
    const event = seen.find((event) => event.name === name)
    assert.equal(event.pool, 'mine')
    for (const [field, kind] of Object.entries(kinds)) assert.equal(typeof event[field], kind, `${name}: ${field}`)
  }
})

test('a flight record tells what the pool heard, and nothing of what its calls are about', async (t) => {
  const pool = open(t, nodeWorker)
  assert.match(pool.flightRecord(), /^ganger-flight-record 1\nconfig workers=1 .*\nlost 0\n/)
  assert.equal(await pool.call('echo', 'a secret'), 'a secret')
  assert.equal((await failure(pool.call('kill', 'SIGKILL', { idempotent: true, retries: 1 }))).code, 'WORKER_CRASHED')
  const record = pool.flightRecord()
  for (const part of [/\d submit 1 /, /\d ready 0\.0\n/, /\d submit 2 .*idempotent/, /\d exited 0\.1 signal:9\n/])
    assert.match(record, part)
  assert.match(record, /\ncounted submitted=2 answered=1 failed=1 .*retried=1/)
  assert.doesNotMatch(record, /echo|secret|kill/)
})

test('a listener that throws or rejects is warned of and breaks nothing', async (t) => {
  const pool = open(t, nodeWorker)
  const warnings = []
  const warned = (warning) => warnings.push(warning.message)
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  pool.on('worker:ready', () => {
    throw new Error('thrown on purpose')
  })
  pool.on('worker:ready', async () => {
    throw new Error('rejected on purpose')
  })
  const seen = record(pool, 'worker:ready')
  assert.equal(await pool.call('echo', 1), 1)
  await eventually(() => warnings.length === 2 && seen.length === 1)
  assert.ok(warnings.some((text) => /worker:ready[\s\S]*thrown on purpose/.test(text)))
  assert.ok(warnings.some((text) => /worker:ready[\s\S]*rejected on purpose/.test(text)))
})

test('once and off are respected', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2 })
  let once = 0
  let off = 0
  const removed = () => off++
  pool.once('worker:ready', () => once++)
  pool.on('worker:ready', removed).off('worker:ready', removed)
  await Promise.all([pool.call('sleep', 300), pool.call('sleep', 300)])
  await eventually(() => pool.stats().ready === 2)
  await pool.close()
  assert.deepEqual([once, off], [1, 0])
  assert.ok(eventNames.includes('worker:ready'))
})

test('listeners added after all were removed are told as any', async (t) => {
  const pool = open(t, nodeWorker)
  let removed = 0
  for (const name of ['worker:start', 'worker:ready']) pool.on(name, () => removed++)
  pool.removeAllListeners()
  assert.deepEqual([pool.listenerCount('worker:start'), pool.listenerCount('worker:ready')], [0, 0])
  const seen = record(pool, 'worker:ready')
  pool.removeAllListeners('newListener').removeAllListeners('removeListener').removeAllListeners('worker:start')
  const exits = record(pool, 'worker:exit')
  await pool.call('echo', 1)
  await pool.close()
  assert.deepEqual([seen.length, exits.length, removed], [1, 1, 0])
})

test('stats, calls and functions tell what is going on', async (t) => {
  const pool = open(t, nodeWorker)
  assert.equal(pool.functions(), null)
  assert.deepEqual([pool.stats().workers, pool.stats().submitted, pool.calls()], [0, 0, []])
  const calls = [pool.call('sleep', 300), pool.call('echo', Buffer.alloc(1000))]
  await eventually(() => pool.calls()[0]?.state === 'running')
  const [running, waiting] = pool.calls()
  assert.deepEqual([running.fn, running.worker, running.attempt], ['sleep', 0, 1])
  assert.deepEqual([waiting.fn, waiting.state, waiting.worker, waiting.attempt], ['echo', 'waiting', null, 0])
  const during = pool.stats()
  assert.deepEqual([during.busy, during.running, during.queued, during.queuedBytes], [1, 1, 1, 1000])
  await Promise.all(calls)
  await failure(pool.call('fail', 'x'))
  const stats = pool.stats()
  assert.deepEqual([stats.submitted, stats.completed, stats.failed, stats.queued], [3, 2, 1, 0])
  assert.ok(stats.run.max >= 290 && stats.run.count === 3)
  assert.ok(stats.details[0].memory > 1_000_000 && typeof stats.details[0].memory === 'number')
  const echo = pool.functions().find((it) => it.name === 'echo')
  assert.deepEqual([echo.kind, echo.idempotent, echo.slots, echo.timeoutMs], ['value', false, 1, null])
})

test('close finishes what runs and waits, and can be called again', async (t) => {
  const pool = open(t, nodeWorker)
  const calls = [pool.call('sleep', 200), pool.call('echo', 'queued')]
  const closed = Promise.all([pool.close(), pool.close()])
  assert.equal((await failure(pool.call('echo', 1))).code, 'POOL_CLOSED')
  assert.deepEqual(await Promise.all(calls), [200, 'queued'])
  await closed
  await pool.close()
  await pool.terminate()
  await pool[Symbol.asyncDispose]()
  assert.equal(pool.stats().workers, 0)
})

test('close gives up after its timeout, and a pool that was never used closes at once', async (t) => {
  const pool = open(t, nodeWorker)
  const call = failure(pool.call('spin'))
  await eventually(() => pool.calls()[0]?.state === 'running')
  await pool.close({ timeout: 100 })
  assert.equal((await call).code, 'POOL_CLOSED')
  await new Pool(nodeWorker).close()
})

test('paths may be file URLs, and env, cwd and trace reach the worker', async (t) => {
  const pool = open(t, {
    node: pathToFileURL(workers('node.mjs')),
    cwd: 'file:///',
    env: { SOME: 'thing', NONE: undefined },
  })
  const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
  const seen = await pool.call('traced', null, { trace })
  assert.deepEqual([seen.attempt, seen.trace.traceparent], [1, trace.traceparent])
})

test('an app and its workers in one file do not start each other without end', async (t) => {
  const file = scratch(t, 'both.mjs')
  mkdirSync(dirname(file), { recursive: true })
  const app = (body) => `import { Pool } from ${JSON.stringify(import.meta.resolve('ganger'))}
    const pool = new Pool({ node: import.meta.url, workers: 1 })
    export const twice = (x) => 2 * x
    export const again = async (x) => { const result = await pool.call('twice', x); await pool.close(); return result }
    ${body}`
  writeFileSync(file, app("await pool.call('twice', 1)"))
  const error = await failure(open(t, { node: file }).call('twice', 1))
  assert.equal(error.code, 'START_FAILED')
  assert.match(error.message, /still loading .*both\.mjs, which calls a pool of the same workers/)
  writeFileSync(file, app(''))
  assert.equal(await open(t, { node: file }).call('again', 3), 6, 'a worker that is ready may')
})

test('code that was taken away from its native module says that it is to be left where it is', (t) => {
  const bundled = scratch(t, 'bundle.cjs')
  mkdirSync(dirname(bundled), { recursive: true })
  copyFileSync(new URL('../dist/index.cjs', import.meta.url), bundled)
  assert.throws(() => createRequire(import.meta.url)(bundled), /a bundler has to leave ganger out, as external/)
})

test('a worker started by hand attaches, serves calls and may leave', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 0, endpoint: true })
  const { address, token } = pool.invite()
  const main = new URL('../dist/node/main.js', import.meta.url).pathname
  const env = { ...process.env, GANGER_ENDPOINT: address, GANGER_TOKEN: token }
  const child = spawn(process.execPath, [main, workers('node.mjs')], { env, stdio: 'ignore' })
  const call = pool.call('pid')
  assert.equal(await call, child.pid)
  await pool.close()
  await killed(child.pid)
  assert.equal(open(t, nodeWorker).invite(), null)
})

test('priorities go first, in order of submission within one', async (t) => {
  const pool = open(t, nodeWorker)
  const order = []
  const note = (name, options) => pool.call('echo', name, options).then((it) => order.push(it))
  const first = pool.call('sleep', 200)
  await eventually(() => pool.calls()[0]?.state === 'running')
  await Promise.all([first, note('a'), note('b'), note('high', { priority: 5 }), note('low', { priority: -5 })])
  assert.deepEqual(order, ['high', 'a', 'b', 'low'])
})

test('pools that were closed leave no thread and no descriptor', async () => {
  const count = (folder) => readdirSync(`/proc/self/${folder}`).length
  const before = [count('task'), count('fd')]
  for (let round = 0; round < 200; round++) {
    const pool = new Pool(nodeWorker)
    pool.on('worker:exit', () => {})
    await pool.close()
  }
  await eventually(() => count('task') <= before[0] + 2 && count('fd') <= before[1] + 2)
})

test('two pools of two languages live side by side', async (t) => {
  const pools = [open(t, nodeWorker), open(t, pythonWorker)]
  const answers = await Promise.all(pools.map((pool) => pool.call('echo', 'both')))
  assert.deepEqual(answers, ['both', 'both'])
})
