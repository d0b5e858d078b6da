// Workers are killed and stopped at random while calls run, wait, time out and are cancelled.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertAddedUp,
  count,
  dice,
  end,
  eventually,
  LIMIT_MS,
  leaveNothing,
  long,
  open,
  pick,
  readyPids,
  signal,
  sleep,
} from './lookout.mjs'

leaveNothing()

const DURATION_MS = long ? 60_000 : 1_500
/** Of a storm that is one; a machine that starts workers slowly has longer storms. */
const FEWEST_BLOWS = 5
const CALLERS = 6
const RETRIES = 2
/** Anything but a hang or a lie. */
const HONEST = ['ok', 'CANCELLED', 'DEADLINE_EXCEEDED', 'QUEUE_TIMEOUT', 'START_FAILED', 'TIMEOUT', 'WORKER_CRASHED']

for (const [kind, concurrency] of [
  ['node', 1],
  ['node', 4],
  ['python', 1],
  ['python', 4],
])
  test(`kills and stops of ${kind} workers with ${concurrency} calls each`, async (t) => {
    const { pool, starts } = open(t, kind, {
      workers: 3,
      concurrency,
      cancelGrace: '100ms',
      healthInterval: '200ms',
      healthTimeout: '500ms',
      startTimeout: '20s',
    })
    const chance = dice(t)
    const storm = begin()
    const callers = Array.from({ length: CALLERS }, (_, caller) => call(pool, chance, caller, storm))
    while (!storm.over()) {
      await sleep(20 + chance() * 130)
      const pids = readyPids(pool)
      if (pids.length) storm.blows += signal(pick(chance, pids), pick(chance, ['SIGKILL', 'SIGKILL', 'SIGSTOP']))
    }
    await Promise.all(callers)
    assert.deepEqual(
      storm.ends.filter((how) => !HONEST.includes(how)),
      [],
    )
    assert.ok(storm.ends.includes('ok') && storm.blows >= FEWEST_BLOWS, `${storm.blows} blows`)
    const most = (mark) => (mark.startsWith('i') ? RETRIES + 1 : 1)
    assert.deepEqual(
      [...starts()].filter(([mark, times]) => times > most(mark)),
      [],
      'started too often',
    )
    await eventually(async () => {
      // A worker that has just been stopped may be given it, and a busy one is not asked whether it lives: the call's clock finds out.
      const how = await end(pool.call('size', 'abc', { timeout: 5000 }))
      storm.ends.push(how)
      return how === 'ok'
    }, 'the pool serves on')
    await assertAddedUp(pool, count(storm.ends))
    t.diagnostic(JSON.stringify({ blows: storm.blows, ...Object.fromEntries(count(storm.ends)) }))
  })

function begin() {
  const begun = performance.now()
  return {
    ends: [],
    blows: 0,
    over() {
      const lasted = performance.now() - begun
      return lasted > DURATION_MS && (this.blows >= FEWEST_BLOWS || lasted > DURATION_MS + LIMIT_MS)
    },
  }
}

async function call(pool, chance, caller, storm) {
  for (let number = 0; !storm.over(); number++) {
    const idempotent = chance() < 0.5
    const mark = `${idempotent ? 'i' : 'o'}${caller}.${number}`
    const options = { timeout: 1000, idempotent, retries: RETRIES }
    if (chance() < 0.2) options.deadline = 1500
    if (chance() < 0.2) options.queueTimeout = 500
    if (chance() < 0.1) options.signal = AbortSignal.timeout(Math.floor(chance() * 30))
    const how = await end(pool.call('work', { mark, seconds: chance() * 0.03 }, options))
    storm.ends.push(how)
    // An app that is refused does not ask again at once.
    if (how === 'START_FAILED') await sleep(50)
  }
}
