// @ts-check
import { GangerError, Pool } from 'ganger'

const pool = new Pool({ python: `${import.meta.dirname}/workers/`, workers: 1 })
/** @type {import('./workers_client.js').Workers} */
const workers = pool.proxy({ timeout: '10s' })

const price = await workers.prices.convert({ amount: 4, currency: 'USD' })
console.log(`4 EUR are ${price.amount.toFixed(2)} ${price.currency}`)

for await (const step of workers.prices.ladder.stream({ price: 1.5 })) console.log(`ladder: ${step.toFixed(2)}`)

try {
  // @ts-expect-error a compiler refuses this line; without one the worker does
  await workers.prices.convert({ amount: 4, currency: 'GBP' })
} catch (error) {
  if (error instanceof GangerError) console.log(`GBP: ${error.code}`)
}
await pool.close()
