// Streams on a real worker process: items out, items in, credit, early ends.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Kind } from '../dist/test/parts.mjs'
import { bytesOf, frame, Host, project, until } from './host.mjs'

const source = `
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

let made = 0
let closed = 0
export const seen = () => ({ made, closed })
export const echo = (input) => input
export function* count(to) { try { for (let n = 0; n < to; n++) { made++; yield n } return 'counted' } finally { closed++ } }
export async function* countLater(to) { try { for (let n = 0; n < to; n++) { made++; yield n } } finally { await null; closed++ } }
export async function* slow(to, { signal }) { try { for (let n = 0; n < to; n++) { yield n; await sleep(60_000, null, { signal }) } } finally { closed++ } }
export function* busy(to, context) { try { for (let n = 0; n < to; n++) { yield n; for (const end = Date.now() + 20_000; Date.now() < end && !context.cancelled; ); } } finally { closed++ } }
export function* pace(ms) { for (let n = 0; ; n++) { yield n; for (const end = Date.now() + ms; Date.now() < end; ); } }
export const readable = () => Readable.from(['a', 'b'])
export const lines = async (text) => Readable.from(text.split(' '))
export function endless() { let pushed = 0; return new Readable({ objectMode: true, read() { if (pushed++ < 3) this.push(pushed) }, destroy(error, done) { closed++; done(error) } }) }
export const web = () => { let pushed = 0; return new ReadableStream({ pull(controller) { if (pushed++ < 3) controller.enqueue(pushed); else return new Promise(() => {}) }, cancel() { closed++ } }) }
export const list = () => ['x', 'y']
export const nothing = () => null
export const number = () => 3
export function* failing() { yield 1; yield 2; throw new RangeError('out of tokens') }
export async function* rejecting() { yield 1; throw new RangeError('out of tokens') }
export function* unsendable() { try { yield 1; yield { rows: [() => {}] }; made = -1 } finally { closed++ } }
export function* blocks([count, size]) { const block = Buffer.alloc(size); for (let n = 0; n < count; n++) { block.fill(n); yield block } }
export async function sum(start, { inputs }) { let all = start; for await (const item of inputs) all += item; return all }
export async function* double(_, { inputs }) { for await (const item of inputs) yield 2 * item }
export async function first(_, { inputs }) { for await (const item of inputs) return item }
export async function hold(_, { inputs, log }) { log.info('in'); await inputs.next(); try { await inputs.next() } finally { closed++ } }
export async function sizes(_, { inputs }) { const all = []; for await (const item of inputs) all.push(item.length); return all }
export async function lenient(_, { inputs }) { const all = []; for (;;) { try { const { done, value } = await inputs.next(); if (done) return all; all.push(value) } catch (error) { all.push(error.path) } } }
export async function noInputs(_, context) { return context.inputs }
const item = { type: 'integer' }
const rows = { type: 'object', properties: { n: { type: 'integer' } } }
const stream = { kind: 'stream' }
export const ganger = { functions: {
  sum: { inputs: item }, double: { inputs: item, output: item }, first: { inputs: {} }, hold: { inputs: {} }, sizes: { inputs: {} }, lenient: { inputs: rows },
  readable: stream, lines: stream, endless: stream, web: stream, list: stream, nothing: stream, number: stream,
} }
`

let host
before(async () => {
  const folder = project({ 'work.mjs': source })
  host = await Host.started(`${folder}/work.mjs`, { welcome: { concurrency: 64, max_payload: 8 << 20 } })
})
after(() => host.leave())

const isItem = (seq) => (frame) => frame.kind === Kind.ITEM && frame.seq === seq
const items = (seq) => host.frames.filter(isItem(seq)).length
const credit = (seq, count, bytes) => host.controlLane.write(frame({ kind: Kind.CREDIT, seq, body: [count, bytes] }))
const give = (seq, item) => host.data.write(frame({ kind: Kind.INPUT, seq, payload: bytesOf(item) }))
const end = (seq) => host.data.write(frame({ kind: Kind.INPUT_END, seq }))

async function take(seq, count) {
  const taken = []
  while (taken.length < count) taken.push((await host.next(isItem(seq))).value)
  return taken
}

/** All items, then the final value. Gives credit as it reads. */
async function whole(seq) {
  const taken = []
  for (;;) {
    const next = await host.next(({ kind, seq: about }) => about === seq && kind !== Kind.LOG)
    if (next.kind !== Kind.ITEM) return [taken, next.kind === Kind.RESULT ? next.value : next.body]
    taken.push(next.value)
    credit(seq, 1, next.payload.length)
  }
}

