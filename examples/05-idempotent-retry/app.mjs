import { Pool } from 'ganger'

const pool = new Pool({ python: `${import.meta.dirname}/worker.py`, workers: 2 })
let retries = 0
pool.on('call:retry', () => retries++)

const failure = (promise) => promise.catch((error) => error)

const charged = await failure(pool.call('charge'))
console.log(`charge: ${charged.code} at attempt ${charged.attempts}, never repeated`)

const { amount, attempt } = await pool.call('convert', { amount: 10 })
console.log(`convert: ${amount} at attempt ${attempt}`)

// Here the call says it, not the function.
const poisoned = await failure(pool.call('poison', undefined, { idempotent: true, retries: 2 }))
console.log(`poison: ${poisoned.code} at attempt ${poisoned.attempts}`)

await pool.close()
console.log(`told of ${retries} retries`)
