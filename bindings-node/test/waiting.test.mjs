// What can be awaited of a pool beside calls: levels, not edges. And all workers called at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isGangerError } from 'ganger'
import {
  eventually,
  failure,
  leaveNothing,
  nodeWorker,
  open,
  pythonWorker,
  record,
  script,
  workers,
} from './support.mjs'

leaveNothing()

test('warm starts workers ahead, by default all of them', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 3 })
  await pool.warm(2)
  assert.equal(pool.stats().ready, 2)
  await pool.warm()
  assert.equal(pool.stats().ready, 3)
  await Promise.all([pool.warm(0), pool.warm(100)])
  assert.equal(pool.stats().workers, 3)
  for (const wrong of [-1, 1.5, '2', Number.NaN]) assert.equal((await failure(pool.warm(wrong))).code, 'INVALID_OPTION')
})

test('warm says why workers cannot start', async (t) => {
  const pool = open(t, { ...pythonWorker, interpreter: '/nowhere/python' })
  const error = await failure(pool.warm())
  assert.ok(isGangerError(error, 'START_FAILED'), String(error))
  assert.match(error.message, /\/nowhere\/python/)
})

test('ready and drained resolve at once if it is so already, also after the last event about it', async (t) => {
  const pool = open(t, { ...nodeWorker, maxQueue: 1 })
  await Promise.all([pool.ready(), pool.drained()])
  await pool.call('echo', 1)
  const calls = [pool.call('sleep', 300), pool.call('echo', 1)]
  assert.equal((await failure(pool.call('echo', 2))).code, 'QUEUE_FULL')
  const order = []
  const note = (name) => () => order.push(name)
  await Promise.all([
    calls[0].then(note('call')),
    pool.ready().then(note('ready')),
    pool.drained().then(note('drained')),
  ])
  await Promise.all(calls)
  assert.deepEqual(order, ['call', 'ready', 'drained'])
  await Promise.all([pool.ready(), pool.drained()])
})

test('a producer that waits for ready meets no full queue', async (t) => {
  const pool = open(t, { ...nodeWorker, maxQueue: 2 })
  const results = []
  for (let call = 0; call < 200; call++) {
    await pool.ready()
    results.push(pool.call('echo', call))
  }
  assert.deepEqual(
    await Promise.all(results),
    results.map((_, call) => call),
  )
})

test('the end of a pool ends what is awaited', async (t) => {
  const pool = open(t, { ...nodeWorker, maxQueue: 0 })
  const call = failure(pool.call('spin'))
  await eventually(() => pool.calls()[0]?.state === 'running')
  const [ready, drained] = [failure(pool.ready()), pool.drained()]
  await pool.terminate()
  assert.deepEqual([(await ready).code, (await call).code], ['POOL_CLOSED', 'POOL_CLOSED'])
  await drained
  assert.equal((await failure(pool.ready())).code, 'POOL_CLOSED')
  assert.equal((await failure(pool.warm(1))).code, 'POOL_CLOSED')
  assert.equal((await failure(pool.broadcast('echo', 1))).code, 'POOL_CLOSED')
})

test('what is awaited keeps the process', async () => {
  const source = `const pool = new Pool({ node: here + 'node.mjs', workers: 1 })
    pool.warm().then(() => pool.broadcast('echo', 'all')).then((all) => console.log(all[0].value))`
  assert.deepEqual(await script(source).ended, { code: 0, signal: null, out: 'all\n', err: '' })
})

test('broadcast calls every ready worker once, before the calls that wait', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 3 })
  assert.deepEqual(await pool.broadcast('pid'), [], 'none is ready')
  await pool.warm()
  const pids = pool.stats().details.map((worker) => worker.pid)
  const order = []
  const busy = Array.from({ length: 3 }, () => pool.call('sleep', 200))
  const waiting = Array.from({ length: 3 }, () => pool.call('echo', 1).then(() => order.push('waiting')))
  const all = await pool.broadcast('pid')
  order.push('broadcast')
  assert.deepEqual(
    all,
    pids.map((pid, worker) => ({ worker, status: 'fulfilled', value: pid })),
  )
  await Promise.all([...busy, ...waiting])
  assert.equal(order.filter((name) => name === 'waiting').length, 3)
})

