import { Pool } from 'ganger'

const pool = new Pool({ python: `${import.meta.dirname}/worker.py`, workers: 1 })

pool.on('worker:ready', (e) => console.log(`worker ${e.worker} is ready`))
pool.on('worker:log', (e) => console.log(`worker ${e.worker} said: ${e.message} (in ${e.fn})`))
pool.on('worker:exit', (e) => {
  if (e.reason !== 'shutdown') console.log(`worker ${e.worker} ended: ${e.reason}, ${e.signal}`)
})

await pool.warm()
const naps = [pool.call('nap', { seconds: 0.3 }), pool.call('nap', { seconds: 0 })]
const seen = pool.calls().map((call) => `${call.fn} ${call.state}`)
await Promise.all(naps)

await pool.call('say', { text: 'good night' })
await pool.call('die').catch(() => {})
await pool.warm() // the next worker is on its way already

const { submitted, completed, failed } = pool.stats()
await pool.close()
console.log(`seen meanwhile: ${seen.join(', ')}`)
console.log(`submitted ${submitted}, completed ${completed}, failed ${failed}`)
