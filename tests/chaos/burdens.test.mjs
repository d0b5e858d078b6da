// Bombs, floods and bad starts: each costs what it must and no more.

import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Pool } from 'ganger'
import {
  assertAddedUp,
  dice,
  end,
  eventually,
  kinds,
  leaveNothing,
  long,
  open,
  ownKinds,
  pick,
  readyPids,
  sleep,
} from './lookout.mjs'

leaveNothing()

const ROUNDS = long ? 10 : 2
const MB = 1_000_000

for (const kind of ownKinds) {
  test(`${kind}: a memory bomb costs its own call only`, async (t) => {
    const { pool } = open(t, kind, { memoryLimit: '700mb' })
    for (let round = 0; round < ROUNDS; round++) {
      const bomb = end(pool.call('bomb'))
      const others = Array.from({ length: 5 }, () => pool.call('size', 'abc'))
      // A worker may catch what the system refuses it, or die of it.
      const how = await bomb
      assert.ok(['CALL_FAILED', 'WORKER_CRASHED'].includes(how), how)
      assert.deepEqual(await Promise.all(others), [3, 3, 3, 3, 3])
    }
    await assertAddedUp(
      pool,
      new Map([
        ['ok', 5 * ROUNDS],
        ['failed', ROUNDS],
      ]),
    )
  })

  test(`${kind}: a worker that dies while it is sent a lot takes no call with it`, async (t) => {
    const { pool } = open(t, kind)
    for (let round = 0; round < ROUNDS; round++) {
      assert.equal(await pool.call('size', ''), 0)
      const [pid] = readyPids(pool)
      // It stops reading, so that the lane fills up; then it dies.
      process.kill(pid, 'SIGSTOP')
      const sent = pool.call('size', Buffer.alloc(50 * MB))
      const waiting = [pool.call('size', Buffer.alloc(10 * MB)), pool.call('size', 'abc')]
      await eventually(() => pool.stats().running === 1, 'it is being sent')
      process.kill(pid, 'SIGKILL')
      // None can have begun: the worker never had a whole one.
      assert.deepEqual(await Promise.all([sent, ...waiting]), [50 * MB, 10 * MB, 3])
    }
  })

  const skip = long ? false : 'it takes 8 GB of memory and a minute'
  test(`${kind}: what is larger than 2 GiB crosses in both directions`, { skip }, async (t) => {
    const { pool } = open(t, kind, { maxQueueBytes: '8gb' })
    assert.equal(await pool.call('size', Buffer.alloc(2500 * MB)), 2500 * MB)
    assert.equal((await pool.call('bytes_of', 2500 * MB)).length, 2500 * MB)
    assert.equal(pool.stats().crashed, 0)
  })

  test(`${kind}: ten megabytes without a line end block nobody and are not kept`, async (t) => {
    const { pool } = open(t, kind)
    let longest = 0
    pool.on('worker:log', (event) => {
      longest = Math.max(longest, event.message.length)
    })
    for (let round = 0; round < ROUNDS; round++) {
      assert.equal(await pool.call('shout', 10 * MB), 10 * MB)
      const error = await pool.call('shout_and_crash', 10 * MB).catch((error) => error)
      assert.deepEqual([error.code, error.exitCode], ['WORKER_CRASHED', 3])
      const tail = error.worker.stderrTail
      assert.ok(tail.length > 0 && tail.length <= 64 * 1024 && /^[y\n]+$/.test(tail), `${tail.length} letters`)
    }
    assert.ok(longest <= 1 << 20, `a line of ${longest}`)
  })

  test(`${kind}: who starts slowly is waited for, who starts too slowly is told`, async (t) => {
    const { pool } = open(t, kind, { workers: 2, env: { START_SECONDS: '1' } })
    const calls = Array.from({ length: 4 }, () => pool.call('size', 'ab'))
    assert.deepEqual(await Promise.all(calls), [2, 2, 2, 2])
    const tooSlow = open(t, kind, { env: { START_SECONDS: '50' }, startTimeout: 500 })
    assert.equal(await end(tooSlow.pool.call('size', 'ab')), 'START_FAILED')
  })

  test(`${kind}: a pool whose workers cannot start fails calls and heals with the cause`, async (t) => {
    const flag = join(open(t, kind).folder, 'flag')
    writeFileSync(flag, '')
    const { pool } = open(t, kind, { workers: 2, env: { NO_START: flag } })
    const calls = Array.from({ length: 6 }, () => pool.call('size', '').catch((error) => error))
    for (const error of await Promise.all(calls)) {
      assert.equal(error.code, 'START_FAILED')
      assert.match(error.message, /not while the file is there/)
    }
    rmSync(flag)
    await eventually(async () => (await end(pool.call('size', ''))) === 'ok', 'it heals')
  })

  test(`${kind}: a pool may be ended in the middle of everything`, async (t) => {
    const chance = dice(t)
    for (let round = 0; round < ROUNDS * 3; round++) {
      const { pool, starts } = open(t, kind, { workers: 2, cancelGrace: '50ms' })
      const calls = Array.from({ length: 20 }, (_, index) => {
        const deed = pick(chance, ['echo', 'work', 'hang', 'spin', 'crash'])
        return end(pool.call(deed, { mark: `m${index}`, ...(deed === 'work' && { seconds: 0.01 }) }))
      })
      await sleep(chance() * 400)
      await pool.terminate()
      const odd = (await Promise.all(calls)).filter((how) => !['ok', 'POOL_CLOSED', 'WORKER_CRASHED'].includes(how))
      assert.deepEqual(odd, [])
      assert.ok([...starts().values()].every((times) => times === 1))
    }
  })
}

test('pools by the hundred leave no memory behind', async () => {
  const bytes = []
  const count = long ? 2_000 : 150
  for (let number = 0; number < count; number++) {
    const pool = new Pool({ ...kinds.node, workers: 1 })
    await pool.close()
    if (number % (count / 2) === count / 2 - 1) bytes.push(process.memoryUsage().rss)
  }
  assert.ok(bytes[1] < bytes[0] * 1.25 + 32e6, `from ${bytes[0]} to ${bytes[1]} bytes`)
})
