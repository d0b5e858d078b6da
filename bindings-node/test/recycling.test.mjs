// Workers are replaced before they hurt, and nobody waits for it.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { eventually, killed, leaveNothing, open, record, scratch, workers } from './support.mjs'

leaveNothing()

const heavy = { Node: { node: workers('heavy.mjs') }, Python: { python: workers('heavy.py') } }
const LOAD_MS = 1500

// Python workers under maxCalls are in replacement.test.mjs.
for (const callers of [1, 8])
  test(`Node: maxCalls under ${callers} callers fails no call and lets none wait for the load`, async (t) => {
    const env = { LOAD_SECONDS: String(LOAD_MS / 1000) }
    const pool = open(t, { ...heavy.Node, maxCalls: 40, env })
    const seen = record(pool, 'worker:recycle', 'worker:ready', 'worker:exit')
    const calls = { made: 0, during: 0, overtaken: 0 }
    const ended = []
    await pool.ready().then(() => pool.call('pid'))
    const loading = () => seen.at(-1)?.name === 'worker:recycle'
    const caller = async () => {
      while (seen.filter((event) => event.name === 'worker:exit').length < 2) {
        const number = calls.made++
        await pool.call('nap', 5)
        calls.overtaken = Math.max(calls.overtaken, ended.filter((other) => other > number).length)
        ended.push(number)
        if (loading()) calls.during++
      }
    }
    await Promise.all(Array.from({ length: callers }, caller))
    assert.ok(calls.during > 10, `${calls.during} calls were served while a replacement was loading`)
    // Who waits for a load is passed by all that the old worker serves meanwhile.
    assert.ok(calls.overtaken <= 2 * callers, `one was overtaken by ${calls.overtaken}`)
    await eventually(() => pool.stats().workers === 1)
    const { failed, crashed, recycled } = pool.stats()
    assert.deepEqual([failed, crashed], [0, 0])
    assert.ok(recycled.calls >= 2)
    const recycle = seen.find((event) => event.name === 'worker:recycle')
    assert.deepEqual([recycle.reason, recycle.cold, recycle.worker], ['calls', false, 0])
    assert.ok(recycle.calls >= 36 && recycle.pid > 0, JSON.stringify(recycle))
    const exits = seen.filter((event) => event.name === 'worker:exit')
    assert.ok(exits.every((exit) => exit.reason === 'recycled' && exit.running === 0 && exit.code === 0))
  })

for (const [language, worker] of Object.entries(heavy))
  test(`${language}: a leaking worker is replaced for its memory, and nothing fails`, async (t) => {
    const pool = open(t, { ...worker, maxMemory: '150mb' })
    const recycles = record(pool, 'worker:recycle')
    const first = await pool.call('pid')
    await eventually(async () => (await pool.call('leak', 5)) !== first)
    assert.deepEqual([recycles[0].reason, recycles[0].pid], ['memory', first])
    assert.ok(recycles[0].memory > 130e6, `${recycles[0].memory} bytes`)
    await killed(first)
    const { failed, crashed, recycled } = pool.stats()
    assert.deepEqual([failed, crashed], [0, 0])
    assert.ok(recycled.memory >= 1)
  })

test('a fresh worker above maxMemory is warned of once, and the process hears it when nobody listens', async (t) => {
  const warnings = []
  const warned = (warning) => warnings.push(warning)
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const deaf = open(t, { ...heavy.Node, maxMemory: '5mb', name: 'deaf' })
  const heard = open(t, { ...heavy.Node, maxMemory: '5mb', name: 'heard' })
  const events = record(heard, 'warning')
  await Promise.all([deaf.warm(), heard.warm()])
  await eventually(() => warnings.some((it) => /pool deaf: .*memory/.test(it.message)) && events.length > 0)
  assert.equal(await deaf.call('nap', 1500), await deaf.call('pid'), 'it is not replaced over and over')
  assert.equal(warnings.filter((it) => it.name === 'GangerWarning').length, 1, String(warnings))
  assert.equal(events[0].pool, 'heard')
})

