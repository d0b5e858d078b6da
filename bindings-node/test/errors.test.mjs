// Each error code, as apps get it.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { errorCodes, GangerError, isGangerError, Pool, RemoteError } from 'ganger'
import { eventually, failure, leaveNothing, nodeWorker, open, pythonWorker, record, scratch } from './support.mjs'

leaveNothing()

test('CALL_FAILED carries type, text, traceback, cause and properties of a Node error', async (t) => {
  const error = await failure(open(t, nodeWorker).call('fail', 'no tea'))
  assert.ok(error instanceof GangerError && error instanceof Error)
  assert.ok(isGangerError(error, 'CALL_FAILED') && !isGangerError(error, 'TIMEOUT'))
  assert.deepEqual([error.fault, error.started, error.attempts, error.function], ['function', 'yes', 1, 'fail'])
  assert.equal(error.message, 'RangeError: no tea')
  const cause = error.cause
  assert.ok(cause instanceof RemoteError)
  assert.deepEqual([cause.name, cause.message, cause.language], ['RangeError', 'no tea', 'node'])
  assert.equal(cause.properties.status, 418)
  assert.ok(cause.dropped.includes('unsendable'), 'what could not be sent is named')
  assert.equal(cause.cause.name, 'TypeError')
  const shown = inspect(error)
  assert.match(shown, /node\.mjs:\d+/, 'the place in the worker')
  assert.match(shown, /errors\.test\.mjs:\d+/, 'the place of the call')
})

test('CALL_FAILED shows the traceback of a Python error and the error behind it', async (t) => {
  const error = await failure(open(t, pythonWorker).call('fail', 'no tea'))
  assert.deepEqual([error.code, error.message], ['CALL_FAILED', 'ValueError: no tea'])
  assert.match(error.cause.stack, /Traceback[\s\S]*python\.py[\s\S]*ValueError: no tea/)
  assert.deepEqual([error.cause.cause.name, error.cause.language], ['KeyError', 'python'])
  assert.match(inspect(error), /raise ValueError\(message\) from error/)
})

test('INVALID_RESULT names the path, and the worker lives on', async (t) => {
  const pool = open(t, nodeWorker)
  const before = await pool.call('pid')
  const error = await failure(pool.call('badResult'))
  assert.deepEqual([error.code, error.details.path], ['INVALID_RESULT', '$.deep[1]'])
  assert.equal(await pool.call('pid'), before)
})

test('NO_SUCH_FUNCTION suggests the nearest', async (t) => {
  const error = await failure(open(t, nodeWorker).call('ecco'))
  assert.equal(error.code, 'NO_SUCH_FUNCTION')
  assert.match(error.message, /echo/)
})

test('QUEUE_FULL, QUEUE_TIMEOUT and DEADLINE_EXCEEDED say that nothing ran', async (t) => {
  const pool = open(t, { ...nodeWorker, maxQueue: 2 })
  const events = record(pool, 'queue:full', 'queue:drain')
  const running = pool.call('sleep', 1000)
  await eventually(() => pool.calls()[0]?.state === 'running')
  const waiting = [pool.call('echo', 1, { queueTimeout: 20 }), pool.call('echo', 2, { deadline: '30ms' })]
  const full = await failure(pool.call('echo', 3))
  assert.deepEqual([full.code, full.started, full.safeToRepeat, full.details.queued], ['QUEUE_FULL', 'no', true, 2])
  const [late, over] = await Promise.all(waiting.map(failure))
  assert.deepEqual([late.code, late.started, late.attempts], ['QUEUE_TIMEOUT', 'no', 0])
  assert.deepEqual([over.code, over.started, over.attempts], ['DEADLINE_EXCEEDED', 'no', 0])
  assert.equal(await running, 1000)
  await eventually(() => events.length === 2)
  assert.deepEqual(
    events.map((event) => event.name),
    ['queue:full', 'queue:drain'],
  )
})