test('broadcast tells results from errors, and large results too', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2 })
  await pool.warm()
  const failed = await pool.broadcast('fail', 'on purpose')
  assert.deepEqual(
    failed.map(({ worker, status, reason }) => [worker, status, reason.code, reason.cause.message]),
    [0, 1].map((worker) => [worker, 'rejected', 'CALL_FAILED', 'on purpose']),
  )
  const large = await pool.broadcast('bytes', 100_000)
  assert.ok(large.every(({ value }) => value.length === 100_000 && value[99_999] === 7))
  const lost = await pool.broadcast('kill', 'SIGKILL')
  assert.ok(lost.every(({ reason }) => reason.code === 'WORKER_CRASHED' && reason.attempts === 1))
  assert.equal((await failure(pool.broadcast('echo', () => 1))).code, 'INVALID_INPUT')
  for (const options of [{ retries: -1 }, { timeout: 'soon' }])
    assert.equal((await failure(pool.broadcast('echo', 1, options))).code, 'INVALID_OPTION')
})

test('the timeout of a broadcast holds for each worker', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2 })
  await pool.warm()
  const all = await pool.broadcast('patient', 60_000, { timeout: 50 })
  assert.deepEqual(
    all.map(({ reason }) => reason.code),
    ['TIMEOUT', 'TIMEOUT'],
  )
})

test('with a worker that loads longer than idleTimeout, warm still resolves', async (t) => {
  const env = { LOAD_SECONDS: '0.5' }
  const pool = open(t, { node: workers('heavy.mjs'), workers: 2, minWorkers: 1, idleTimeout: 50, env })
  await pool.call('pid')
  await pool.warm(2)
  await eventually(() => pool.stats().workers === 1)
})

test('with whenFull wait a full queue makes calls wait in order, at most for fullTimeout', async (t) => {
  const pool = open(t, { ...nodeWorker, maxQueue: 1, whenFull: 'wait', fullTimeout: '20s' })
  const order = []
  await Promise.all(Array.from({ length: 50 }, (_, call) => pool.call('echo', call).then((it) => order.push(it))))
  assert.deepEqual(
    order,
    Array.from({ length: 50 }, (_, call) => call),
  )
  const short = open(t, { ...nodeWorker, maxQueue: 1, whenFull: 'wait', fullTimeout: 50 })
  const stop = new AbortController()
  const running = short.call('patient', 60_000, { signal: stop.signal })
  await eventually(() => short.calls()[0]?.state === 'running')
  const waiting = short.call('echo', 'waits')
  const late = await failure(short.call('echo', 'late'))
  assert.deepEqual([late.code, late.started, late.safeToRepeat], ['QUEUE_FULL', 'no', true])
  const giveUp = new AbortController()
  const given = failure(short.call('echo', 'given up', { signal: giveUp.signal }))
  giveUp.abort()
  assert.equal((await given).code, 'CANCELLED')
  stop.abort()
  assert.equal((await failure(running)).code, 'CANCELLED')
  assert.equal(await waiting, 'waits')
})

test('calls with the same affinity go to the same worker while it lives', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 3 })
  await pool.warm()
  const first = {}
  for (const key of ['a', 'b', 'c']) first[key] = await pool.call('pid', null, { affinity: key })
  for (let round = 0; round < 10; round++)
    for (const key of ['c', 'a', 'b'])
      assert.equal(await pool.call('pid', null, { affinity: key }), first[key], `${key} in round ${round}`)
  const exits = record(pool, 'worker:exit')
  process.kill(first.a, 'SIGKILL')
  await eventually(() => exits.length === 1)
  const next = await pool.call('pid', null, { affinity: 'a' })
  assert.notEqual(next, first.a)
  assert.equal(await pool.call('pid', null, { affinity: 'a' }), next)
  assert.equal((await failure(pool.call('pid', null, { affinity: 7 }))).code, 'INVALID_OPTION')
})

test('an exclusive call is alone on its worker, whether the call or the function says so', async (t) => {
  const pool = open(t, { node: workers('heavy.mjs'), concurrency: 8 })
  await pool.call('pid')
  const around = () => Array.from({ length: 4 }, () => pool.call('together', 100))
  const calls = [...around(), pool.call('alone', 50), ...around(), pool.call('pid', null, { exclusive: 'worker' })]
  const [first, , , , beside] = await Promise.all(calls)
  assert.equal(beside, 0)
  assert.ok(first > 1, 'the others ran together')
})

for (const [language, worker] of [
  ['Node', { node: workers('heavy.mjs') }],
  ['Python', { python: workers('heavy.py') }],
])
  test(`${language}: each worker has a device of its own, and as many threads as it was told`, async (t) => {
    const pool = open(t, { ...worker, workers: null, devices: ['cuda:3', 'left'], innerThreads: 2 })
    await pool.warm()
    const all = await pool.broadcast('binding')
    assert.deepEqual(all.map(({ value }) => value).sort(), [
      ['cuda:3', 'cuda:3', '3', '2'],
      ['left', 'left', null, '2'],
    ])
  })
