import { Pool } from 'ganger'

const pool = new Pool({ wasm: `${import.meta.dirname}/plugin.wat`, workers: 1, wasmMemory: '16MiB' })
let exits = 0
pool.on('worker:exit', () => exits++)

const rot13 = async (text) => Buffer.from(await pool.call('rot13', text)).toString()
const failure = (promise) => promise.catch((error) => error)

console.log(`rot13: ${await rot13('Hello')}`)

const late = await failure(pool.call('endless', null, { timeout: 200 }))
console.log(`endless: ${late.code} after 0.2 s`)

for (const name of ['greedy', 'broken']) {
  const failed = await failure(pool.call(name))
  console.log(`${name}: ${failed.cause.name}`)
}

console.log(`rot13: ${await rot13('Uryyb')}, from ${exits ? 'another worker' : 'the same worker'}`)
await pool.close()