async function cancelled(seq) {
  const { kind, body } = await host.reply(seq)
  assert.deepEqual([kind, body.code], [Kind.ERROR, 'CANCELLED'])
}

test('contracts tell streams and input streams', () => {
  const of = Object.fromEntries(host.last.body.functions.map((contract) => [contract.name, contract]))
  assert.deepEqual(
    ['count', 'countLater', 'readable', 'double', 'sum', 'echo'].map((name) => of[name].kind),
    ['stream', 'stream', 'stream', 'stream', 'value', 'value'],
  )
  assert.deepEqual([of.sum.inputs, of.first.inputs, of.count.inputs], [{ type: 'integer' }, {}, undefined])
})

test('items come in order, then what a generator returned', async () => {
  const all = Array.from({ length: 300 }, (_, n) => n)
  assert.deepEqual(await whole(host.send('count', 300)), [all, 'counted'])
  assert.deepEqual(await whole(host.send('countLater', 300)), [all, null])
  assert.deepEqual(await whole(host.send('count', 0)), [[], 'counted'])
})

test('whatever has items is a stream', async () => {
  assert.deepEqual(await whole(host.send('readable')), [['a', 'b'], null])
  assert.deepEqual(await whole(host.send('lines', 'c d')), [['c', 'd'], null])
  assert.deepEqual(await whole(host.send('list')), [['x', 'y'], null])
  assert.deepEqual(await whole(host.send('nothing')), [[], null])
  assert.equal((await host.error('number')).code, 'INVALID_RESULT')
})

for (const name of ['count', 'countLater']) {
  test(`${name}: no item is made that may not be sent, and others go on meanwhile`, async () => {
    const before = (await host.call('seen')).made
    const seq = host.send(name, 1e6)
    await take(seq, 64)
    assert.equal(await host.call('echo', 'others'), 'others')
    assert.equal((await host.call('seen')).made - before, 64)
    credit(seq, 6, 0)
    await take(seq, 6)
    assert.equal(await host.call('echo', 1), 1)
    assert.equal(items(seq), 0)
    assert.equal((await host.call('seen')).made - before, 70)
    const { closed } = await host.call('seen')
    host.cancel(seq)
    await cancelled(seq)
    assert.equal((await host.call('seen')).closed, closed + 1, 'finally ran')
  })
}

test('bytes count, too', async () => {
  const seq = host.send('blocks', [8, 1 << 20])
  await take(seq, 4)
  assert.equal(await host.call('echo', 1), 1)
  assert.equal(items(seq), 0)
  credit(seq, 0, 1)
  await take(seq, 1)
  credit(seq, 0, 3 << 20)
  assert.equal((await whole(seq))[0].length, 3)
})

test('a function may fill its buffer again once an item is sent', async () => {
  host.data.pause()
  const seq = host.send('blocks', [40, 64 << 10])
  await until(() => host.data.readableLength > 0, 'what was sent')
  host.data.resume()
  for (const [n, block] of (await whole(seq))[0].entries())
    assert.ok(block.equals(Buffer.alloc(64 << 10, n)), `block ${n}`)
})

test('an item too large, or none at all, fails the call after the items before it', async () => {
  assert.equal((await host.error('blocks', [1, 9 << 20])).code, 'PAYLOAD_TOO_LARGE')
  const { closed } = await host.call('seen')
  const [[one], { code, path }] = await whole(host.send('unsendable'))
  assert.deepEqual([one, code, path], [1, 'INVALID_RESULT', '$.rows[0]'])
  assert.deepEqual(await host.call('seen').then(({ closed: now, made }) => [now - closed, made > 0]), [1, true])
})

test('an error in the middle comes after the items before it', async () => {
  for (const [name, before] of [
    ['failing', [1, 2]],
    ['rejecting', [1]],
  ]) {
    const [taken, report] = await whole(host.send(name))
    assert.deepEqual(
      [taken, report.code, report.type, report.message],
      [before, 'CALL_FAILED', 'RangeError', 'out of tokens'],
    )
  }
})

for (const name of ['slow', 'busy', 'endless', 'web']) {
  test(`${name}: a cancel while the function is at work ends it and closes what it opened`, async () => {
    const seq = host.send(name, 1000)
    await take(seq, 1)
    const { closed } = name === 'busy' ? { closed: undefined } : await host.call('seen')
    host.cancel(seq)
    await cancelled(seq)
    if (closed !== undefined) assert.equal((await host.call('seen')).closed, closed + 1)
  })
}

test('a generator that computes lets others run, and each item leaves when it is made', async () => {
  const seq = host.send('pace', 20)
  await take(seq, 1)
  assert.equal(await host.call('echo', 'between'), 'between')
  await take(seq, 2)
  host.cancel(seq)
  await cancelled(seq)
})

