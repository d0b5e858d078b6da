// What workers print arrives as events, wherever it was printed, and disturbs nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, failure, leaveNothing, nodeWorker, open, pythonWorker, record } from './support.mjs'

leaveNothing()

test('prints at import, in a call, a thread, C and a grandchild are told, and logs with their level', async (t) => {
  const pool = open(t, pythonWorker)
  const logs = record(pool, 'worker:log')
  assert.equal(await pool.call('prints'), 'done')
  const expected = [
    ['stdout', 'printed at import'],
    ['stdout', 'written at import'],
    ['stdout', 'printed in a call'],
    ['stdout', 'printed in a thread'],
    ['stdout', 'printed in C'],
    ['stdout', 'printed by a grandchild'],
    ['stderr', 'printed as an error'],
    ['log', 'logged well'],
  ]
  const told = () => logs.map((log) => `${log.source}: ${log.message}`)
  await eventually(() => expected.every(([source, message]) => told().includes(`${source}: ${message}`)), 'all lines')
  const log = logs.find((log) => log.source === 'log')
  assert.deepEqual([log.level, log.fn], ['info', 'prints'])
  assert.ok(logs.every((log) => log.pid === logs[0].pid && log.pool === 'python'))
  assert.equal(await pool.call('echo', 1), 1)
})

test('Node workers print too, and so do their children', async (t) => {
  const pool = open(t, nodeWorker)
  const logs = record(pool, 'worker:log')
  await pool.call('print', 3)
  await pool.call('grandchildPrints')
  const told = () => logs.map((log) => log.message)
  await eventually(() => ['out 0', 'out 1', 'out 2', 'err', 'from a grandchild'].every((line) => told().includes(line)))
})

test('10 MB on stderr and a line without end block nobody', async (t) => {
  const pool = open(t, pythonWorker)
  assert.equal(await pool.call('flood', 10_240), 10_240)
  const logs = record(pool, 'worker:log')
  assert.equal(await pool.call('flood', 10), 10)
  await eventually(() => logs.some((log) => log.message.startsWith('yyy')))
  assert.ok(
    logs.every((log) => log.message.length < 200_000),
    'a line is bounded',
  )
})

test('the last lines before a death are told before the exit, and are in the error', async (t) => {
  const pool = open(t, pythonWorker)
  const seen = record(pool, 'worker:log', 'worker:exit')
  const error = await failure(pool.call('last_words', 300))
  assert.match(error.worker.stderrTail, /the very last/)
  await eventually(() => seen.some((event) => event.name === 'worker:exit'))
  const exit = seen.findIndex((event) => event.name === 'worker:exit')
  const lines = seen.slice(0, exit).filter((event) => /^line \d+$/.test(event.message))
  assert.deepEqual(
    lines.map((event) => event.message),
    Array.from({ length: 300 }, (_, line) => `line ${line}`),
  )
})
