// Events and stats carry what tests/behavior/reports.json says, each as the type that is written there.

import assert from 'node:assert/strict'
import { appendFileSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually, leaveNothing, open, scratch } from './support.mjs'

leaveNothing()

const behavior = fileURLToPath(new URL('../../tests/behavior/', import.meta.url))
const reports = JSON.parse(readFileSync(join(behavior, 'reports.json'), 'utf8'))
const types = {
  whole: Number.isInteger,
  number: Number.isFinite,
  text: (value) => typeof value === 'string',
  'yes or no': (value) => typeof value === 'boolean',
  list: Array.isArray,
  map: (value) => typeof value === 'object' && !Array.isArray(value),
}

const camelCase = (name) => name.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())

/** What is missing or of another type. */
function faults(promised, given) {
  return Object.entries(promised)
    .map(([name, kind]) => [camelCase(name), kind])
    .filter(([name, kind]) => !(name in given && fits(kind, given[name])))
    .map(([name, kind]) => `${name} is ${given[name]}, not ${kind}`)
}

function fits(kind, value) {
  if (Array.isArray(kind)) return kind.includes(value)
  if (value === null) return kind.endsWith('?')
  return types[kind.replace('?', '')](value)
}

test('events and stats carry what is promised', async (t) => {
  const file = scratch(t, 'mortal.py')
  mkdirSync(dirname(file), { recursive: true })
  copyFileSync(join(behavior, 'workers/mortal.py'), file)
  const pool = open(t, { python: file, watch: true, maxCalls: 5, healthInterval: 200, healthTimeout: 300 })
  const told = Object.fromEntries(Object.keys(reports.events).map((name) => [name, []]))
  for (const [name, events] of Object.entries(told)) pool.on(name, (event) => events.push(event))
  const died = scratch(t, 'died')
  mkdirSync(dirname(died), { recursive: true })
  assert.equal(await pool.call('die_once', died, { idempotent: true }), 'survived')
  await eventually(() => told['worker:exit'].length === 1, 'a crash is told')
  process.kill(await pool.call('pid'), 'SIGSTOP')
  await eventually(() => told['worker:exit'].length === 2, 'silence is told')
  await eventually(async () => (await pool.call('pid')) && told['worker:recycle'].length > 0, 'enough calls are told')
  appendFileSync(file, '\n# Changed.\n')
  await eventually(() => pool.stats().recycled.reload > 0, 'changed code is told')
  await pool.call('pid')
  const stats = pool.stats()
  const wrong = [faults(reports.stats, stats), faults(reports.recycled, stats.recycled)]
  assert.deepEqual([...wrong, ...stats.details.map((worker) => faults(reports.details, worker))].flat(), [])
  await pool.close()
  for (const [name, promised] of Object.entries(reports.events)) {
    assert.ok(told[name].length > 0, `${name} was never told`)
    assert.deepEqual(
      told[name].flatMap((event) => faults(promised, event)),
      [],
      name,
    )
  }
  const reasons = (name) => [...new Set(told[name].map((event) => event.reason))].sort()
  assert.deepEqual(reasons('worker:exit'), ['crash', 'recycled', 'shutdown', 'unresponsive'])
  assert.deepEqual(reasons('worker:recycle'), ['calls', 'reload'])
})
