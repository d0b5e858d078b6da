// Many calls, of which some hang, crash or are cancelled: each ends once and as it must; nothing grows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAddedUp, count, dice, end, leaveNothing, long, open, ownKinds } from './lookout.mjs'

leaveNothing()

const CALLS = long ? 100_000 : 2_000
const WINDOW = 200
/** Of a thousand calls. */
const [HANG, SPIN, CRASH, CANCEL] = [8, 2, 10, 50]
const EXPECTED = { echo: ['ok'], hang: ['TIMEOUT'], spin: ['TIMEOUT'], crash: ['WORKER_CRASHED'] }

for (const kind of ownKinds)
  test(`every call of a long run of ${kind} workers ends once and as it must`, async (t) => {
    const { pool, starts } = open(t, kind, { workers: 2, cancelGrace: '50ms' })
    const chance = dice(t)
    const [ends, wrong, answered] = [[], [], []]
    let [next, warmBytes] = [0, 0]
    async function caller() {
      while (next < CALLS) {
        const number = next++
        if (number === CALLS >> 2) warmBytes = process.memoryUsage().rss
        const { deed, how } = await make(pool, chance, `m${number}`)
        ends.push(how)
        if (!(EXPECTED[deed] ?? ['ok', 'CANCELLED']).includes(how)) wrong.push(`${deed}: ${how}`)
        if (how === 'ok') answered.push(`m${number}`)
      }
    }
    await Promise.all(Array.from({ length: WINDOW }, caller))
    const grown = process.memoryUsage().rss - warmBytes
    t.diagnostic(JSON.stringify({ ...Object.fromEntries(count(ends)), grown }))
    assert.deepEqual(wrong, [])
    assert.equal(ends.length, CALLS)
    const started = starts()
    assert.deepEqual([...started].filter(([, times]) => times > 1).slice(0, 5), [], 'started more than once')
    assert.ok(answered.every((mark) => started.get(mark) === 1))
    await assertAddedUp(pool, count(ends))
    assert.ok(grown < warmBytes / 4 + 64e6, `${grown} bytes more than ${warmBytes}`)
  })

async function make(pool, chance, mark) {
  const throwOf = chance() * 1000
  const input = { mark }
  if (throwOf < HANG) return { deed: 'hang', how: await end(pool.call('hang', input, { timeout: 50 })) }
  if (throwOf < HANG + SPIN) return { deed: 'spin', how: await end(pool.call('spin', input, { timeout: 50 })) }
  if (throwOf < HANG + SPIN + CRASH) return { deed: 'crash', how: await end(pool.call('crash', input)) }
  if (throwOf >= HANG + SPIN + CRASH + CANCEL) {
    const answer = pool.call('echo', input)
    const how = await end(answer)
    if (how === 'ok') assert.equal(await answer, mark)
    return { deed: 'echo', how }
  }
  const abort = new AbortController()
  const how = end(pool.call('echo', input, { signal: abort.signal }))
  // At once, or somewhere on its way.
  if (chance() < 0.5) abort.abort()
  else setTimeout(() => abort.abort(), chance() * 10)
  return { deed: 'cancelled', how: await how }
}
