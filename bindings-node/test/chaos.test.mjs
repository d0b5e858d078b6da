// Workers are killed at random under load: every call settles, exactly once, and the pool goes on.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, leaveNothing, nodeWorker, open, pythonWorker } from './support.mjs'

leaveNothing()

const DURATION_MS = 3000

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  test(`random SIGKILLs of ${language} workers under load`, async (t) => {
    const pool = open(t, { ...worker, workers: 3, retries: 20 })
    await Promise.all([1, 2, 3].map(() => pool.call('sleep', 100)))
    const until = performance.now() + DURATION_MS
    const ends = { ok: 0, lost: 0, gone: 0 }
    const killed = new Set()
    let kills = 0
    const killer = setInterval(() => {
      const pids = pool
        .stats()
        .details.filter((it) => it.ready && it.pid)
        .map((it) => it.pid)
      const victim = pids[Math.floor(Math.random() * pids.length)]
      if (victim === undefined) return
      kills++
      killed.add(victim)
      try {
        process.kill(victim, 'SIGKILL')
      } catch {
        // It has just gone.
      }
    }, 150)
    await Promise.all(Array.from({ length: 12 }, (_, index) => load(pool, index, until, ends, killed)))
    clearInterval(killer)
    assert.ok(kills >= 5 && ends.ok > 20, JSON.stringify({ ...ends, kills }))
    assert.equal(await eventually(() => pool.call('echo', 'usable').catch(() => false)), 'usable')
    const stats = pool.stats()
    assert.deepEqual([stats.running, stats.queued, pool.calls()], [0, 0, []])
    assert.equal(stats.completed + stats.failed + stats.cancelled, stats.submitted)
    assert.ok(stats.crashed <= kills)
    t.diagnostic(JSON.stringify({ ...ends, kills, crashed: stats.crashed, retried: stats.retried }))
  })

/** Calls one after the other; every second one may be repeated and so never fails for a lost worker. */
async function load(pool, index, until, ends, killed) {
  for (let round = 0; performance.now() < until; round++) {
    const idempotent = round % 2 === 0
    const input = `${index}.${round}`
    try {
      assert.equal(await pool.call('echo', input, { idempotent }), input)
      await pool.call('sleep', 10, { idempotent })
      ends.ok++
    } catch (error) {
      if (error.code === 'WORKER_CRASHED') {
        assert.ok(!idempotent, `an idempotent call was lost after ${error.attempts} attempts`)
        assert.equal(error.signal, 'SIGKILL')
        assert.ok(killed.has(error.pid), error.message)
        ends.lost++
      } else {
        assert.equal(error.code, 'START_FAILED', error.stack)
        ends.gone++
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
}
