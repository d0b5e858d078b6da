// Large payloads both ways at once: nothing waits for each other's end, and the app's thread goes on turning.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { release } from 'ganger'
import { eventually, leaveNothing, nodeWorker, open, pythonWorker } from './support.mjs'

leaveNothing()

const SIZE = 40_000_000

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  test(`${language}: 40 MB each way at the same time, and small calls beside them`, async (t) => {
    const pool = open(t, { ...worker, workers: 2, concurrency: 3 })
    await pool.warm()
    const inputs = [1, 2, 3, 4].map((fill) => Buffer.alloc(SIZE, fill))
    const drift = watchDrift()
    const large = inputs.map((input) => pool.call('echo', input))
    let going = true
    const all = Promise.all(large).finally(() => (going = false))
    let beside = 0
    for (; going; beside++) assert.equal(await pool.call('echo', beside), beside)
    for (const [index, echoed] of (await all).entries()) assert.ok(inputs[index].equals(echoed))
    const { most, turns } = drift()
    t.diagnostic(`the longest turn of the app's thread was ${most.toFixed(0)} ms of ${turns}; ${beside} calls beside`)
    assert.ok(turns > 0, 'timers ran meanwhile')
    assert.equal(pool.stats().failed, 0)
  })

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  for (const sharedMemory of [0, '1gb'])
    test(`${language}: what a worker does not read holds up nobody else, with ${sharedMemory} of shared memory`, async (t) => {
      const pool = open(t, { ...worker, workers: 2, sharedMemory, healthInterval: 'never' })
      await pool.warm()
      const [stopped] = pool.stats().details.map((worker) => worker.pid)
      process.kill(stopped, 'SIGSTOP')
      const inputs = [1, 2].map((fill) => Buffer.alloc(SIZE, fill))
      const large = inputs.map((input) => pool.call('echo', input))
      const first = await Promise.race(large.map((call, index) => call.then((echoed) => ({ echoed, index }))))
      assert.ok(inputs[first.index].equals(first.echoed), 'the other one reads and answers')
      for (let n = 0; n < 50; n++) assert.equal(await pool.call('echo', n), n)
      assert.deepEqual(
        pool.calls().map(({ fn, state }) => [fn, state]),
        [['echo', 'running']],
      )
      process.kill(stopped, 'SIGCONT')
      const last = 1 - first.index
      assert.ok(inputs[last].equals(await large[last]), 'and so does this one, once it can')
    })

test('a large input is copied once, to memory that is there already', async (t) => {
  const pool = open(t, nodeWorker)
  if (pool.stats().sharedMemory.size < SIZE) return t.skip('no shared memory for that here')
  const input = Buffer.alloc(SIZE, 1)
  release(await pool.call('echo', input))
  await eventually(() => pool.stats().sharedMemory.used === 0)
  const before = process.resourceUsage().minorPageFault
  const call = pool.call('echo', input)
  const touched = process.resourceUsage().minorPageFault - before
  assert.equal((await call).length, SIZE)
  // Of 4 KiB each; a copy to fresh memory touches 9766.
  assert.ok(touched < 2000, `${touched} pages`)
})

/** How late a timer of 5 ms comes, at most, until it is asked. */
function watchDrift() {
  let [last, most, turns] = [performance.now(), 0, 0]
  const timer = setInterval(() => {
    const now = performance.now()
    most = Math.max(most, now - last - 5)
    last = now
    turns++
  }, 5)
  return () => {
    clearInterval(timer)
    return { most, turns }
  }
}
