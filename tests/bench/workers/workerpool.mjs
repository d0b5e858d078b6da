// The worker of the peer `workerpool`, which lies in the folder that BENCH_PEERS names.
import { createRequire } from 'node:module'
import * as functions from '../functions.mjs'

const { worker, workerEmit } = createRequire(process.env.BENCH_PEERS)('workerpool')
const { noop, echo, wait, pid } = functions

// A function's items go as events.
function items(payload) {
  for (const item of functions.items(payload)) workerEmit(item)
}

worker({ noop, echo, wait, pid, items })
