// What the chaos tests share: chance that can be had again, marks of what has started, and a look around at the end.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Pool } from 'ganger'

const deeds = (name) => fileURLToPath(new URL(`workers/${name}`, import.meta.url))
/** With none (0) or little (1mib) of what large payloads share. */
const memory = process.env.GANGER_TEST_SHARED_MEMORY
const sharedMemory = memory === '0' ? 0 : memory
export const kinds = {
  node: { node: deeds('deeds.mjs'), sharedMemory },
  python: { python: deeds('deeds.py'), sharedMemory },
}
/** `make chaos` is patient, CI is not. */
export const long = process.env.GANGER_CHAOS === 'long'
/** Workers of the other language are the other suite's part, unless there is time for all. */
export const ownKinds = long ? ['node', 'python'] : ['node']
/** For what should take no time. Machines may be slow; a hang is longer than this. */
export const LIMIT_MS = 60_000

/** Chance: a number from 0 to 1, always the same ones for a seed. */
export function dice(t) {
  let state = Number(process.env.GANGER_SEED ?? randomBytes(4).readUInt32BE())
  t.diagnostic(`play this again with GANGER_SEED=${state}`)
  // Mulberry32.
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const pick = (chance, list) => list[Math.floor(chance() * list.length)]
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export async function eventually(probe, what) {
  const until = performance.now() + LIMIT_MS
  for (;;) {
    const value = await probe()
    if (value) return value
    if (performance.now() > until) assert.fail(`never came true: ${what}`)
    await sleep(10)
  }
}

/** How a call ended, in a word: `ok` or the code of its error. One that never ends fails the test. */
export async function end(promise) {
  let timer
  const never = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('a call was never settled')), LIMIT_MS)
  })
  try {
    await Promise.race([promise, never])
    return 'ok'
  } catch (error) {
    if (error.code === undefined) throw error
    return error.code
  } finally {
    clearTimeout(timer)
  }
}

/** A pool that ends with its test, and a file for the marks of its workers. */
export function open(t, kind, options) {
  const folder = mkdtempSync(join(tmpdir(), 'ganger-chaos-'))
  const marks = join(folder, 'marks')
  const pool = new Pool({ ...kinds[kind], workers: 1, ...options, env: { MARKS: marks, ...options?.env } })
  t.after(async () => {
    await pool.terminate()
    rmSync(folder, { recursive: true, force: true })
  })
  return { pool, folder, starts: () => count(existsSync(marks) ? readFileSync(marks, 'utf8').split('\n') : []) }
}

export function count(words) {
  const counts = new Map()
  for (const word of words) if (word) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** The pool's own count is ours. */
export async function assertAddedUp(pool, ends) {
  // A worker in grace keeps a call that is settled already.
  await eventually(() => pool.stats().running === 0, 'nothing runs')
  const stats = pool.stats()
  assert.deepEqual(pool.calls(), [])
  assert.deepEqual([stats.queued, stats.queuedBytes], [0, 0])
  const submitted = [...ends.values()].reduce((sum, one) => sum + one, 0)
  assert.equal(stats.submitted, submitted)
  assert.deepEqual([stats.completed, stats.cancelled], [ends.get('ok') ?? 0, ends.get('CANCELLED') ?? 0])
  assert.equal(stats.completed + stats.failed + stats.cancelled, submitted)
  for (const counted of ['submitted', 'completed', 'failed', 'cancelled'])
    assert.equal(
      stats.functions.reduce((sum, one) => sum + one[counted], 0),
      stats[counted],
    )
}

export function readyPids(pool) {
  return pool
    .stats()
    .details.filter((worker) => worker.ready && worker.pid)
    .map((worker) => worker.pid)
}

export function signal(pid, name) {
  try {
    process.kill(pid, name)
    return 1
  } catch {
    // It has just gone.
    return 0
  }
}

/** Checks after all tests of a file that no process, descriptor or socket file is left. */
export function leaveNothing() {
  const runtime = mkdtempSync(join(tmpdir(), 'ganger-chaos-'))
  process.env.XDG_RUNTIME_DIR = runtime
  let known
  before(async () => {
    // The first pool starts what a process has once: IO thread, spawner, reaper.
    const first = new Pool({ ...kinds.node, workers: 1 })
    await first.call('size', '')
    await first.close()
    known = descriptors()
  })
  after(async () => {
    await eventually(() => children().length === 0, 'no process is left')
    const left = () => [...descriptors()].filter((target) => !known.has(target))
    await eventually(() => left().length === 0, 'no descriptor is left')
    assert.deepEqual(readdirSync(runtime), [], 'no socket file is left')
    rmSync(runtime, { recursive: true })
  })
}

/** Our child processes, but for the one reaper that lives as long as we do. */
function children() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    const parent = read(`/proc/${pid}/stat`).match(/\) \w (\d+) /)?.[1]
    return Number(parent) === process.pid && !/ganger-shim\0reap/.test(read(`/proc/${pid}/cmdline`))
  })
}

function descriptors() {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return new Set(targets.filter((target) => /^(socket:|pipe:|anon_inode:\[pidfd\]|\/memfd:)/.test(target)))
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
