// Calls on a real worker process: results, errors, context, order.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Kind } from '../dist/test/parts.mjs'
import { bytesOf, Host, project, until } from './host.mjs'

const source = `
export const echo = (input) => input
export async function later(input) { await new Promise((resolve) => setTimeout(resolve, 5)); return input }
export function fail() { throw Object.assign(new TypeError('no such city', { cause: new Error('map') }), { city: 'Ur' }) }
export async function reject() { throw 'plain text' }
export function bad() { return { rows: [1, () => {}] } }
export function sneaky() { return { get x() { throw new Error('getter') } } }
export function bytes(size) { return Buffer.alloc(size, 7) }
export function sum(...numbers) { return numbers.slice(0, -1).reduce((a, b) => a + b, 0) }
export function about(_, context) {
  const { function: name, attempt, trace, pool, worker, device, remaining, cancelled } = context
  return { name, attempt, trace, pool, worker, device, timed: remaining > 0 && remaining <= 5000, cancelled }
}
export function tell(_, context) {
  context.log.info('half way', { done: 1, odd: () => {} })
  context.log.warn('careful')
  context.progress(1, 2, 'rows')
  return 'told'
}
export function spin(_, context) { context.log.info('in'); const began = Date.now(); while (!context.cancelled && Date.now() - began < 20000); context.check(); return 'never asked' }
export function ignore(ms, context) { context.log.info('in'); const began = Date.now(); while (Date.now() - began < ms); return 'finished' }
export async function wait(_, { signal, log }) {
  log.info('in')
  return await new Promise((resolve, reject) => { const timer = setTimeout(resolve, 20000); signal.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason) }) })
}
let ran = 0
export const runs = () => ran
export function run() { return ++ran }
export class NotAFunction {}
export const constant = 3
`

let host
before(async () => {
  const folder = project({ 'work.mjs': source })
  host = await Host.started(`${folder}/work.mjs`, { welcome: { concurrency: 8, device: 'cuda:1' } })
})
after(() => host.leave())

/** A cancel may overtake its call: to hit a running one, wait until it runs. */
async function running(seq) {
  await host.next((frame) => frame.seq === seq && frame.kind === Kind.LOG)
  return seq
}

test('READY lists the exported functions, and no classes or constants', () => {
  const names = host.last.body.functions.map(({ name }) => name)
  assert.ok(names.includes('echo') && names.includes('later'))
  assert.ok(!names.includes('NotAFunction') && !names.includes('constant'))
})

test('values come back as they went', async () => {
  const value = { a: [1, 2.5, -7, 2 ** 40, 2n ** 60n, 'ü', null, true], when: new Date(5), bytes: Buffer.from('x') }
  assert.deepEqual(await host.call('echo', value), value)
})

test('a name may be qualified by the file', async () => {
  assert.equal(await host.call('work.echo', 1), 1)
})

test('an unknown name names the nearest', async () => {
  const error = await host.error('ecko', 1)
  assert.equal(error.code, 'NO_SUCH_FUNCTION')
  assert.match(error.message, /ecko.*echo/)
})

test('an unknown name is not repeated at any length', async () => {
  const name = '😀'.repeat(200)
  assert.match((await host.error(name, 1)).message, new RegExp(`function ${name};`))
  assert.match((await host.error(`${name}${'a'.repeat(1_000_000)}`, 1)).message, new RegExp(`function ${name}…;`))
})

test('an error brings type, message, properties, cause, and a traceback without the SDK', async () => {
  const error = await host.error('fail')
  assert.equal(error.code, 'CALL_FAILED')
  assert.equal(error.type, 'TypeError')
  assert.deepEqual(error.properties, { city: 'Ur' })
  assert.equal(error.cause.message, 'map')
  assert.match(error.traceback, /work\.mjs/)
  assert.doesNotMatch(error.traceback, /dist\/main\.js|node:internal/)
})

test('anything may be thrown', async () => {
  const error = await host.error('reject')
  assert.deepEqual([error.code, error.type, error.message], ['CALL_FAILED', 'string', 'plain text'])
})

test('a result that cannot be sent names path and type, and the worker lives on', async () => {
  const error = await host.error('bad')
  assert.deepEqual([error.code, error.path], ['INVALID_RESULT', '$.rows[1]'])
  assert.match(error.message, /function/)
  assert.equal((await host.error('sneaky')).code, 'INVALID_RESULT')
  assert.equal(await host.call('echo', 1), 1)
})

test('an input that cannot be read fails its call with the path', async () => {
  const error = await host.error('echo', null, { payload: Buffer.from('81a161d40500', 'hex') })
  assert.deepEqual([error.code, error.path], ['INVALID_INPUT', '$.a'])
  const pickle = await host.error('echo', null, { encoding: 0x20, payload: Buffer.from('80054b012e', 'hex') })
  assert.equal(pickle.code, 'INVALID_INPUT')
})

