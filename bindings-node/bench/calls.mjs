// What a call costs: `npm run bench [worker kind] [seconds]` after `npm run build:release`.
// One call in flight gives the latency, 64 in flight the rate; the function does nothing.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'ganger'

const [kind = 'node', seconds = '5'] = process.argv.slice(2)
const sources = {
  node: ['worker.mjs', 'export const noop = (x) => x\n'],
  python: ['worker.py', 'from ganger_worker import action\n\n@action\ndef noop(x=None):\n    return x\n'],
}
const folder = mkdtempSync(join(tmpdir(), 'ganger-bench-'))
const [name, source] = sources[kind]
const file = join(folder, name)
writeFileSync(file, source)

console.log(`latency, 1 in flight:        ${await latency(new Pool({ [kind]: file, workers: 1 }))}`)
console.log(`rate, 64 in flight, 2 workers: ${await rate(new Pool({ [kind]: file, workers: 2 }))}`)
console.log(`the same, concurrency 32:      ${await rate(new Pool({ [kind]: file, workers: 2, concurrency: 32 }))}`)
rmSync(folder, { recursive: true })

async function latency(pool) {
  for (let call = 0; call < 2000; call++) await pool.call('noop', 1)
  const took = []
  for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
    const began = performance.now()
    await pool.call('noop', 1)
    took.push((performance.now() - began) * 1000)
  }
  await pool.close()
  took.sort((a, b) => a - b)
  const at = (part) => `${took[Math.floor(took.length * part)].toFixed(1)} µs`
  return `p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)} (${took.length} calls)`
}

async function rate(pool) {
  await Promise.all(Array.from({ length: 2000 }, () => pool.call('noop', 1)))
  let count = 0
  const began = performance.now()
  const until = began + seconds * 1000
  const one = async () => {
    for (; performance.now() < until; count++) await pool.call('noop', 1)
  }
  await Promise.all(Array.from({ length: 64 }, one))
  const took = performance.now() - began
  await pool.close()
  return `${Math.round((count / took) * 1000)} calls/s`
}
