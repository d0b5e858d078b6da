// Idle workers are looked after: silent ones are replaced, superfluous ones leave, and who is told to leave never counts as crashed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  eventually,
  failure,
  killed,
  leaveNothing,
  nodeWorker,
  open,
  pythonWorker,
  record,
  workers,
} from './support.mjs'

leaveNothing()

const heavy = { Node: { node: workers('heavy.mjs') }, Python: { python: workers('heavy.py') } }

for (const [language, worker] of Object.entries(heavy)) {
  test(`${language}: an idle worker that was stopped is found and replaced before the next call`, async (t) => {
    const pool = open(t, { ...worker, healthInterval: 100, healthTimeout: 500 })
    const seen = record(pool, 'worker:unresponsive', 'worker:exit')
    const pid = await pool.call('pid')
    process.kill(pid, 'SIGSTOP')
    await eventually(() => pool.stats().details.some((worker) => worker.ready && worker.pid !== pid))
    await killed(pid)
    await eventually(() => seen.length === 2)
    const [unresponsive, exit] = seen
    assert.deepEqual([unresponsive.name, unresponsive.pid, unresponsive.timeout], ['worker:unresponsive', pid, 500])
    assert.deepEqual(
      [exit.reason, exit.cause, exit.signal, exit.running],
      ['unresponsive', 'unresponsive', 'SIGKILL', 0],
    )
    assert.deepEqual([pool.stats().unresponsive, pool.stats().failed], [1, 0])
    assert.notEqual(await pool.call('pid'), pid)
  })

  test(`${language}: a busy worker is never asked`, async (t) => {
    // It is silent for many times as long as an idle one may be.
    const [ms, health] = process.env.GANGER_CHAOS === 'long' ? [60_000, 1000] : [2000, 100]
    const pool = open(t, { ...worker, healthInterval: health, healthTimeout: health })
    const exits = record(pool, 'worker:exit')
    assert.equal(await pool.call('busy', ms), await pool.call('busy', 10))
    assert.deepEqual([exits, pool.stats().unresponsive], [[], 0])
  })

  test(`${language}: who exits with 1 when told to leave was shut down or recycled, not lost`, async (t) => {
    const pool = open(t, { ...worker, env: { EXIT_CODE: '1' }, workers: 2, minWorkers: 1, idleTimeout: 100 })
    const exits = record(pool, 'worker:exit')
    await Promise.all([pool.call('nap', 500), pool.call('nap', 500)])
    await eventually(() => exits.length === 1)
    assert.deepEqual([exits[0].code, exits[0].reason], [1, 'shutdown'])
    pool.reload()
    await eventually(() => exits.length === 2)
    assert.deepEqual([exits[1].code, exits[1].reason], [1, 'recycled'])
    assert.ok((await pool.call('pid')) > 0)
    await pool.close()
    assert.equal(exits.length, 3)
    assert.deepEqual([exits[2].code, exits[2].reason], [1, 'shutdown'])
    assert.equal(pool.stats().crashed, 0)
  })

  test(`${language}: ten idle workers are killed one after the other, and no call notices`, async (t) => {
    const pool = open(t, worker)
    const exits = record(pool, 'worker:exit')
    for (let round = 1; round <= 10; round++) {
      const pid = await pool.call('pid')
      process.kill(pid, 'SIGKILL')
      await eventually(() => exits.length === round)
      assert.deepEqual([exits.at(-1).pid, exits.at(-1).running], [pid, 0])
      assert.notEqual(await pool.call('pid'), pid)
    }
    assert.deepEqual([pool.stats().crashed, pool.stats().failed, pool.stats().completed], [10, 0, 20])
  })
}

test('idle workers leave down to the fewest, which start with the pool', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 4, minWorkers: 1, idleTimeout: 200 })
  await eventually(() => pool.stats().ready === 1)
  await Promise.all(Array.from({ length: 4 }, () => pool.call('sleep', 400)))
  assert.ok(pool.stats().workers > 1)
  await eventually(() => pool.stats().workers === 1)
  assert.equal(await pool.call('echo', 1), 1)
  assert.equal(pool.stats().crashed, 0)
})

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  test(`${language}: a call that kills its workers costs retries + 1 of them if it may repeat, else one`, async (t) => {
    const pool = open(t, { ...worker, workers: 3 })
    const exits = record(pool, 'worker:exit')
    await pool.warm()
    const again = await failure(pool.call('kill', 'SIGKILL', { idempotent: true, retries: 2 }))
    assert.deepEqual([again.code, again.attempts, again.signal], ['WORKER_CRASHED', 3, 'SIGKILL'])
    await eventually(() => exits.length === 3)
    assert.equal(new Set(exits.map((exit) => exit.pid)).size, 3, 'three workers')
    const once = await failure(pool.call('kill', 'SIGKILL'))
    assert.deepEqual([once.code, once.attempts], ['WORKER_CRASHED', 1])
    await eventually(() => exits.length === 4)
    assert.deepEqual([pool.stats().crashed, pool.stats().retried, await pool.call('echo', 1)], [4, 2, 1])
  })
