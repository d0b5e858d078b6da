// The Node peers, each as { call, close }, { stream } where it has something of the kind, and, for Ganger, { pool, startsMs, lend, release }.
// BENCH_PEERS names the package.json of the folder that they are installed in.
import { fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Worker as Thread } from 'node:worker_threads'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const peer = (name) => import(pathToFileURL(createRequire(process.env.BENCH_PEERS).resolve(name)))
const FUNCTIONS = ['noop', 'echo', 'wait', 'pid', 'items']
// Bytes do not pass through JSON, everything else does so faster: each peer that has the choice gets the better one.
const serialization = ({ bytes }) => (bytes ? 'advanced' : 'json')

async function ganger(options, { workers, concurrency = 1 }) {
  const { Pool } = await import('ganger')
  const pool = new Pool({ ...options, workers, concurrency })
  const startsMs = []
  pool.on('worker:ready', ({ startedIn }) => startsMs.push(startedIn))
  const stream = async (payload, each) => {
    for await (const item of pool.stream('items', payload)) each(item)
  }
  return { pool, startsMs, call: (name, payload) => pool.call(name, payload), stream, close: () => pool.close() }
}

async function alloc(given) {
  const { release } = await import('ganger')
  const made = await ganger({ node: here('functions.mjs') }, given)
  if (typeof made.pool.alloc !== 'function') return { skip: 'this build has no pool.alloc' }
  const lend = (data) => {
    const block = made.pool.alloc(data.length)
    block.set(data)
    return block
  }
  return { ...made, lend, release }
}

async function tinypool(runtime, { workers, ...given }) {
  const { Tinypool } = await peer('tinypool')
  const size = { minThreads: workers, maxThreads: workers }
  const pool = new Tinypool({ filename: here('functions.mjs'), runtime, serialization: serialization(given), ...size })
  return { call: (name, payload) => pool.run(payload, { name }), close: () => pool.destroy() }
}

async function workerpool(workerType, { workers, ...given }) {
  const { default: workerpool } = await peer('workerpool')
  const options = {
    workerType,
    minWorkers: workers,
    maxWorkers: workers,
    forkOpts: { serialization: serialization(given) },
  }
  const pool = workerpool.pool(here('workers/workerpool.mjs'), options)
  const stream = (payload, on) => pool.exec('items', [payload], { on })
  return { call: (name, payload) => pool.exec(name, [payload]), stream, close: () => pool.terminate() }
}

async function poolifier(kind, { workers, ...given }) {
  const { FixedClusterPool, FixedThreadPool } = await peer('poolifier')
  const settings = { settings: { serialization: serialization(given) } }
  const [Kind, options] = kind === 'cluster' ? [FixedClusterPool, settings] : [FixedThreadPool, {}]
  const pool = new Kind(workers, here('workers/poolifier.cjs'), options)
  return { call: (name, payload) => pool.execute(payload, name), close: () => pool.destroy() }
}

// What anyone could write: round robin over children, with no queue, limit or restart.
function bare(children, send) {
  const pending = new Map()
  for (const child of children) {
    child.on('message', ({ id, item, value }) => {
      const { each, resolve } = pending.get(id)
      if (item !== undefined) return each(item)
      resolve(value)
      pending.delete(id)
    })
    child.on('error', () => {})
  }
  let id = 0
  const begin = (name, payload, each) =>
    new Promise((resolve, reject) => {
      pending.set(++id, { resolve, each })
      send(children[id % children.length], { id, name, payload }, reject)
    })
  return { call: begin, stream: (payload, each) => begin('items', payload, each) }
}

function forked({ workers, ...given }) {
  const options = { serialization: serialization(given) }
  const children = Array.from({ length: workers }, () => fork(here('workers/fork.mjs'), options))
  const send = (child, message, reject) => child.send(message, (error) => error && reject(error))
  return { ...bare(children, send), close: () => children.forEach((child) => child.disconnect()) }
}

function threads({ workers }) {
  const children = Array.from({ length: workers }, () => new Thread(here('workers/port.mjs')))
  const send = (child, message) => child.postMessage(message)
  return { ...bare(children, send), close: () => Promise.all(children.map((child) => child.terminate())) }
}

export const POOLS = {
  'ganger Node→Node': (given) => ganger({ node: here('functions.mjs') }, given),
  'ganger Node→Node, alloc': alloc,
  'ganger Node→Node, 32 a worker': (given) => ganger({ node: here('functions.mjs') }, { ...given, concurrency: 32 }),
  'ganger Node→Python': (given) => ganger({ python: here('worker.py'), interpreter: process.env.BENCH_PYTHON }, given),
  'tinypool (processes)': (given) => tinypool('child_process', given),
  'tinypool (threads)': (given) => tinypool('worker_threads', given),
  'workerpool (processes)': (given) => workerpool('process', given),
  'workerpool (threads)': (given) => workerpool('thread', given),
  'jest-worker': async ({ workers }) => {
    const { Worker } = await peer('jest-worker')
    const farm = new Worker(here('workers/jest.mjs'), { numWorkers: workers, exposedMethods: FUNCTIONS })
    const stream = (payload, each) => {
      const end = farm.items(payload)
      end.UNSTABLE_onCustomMessage(each)
      return end
    }
    return { call: (name, payload) => farm[name](payload), stream, close: () => farm.end() }
  },
  'poolifier (cluster)': (given) => poolifier('cluster', given),
  'poolifier (threads)': (given) => poolifier('thread', given),
  'child_process.fork': forked,
  worker_threads: threads,
  'piscina (threads)': async ({ workers }) => {
    const { default: Piscina } = await peer('piscina')
    const pool = new Piscina({ filename: here('functions.mjs'), minThreads: workers, maxThreads: workers })
    return { call: (name, payload) => pool.run(payload, { name }), close: () => pool.destroy() }
  },
}
