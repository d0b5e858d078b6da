import { existsSync } from 'node:fs'
import { Pool } from 'ganger'

const target = process.env.CARGO_TARGET_DIR ?? `${import.meta.dirname}/../../target`
const languages = { Rust: `${target}/debug/shared-model`, Go: `${target}/go/shared-model` }

// The same eight calls by as many workers, with so many calls at once in each.
async function ask(command, workers, concurrency) {
  const pool = new Pool({ command: [command], workers, concurrency })
  await pool.warm()
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8]
  const replies = await Promise.all(seeds.map((seed) => pool.call('predict', { seed, steps: 500_000 })))
  const { details } = pool.stats()
  await pool.close()
  return {
    answers: replies.map((reply) => reply.answer).join(),
    processes: new Set(replies.map((reply) => reply.pid)).size,
    memory: details.reduce((sum, worker) => sum + worker.memory, 0),
  }
}

const all = new Set()
for (const [language, command] of Object.entries(languages)) {
  if (!existsSync(command)) {
    console.error(`${language}: left out, ${command} has not been built`)
    continue
  }
  const one = await ask(command, 1, 4)
  console.log(`${language}, 1 worker with 4 calls at once: ${one.processes} process, 1 model`)
  const four = await ask(command, 4, 1)
  const times = Math.round(four.memory / one.memory)
  console.log(`${language}, 4 workers with 1 call each: ${four.processes} processes, ${times} times the memory`)
  all.add(one.answers).add(four.answers)
}
console.log(`different answers: ${all.size - 1}`)
