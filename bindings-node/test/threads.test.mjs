// Pools in worker threads of the app: they work, they end with their thread, and a thread may be terminated at any moment.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { failure, killed, leaveNothing, lives, nodeWorker, open, script, workers } from './support.mjs'

leaveNothing()

/** Runs a module in a thread; `pool` is a pool of Node workers there. */
function thread(source) {
  const preamble = `const { Pool } = require('ganger'); const { parentPort } = require('node:worker_threads')
    const pool = new Pool({ node: ${JSON.stringify(workers('node.mjs'))}, workers: 1 });`
  const worker = new Worker(`${preamble} (async () => { ${source} })()`, { eval: true })
  worker.ended = new Promise((resolve) => worker.once('exit', resolve))
  return worker
}

const message = (worker) => new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))

test('a pool works in a thread beside the one of the main thread', async (t) => {
  const pool = open(t, nodeWorker)
  const worker = thread("parentPort.postMessage(await pool.call('pid'))")
  const [there, here] = await Promise.all([message(worker), pool.call('pid')])
  assert.notEqual(there, here)
  await worker.ended
  await killed(there)
  assert.equal(await pool.call('pid'), here, 'the end of the thread did not touch the other pool')
})

test('a thread with an idle pool ends by itself, and its workers go', async () => {
  const worker = thread("parentPort.postMessage(await pool.call('pid'))")
  const pid = await message(worker)
  assert.equal(await worker.ended, 0)
  await killed(pid)
})

test('a terminated thread takes its workers along, whatever they do', async () => {
  const worker = thread("parentPort.postMessage(await pool.call('pid')); await pool.call('spin')")
  const pid = await message(worker)
  assert.ok(lives(pid))
  await worker.terminate()
  await killed(pid)
})

test('a pool outlives the thread that made another one at the same time', async (t) => {
  const pool = open(t, { ...nodeWorker, workers: 2 })
  const calls = Array.from({ length: 300 }, (_, index) => pool.call('echo', index))
  for (let round = 0; round < 5; round++) await thread('pool.call("echo", 1); process.exit()').terminate()
  assert.deepEqual(
    await Promise.all(calls),
    Array.from({ length: 300 }, (_, index) => index),
  )
})

test('200 threads terminated with pending calls do not crash the process', async () => {
  const { code, signal, out, err } = await script(`
    import { Worker } from 'node:worker_threads'
    const source = (round) => \`
      import { Pool } from \${JSON.stringify('file://' + here + '../../dist/index.js')}
      import { parentPort } from 'node:worker_threads'
      const pool = new Pool({ node: \${JSON.stringify(here + 'node.mjs')}, workers: 1, concurrency: 8 })
      pool.on('worker:log', () => {}); pool.on('worker:start', () => {})
      for (let call = 0; call < 16; call++) pool.call(['echo', 'sleep', 'print', 'bytes'][call % 4], 100000).catch(() => {})
      parentPort.postMessage('begun')\`
    for (let round = 0; round < 200; round++) {
      const worker = new Worker(new URL("data:text/javascript," + encodeURIComponent(source(round))))
      await new Promise((resolve) => worker.once('message', resolve))
      // From at once, before any process runs, to amid the answers.
      await new Promise((resolve) => setTimeout(resolve, (round * 3) % 100))
      await worker.terminate()
    }
    const pool = new Pool({ node: here + 'node.mjs' })
    console.log(await pool.call('echo', 'alive'))`).ended
  assert.deepEqual([code, signal, out], [0, null, 'alive\n'], err)
})

test('require and import give the same classes', async (t) => {
  const { createRequire } = await import('node:module')
  const required = createRequire(import.meta.url)('ganger')
  const imported = await import('ganger')
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort())
  assert.equal(required.Pool, imported.Pool)
  const error = await failure(open(t, nodeWorker).call('fail', 'x'))
  assert.ok(error instanceof required.GangerError)
})
