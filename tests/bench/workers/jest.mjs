// The worker of the peer `jest-worker`, which lies in the folder that BENCH_PEERS names.
import { createRequire } from 'node:module'
import * as functions from '../functions.mjs'

const { messageParent } = createRequire(process.env.BENCH_PEERS)('jest-worker')

export { echo, noop, pid, wait } from '../functions.mjs'

// A function's items go as messages.
export function items(payload) {
  for (const item of functions.items(payload)) messageParent(item)
}
