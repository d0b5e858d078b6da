// Workers and concurrency: as many calls run at once as there is room for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveNothing, nodeWorker, open } from './support.mjs'

leaveNothing()

const CALLS = 64

for (const [workers, concurrency, least] of [
  [1, 1, 1],
  [4, 1, 4],
  // A busy machine may be late with the last when the first are over.
  [4, 16, 33],
  [1, 64, 33],
])
  test(`as much runs at once as ${workers} × ${concurrency} has room for`, async (t) => {
    const pool = open(t, { ...nodeWorker, workers, concurrency })
    const room = workers * concurrency
    await Promise.all(Array.from({ length: room }, () => pool.call('interval', 50)))
    const ms = room < CALLS ? 50 : 500
    const intervals = await Promise.all(Array.from({ length: CALLS }, () => pool.call('interval', ms)))
    const most = overlap(intervals)
    assert.ok(least <= most && most <= room, `${most} at once`)
  })

/** The most intervals that share a moment. One that begins as another ends does not share it. */
function overlap(intervals) {
  const steps = intervals.flatMap(([begun, ended]) => [
    [begun, 1],
    [ended, -1],
  ])
  let [running, most] = [0, 0]
  for (const [, step] of steps.sort(([at, step], [other, next]) => at - other || step - next)) {
    running += step
    most = Math.max(most, running)
  }
  return most
}

test('calls spread evenly over equal workers', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 4, concurrency: 2 })
  await Promise.all(Array.from({ length: 8 }, () => pool.call('sleep', 300)))
  const before = new Map(pool.stats().details.map((worker) => [worker.pid, worker.calls]))
  assert.equal(before.size, 4)
  await Promise.all(Array.from({ length: 80 }, () => pool.call('sleep', 20)))
  const shares = pool.stats().details.map((worker) => worker.calls - before.get(worker.pid))
  assert.ok(
    shares.every((share) => share >= 10 && share <= 30),
    String(shares),
  )
})

test('calls made amid many answers go out although the app computes on', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 1, concurrency: 16 })
  await pool.call('echo', 1)
  for (let round = 0; round < 3; round++) {
    // Several answers come together, this goes on in the middle of them, and there is a free slot for the next call.
    const answers = Array.from({ length: 16 }, (_, n) => pool.call('echo', n))
    await answers[8]
    const made = pool.call('now')
    const until = Date.now() + 400
    while (Date.now() < until);
    assert.ok((await made) < until, 'it ran meanwhile')
    await Promise.all(answers)
  }
})