test('a cancelled call in the queue frees its place at once', async (t) => {
  const pool = open(t, { ...nodeWorker, maxQueue: 1 })
  const running = pool.call('sleep', 500)
  await eventually(() => pool.calls()[0]?.state === 'running')
  const first = pool.submit('echo', 1)
  first.cancel()
  const second = pool.call('echo', 2)
  assert.equal((await failure(first)).code, 'CANCELLED')
  assert.deepEqual([await running, await second], [500, 2])
})

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  test(`TIMEOUT stops even a busy loop in ${language}`, async (t) => {
    const pool = open(t, { ...worker, cancelGrace: 50 })
    const exits = record(pool, 'worker:exit')
    const before = await pool.call('pid')
    const error = await failure(pool.call('spin', undefined, { timeout: 50 }))
    assert.deepEqual([error.code, error.attempts], ['TIMEOUT', 1])
    assert.notEqual(await pool.call('pid'), before, 'a fresh worker serves the next call')
    await eventually(() => exits.length === 1)
    assert.deepEqual([exits[0].cause, exits[0].signal, exits[0].pid], ['cancel-kill', 'SIGKILL', before])
  })

test('a call after one that timed out is not lost with its worker', async (t) => {
  const pool = open(t, { ...nodeWorker, cancelGrace: 100 })
  const timedOut = failure(pool.call('spin', undefined, { timeout: 30 }))
  const next = timedOut.then(() => pool.call('echo', 'fine'))
  assert.equal((await timedOut).code, 'TIMEOUT')
  assert.equal(await next, 'fine')
})

test('PAYLOAD_TOO_LARGE either way costs only its call', async (t) => {
  const pool = open(t, { ...nodeWorker, maxPayload: '1mb' })
  const before = await pool.call('pid')
  const input = await failure(pool.call('length', Buffer.alloc(1_000_001)))
  assert.deepEqual([input.code, input.started, input.details.maxPayload], ['PAYLOAD_TOO_LARGE', 'no', 1_000_000])
  assert.match(input.message, /1000001 bytes.*1000000/)
  const result = await failure(pool.call('bytes', 1_000_001))
  assert.deepEqual([result.code, result.started], ['PAYLOAD_TOO_LARGE', 'yes'])
  assert.equal(await pool.call('length', Buffer.alloc(1_000_000)), 1_000_000)
  assert.equal(await pool.call('pid'), before)
})

test('POOL_CLOSED after close, and for what terminate cuts off', async (t) => {
  const pool = open(t, nodeWorker)
  const calls = [pool.call('sleep', 60_000), pool.call('echo', 1)]
  const failures = Promise.all(calls.map(failure))
  await pool.terminate()
  assert.deepEqual(
    (await failures).map((error) => error.code),
    ['POOL_CLOSED', 'POOL_CLOSED'],
  )
  const error = await failure(pool.call('echo', 1))
  assert.deepEqual([error.code, error.started], ['POOL_CLOSED', 'no'])
})