test('an input stream is read to its end, and credit comes back by halves', async () => {
  const seq = host.send('sum', 5)
  for (let n = 0; n < 64; n++) give(seq, n)
  for (let half = 0; half < 2; half++) {
    const { body } = await host.next((frame) => frame.kind === Kind.CREDIT && frame.seq === seq, host.control)
    assert.equal(body[0], 32)
  }
  give(seq, 1000)
  end(seq)
  assert.equal((await host.reply(seq)).value, 5 + (63 * 64) / 2 + 1000)
  give(seq, 1) // was on its way
  assert.equal(await host.call('echo', 1), 1)
})

test('what is not taken gets no credit', async () => {
  const seq = host.send('hold')
  for (let n = 0; n < 64; n++) give(seq, n)
  assert.equal(await host.call('echo', 1), 1)
  assert.deepEqual(
    host.control.filter((frame) => frame.seq === seq),
    [],
  )
  end(seq)
  assert.equal((await host.reply(seq)).kind, Kind.RESULT)
})

test('large items come whole, raw, in pieces', async () => {
  const seq = host.send('sizes')
  host.data.write(frame({ kind: Kind.INPUT, seq, flags: 0x10, payload: Buffer.alloc(3_000_000) }))
  const total = Buffer.alloc(8)
  total.writeBigUInt64LE(5n)
  host.data.write(frame({ kind: Kind.INPUT, seq, flags: 0x12, payload: Buffer.concat([total, Buffer.from('abc')]) }))
  host.data.write(frame({ kind: Kind.CHUNK, seq, payload: Buffer.from('de') }))
  end(seq)
  assert.deepEqual((await host.reply(seq)).value, [3_000_000, 5])
  const { body } = await host.next((frame) => frame.kind === Kind.CREDIT && frame.seq === seq, host.control)
  assert.deepEqual(body, [1, 3_000_000])
})

test('an item that is too large ends its call, and the function is asked to stop', async () => {
  const { closed } = await host.call('seen')
  const seq = host.send('hold')
  give(seq, 1)
  give(seq, Buffer.alloc(9 << 20))
  const { body } = await host.reply(seq)
  assert.equal(body.code, 'PAYLOAD_TOO_LARGE')
  assert.equal((await host.call('seen')).closed, closed + 1)
})

test('streams both ways', async () => {
  const seq = host.send('double')
  for (let n = 0; n < 10; n++) {
    give(seq, n)
    assert.deepEqual(await take(seq, 1), [2 * n])
  }
  end(seq)
  assert.equal((await host.reply(seq)).kind, Kind.RESULT)
})

test('a function need not read on, and is told what does not fit', async () => {
  const one = host.send('first')
  give(one, 'a')
  give(one, 'b')
  assert.equal((await host.reply(one)).value, 'a')
  const two = host.send('sum', 0)
  give(two, 1)
  give(two, 'x')
  const { body } = await host.reply(two)
  assert.deepEqual([body.code, body.path], ['INVALID_INPUT', '$'])
  assert.match(body.message, /item 1 of the input stream/)
  const three = host.send('lenient')
  give(three, { n: 1 })
  give(three, { n: 'x' })
  give(three, { n: 2 })
  end(three)
  assert.deepEqual((await host.reply(three)).value, [{ n: 1 }, '$.n', { n: 2 }])
})

test('a function that waits for an item hears of a cancel', async () => {
  const seq = host.send('hold')
  give(seq, 1)
  await host.next((frame) => frame.seq === seq && frame.kind === Kind.LOG)
  const { closed } = await host.call('seen')
  host.cancel(seq)
  await cancelled(seq)
  assert.equal((await host.call('seen')).closed, closed + 1)
})

test('a function without an input stream drops what comes, and says so when it looks', async () => {
  const seq = host.send('echo', 7)
  give(seq, 1)
  assert.equal((await host.reply(seq)).value, 7)
  const error = await host.error('noInputs')
  assert.match(error.message, /noInputs reads no input stream/)
})

test('a worker that is stopped ends its streams first', async () => {
  const own = await Host.started(
    `${project({ 'w.mjs': 'export function* count(to) { for (let n = 0; n < to; n++) yield n }' })}/w.mjs`,
  )
  const seq = own.send('count', 66)
  const exited = own.stop()
  for (let n = 0; n < 64; n++) await own.next(isItem(seq))
  own.controlLane.write(frame({ kind: Kind.CREDIT, seq, body: [64, 64] }))
  assert.equal((await own.reply(seq)).kind, Kind.RESULT)
  assert.deepEqual(await exited, { code: 0, signal: null })
})