test('bytes travel raw in both directions', async () => {
  const reply = await host.reply(host.send('echo', null, { encoding: 0x10, payload: Buffer.from([0, 255]) }))
  assert.equal(reply.flags & 0x30, 0x10)
  assert.deepEqual(reply.payload, Buffer.from([0, 255]))
})

test('large payloads arrive whole, in both directions', async () => {
  const big = Buffer.alloc(9_000_000, 'abc')
  assert.deepEqual(await host.call('echo', null, { encoding: 0x10, payload: big }), big)
  assert.deepEqual(await host.call('echo', { big }), { big })
  assert.equal((await host.call('bytes', 5_000_000)).length, 5_000_000)
})

test('many replies larger than the kernel holds arrive in order, before the host reads', async () => {
  host.data.pause()
  const seqs = Array.from({ length: 40 }, (_, index) => host.send('bytes', 100_000 + index))
  await until(() => host.data.readableLength > 0 || host.data.isPaused(), 'pressure')
  host.data.resume()
  for (const [index, seq] of seqs.entries()) assert.equal((await host.reply(seq)).payload.length, 100_000 + index)
})

test('positional arguments, and named ones as an options object', async () => {
  assert.equal(await host.call('sum', [[1, 2, 3], {}], { shape: 1 }), 6)
  assert.equal(await host.call('sum', [[], { a: 1 }], { shape: 1 }), '0[object Object]')
  assert.equal(await host.call('echo', [[], {}], { shape: 1 }), null)
  assert.equal((await host.error('sum', [1, 2], { shape: 1 })).code, 'INVALID_INPUT')
})

test('asynchronous calls run side by side and end in their own order', async () => {
  const slow = host.send('wait')
  const quick = host.send('later', 'quick')
  assert.equal((await host.reply(quick)).value, 'quick')
  host.cancel(slow)
  await host.reply(slow)
})

test('the context tells about the call', async () => {
  const about = await host.call('about', null, { attempt: 2, timeoutMs: 5000, context: { traceparent: '00-1' } })
  assert.deepEqual(about, {
    name: 'about',
    attempt: 2,
    trace: { traceparent: '00-1' },
    pool: 'test',
    worker: { index: 2, generation: 3 },
    device: 'cuda:1',
    timed: true,
    cancelled: false,
  })
  assert.equal((await host.call('about')).timed, false)
})

test('log records and progress come before the result', async () => {
  const seq = host.send('tell')
  const kinds = []
  for (let frame; frame?.kind !== Kind.RESULT; kinds.push(frame)) frame = await host.next((next) => next.seq === seq)
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    [Kind.LOG, Kind.LOG, Kind.PROGRESS, Kind.RESULT],
  )
  assert.deepEqual(kinds[0].body.slice(0, 3), ['info', 'ganger.tell', 'half way'])
  assert.equal(kinds[0].body[3].done, 1)
  assert.equal(kinds[1].body[0], 'warning')
  assert.deepEqual(kinds[2].body, [1, 2, 'rows'])
})

test('a busy function sees its cancel by polling', async () => {
  const seq = await running(host.send('spin'))
  host.cancel(seq, 'timeout')
  const reply = await host.reply(seq)
  assert.equal(reply.body.code, 'CANCELLED')
  assert.match(reply.body.message, /timeout/)
})

test('an asynchronous function is cancelled through its signal', async () => {
  const seq = await running(host.send('wait'))
  host.cancel(seq)
  assert.equal((await host.reply(seq)).body.code, 'CANCELLED')
})

test('a function that finishes after its cancel has a result', async () => {
  const seq = await running(host.send('ignore', 50))
  host.cancel(seq)
  assert.equal((await host.reply(seq)).value, 'finished')
})

test('a call cancelled behind a busy one does not run', async () => {
  const before = await host.call('runs')
  const busy = await running(host.send('spin'))
  const behind = host.send('run')
  host.cancel(behind)
  host.cancel(busy)
  assert.equal((await host.reply(busy)).body.code, 'CANCELLED')
  assert.equal((await host.reply(behind)).body.code, 'CANCELLED')
  assert.equal(await host.call('runs'), before)
})

test('a late cancel changes nothing', async () => {
  const seq = host.send('echo', 1)
  await host.reply(seq)
  host.cancel(seq)
  assert.equal(await host.call('echo', 2), 2)
})

test('a ping is answered', async () => {
  const seq = host.ping()
  await host.next((frame) => frame.kind === Kind.PONG && frame.seq === seq)
})

test('a result beyond max_payload fails its call only', async () => {
  const small = await Host.started(`${project({ 'w.mjs': source })}/w.mjs`, { welcome: { max_payload: 1000 } })
  assert.equal((await small.error('bytes', 1001)).code, 'PAYLOAD_TOO_LARGE')
  const long = bytesOf('x'.repeat(2000))
  assert.equal((await small.error('echo', null, { payload: long })).code, 'PAYLOAD_TOO_LARGE')
  assert.equal((await small.call('bytes', 1000)).length, 1000)
  await small.leave()
})
