import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'ganger'

const pool = new Pool({ python: `${import.meta.dirname}/worker.py`, workers: 1, maxMemory: '120mb' })

await pool.call('predict', { x: 1 })
console.log('first answer after the load')

let slowest = 0
for (let n = 0; n < 2000 && pool.stats().recycled.memory === 0; n++) {
  const asked = performance.now()
  await pool.call('predict', { x: n })
  slowest = Math.max(slowest, performance.now() - asked)
  await pause(25)
}
const { recycled, failed } = pool.stats()
console.log(`${recycled.memory > 0 ? '' : 'not '}replaced for its memory; ${failed} calls failed`)
console.log(`did a call wait for the load? ${slowest > 2900 ? 'yes' : 'no'}`)

// For a moment there are two: the old one leaves when its last call has ended.
while (pool.stats().workers > 1) await pause(10)
console.log(`workers in the end: ${pool.stats().workers}`)
await pool.close()
