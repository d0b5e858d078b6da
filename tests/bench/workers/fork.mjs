// The worker of the bare peer `child_process.fork`.
import * as functions from '../functions.mjs'

process.on('message', async ({ id, name, payload }) => {
  if (name === 'items') return stream(id, payload)
  process.send({ id, value: await functions[name](payload) })
})

/** Whoever is slow to read holds it back. */
async function stream(id, payload) {
  for (const item of functions.items(payload)) await new Promise((sent) => process.send({ id, item }, sent) && sent())
  process.send({ id, value: null })
}
