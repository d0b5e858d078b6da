// What the tests share: pools that are closed after their test, waiting for conditions, and the check that nothing is left.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Pool } from 'ganger'

const LIMIT_MS = 30_000

export const workers = (name) => fileURLToPath(new URL(`workers/${name}`, import.meta.url))
export const nodeWorker = { node: workers('node.mjs') }
export const pythonWorker = { python: workers('python.py') }

/** With so much shared memory each suite can be run: `GANGER_TEST_SHARED_MEMORY=0`, or `1mib`. */
const memory = process.env.GANGER_TEST_SHARED_MEMORY
const sharedMemory = memory === '0' ? 0 : memory

/** A pool that ends with its test. */
export function open(t, options) {
  const pool = new Pool({ workers: 1, sharedMemory, ...options })
  t.after(() => pool.terminate())
  return pool
}

/** Polls until `probe` gives something true, and returns it. */
export async function eventually(probe, what = probe) {
  const until = performance.now() + LIMIT_MS
  for (;;) {
    const value = await probe()
    if (value) return value
    if (performance.now() > until) assert.fail(`not within ${LIMIT_MS} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** The error that a promise is rejected with. */
export async function failure(promise) {
  try {
    await promise
  } catch (error) {
    return error
  }
  return assert.fail('it was expected to fail')
}

/** Every event of these names, in a growing list. */
export function record(pool, ...names) {
  const seen = []
  for (const name of names) pool.on(name, (event) => seen.push({ name, ...event }))
  return seen
}

/** Whether a process exists and is no zombie. */
export function lives(pid) {
  const state = stat(pid)?.state
  return state !== undefined && state !== 'Z' && state !== 'X'
}

export function killed(pid) {
  return eventually(() => !lives(pid), `the end of process ${pid}`)
}

/** Runs an ES module in a process of its own, in a process group of its own if so asked, within limits that a shell sets. */
export function script(source, { args = [], nodeArgs = [], group = false, limits = ':' } = {}) {
  const preamble = `import { Pool } from 'ganger'; const here = ${JSON.stringify(workers(''))};`
  const options = [...nodeArgs, '--input-type=module', '--eval', preamble + source, '--', ...args]
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const shell = ['-c', `${limits} && exec "$0" "$@"`, process.execPath, ...options]
  const child = spawn('/bin/sh', shell, { cwd, detached: group, stdio: ['ignore', 'pipe', 'pipe'] })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => (printed.out += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (printed.err += text))
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...printed }))
  })
  return { child, printed, ended }
}

/** Checks after all tests of a file that no worker, descriptor or socket file is left. */
export function leaveNothing() {
  let known
  before(async () => {
    // The first pool starts what a process has once: IO thread, spawner, reaper.
    const first = new Pool({ ...nodeWorker, workers: 1 })
    await first.call('nothing')
    await first.close()
    known = new Set(descriptors())
  })
  // Where the core puts what it needs a path for.
  const runtime = mkdtempSync(join(tmpdir(), 'ganger-test-'))
  process.env.XDG_RUNTIME_DIR = runtime
  after(async () => {
    await eventually(() => workersOf(process.pid).length === 0, 'no worker is left')
    const left = () => descriptors().filter((target) => !known.has(target))
    await eventually(() => left().length === 0, 'no descriptor is left').catch((error) => {
      throw new Error(`${error.message}: ${left()}`)
    })
    assert.deepEqual(readdirSync(runtime), [], 'no socket file is left')
    rmSync(runtime, { recursive: true })
  })
}

/** Children of a process, but for its reaper. */
export function workersOf(parent) {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && stat(name)?.parent === parent)
  return children.map(Number).filter((pid) => lives(pid) && !/ganger-shim/.test(commandLine(pid)))
}

function descriptors() {
  const targets = readdirSync('/proc/self/fd').map((fd) => link(`/proc/self/fd/${fd}`) ?? '')
  return targets.filter((target) => /^(socket:|pipe:|anon_inode:\[pidfd\])/.test(target))
}

function link(path) {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function stat(pid) {
  try {
    const [, state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').match(/\) (\w) (\d+) /)
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

let folders = 0
/** The path of a file in a folder of its own, which ends with its test. */
export function scratch(t, name) {
  const folder = join(tmpdir(), `ganger-test-${process.pid}-${++folders}`)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}
