// Whatever ends a worker, in whatever phase: every call settles, and the next one is served.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { eventually, failure, leaveNothing, nodeWorker, open, pythonWorker, record, scratch } from './support.mjs'

leaveNothing()

const deaths = [
  { how: 'exit 0', fn: 'exit', input: 0, code: 0, signal: null },
  { how: 'exit 1', fn: 'exit', input: 1, code: 1, signal: null },
  { how: 'SIGKILL', fn: 'kill', input: 'SIGKILL', code: null, signal: 'SIGKILL' },
  { how: 'abort', fn: 'abort', input: null, code: null, signal: 'SIGABRT' },
]

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  for (const death of deaths)
    test(`${language}: ${death.how} in a call`, async (t) => {
      const pool = open(t, worker)
      const exits = record(pool, 'worker:exit')
      const pid = await pool.call('pid')
      const calls = [pool.call(death.fn, death.input), pool.call('echo', 'second'), pool.call('echo', 'third')]
      const error = await failure(calls[0])
      assert.equal(error.code, 'WORKER_CRASHED', error.message)
      assert.deepEqual([error.pid, error.exitCode, error.signal], [pid, death.code, death.signal])
      assert.deepEqual([error.function, error.attempts, error.worker.pid], [death.fn, 1, pid])
      assert.equal(error.worker.cause, death.signal === null ? 'exit' : 'signal')
      assert.notEqual(error.started, 'no')
      assert.deepEqual(await Promise.all(calls.slice(1)), ['second', 'third'], 'those behind it are not lost')
      // Events come by a way of their own.
      await eventually(() => exits.length === 1)
      assert.deepEqual(
        [exits[0].code, exits[0].signal, exits[0].reason, exits[0].running],
        [death.code, death.signal, 'crash', 1],
      )
      assert.equal(pool.stats().crashed, 1)
    })

test('a worker that dies of its memory limit says so, and shows what it used', async (t) => {
  const pool = open(t, { ...nodeWorker, memoryLimit: '400mb' })
  const exits = record(pool, 'worker:exit')
  const error = await failure(pool.call('hoard', null, { idempotent: true }))
  assert.equal(error.code, 'WORKER_CRASHED', error.message)
  assert.match(error.message, /went over its memory_limit/)
  assert.deepEqual([error.worker.cause, error.attempts], ['memory-limit', 2])
  assert.ok(error.worker.memory[0] < 100e6 && error.worker.memory.at(-1) > 200e6, `${error.worker.memory}`)
  await eventually(() => exits.length === 2)
  assert.deepEqual(
    exits.map((exit) => [exit.reason, exit.cause]),
    [
      ['crash', 'memory-limit'],
      ['crash', 'memory-limit'],
    ],
  )
  assert.equal(await pool.call('echo', 1), 1)
})

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGABRT'])
  test(`an idle worker that ends by ${signal} is replaced without an error`, async (t) => {
    const pool = open(t, nodeWorker)
    const exits = record(pool, 'worker:exit')
    const pid = await pool.call('pid')
    process.kill(pid, signal)
    await eventually(() => exits.length === 1)
    assert.deepEqual([exits[0].running, exits[0].pid], [0, pid])
    assert.notEqual(await pool.call('pid'), pid)
  })

const python = (head, body) => `import os, signal, sys\nfrom ganger_worker import action, shutdown\n${head}
@action
def f(): return 1
@shutdown
def leave():
    ${body}
`
const ends = {
  'exit 0': { Node: 'process.exit(0)', Python: 'os._exit(0)' },
  'exit 1': { Node: 'process.exit(1)', Python: 'os._exit(1)' },
  SIGKILL: { Node: "process.kill(process.pid, 'SIGKILL')", Python: 'os.kill(os.getpid(), signal.SIGKILL)' },
  abort: { Node: 'process.abort()', Python: 'os.abort()' },
}
const before = {
  Node: (end) => `console.error('about to end'); ${end}; await new Promise(() => {}); export const f = () => 1`,
  Python: (end) => python(`print('about to end', file=sys.stderr)\n${end}`, 'pass'),
}
const stopping = {
  Node: (end) => `export const ganger = { shutdown: () => { ${end} } }; export const f = () => 1`,
  Python: (end) => python('', end),
}
const files = { Node: 'worker.mjs', Python: 'worker.py' }

