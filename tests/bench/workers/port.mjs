// The worker of the bare peer `worker_threads`.
import { parentPort } from 'node:worker_threads'
import * as functions from '../functions.mjs'

parentPort.on('message', ({ id, name, payload }) => {
  if (name !== 'items') return parentPort.postMessage({ id, value: functions[name](payload) })
  for (const item of functions.items(payload)) parentPort.postMessage({ id, item })
  parentPort.postMessage({ id, value: null })
})
