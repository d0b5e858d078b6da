// The worker of the peer `poolifier`. CommonJS: as an ES module its cluster worker never answered a call (5.3.2).
const cluster = require('node:cluster')
const { createRequire } = require('node:module')

const { ClusterWorker, ThreadWorker } = createRequire(process.env.BENCH_PEERS)('poolifier')
const functions = require('../functions.mjs')

// It takes functions alone, and refuses to begin with anything else.
const alone = Object.entries(functions).filter(([, exported]) => typeof exported === 'function')

module.exports = new (cluster.isWorker ? ClusterWorker : ThreadWorker)(Object.fromEntries(alone))
