// The worker of the bare peer `child_process.fork`.
import * as functions from '../functions.mjs'

process.on('message', async ({ id, name, payload }) => process.send({ id, value: await functions[name](payload) }))