for (const [language, name, code] of [
  ['Node', 'worker.mjs', (version) => `export const version = () => ${version}\n`],
  ['Python', 'worker.py', (version) => `from ganger_worker import action\n@action\ndef version(): return ${version}\n`],
])
  test(`${language}: changed code is loaded, and code that cannot start keeps the old worker`, async (t) => {
    const file = scratch(t, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code(1))
    const pool = open(t, { [language.toLowerCase()]: file, watch: true })
    const seen = record(pool, 'reload', 'worker:recycle', 'worker:exit')
    const of = (event) => seen.filter((it) => it.name === event)
    assert.equal(await pool.call('version'), 1)
    writeFileSync(file, code('('))
    await eventually(async () => {
      assert.equal(await pool.call('version'), 1, 'the old worker serves on')
      return of('worker:exit').length > 0
    })
    assert.deepEqual([of('worker:exit')[0].reason, of('worker:recycle')[0].reason], ['start-failed', 'reload'])
    assert.ok(of('reload')[0].files.some((changed) => changed.endsWith(name)))
    writeFileSync(file, code(2))
    await eventually(async () => (await pool.call('version')) === 2)
    assert.deepEqual([pool.stats().failed, pool.stats().crashed], [0, 0])
  })

test('two thousand changed files are one change, and no call is lost', async (t) => {
  const file = scratch(t, 'prices.py')
  const folder = dirname(file)
  const data = Array.from({ length: 2000 }, (_, index) => join(folder, `data${index}.json`))
  const version = (is) => `from ganger_worker import action\n@action\ndef version(): return ${is}\n`
  mkdirSync(folder, { recursive: true })
  for (const path of data) writeFileSync(path, '')
  writeFileSync(file, version(1))
  const pool = open(t, { python: folder, workers: 2, watch: true })
  const reloads = record(pool, 'reload')
  assert.equal(await pool.call('prices.version'), 1)
  const begun = performance.now()
  writeFileSync(file, version(20))
  for (const path of data) writeFileSync(path, '{}')
  const pauses = Math.floor((performance.now() - begun) / 200)
  const caller = () => eventually(async () => (await pool.call('prices.version')) === 20)
  await Promise.all([caller(), caller(), caller(), caller()])
  await eventually(() => pool.stats().recycled.reload >= 1)
  // A machine that stalls while they are written makes them more than one change.
  assert.ok(reloads.length >= 1 && reloads.length <= 2 + pauses, `${reloads.length} reloads`)
  assert.equal(pool.stats().failed, 0)
})

test('why new code could not start is told', async (t) => {
  const file = scratch(t, 'worker.py')
  mkdirSync(dirname(file), { recursive: true })
  const write = (body) => writeFileSync(file, `from ganger_worker import action\n@action\ndef f(): return ${body}\n`)
  write(1)
  const pool = open(t, { python: file, watch: true })
  const exits = record(pool, 'worker:exit')
  const warnings = record(pool, 'warning')
  assert.equal(await pool.call('f'), 1)
  write('(')
  await eventually(() => exits.length > 0)
  assert.equal(exits[0].reason, 'start-failed')
  assert.match(exits[0].error, /SyntaxError.*worker\.py.*return \(/s)
  assert.equal(await pool.call('f'), 1, 'the old worker serves on')
  await eventually(() => warnings.length > 0)
  assert.match(warnings[0].message, /serves on.*could not start.*SyntaxError/s, 'for those who listen to no exits')
  write(2)
  await eventually(async () => (await pool.call('f')) === 2)
  await eventually(() => exits.at(-1).reason === 'recycled')
  assert.deepEqual([exits.at(-1).cause, exits.at(-1).error], ['recycled', null])
})

test('a reload of no workers is told too', async (t) => {
  const pool = open(t, heavy.Node)
  const reloads = record(pool, 'reload')
  pool.reload()
  await eventually(() => reloads.length > 0)
  assert.deepEqual([reloads[0].files, reloads[0].replaced], [[], 0])
})

test('reload replaces every worker, ready before the old one leaves', async (t) => {
  const pool = open(t, { ...heavy.Node, workers: 2 })
  await pool.warm()
  const before = pool.stats().details.map((worker) => worker.pid)
  const seen = record(pool, 'worker:ready', 'worker:exit')
  pool.reload()
  await eventually(() => seen.filter((event) => event.name === 'worker:exit').length === 2)
  // The first workers may be told of after they are there.
  const told = seen.filter((event) => event.name === 'worker:exit' || !before.includes(event.pid))
  assert.deepEqual(
    told.map((event) => event.name),
    ['worker:ready', 'worker:exit', 'worker:ready', 'worker:exit'],
  )
  assert.ok(pool.stats().details.every((worker) => !before.includes(worker.pid)))
  assert.deepEqual([pool.stats().recycled.reload, pool.stats().workers], [2, 2])
})
