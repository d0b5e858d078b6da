// What users of other pools ran into, where both languages have it: deaths, backlogs, replacements, values, ends.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually, failure, leaveNothing, open, record, scratch } from './support.mjs'

leaveNothing()

const both = {
  Node: { node: shared('faults.mjs') },
  Python: { python: shared('faults.py') },
}

/** A worker that the tests of both languages use. */
function shared(name) {
  return fileURLToPath(new URL(`../../tests/faults/workers/${name}`, import.meta.url))
}

/** Paths of files that are not there yet, in a folder that is. */
function gates(t, count) {
  const paths = Array.from({ length: count }, (_, n) => scratch(t, `gate-${n}`))
  for (const path of paths) mkdirSync(dirname(path), { recursive: true })
  return paths
}

const begun = (path) => existsSync(`${path}.begun`)
const pids = (pool) => pool.stats().details.map((worker) => worker.pid)

for (const [language, worker] of Object.entries(both)) {
  test(`${language}: a death spares neighbours that run and calls that wait`, async (t) => {
    const pool = open(t, { ...worker, workers: 2 })
    const [gate] = gates(t, 1)
    let ended = false
    const beside = pool.call('wait_for_file', gate).finally(() => (ended = true))
    await eventually(() => begun(gate))
    const dying = failure(pool.call('die', 'SIGKILL'))
    const waiting = [0, 1, 2, 3].map((n) => pool.call('echo', n))
    const error = await dying
    assert.deepEqual([error.code, error.signal, error.function], ['WORKER_CRASHED', 'SIGKILL', 'die'])
    assert.match(error.message, new RegExp(`\\b${error.pid}\\b`))
    assert.deepEqual(await Promise.all(waiting), [0, 1, 2, 3])
    assert.equal(ended, false)
    writeFileSync(gate, '')
    assert.notEqual(await beside, error.pid)
  })

  test(`${language}: each lost call has an error of its own`, async (t) => {
    const pool = open(t, { ...worker, concurrency: 4 })
    const paths = gates(t, 3)
    const lost = paths.map((path) => failure(pool.call('wait_for_file', path)))
    await eventually(() => paths.every(begun))
    const errors = await Promise.all([...lost, failure(pool.call('die', 'SIGKILL'))])
    assert.deepEqual(
      errors.map((error) => error.code),
      Array(4).fill('WORKER_CRASHED'),
    )
    assert.equal(new Set(errors).size, 4)
    assert.deepEqual(
      errors.map((error) => error.function),
      ['wait_for_file', 'wait_for_file', 'wait_for_file', 'die'],
    )
  })

  test(`${language}: workers that are all lost at once come back for what waits`, async (t) => {
    const pool = open(t, { ...worker, workers: 3 })
    const paths = gates(t, 3)
    const running = paths.map((path) => failure(pool.call('wait_for_file', path)))
    await eventually(() => paths.every(begun))
    const waiting = Array.from({ length: 20 }, (_, n) => pool.call('echo', n))
    for (const pid of pids(pool)) process.kill(pid, 'SIGKILL')
    for (const error of await Promise.all(running)) assert.equal(error.code, 'WORKER_CRASHED')
    assert.deepEqual(
      await Promise.all(waiting),
      waiting.map((_, n) => n),
    )
    assert.deepEqual([pool.stats().queued, pool.stats().crashed], [0, 3])
  })

  test(`${language}: a pool that can start no worker any more fails its calls and heals`, async (t) => {
    const [flag] = gates(t, 1)
    const pool = open(t, { ...worker, env: { NO_START: flag } })
    const pid = await pool.call('pid')
    writeFileSync(flag, '')
    process.kill(pid, 'SIGKILL')
    await eventually(() => pool.stats().ready === 0)
    const error = await failure(pool.call('pid'))
    assert.equal(error.code, 'START_FAILED')
    assert.match(error.message, /not while the file is there/)
    rmSync(flag)
    assert.notEqual(await eventually(() => pool.call('pid').catch(() => undefined)), pid)
  })

  test(`${language}: a working directory that is gone is a failed start, told once a try`, async (t) => {
    const [gate] = gates(t, 1)
    const cwd = `${gate}-folder`
    mkdirSync(cwd)
    const pool = open(t, { ...worker, cwd })
    const exits = record(pool, 'worker:exit')
    rmdirSync(cwd)
    const errors = await Promise.all(Array.from({ length: 50 }, (_, n) => failure(pool.call('echo', n))))
    assert.ok(errors.every((error) => error.code === 'START_FAILED'))
    assert.ok(errors[0].message.includes(cwd), errors[0].message)
    // Fifty calls, and a few starts with longer and longer waits between.
    assert.ok(exits.length <= 8 && exits.every((exit) => exit.reason === 'start-failed'), JSON.stringify(exits))
    mkdirSync(cwd)
    await eventually(() => pool.call('echo', true).catch(() => false))
  })

  test(`${language}: terminate ends a worker that hears nobody, once its call is settled`, async (t) => {
    const pool = open(t, worker)
    const exits = record(pool, 'worker:exit')
    const [path] = gates(t, 1)
    const running = failure(pool.call('never_end', path))
    await eventually(() => begun(path))
    const waiting = failure(pool.call('echo', 1))
    await pool.terminate()
    const ends = [await running, await waiting].map((error) => [error.code, error.started])
    assert.deepEqual(ends, [
      ['POOL_CLOSED', 'maybe'],
      ['POOL_CLOSED', 'no'],
    ])
    assert.deepEqual([exits[0].signal, exits[0].reason, exits[0].running], ['SIGKILL', 'shutdown', 0])
    assert.equal(pool.stats().workers, 0)
  })

  test(`${language}: a pool that shrank to nothing starts again for the next call`, async (t) => {
    const pool = open(t, { ...worker, workers: 2, idleTimeout: 100 })
    await pool.warm()
    await eventually(() => pool.stats().workers === 0)
    assert.equal(await pool.call('echo', 1), 1)
    assert.deepEqual([pool.stats().crashed, pool.stats().failed], [0, 0])
  })

  test(`${language}: short calls pass a long one`, async (t) => {
    const pool = open(t, { ...worker, workers: 2 })
    const [gate] = gates(t, 1)
    let ended = false
    const long = pool.call('wait_for_file', gate).finally(() => (ended = true))
    const short = Array.from({ length: 50 }, (_, n) => pool.call('echo', n))
    // None of them was handed to the worker of the long one: all are done while that still waits.
    await Promise.all(short)
    assert.equal(ended, false)
    writeFileSync(gate, '')
    await long
  })

  test(`${language}: an app that is faster than its workers is refused and does not grow`, async (t) => {
    const pool = open(t, { ...worker, maxQueueBytes: '20mib' })
    const [gate] = gates(t, 1)
    const running = pool.call('wait_for_file', gate)
    await eventually(() => begun(gate))
    const bound = 20 << 20
    const before = process.memoryUsage().rss
    const payload = Buffer.alloc(100_000, 'x')
    // 300 MB in all.
    const calls = Array.from({ length: 3000 }, () => pool.call('echo', payload).catch((error) => error))
    assert.ok(pool.stats().queuedBytes <= bound)
    assert.ok(process.memoryUsage().rss - before < 5 * bound)
    writeFileSync(gate, '')
    await running
    const ends = await Promise.all(calls)
    const refused = ends.filter((end) => end.code === 'QUEUE_FULL')
    assert.ok(refused.length > 2000, `${refused.length}`)
    assert.ok(refused.every((error) => error.details.queuedBytes <= bound))
    assert.ok(ends.filter((end) => end.code === undefined).every((echoed) => payload.equals(echoed)))
  })

  for (const limit of [{ maxMemory: '150mb' }, { maxAge: 500 }, { maxCalls: 1 }])
    test(`${language}: a call is never cut off by ${Object.keys(limit)} of its worker`, async (t) => {
      const pool = open(t, { ...worker, concurrency: 2, ...limit })
      const seen = record(pool, 'worker:recycle')
      const exits = record(pool, 'worker:exit')
      const [path] = gates(t, 1)
      const pid = await pool.call('pid')
      const running = pool.call('grow_and_wait', { megabytes: 200, path })
      await eventually(() => seen.length > 0, 'it is over its limit')
      // The replacement serves, and the old one stays for its call.
      await eventually(async () => (await pool.call('pid')) !== pid)
      writeFileSync(path, '')
      assert.ok(await running)
      await eventually(() => exits.length > 0)
      assert.ok(exits.every((exit) => exit.reason === 'recycled' && exit.running === 0))
      assert.equal(pool.stats().failed, 0)
    })

  test(`${language}: nobody waits for the shutdown hook of a worker that is replaced`, async (t) => {
    const env = { LEAVE_SECONDS: '3600', LEAVE_MS: '3600000' }
    const pool = open(t, { ...worker, maxCalls: 1, env, stopTimeout: 2000 })
    const exits = record(pool, 'worker:exit')
    const before = new Set()
    while (exits.length === 0) before.add(await pool.call('pid'))
    // The next one served while the first still tried to leave, until it was ended.
    assert.ok(before.size >= 2)
    assert.deepEqual([exits[0].reason, exits[0].signal], ['recycled', 'SIGKILL'])
  })

  test(`${language}: large answers arrive though their workers leave right after`, async (t) => {
    const pool = open(t, { ...worker, workers: 2, maxCalls: 1 })
    const exits = record(pool, 'worker:exit')
    while (exits.length < 4) {
      const answers = await Promise.all([1, 2, 3, 4].map(() => pool.call('many_bytes', 1 << 20)))
      for (const answer of answers) assert.ok(Buffer.alloc(1 << 20, 'z').equals(answer))
    }
    assert.deepEqual([pool.stats().failed, pool.stats().crashed], [0, 0])
  })

  test(`${language}: an odd result fails its call and nothing else`, async (t) => {
    const pool = open(t, worker)
    const pid = await pool.call('pid')
    const places = { function: '$.deep[1]', file: '$.log', 'too large an integer': '$.n', cycle: undefined }
    for (const [kind, place] of Object.entries(places)) {
      const error = await failure(pool.call('odd_result', kind))
      assert.equal(error.code, 'INVALID_RESULT', `${kind}: ${error.message}`)
      if (place) assert.equal(error.details.path, place)
    }
    assert.equal(await pool.call('pid'), pid)
  })

  test(`${language}: an error that holds itself keeps its message`, async (t) => {
    const error = await failure(open(t, worker).call('fail_with_a_cycle'))
    assert.equal(error.code, 'CALL_FAILED')
    assert.deepEqual([error.cause.message, error.cause.properties.number], ['the message stays', 7])
    assert.deepEqual(error.cause.dropped, ['me'])
  })

  test(`${language}: what hooks and exit handlers write is there after close`, async (t) => {
    const [left, atExit] = gates(t, 2)
    const pool = open(t, { ...worker, env: { LEFT: left, LEAVE_MS: '300', LEAVE_SECONDS: '0.3' } })
    await pool.call('note_at_exit', atExit)
    await pool.close()
    assert.equal(readFileSync(left, 'utf8'), 'left\n')
    assert.ok(existsSync(atExit))
  })
}

for (const [language, program] of Object.entries({ Node: process.execPath, Python: 'python3' }))
  test(`${language}: a pool serves again once its interpreter is back`, async (t) => {
    const [interpreter] = gates(t, 1)
    const pool = open(t, { ...both[language], workers: 2, interpreter })
    for (let tries = 0; tries < 4; tries++) {
      const error = await failure(pool.call('echo', 1))
      assert.equal(error.code, 'START_FAILED')
      assert.ok(error.message.includes(interpreter), error.message)
    }
    // It goes on to the real one.
    writeFileSync(interpreter, `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 })
    await eventually(() => pool.call('echo', true).catch(() => false))
    await pool.warm()
    assert.equal(pool.stats().ready, 2)
  })
