// A worker with a model to load is replaced while calls go on: none fails or waits, and two workers are the most.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually, leaveNothing, open } from './support.mjs'

leaveNothing()

const model = fileURLToPath(new URL('../../tests/behavior/workers/model.py', import.meta.url))
const [LOAD_MS, MODEL_BYTES] = [2000, 300 * 1024 * 1024]
const PAGE = 4096
const long = process.env.GANGER_CHAOS === 'long'
/** Who waits for a load waits for all of it. Among other work a call may take its time as well; `make chaos` is strict. */
const PATIENCE_MS = LOAD_MS / (long ? 10 : 2)

for (const callers of [1, 8])
  test(`four replacements after calls: ${callers} callers fail no call, and none waits for a load`, async (t) => {
    const pool = open(t, { python: model, maxCalls: 100 })
    const seen = await serve(t, pool, callers, 4, () => pool.call('answer', { ms: 1 }))
    await assertWarm(pool, seen, 'calls', callers + PATIENCE_MS)
    assert.ok(named(seen, 'worker:recycle').every((event) => event.calls >= 90))
    assert.ok(seen.most > 1.8 * MODEL_BYTES && seen.most < 2.5 * MODEL_BYTES, `${seen.most} bytes`)
    await eventually(() => resident(pool) < 1.3 * MODEL_BYTES, 'the memory of one worker is left')
    if (long) assert.ok(seen.slowest < 3 * (await undisturbed(t, callers, seen.served.length)) + seen.stall)
    if (callers > 1) return
    // One after the other, each worker's calls in one piece.
    const pids = seen.served.map((call) => call.pid).filter((pid, index, all) => pid !== all[index - 1])
    const born = [seen.first, ...replacements(seen).map((event) => event.pid)]
    assert.deepEqual(pids, born.slice(0, pids.length))
  })

for (const callers of long ? [1, 8] : [8])
  test(`replacements of a leaking worker: ${callers} callers fail no call, and none waits for a load`, async (t) => {
    const pool = open(t, { python: model, maxMemory: '450mb' })
    const leak = () => pool.call('leak', { ms: 50, megabytes: 5 })
    const seen = await serve(t, pool, callers, long ? 4 : 2, leak)
    await assertWarm(pool, seen, 'memory', callers * 60 + PATIENCE_MS)
    assert.ok(named(seen, 'worker:recycle').every((event) => event.memory > 400e6))
  })

const named = (seen, name) => seen.told.filter((event) => event.name === name)
// The first worker may be told of after it is there.
const replacements = (seen) => named(seen, 'worker:ready').filter((event) => event.pid !== seen.first)

/** Calls without a pause until so many old workers have left, with a look at the pool every few milliseconds. */
async function serve(t, pool, callers, count, call) {
  await pool.warm()
  const seen = { served: [], told: [], wrong: [], most: 0, first: pool.stats().details[0].pid }
  for (const name of ['worker:recycle', 'worker:ready', 'worker:exit'])
    pool.on(name, (event) => seen.told.push({ at: performance.now(), name, ...event }))
  const over = () => named(seen, 'worker:exit').length >= count
  const caller = async () => {
    while (!over()) {
      const begun = performance.now()
      const pid = await call()
      seen.served.push({ begun, ended: performance.now(), pid })
    }
  }
  const looks = setInterval(() => look(pool, seen), 5)
  try {
    ;[seen.stall] = await Promise.all([stallOfTheMachine(t, over), ...Array.from({ length: callers }, caller)])
  } finally {
    clearInterval(looks)
  }
  const took = seen.served.map((call) => call.ended - call.begun).sort((one, other) => one - other)
  seen.slowest = took.at(-1)
  // Figures that depend on the machine.
  const share = (of) => took[Math.ceil(took.length * of) - 1].toFixed(1)
  t.diagnostic(
    `${took.length} calls, p50 ${share(0.5)} ms, p99 ${share(0.99)} ms, slowest ${share(1)} ms; at most ${seen.most >> 20} MiB; ` +
      `the slowest call of a pool that was left alone ${seen.stall.toFixed(1)} ms`,
  )
  return seen
}

function look(pool, seen) {
  const { workers, ready, queued, details } = pool.stats()
  const idle = details.filter((worker) => worker.ready && !worker.busy)
  if (queued > 0 && idle.length > 0) seen.wrong.push(`${queued} calls wait beside ${JSON.stringify(idle)}`)
  if (workers > 2 || ready === 0) seen.wrong.push(`${workers} workers, ${ready} ready`)
  seen.most = Math.max(seen.most, resident(pool))
}

/** What holds of every replacement; `most` is what a call may take on a machine that never stalls, in milliseconds. */
async function assertWarm(pool, seen, reason, most) {
  assert.deepEqual(seen.wrong, [])
  let retired = seen.first
  for (const [index, exit] of named(seen, 'worker:exit').entries()) {
    const [recycle, ready] = [named(seen, 'worker:recycle')[index], replacements(seen)[index]]
    assert.ok(recycle.at <= ready.at && ready.at <= exit.at, `${recycle.at}, ${ready.at}, ${exit.at}`)
    assert.deepEqual([recycle.pid, recycle.reason, recycle.cold], [retired, reason, false])
    assert.deepEqual([exit.pid, exit.reason, exit.running], [retired, 'recycled', 0])
    // Calls that begin while the replacement is loading are served by the old worker.
    // An event may come after the first answer of whom it tells.
    const during = seen.served.filter((call) => recycle.at < call.begun && call.ended < ready.at)
    const byOld = during.filter((call) => call.pid === retired)
    assert.ok(byOld.length > 10, `${byOld.length} calls`)
    assert.ok(during.every((call) => call.pid === retired || call.pid === ready.pid))
    retired = ready.pid
  }
  assert.ok(seen.slowest < most + seen.stall, `one took ${seen.slowest} ms`)
  await eventually(() => pool.stats().workers === 1, 'one worker is left')
  const { failed, crashed, retried, peak, completed } = pool.stats()
  assert.deepEqual([failed, crashed, retried, peak.workers, completed], [0, 0, 0, 2, seen.served.length])
}

/** What 99 % of as many calls take at most in a pool whose worker is never replaced. */
async function undisturbed(t, callers, calls) {
  const pool = open(t, { python: model })
  await pool.warm()
  const took = []
  const caller = async () => {
    while (took.length < calls) {
      const begun = performance.now()
      await pool.call('answer', { ms: 1 })
      took.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return took.sort((one, other) => one - other)[Math.ceil(took.length * 0.99) - 1]
}

/** The slowest call of a pool that has nothing else to do: what a busy machine costs, whatever the pool in question does. */
async function stallOfTheMachine(t, over) {
  const alone = open(t, { python: model, env: { MODEL_SECONDS: '0', MODEL_MB: '0' } })
  await alone.warm()
  let slowest = 0
  while (!over()) {
    const begun = performance.now()
    await alone.call('answer', { ms: 0 })
    slowest = Math.max(slowest, performance.now() - begun)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return slowest
}

/** Bytes that the workers of a pool hold. */
function resident(pool) {
  return pool.stats().details.reduce((sum, { pid }) => {
    try {
      return sum + Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE
    } catch {
      return sum
    }
  }, 0)
}
