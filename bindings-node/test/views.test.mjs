// Large inputs that Node workers look at where they lie: who sees what is written, how long they last, and that they go back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { release } from 'ganger'
import { eventually, leaveNothing, open, workers } from './support.mjs'

leaveNothing()

const MIB = 1 << 20
const options = { node: workers('views.mjs'), sharedMemory: '64mib' }
const used = (pool) => pool.stats().sharedMemory.used
const filled = (byte, size = MIB) => Buffer.alloc(size, byte)

/** Nothing is lent any more, on either side. */
const allIsBack = (pool) => eventually(() => used(pool) === 0, 'all blocks are back')

test('an input is mapped, not copied, and unmapped once nobody looks at it', async (t) => {
  const pool = open(t, options)
  assert.deepEqual(await pool.call('mappedMeanwhile', filled(1, 5 * MIB)), [5 * MIB, 5 * MIB])
  await allIsBack(pool)
  assert.deepEqual(await pool.call('mapped'), [])
  assert.deepEqual(await pool.call('mappedMeanwhile', filled(1, 200_000)), [200_000], 'too short to be worth it')
})

test('an input that is kept stays as it was, whatever comes after it', async (t) => {
  const pool = open(t, options)
  const results = []
  for (const byte of [1, 2, 3]) results.push(await pool.call('keep', filled(byte)))
  for (const result of results) result.fill(77)
  for (let call = 0; call < 50; call++) release(await pool.call('echo', filled(88)))
  assert.deepEqual(
    await pool.call('keptBytes'),
    [1, 2, 3].map((byte) => [byte, byte, true]),
  )
  assert.ok(used(pool) >= 3 * MIB)
  assert.ok(results.every((result) => result.equals(filled(77))))
  for (const result of results) release(result)
  assert.equal(await pool.call('letGo'), 3)
  await allIsBack(pool)
})

test('a worker that is never idle gives back what it let go of late', async (t) => {
  const pool = open(t, { ...options, sharedMemory: '1gib' })
  const size = 40 * MIB
  for (let call = 0; call < 3; call++) release(await pool.call('keep', filled(1, size)))
  // Long enough to be no longer young.
  const echo = async () => release(await pool.call('echo', filled(2, size)))
  for (let call = 0; call < 5; call++) await echo()
  assert.ok(used(pool) >= 3 * size)
  assert.equal(await pool.call('letGo'), 3)
  await eventually(async () => {
    await echo()
    return used(pool) <= 2 * size
  })
})

test('what a worker writes to an input nobody else sees', async (t) => {
  const pool = open(t, options)
  const given = filled(1)
  const result = await pool.call('keep', given)
  const again = await pool.call('keep', result)
  await pool.call('fillKept', 99)
  for (const bytes of [given, result, again]) assert.ok(bytes.equals(filled(1)))
  assert.deepEqual(
    await pool.call('keptBytes'),
    [99, 99].map((byte) => [byte, byte, true]),
  )
})

test('a result is what the function returned, also when it had written to its input', async (t) => {
  const pool = open(t, options)
  const changed = filled(1)
  changed[5] = 99
  assert.ok((await pool.call('changeAndReturn', filled(1))).equals(changed))
  assert.ok((await pool.call('changeWhileItRuns', filled(1))).equals(filled(1, MIB - 100_000)))
  assert.ok((await pool.call('changeLater', filled(1))).equals(filled(1)))
  await pool.call('keep', filled(2))
  for (const at of [0, 4095, 4096, MIB - 1]) {
    const result = await pool.call('change', { at })
    assert.deepEqual([result.length, result[at]], [MIB, 99])
  }
})

test('a part of an input is a result like any other', async (t) => {
  const pool = open(t, options)
  const input = Buffer.from(Array.from({ length: MIB }, (_, index) => index % 251))
  const part = await pool.call('part', input)
  assert.ok(part.equals(input.subarray(1001, 700_003)))
  part.fill(0)
  assert.ok((await pool.call('view', input)).equals(input.subarray(5, 300_005)))
  release(part)
  await allIsBack(pool)
})

test('an earlier input is copied when it is returned, and may be returned again', async (t) => {
  const pool = open(t, options)
  await pool.call('keep', filled(4))
  const results = await Promise.all([0, 0].map((index) => pool.call('keptOne', index)))
  results[0].fill(5)
  assert.ok(results[1].equals(filled(4)))
  assert.deepEqual(await pool.call('keptBytes'), [[4, 4, true]])
})

test('views outlive their worker, and a worker that dies gives its own back', async (t) => {
  const pool = open(t, options)
  const result = await pool.call('keep', filled(6))
  await pool.call('keep', filled(7))
  process.kill(await pool.call('pid'), 'SIGKILL')
  await eventually(() => pool.stats().crashed === 1)
  assert.ok(result.equals(filled(6)))
  for (let call = 0; call < 70; call++) assert.equal(await pool.call('length', filled(8)), MIB)
  assert.ok(result.equals(filled(6)))
  assert.equal(release(result), true)
  await allIsBack(pool)
})

test('views outlive their pool', async (t) => {
  const pool = open(t, options)
  const [first, second] = [await pool.call('keep', filled(1)), await pool.call('part', filled(2))]
  await pool.close()
  first.fill(3, 0, 10)
  assert.ok(first.subarray(10).equals(filled(1, MIB - 10)) && second.equals(filled(2, 699_002)))
})

test('a call that fails gives its input back too', async (t) => {
  const pool = open(t, options)
  for (let call = 0; call < 100; call++) await assert.rejects(pool.call('fail', filled(1)), /of 1048576 bytes/)
  assert.equal(pool.stats().sharedMemory.refused, 0)
  await allIsBack(pool)
})

test('a thousand results that nobody releases find room in a sixteenth of their size', async (t) => {
  const pool = open(t, { ...options, workers: 2 })
  const lane = async (byte) => {
    for (let call = 0; call < 250; call++) assert.equal((await pool.call('echo', filled(byte)))[MIB - 1], byte)
  }
  await Promise.all([1, 2, 3, 4].map(lane))
  // Without room payloads go through the socket: that is no fault, but it must stay the exception.
  const { refused } = pool.stats().sharedMemory
  assert.ok(refused < 500, `${refused} of a thousand`)
})
