// One Node peer, one case, one process: node hosts.mjs PEER CASE PARAMETERS, the parameters as JSON.
// Prints JSON lines {metric, value, unit, count}; the driver runs it under a time limit. BENCH_PEERS names the
// package.json of the folder that the peers are installed in.
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chaos } from './chaos.mjs'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const peer = (name) => import(pathToFileURL(createRequire(process.env.BENCH_PEERS).resolve(name)))
const TINY = { a: 1 }

async function ganger(options) {
  const { Pool } = await import('ganger')
  const pool = new Pool(options)
  return { pool, call: (name, payload) => pool.call(name, payload), close: () => pool.close() }
}

const PEERS = {
  'ganger Node→Node': (size) => ganger({ node: here('functions.mjs'), ...size }),
  'ganger Node→Python': (size) => ganger({ python: here('worker.py'), interpreter: process.env.BENCH_PYTHON, ...size }),
  'tinypool (processes)': async ({ workers }) => {
    const { Tinypool } = await peer('tinypool')
    const pool = new Tinypool({
      filename: here('functions.mjs'),
      runtime: 'child_process',
      minThreads: workers,
      maxThreads: workers,
    })
    return { call: (name, payload) => pool.run(payload, { name }), close: () => pool.destroy() }
  },
  'workerpool (processes)': async ({ workers }) => {
    const { default: workerpool } = await peer('workerpool')
    const size = { minWorkers: workers, maxWorkers: workers }
    const pool = workerpool.pool(here('workerpool.mjs'), { workerType: 'process', ...size })
    return { call: (name, payload) => pool.exec(name, [payload]), close: () => pool.terminate() }
  },
}

const emit = (metric, value, unit, count) => console.log(JSON.stringify({ metric, value, unit, count }))
const sorted = (values) => values.toSorted((a, b) => a - b)
const median = (values) => sorted(values)[values.length >> 1]

/** Seconds that `calls` calls take with at most `window` in flight. */
async function windowed({ call }, name, payload, calls, window) {
  let left = calls
  const lane = async () => {
    while (left-- > 0) await call(name, payload)
  }
  const begin = performance.now()
  await Promise.all(Array.from({ length: Math.min(window, calls) }, lane))
  return (performance.now() - begin) / 1000
}

const CASES = {
  async latency(peer, { calls }) {
    const times = []
    for (let i = 0; i < calls; i++) {
      const begin = performance.now()
      await peer.call('noop', TINY)
      times.push((performance.now() - begin) * 1000)
    }
    emit('p50', median(times), 'µs', calls)
    emit('p99', sorted(times)[Math.floor(times.length * 0.99)], 'µs', calls)
  },
  async throughput(peer, { calls, batches }) {
    const rates = []
    for (let i = 0; i < batches; i++) rates.push(calls / (await windowed(peer, 'noop', TINY, calls, 64)))
    emit('rate', median(rates), 'calls/s', calls * batches)
  },
  async waits(peer, { calls, ms }) {
    // Once unmeasured: the pool starts workers as calls need them, and these calls need all of them.
    await windowed(peer, 'wait', { ms }, calls, calls)
    emit('total', await windowed(peer, 'wait', { ms }, calls, calls), 's', calls)
  },
  chaos: (peer, given) => chaos(peer.pool, given, emit),
}

const [name, kind, parameters] = process.argv.slice(2)
const { workers, concurrency = 1, warmup, ...given } = JSON.parse(parameters)
const measured = await PEERS[name](name.startsWith('ganger') ? { workers, concurrency } : { workers })
await windowed(measured, 'noop', TINY, warmup, 16)
await CASES[kind](measured, given)
await measured.close()
