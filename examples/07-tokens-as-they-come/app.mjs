import { Pool } from 'ganger'

const pool = new Pool({ python: `${import.meta.dirname}/worker.py`, workers: 1 })

// Ctrl-C stops the generation, not the app.
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
const forever = process.argv.includes('forever')
try {
  for await (const token of pool.stream('tokens', { forever }, { signal: stop.signal }))
    process.stdout.write(` ${token}`)
} catch (error) {
  if (error.name !== 'AbortError') throw error
}
console.log()

// To leave the loop cancels the call: the worker is free for the next one.
const five = []
for await (const token of pool.stream('tokens', { forever: true })) if (five.push(token) === 5) break
console.log('and five:', ...five)

// Both ways at once: lines are pulled as the function reads them.
let told
async function* lines() {
  yield* ['hello', 'is anybody there']
}
const onProgress = (progress) => {
  told = progress
}
for await (const answer of pool.stream('shout', undefined, { inputs: lines(), onProgress })) console.log(answer)
console.log(`it has read ${told.done} lines, the last was '${told.note}'`)

await pool.close()
