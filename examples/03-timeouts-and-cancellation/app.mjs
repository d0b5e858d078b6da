import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'ganger'

const pool = new Pool({ python: `${import.meta.dirname}/worker.py`, workers: 1 })

const code = (promise) =>
  promise.then(
    () => 'it worked',
    (error) => error.code,
  )
let before = await pool.call('pid')
const fate = async () => {
  const now = await pool.call('pid')
  const same = now === before
  before = now
  return same ? 'worker alive' : 'worker replaced'
}

console.log(`nap: ${await code(pool.call('nap', { seconds: 60 }, { timeout: 200 }))} after 0.2 s, ${await fate()}`)

const controller = new AbortController()
const computing = code(pool.call('compute', undefined, { signal: controller.signal }))
while (pool.stats().running === 0) await sleep(5)
controller.abort()
console.log(`compute: ${await computing} while it ran, ${await fate()}`)

// The caller hears at once; the worker has `cancelGrace`, 2 s, to stop and is then replaced.
console.log(`stubborn: ${await code(pool.call('stubborn', undefined, { timeout: 200 }))} after 0.2 s, ${await fate()}`)

const [, queued] = await Promise.all([
  code(pool.call('nap', { seconds: 1 })),
  code(pool.call('nap', { seconds: 1 }, { queueTimeout: 100 })),
])
console.log(`queued: ${queued}, never ran`)
console.log(`and afterwards: ${await pool.call('nap', { seconds: 0.01 })}`)

await pool.close()
