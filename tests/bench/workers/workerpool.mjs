// The worker of the peer `workerpool`, which lies in the folder that BENCH_PEERS names.
import { createRequire } from 'node:module'
import * as functions from '../functions.mjs'

createRequire(process.env.BENCH_PEERS)('workerpool').worker({ ...functions })
