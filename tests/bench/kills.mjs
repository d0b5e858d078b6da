// An idle worker is killed and the next call made at once: how soon there is a result, and what got lost.
import { setTimeout as sleep } from 'node:timers/promises'
import { emit } from './telling.mjs'

// A call that is not answered so long is given up and made again.
const PATIENCE_MS = 1000
const TOGETHER_MS = 20

export async function crash(peer, { workers, kills, limit_s }) {
  // Some peers tell of a dead worker where nobody can catch it; an app would have to do this too.
  process.on('uncaughtException', () => {})
  process.on('unhandledRejection', () => {})
  const times = []
  let [lost, tried] = [0, 0]
  while (tried < kills) {
    const crew = await living(peer, workers, limit_s)
    if (crew.length < workers) break
    tried++
    process.kill(crew[0], 'SIGKILL')
    const begin = performance.now()
    const failed = await callsUntilResult(peer, begin + limit_s * 1000)
    if (failed === undefined) break
    lost += failed
    times.push(performance.now() - begin)
  }
  emit('kills', kills, 'kills', 1)
  emit('recovered', times.length, 'kills', tried)
  if (times.length) {
    emit('lost', lost / times.length, 'calls', times.length)
    emit('next', median(times), 'ms', times.length)
    emit('slowest', Math.max(...times), 'ms', times.length)
  }
  const starts = peer.startsMs?.slice(workers) ?? []
  if (starts.length) emit('start', median(starts), 'ms', starts.length)
}

/** How many calls failed or hung before one had a result; undefined if none had. */
async function callsUntilResult(peer, end) {
  let failed = 0
  while (performance.now() < end) {
    if ((await answer(peer, 'noop', { a: 1 })) !== undefined) return failed
    failed++
    await sleep(1)
  }
  return undefined
}

/** The living workers, once there are as many as there should be; fewer if that takes too long. */
export async function living(peer, workers, limit_s) {
  const end = performance.now() + limit_s * 1000
  let found = new Set()
  while (found.size < workers && performance.now() < end) {
    const together = Array.from({ length: 2 * workers }, () => answer(peer, 'pid', { ms: TOGETHER_MS }))
    found = new Set((await Promise.all(together)).filter(Number.isInteger))
  }
  return [...found].sort((a, b) => a - b)
}

/** What a call gives; undefined if it fails or hangs. */
async function answer(peer, name, payload) {
  const over = new AbortController()
  try {
    return await Promise.race([peer.call(name, payload), sleep(PATIENCE_MS, undefined, { signal: over.signal })])
  } catch {
    return undefined
  } finally {
    over.abort()
  }
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]
