// Giving calls up: AbortSignal, and Call.cancel.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { Call } from 'ganger'
import { eventually, failure, leaveNothing, nodeWorker, open, pythonWorker, record } from './support.mjs'

leaveNothing()

test('an aborted signal fails the call before it is submitted', async (t) => {
  const pool = open(t, nodeWorker)
  const reason = new Error('too late')
  const error = await failure(pool.call('echo', 1, { signal: AbortSignal.abort(reason) }))
  assert.deepEqual([error.name, error.code, error.started], ['AbortError', 'CANCELLED', 'no'])
  assert.equal(error.cause, reason)
  assert.equal(pool.stats().submitted, 0)
})

test('an abort fails a running call at once and lets the worker live if the function stops', async (t) => {
  const pool = open(t, { ...nodeWorker, concurrency: 2 })
  const before = await pool.call('pid')
  const controller = new AbortController()
  const call = pool.call('patient', 60_000, { signal: controller.signal })
  const neighbour = pool.call('sleep', 100)
  await eventually(() => pool.calls().every((info) => info.state === 'running'))
  controller.abort('enough')
  const error = await failure(call)
  assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'CANCELLED', 'enough'])
  assert.equal(await neighbour, 100)
  assert.equal(await pool.call('pid'), before, 'nobody was killed')
  await eventually(() => pool.stats().running === 0)
})

test('an abort of a function that does not stop kills its worker after the grace', async (t) => {
  const pool = open(t, { ...pythonWorker, cancelGrace: 50 })
  const logs = record(pool, 'worker:log')
  const before = await pool.call('pid')
  const controller = new AbortController()
  const call = failure(pool.call('announced_sleep', 60_000, { signal: controller.signal }))
  // A call that is given up before the worker took it up costs no worker.
  await eventually(() => logs.some((log) => log.message === 'sleeping'))
  controller.abort()
  const error = await call
  assert.equal(error.code, 'CANCELLED')
  assert.equal(error.cause.name, 'AbortError', 'the reason that the platform gives')
  assert.notEqual(await pool.call('pid'), before)
})

test('an abort gives all calls of a broadcast up, at once', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2 })
  await pool.warm()
  const reason = new Error('enough')
  const controller = new AbortController()
  const { signal } = controller
  const all = failure(pool.broadcast('patient', 60_000, { signal }))
  await eventually(() => pool.calls().filter((info) => info.state === 'running').length === 2)
  controller.abort(reason)
  assert.deepEqual(pool.calls(), [], 'settled by the abort itself')
  const error = await all
  assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'CANCELLED', reason])
  assert.equal(pool.stats().cancelled, 2)
  assert.equal(getEventListeners(signal, 'abort').length, 0)

  const before = await failure(pool.broadcast('pid', null, { signal }))
  assert.deepEqual([before.name, before.cause, pool.stats().submitted], ['AbortError', reason, 2])
  const unused = new AbortController()
  assert.equal((await pool.broadcast('pid', null, { signal: unused.signal })).length, 2)
  assert.equal(getEventListeners(unused.signal, 'abort').length, 0)
})

test('the listener is gone once the call is settled, however it ended', async (t) => {
  const pool = open(t, nodeWorker)
  const { signal } = new AbortController()
  let own = 0
  signal.onabort = () => own++
  await pool.call('echo', 1, { signal })
  await failure(pool.call('fail', 'x', { signal }))
  await failure(pool.call('echo', () => 1, { signal }))
  await failure(pool.call('echo', 1, { signal, timeout: 'wrong' }))
  assert.equal(getEventListeners(signal, 'abort').length, 1, 'only the handler of the app')
})

test('one signal gives up many calls', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2 })
  const controller = new AbortController()
  const calls = Array.from({ length: 50 }, () => failure(pool.call('patient', 60_000, { signal: controller.signal })))
  await eventually(() => pool.stats().running === 2)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1, 'or Node.js warns of a leak')
  controller.abort()
  assert.ok((await Promise.all(calls)).every((error) => error.code === 'CANCELLED'))
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  assert.equal(await pool.call('echo', 'still there'), 'still there')
  await eventually(() => pool.stats().running === 0)
  assert.deepEqual([pool.stats().queued, pool.calls()], [0, []])
})

test('AbortSignal.timeout works, and an abort after the result changes nothing', async (t) => {
  const pool = open(t, nodeWorker)
  const error = await failure(pool.call('patient', 60_000, { signal: AbortSignal.timeout(50) }))
  assert.deepEqual([error.code, error.cause.name], ['CANCELLED', 'TimeoutError'])
  const controller = new AbortController()
  assert.equal(await pool.call('echo', 1, { signal: controller.signal }), 1)
  controller.abort()
  assert.equal(await pool.call('echo', 2), 2)
})

test('a submitted call has a number, can be awaited and given up', async (t) => {
  const pool = open(t, nodeWorker)
  const call = pool.submit('sleep', 20)
  assert.ok(call instanceof Call && call.promise instanceof Promise)
  assert.deepEqual([call.function, pool.calls()[0].id], ['sleep', call.id])
  assert.equal(await call, 20)
  call.cancel()
  const given = pool.submit('patient', 60_000)
  given.cancel('a reason')
  const error = await given.catch((error) => error)
  assert.deepEqual([error.code, error.cause], ['CANCELLED', 'a reason'])
  assert.equal(await pool.submit('echo', 1).finally(() => {}), 1)
})

test('random aborts leave the rest progressing', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2, concurrency: 2 })
  const outcomes = Array.from({ length: 200 }, (_, index) => {
    const controller = new AbortController()
    const call = pool.call('patient', index % 7, { signal: controller.signal })
    if (index % 3 === 0) setTimeout(() => controller.abort(), (index * 7) % 50)
    return call.then(
      () => 'done',
      (error) => error.code,
    )
  })
  const ends = await Promise.all(outcomes)
  assert.ok(ends.every((end) => end === 'done' || end === 'CANCELLED'))
  assert.ok(ends.filter((_, index) => index % 3 !== 0).every((end) => end === 'done'))
})

test('what is no signal is refused before the call, which nobody could be told of later', async (t) => {
  const pool = open(t, nodeWorker)
  for (const [signal, text] of [
    [new AbortController(), /"signal" is AbortController .*must be an AbortSignal; pass its signal/],
    [{}, /"signal" is {}, but must be an AbortSignal/],
    ['stop', /"signal" is 'stop'/],
    [500, /"signal" is 500/],
  ]) {
    const calls = [
      () => pool.call('echo', 1, { signal }),
      () => pool.submit('echo', 1, { signal }),
      () => pool.stream('count', 1, { signal }).next(),
      () => pool.broadcast('echo', 1, { signal }),
      () => pool.proxy().echo(1, { signal }),
    ]
    for (const call of calls) {
      const error = await failure(call())
      assert.deepEqual([error.code, error.details.option], ['INVALID_OPTION', 'signal'], `${call}: ${error}`)
      assert.match(error.message, text)
    }
  }
  assert.equal(pool.stats().submitted, 0)
  assert.equal(await pool.call('echo', 1, { signal: null }), 1)
})

test('a signal in the place of the options is refused, not overlooked', async (t) => {
  const pool = open(t, nodeWorker)
  const { signal } = new AbortController()
  for (const call of [
    pool.call('echo', 1, signal),
    pool.proxy().echo(1, signal),
    pool.proxy({ retries: 1 }).echo(1, signal),
  ])
    assert.match((await failure(call)).message, /options must be an object, not an AbortSignal.*{ signal }/)
  assert.match((await failure(pool.call('echo', 1, [signal]))).message, /not a list/)
})
