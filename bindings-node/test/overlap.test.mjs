// Workers and concurrency: as many calls run at once as there is room for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveNothing, nodeWorker, open } from './support.mjs'

leaveNothing()

for (const [workers, concurrency] of [
  [4, 1],
  [4, 16],
  [1, 64],
])
  test(`64 waits of 0.2 s with ${workers} × ${concurrency}`, async (t) => {
    const pool = open(t, { ...nodeWorker, workers, concurrency })
    const room = workers * concurrency
    // All workers are there: starting one takes as long as a wait.
    await Promise.all(Array.from({ length: room }, () => pool.call('sleep', 50)))
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, pool.calls().filter((call) => call.state === 'running').length)
    }, 5)
    const began = performance.now()
    await Promise.all(Array.from({ length: 64 }, () => pool.call('sleep', 200)))
    const took = performance.now() - began
    clearInterval(watch)
    assert.equal(most, room, 'the room was used, and no more')
    const ideal = (64 / room) * 200
    assert.ok(took >= ideal * 0.99, `${took} ms`)
    assert.ok(took < ideal * 3 + 1000, `${took} ms is far from ${ideal} ms`)
  })

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