test('INVALID_OPTION names the option and the nearest known one', async (t) => {
  const refused = (options) => {
    try {
      new Pool(options)
    } catch (error) {
      return error
    }
    return assert.fail('it was expected to be refused')
  }
  const cases = [
    [{ ...nodeWorker, workes: 2 }, /unknown option "workes".*workers/],
    [{ ...nodeWorker, workers: 1.5 }, /"workers" is 1.5/],
    [{ ...nodeWorker, maxWorkers: 2 }, /unknown option "maxWorkers"; did you mean "workers"/],
    [{ ...nodeWorker, workers: 2, minWorkers: 3 }, /"minWorkers" is more than "workers"/],
    [{ node: new URL('https://example.org/w.mjs') }, /"node" is {"URL":\["https:.*must be a path/],
    [{ node: 'file://elsewhere/w.mjs' }, /URL/],
    [{ ...nodeWorker, minWorkers: 2.5, workers: 4 }, /"minWorkers" is 2.5/],
    [{ ...nodeWorker, workers: Number.NaN }, /"workers" is "NaN"/],
    [{ ...nodeWorker, timeout: () => 1 }, /"timeout"/],
    [{ ...nodeWorker, name: Symbol('x') }, /"name"/],
    [{ ...nodeWorker, maxPayload: 5_000_000 }, /unit/],
    [{}, /python/],
    [null, /must be an object/],
  ]
  for (const [options, text] of cases) {
    const error = refused(options)
    assert.equal(error.code, 'INVALID_OPTION', String(error))
    assert.match(error.message, text)
  }
  const pool = open(t, nodeWorker)
  const ofCall = await failure(pool.call('echo', 1, { timeout: 'soon' }))
  assert.deepEqual([ofCall.code, ofCall.function, ofCall.details.option], ['INVALID_OPTION', 'echo', 'timeout'])
  assert.match((await failure(pool.call('echo', 1, { maxQueue: 1 }))).message, /an option of a pool/)
  assert.equal((await failure(pool.call('echo', 1, { slots: 2 }))).code, 'INVALID_OPTION')
  assert.equal((await failure(pool.close({ timeout: 'x' }))).code, 'INVALID_OPTION')
  const observed = await failure(pool.call('echo', 1, { onProgress: 'yes' }))
  assert.deepEqual([observed.code, observed.details.option], ['INVALID_OPTION', 'onProgress'])
  assert.equal(await pool.call('echo', 1, { timeout: undefined, retries: null }), 1)
})

for (const [language, name, broken, healthy] of [
  ['Node', 'worker.mjs', 'export const = 1', 'export const echo = (x) => x'],
  ['Python', 'worker.py', 'def broken(:\n', 'from ganger_worker import action\n@action\ndef echo(x): return x\n'],
])
  test(`START_FAILED shows the syntax error of a ${language} worker, and the pool heals when it goes`, async (t) => {
    const file = scratch(t, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, broken)
    const pool = open(t, { [language.toLowerCase()]: file })
    const exits = record(pool, 'worker:exit')
    const error = await failure(pool.call('echo', 1))
    assert.deepEqual([error.code, error.started], ['START_FAILED', 'no'])
    assert.match(error.message, /SyntaxError/)
    assert.match(error.message, /\(worker\.(py|mjs), line 1\)/)
    assert.match(inspect(error), /\/worker\.(py|mjs)["':]/, 'its own traceback')
    await eventually(() => exits.length >= 3, 'three starts were tried')
    assert.ok(exits.length <= 6, `${exits.length} starts were tried`)
    assert.ok(exits.every((exit) => exit.reason === 'start-failed'))
    writeFileSync(file, healthy)
    await eventually(() => pool.call('echo', 'healed').catch(() => false), 'the pool heals')
  })

test('START_FAILED names an interpreter that is not there', async (t) => {
  const error = await failure(open(t, { ...pythonWorker, interpreter: '/nowhere/python' }).call('echo', 1))
  assert.equal(error.code, 'START_FAILED')
  assert.match(error.message, /\/nowhere\/python/)
})

test('an error has what its worker said of it', async (t) => {
  const pool = open(t, nodeWorker)
  assert.equal((await failure(pool.call('echo', 1, { timeout: 'soon' }))).report, null)
  const failed = await failure(pool.call('fail', 'on purpose'))
  assert.deepEqual(
    [failed.report.type, failed.report.message, failed.report.traceback],
    [failed.cause.type, failed.cause.message, failed.cause.traceback],
  )
  assert.match(failed.report.message, /on purpose/)
})

test('every code of the table is known to the classes', () => {
  for (const [code, row] of Object.entries(errorCodes)) {
    assert.match(code, /^[A-Z_]+$/)
    assert.equal(typeof row.safeToRepeat, 'boolean')
  }
})
