import { Pool } from 'ganger'

const here = import.meta.dirname
const python = new Pool({ python: `${here}/worker.py`, workers: 2 })
const node = new Pool({ node: `${here}/worker.mjs`, workers: 1 })

console.log(await python.call('greet', { name: 'Ada' }))
console.log(await node.call('greet', { name: 'Ada' }))

// Several at once: two workers share the calls, each result goes to its own caller.
const texts = ['one two three', 'a pool is made of processes', '']
const counts = await Promise.all(texts.map((text) => python.call('count_words', { text })))
console.log(counts.map((count) => `${count} words`).join(', '))

const { completed, failed } = python.stats()
console.log(`completed: ${completed}, failed: ${failed}`)

await Promise.all([python.close(), node.close()])