for (const [how, codes] of Object.entries(ends))
  for (const [language, name] of Object.entries(files)) {
    const worker = (t, code) => {
      const file = scratch(t, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, code)
      return { [language.toLowerCase()]: file }
    }

    test(`${language}: ${how} before ready is START_FAILED`, async (t) => {
      const pool = open(t, worker(t, before[language](codes[language])))
      const exits = record(pool, 'worker:exit')
      const error = await failure(pool.call('f'))
      assert.equal(error.code, 'START_FAILED')
      assert.match(error.worker.stderrTail, /about to end/)
      assert.ok(exits.every((exit) => exit.reason === 'start-failed'))
      assert.ok(exits.length <= 6, `${exits.length} starts before calls fail`)
    })

    test(`${language}: ${how} while stopping disturbs no close, and is no crash`, async (t) => {
      const pool = open(t, worker(t, stopping[language](codes[language])))
      const exits = record(pool, 'worker:exit')
      assert.equal(await pool.call('f'), 1)
      await pool.close()
      assert.equal(exits.length, 1)
      const expected = how.startsWith('exit') ? Number(how.at(-1)) : null
      assert.deepEqual([exits[0].code, exits[0].running, exits[0].reason], [expected, 0, 'shutdown'])
      assert.deepEqual([pool.stats().crashed, pool.stats().failed], [0, 0])
    })
  }

test('a worker that hangs in its shutdown hook is killed after stopTimeout', async (t) => {
  const file = scratch(t, 'worker.mjs')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, 'export const ganger = { shutdown: () => { for (;;); } }; export const f = () => 1')
  const pool = open(t, { node: file, stopTimeout: 100 })
  const exits = record(pool, 'worker:exit')
  await pool.call('f')
  await pool.close()
  assert.deepEqual([exits[0].signal, exits[0].reason], ['SIGKILL', 'shutdown'])
})

test('a stopped process does not outlive a timeout', async (t) => {
  const pool = open(t, { ...nodeWorker, cancelGrace: 50 })
  const pid = await pool.call('pid')
  const error = await failure(
    pool.call('kill', 'SIGSTOP', { timeout: 100 }).then(() => pool.call('echo', 1, { timeout: 100 })),
  )
  assert.equal(error.code, 'TIMEOUT')
  assert.notEqual(await pool.call('pid'), pid)
})

test('a worker that dies before it reads the 50 MB that are sent to it costs no call', async (t) => {
  const pool = open(t, nodeWorker)
  const pid = await pool.call('pid')
  process.kill(pid, 'SIGSTOP')
  const call = pool.call('length', Buffer.alloc(50_000_000))
  await eventually(() => pool.stats().running === 1)
  process.kill(pid, 'SIGKILL')
  assert.equal(await call, 50_000_000)
  assert.equal(pool.stats().crashed, 1)
})

for (const code of [0, 1, 7])
  test(`an answer that was sent counts, also if the worker exits with ${code} right after`, async (t) => {
    const pool = open(t, nodeWorker)
    const exits = record(pool, 'worker:exit')
    assert.equal(await pool.call('exitSoon', code), 'answered')
    await eventually(() => exits.length === 1)
    assert.deepEqual([exits[0].code, exits[0].running, exits[0].reason], [code, 0, 'crash'])
    assert.equal(await pool.call('echo', 1), 1)
  })

test('an idempotent call runs again on another worker, another call never', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2 })
  const retries = record(pool, 'call:retry')
  const again = await failure(pool.call('exit', 5, { idempotent: true, retries: 2 }))
  assert.deepEqual([again.code, again.attempts], ['WORKER_CRASHED', 3])
  await eventually(() => retries.length === 2)
  assert.deepEqual(
    retries.map((retry) => [retry.fn, retry.attempt, retry.retries]),
    [
      ['exit', 1, 2],
      ['exit', 2, 2],
    ],
  )
  assert.equal((await failure(pool.call('exit', 5))).attempts, 1)
  assert.equal(pool.stats().retried, 2)
})
