// The worker's entry: `node main.js TARGET`, started by a pool or by hand (SPEC chapter 1).

import { type Lanes, Worker } from './worker.js'

declare const SDK_VERSION: string

const EXIT_USAGE = 64

function lanesFromEnvironment(): Lanes | undefined {
  const { GANGER_DATA_FD, GANGER_CONTROL_FD, GANGER_ENDPOINT, GANGER_TOKEN } = process.env
  // Children of the worker must not think the lanes were theirs. (Node has marked the descriptors close-on-exec itself.)
  for (const name of ['GANGER_DATA_FD', 'GANGER_CONTROL_FD', 'GANGER_ENDPOINT', 'GANGER_TOKEN'])
    delete process.env[name]
  if (GANGER_DATA_FD !== undefined && GANGER_CONTROL_FD !== undefined)
    return { dataFd: Number(GANGER_DATA_FD), controlFd: Number(GANGER_CONTROL_FD) }
  if (GANGER_ENDPOINT === undefined) return undefined
  return { endpoint: GANGER_ENDPOINT, token: GANGER_TOKEN ?? '', session: crypto.randomUUID() }
}

const target = process.argv[2]
const lanes = lanesFromEnvironment()
if (target === undefined || lanes === undefined) {
  console.error(
    'usage: ganger-worker TARGET\nA pool starts it; to attach to one by hand, set GANGER_ENDPOINT and GANGER_TOKEN.',
  )
  process.exit(EXIT_USAGE)
}
// Arenas and claims are inherited, like the lanes: a worker that attaches has none.
const inherits = 'dataFd' in lanes && process.platform === 'linux'
const about = { sdk: 'ganger-worker', sdkVersion: SDK_VERSION, language: 'node', pid: process.pid }
new Worker(target, lanes, { ...about, sharedMemory: inherits, ahead: inherits }).start()
