// What an app in TypeScript sees that imports the package. Compiled by `npm run check`, never run.

import { Readable } from 'node:stream'
import {
  type Call,
  type CallOptions,
  GangerError,
  isGangerError,
  type Logger,
  Pool,
  type PoolOptions,
  type Progress,
  type Stats,
  type Stream,
} from 'ganger'

const options: PoolOptions = { python: 'workers/', workers: 4, timeout: '1m30s', maxPayload: '512mb', env: { A: null } }
const pool = new Pool(options)
const number: number = await pool.call<number>('prices.convert', { amount: 3 }, { timeout: 500, idempotent: true })
const unknown: unknown = await pool.call('prices.convert')
const call: Call<string> = pool.submit<string>('name', null, { signal: AbortSignal.timeout(number) })
const text: string = await call
const either: string | number = await call.then(
  (value) => value.length,
  () => text,
)
call.cancel(new Error('enough'))

pool.on('worker:exit', (event) => {
  const code: number | null = event.code
  const reason: 'crash' | 'recycled' | 'start-failed' | 'shutdown' | 'unresponsive' = event.reason
  console.log(code, reason, either, unknown)
})
const stats: Stats = pool.stats()
const memory: number | null | undefined = stats.details[0]?.memory

try {
  await pool.call('f')
} catch (error) {
  if (isGangerError(error, 'TIMEOUT')) {
    const code: 'TIMEOUT' = error.code
    console.log(code, memory, error instanceof GangerError && error.worker?.stderrTail)
  }
}

await pool.warm()
await pool.warm(2)
await Promise.all([pool.ready(), pool.drained()])
pool.reload()
for (const outcome of await pool.broadcast<number>('pid', null, { timeout: '1s' })) {
  const shown: number | unknown = outcome.status === 'fulfilled' ? outcome.value : outcome.reason
  console.log(outcome.worker, shown)
}
const stream: Stream<string> = pool.stream<string>('llm.tokens', { prompt: 'x' }, { timeout: '1m' })
for await (const token of stream) console.log(token.toUpperCase())
const step: IteratorResult<string, unknown> = await stream.next()
console.log(step.done ? step.value : step.value.length, stream.id, stream.function)
stream.cancel('enough')
await using left: AsyncIterableIterator<number> & AsyncDisposable = pool.stream<number>('count')
console.log(Readable.from(left))
const heard = ({ done, total, note }: Progress): void => console.log(done, total ?? 0, note?.length)
const summed: number = await pool.call<number>('sum', 1, { inputs: [1, 2], onProgress: heard })
for (const inputs of [new Set([summed]), Readable.from(['x']), pool.stream('count')])
  await pool.submit('sum', 1, { inputs, onProgress: async () => {} })

const logging: Logger = console
export const inherited: PoolOptions = { node: 'x', env: process.env }
export const logged: PoolOptions = { node: 'x', logger: logging, whenFull: 'wait', devices: ['cuda:0'] }

const disposable: AsyncDisposable = pool
await disposable[Symbol.asyncDispose]()
await pool.close({ timeout: 'never' })

// @ts-expect-error no such event
pool.on('worker:exits', () => {})
// @ts-expect-error no such option
export const wrong: PoolOptions = { pythn: 'x' }
// @ts-expect-error an option of a pool
export const misplaced: CallOptions = { workers: 1 }
// @ts-expect-error a broadcast never repeats
export const repeated = pool.broadcast('f', null, { idempotent: true })
// @ts-expect-error a stream is never tried again
export const again = pool.stream('f', null, { retries: 2 })
// @ts-expect-error nothing that has items
export const single = pool.call('f', null, { inputs: 3 })
// @ts-expect-error a logger without its methods
export const mute: PoolOptions = { node: 'x', logger: { info: console.info } }
