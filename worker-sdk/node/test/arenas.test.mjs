// Payloads in shared memory, on a real worker process. Plain files stand in for arenas: a worker reads, writes and maps them alike.

import assert from 'node:assert/strict'
import { closeSync, existsSync, openSync, readSync, truncateSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { Encoding, Flag, Kind } from '../dist/test/parts.mjs'
import { bytesOf, frame, Host, MAIN, mainWithoutNative, project } from './host.mjs'

const INPUT = 0
const RESULT = 1
const SIZE = 1 << 20
const THRESHOLD = 1000

const source = `
import { execFileSync } from 'node:child_process'
export const echo = (input) => input
export const length = (input) => input.length
export async function later(input) { await new Promise((resolve) => setTimeout(resolve, 5)); return input }
const kept = []
export const keep = (input) => kept.push(input)
export const drop = () => kept.splice(0).length
export const part = (input) => input.subarray(1000)
export const refuse = (input) => { throw new Error('no') }
export function changed(input) { input[4096] = 9; return input }
export const bytes = (size) => Buffer.alloc(size, 7)
export const buffer = (size) => new ArrayBuffer(size)
export const text = (size) => 'x'.repeat(size)
export const fail = (size) => { throw new Error('x'.repeat(size)) }
export function change(input) { input.fill(9); return input.length }
export const children = () => execFileSync('ls', ['-l', '/proc/self/fd'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
`
const folder = project({ 'work.mjs': source })
const noNative = existsSync(join(dirname(MAIN), 'ganger-worker.node')) ? false : 'the native part is not built'
const open = []
after(() => Promise.all(open.map((host) => host.leave())))

/** A host with both arenas, started unless told otherwise. */
async function sharing(options = {}) {
  const [input, result] = ['input', 'result'].map((name) => join(project({ [name]: '' }), name))
  for (const path of [input, result]) truncateSync(path, SIZE)
  const ends = [openSync(input, 'r'), openSync(options.result ?? result, 'r+')]
  const memory = { input_fd: 5, result_fd: 6, input_size: SIZE, result_size: SIZE, threshold: THRESHOLD }
  const welcome = { concurrency: 8, shared_memory: memory, ...options.welcome }
  const host = new Host(`${folder}/work.mjs`, { arenas: ends, main: options.main })
  for (const end of ends) closeSync(end)
  open.push(host)
  host.greeting = await host.hello()
  host.welcome(welcome)
  await host.next(({ kind }) => kind === Kind.READY)
  host.input = openSync(input, 'r+')
  host.result = openSync(result, 'r')
  after(() => [host.input, host.result].forEach(closeSync))
  return host
}

function reference(arena, offset, length) {
  const bytes = Buffer.alloc(24)
  for (const [index, number] of [arena, offset, length].entries()) bytes.writeBigUInt64LE(BigInt(number), 8 * index)
  return bytes
}

/** Puts bytes into the input arena and calls with them. */
function sendShared(host, name, bytes, { at = 0, encoding = Encoding.RAW } = {}) {
  writeSync(host.input, bytes, 0, bytes.length, at)
  return host.send(name, null, { encoding: encoding | Flag.SHARED, payload: reference(INPUT, at, bytes.length) })
}

/** What a reply refers to. */
function resolved(host, reply) {
  assert.equal(reply.kind, Kind.RESULT, JSON.stringify(reply.body))
  assert.equal(reply.payload.length, 24)
  const [arena, offset, length] = [0, 8, 16].map((at) => Number(reply.payload.readBigUInt64LE(at)))
  assert.ok(arena === RESULT && offset + length <= SIZE)
  const bytes = Buffer.alloc(length)
  readSync(host.result, bytes, 0, length, offset)
  return { offset, bytes }
}

const shared = (reply) => (reply.flags & Flag.SHARED) !== 0
const release = (host, ...offsets) => host.data.write(frame({ kind: Kind.RELEASE, body: offsets }))

test('HELLO says that it can', async () => {
  const host = await sharing()
  assert.equal(host.greeting.body.shared_memory, process.platform === 'linux')
})

test('inputs are read from the arena and large results left there, raw and encoded', async () => {
  const host = await sharing()
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251))
  for (const name of ['echo', 'later']) {
    const reply = await host.reply(sendShared(host, name, bytes, { at: 16_384 }))
    assert.ok(shared(reply) && (reply.flags & Flag.ENCODING) === Encoding.RAW)
    assert.ok(resolved(host, reply).bytes.equals(bytes))
  }
  const value = { rows: Array.from({ length: 500 }, (_, index) => ({ index, bytes })) }
  const encoded = bytesOf({ ...value, rows: value.rows.slice(0, 5) })
  const reply = await host.reply(sendShared(host, 'echo', encoded, { encoding: Encoding.MESSAGEPACK }))
  assert.ok(shared(reply) && (reply.flags & Flag.ENCODING) === Encoding.MESSAGEPACK)
  assert.ok(resolved(host, reply).bytes.equals(encoded))
})

test('what is below the threshold goes through the lane', async () => {
  const host = await sharing()
  for (const [size, isShared] of [
    [THRESHOLD - 1, false],
    [THRESHOLD, true],
    [THRESHOLD + 1, true],
  ]) {
    for (const name of ['bytes', 'buffer']) {
      const reply = await host.reply(host.send(name, size))
      assert.equal(shared(reply), isShared, `${name} of ${size}`)
      const { length } = isShared ? resolved(host, reply).bytes : reply.payload
      assert.equal(length, size)
    }
  }
  assert.equal(shared(await host.reply(host.send('text', THRESHOLD - 10))), false)
  assert.equal(shared(await host.reply(host.send('text', THRESHOLD))), true)
  assert.equal(await host.call('text', 5), 'xxxxx')
})

test('a block is not used again before it is released, then it is', async () => {
  const host = await sharing()
  const results = []
  for (let call = 0; call < 3; call++) results.push(resolved(host, await host.reply(host.send('bytes', 100_000))))
  assert.equal(new Set(results.map(({ offset }) => offset)).size, 3)
  release(host, results[1].offset)
  assert.equal(resolved(host, await host.reply(host.send('bytes', 100_000))).offset, results[1].offset)
  // Not lent, so not free either.
  release(host, results[0].offset + 1, 2 ** 40)
  const next = resolved(host, await host.reply(host.send('bytes', 100_000)))
  assert.ok(!results.some(({ offset }) => offset === next.offset))
})

test('without room results go through the lane, and with room again into the arena', async () => {
  const host = await sharing()
  const offsets = []
  let reply
  for (;;) {
    reply = await host.reply(host.send('bytes', 200_000))
    if (!shared(reply)) break
    offsets.push(resolved(host, reply).offset)
  }
  assert.ok(offsets.length >= 4)
  assert.ok(reply.payload.equals(Buffer.alloc(200_000, 7)))
  release(host, ...offsets)
  assert.ok(shared(await host.reply(host.send('bytes', SIZE))), 'all of it as one')
  assert.ok(!shared(await host.reply(host.send('bytes', SIZE + 1))), 'larger than it ever is')
})

test('without memory results go through the lane', async () => {
  const host = await sharing({ result: '/dev/full' })
  for (let call = 0; call < 20; call++) {
    const reply = await host.reply(host.send('bytes', 300_000))
    assert.ok(!shared(reply) && reply.payload.equals(Buffer.alloc(300_000, 7)))
  }
})

test('an input is a copy: changing it changes nothing that others see', async () => {
  const host = await sharing()
  const bytes = Buffer.alloc(50_000, 1)
  assert.equal((await host.reply(sendShared(host, 'change', bytes))).value, bytes.length)
  const there = Buffer.alloc(bytes.length)
  readSync(host.input, there, 0, there.length, 0)
  assert.ok(there.equals(bytes))
})

test('max_payload holds for what a reference refers to', async () => {
  const host = await sharing({ welcome: { max_payload: 10_000 } })
  const reply = await host.reply(sendShared(host, 'length', Buffer.alloc(10_001)))
  assert.deepEqual([reply.kind, reply.body.code], [Kind.ERROR, 'PAYLOAD_TOO_LARGE'])
  assert.equal((await host.reply(sendShared(host, 'length', Buffer.alloc(10_000)))).value, 10_000)
  assert.equal((await host.error('bytes', 10_001)).code, 'PAYLOAD_TOO_LARGE')
})

test('a call that was cancelled before it came is not read', async () => {
  const host = await sharing()
  host.cancel(1)
  host.cancel(9)
  await host.reply(sendShared(host, 'length', Buffer.alloc(5000))).then(({ kind, body }) => {
    // Control may lag behind data: then it ran.
    if (kind === Kind.ERROR) assert.equal(body.code, 'CANCELLED')
  })
  assert.equal((await host.reply(sendShared(host, 'length', Buffer.alloc(5000)))).value, 5000)
})

test('errors go through the lane whatever their size', async () => {
  const host = await sharing()
  const reply = await host.reply(host.send('fail', 100_000))
  assert.deepEqual([reply.kind, shared(reply), reply.body.message.length > THRESHOLD], [Kind.ERROR, false, true])
})

test('many calls at once have blocks of their own', async () => {
  const host = await sharing()
  const inputs = Array.from({ length: 8 }, (_, index) => Buffer.alloc(20_000 + index, index))
  const sent = inputs.map((bytes, index) => sendShared(host, 'later', bytes, { at: index * 32_768 }))
  const replies = await Promise.all(sent.map((seq) => host.next((frame) => frame.seq === seq)))
  const results = replies.map((reply) => resolved(host, reply))
  assert.equal(new Set(results.map(({ offset }) => offset)).size, 8)
  for (const [index, { bytes }] of results.entries()) assert.ok(bytes.equals(inputs[index]))
})

test('children of a worker have neither arena', async () => {
  const host = await sharing()
  const listed = await host.call('children')
  assert.ok(/ 1 -> (pipe|socket):/.test(listed) && !/memfd|input|result/.test(listed), listed)
})

for (const [what, payload, flags] of [
  ['of 23 bytes', reference(INPUT, 0, 5000).subarray(1)],
  ['to the result arena', reference(RESULT, 0, 5000)],
  ['beyond the arena', reference(INPUT, SIZE - 4999, 5000)],
  ['of more than any', reference(INPUT, 2n ** 64n - 1n, 2n ** 64n - 1n)],
  ['in pieces', reference(INPUT, 0, 5000), Flag.MORE],
])
  test(`a reference ${what} is a violation`, async () => {
    const host = await sharing()
    host.send('length', null, { encoding: Encoding.RAW | Flag.SHARED | (flags ?? 0), payload })
    assert.equal((await host.exited).code, 70)
    assert.match(host.stderr, /protocol violation: .*(reference|shared)/)
  })

test('a reference that was not agreed on is a violation', async () => {
  const host = await sharing({ welcome: { shared_memory: null } })
  sendShared(host, 'length', Buffer.alloc(5000))
  assert.equal((await host.exited).code, 70)
  assert.match(host.stderr, /shared memory, which was not agreed/)
})

const LONG = 400_000
const filled = (byte) => Buffer.alloc(LONG, byte)
const INPUT_AT = 65_536
const about = ({ kind, flags, payload }) => [
  kind,
  flags & ~Flag.ENCODING,
  payload.length === 24 && payload.readUInt8(0),
]
const releaseOf = (host, seq) => host.next((frame) => frame.kind === Kind.RELEASE && frame.seq === seq)

test('an input that comes back is a reference to where it lies, and is given back later', {
  skip: noNative,
}, async () => {
  const host = await sharing()
  for (const [name, from] of [
    ['echo', 0],
    ['later', 0],
    ['part', 1000],
  ]) {
    const seq = sendShared(host, name, filled(3), { at: INPUT_AT })
    const reply = await host.reply(seq)
    assert.deepEqual(about(reply), [Kind.RESULT, Flag.SHARED | Flag.HELD, INPUT], name)
    assert.deepEqual(
      [8, 16].map((at) => Number(reply.payload.readBigUInt64LE(at))),
      [INPUT_AT + from, LONG - from],
    )
    await releaseOf(host, seq)
  }
})

test('an input that the function wrote to is copied to where results lie', { skip: noNative }, async () => {
  const host = await sharing()
  const seq = sendShared(host, 'changed', filled(3), { at: INPUT_AT })
  const reply = await host.reply(seq)
  assert.deepEqual(about(reply), [Kind.RESULT, Flag.SHARED | Flag.HELD, RESULT])
  const expected = filled(3)
  expected[4096] = 9
  assert.ok(resolved(host, reply).bytes.equals(expected))
  const there = Buffer.alloc(LONG)
  readSync(host.input, there, 0, LONG, INPUT_AT)
  assert.ok(there.equals(filled(3)), 'nobody else sees it')
  await releaseOf(host, seq)
})

test('what looks at an input is told with the answer, error or not', { skip: noNative }, async () => {
  const host = await sharing()
  const failed = sendShared(host, 'refuse', filled(1), { at: INPUT_AT })
  assert.deepEqual(about(await host.reply(failed)).slice(0, 2), [Kind.ERROR, Flag.HELD])
  await releaseOf(host, failed)
  const kept = sendShared(host, 'keep', filled(1), { at: INPUT_AT })
  assert.ok((await host.reply(kept)).flags & Flag.HELD)
  for (let call = 0; call < 20; call++) await host.reply(sendShared(host, 'length', filled(2), { at: 0 }))
  assert.ok(!host.frames.some(({ kind, seq }) => kind === Kind.RELEASE && seq === kept))
  assert.equal(await host.call('drop'), 1)
  await releaseOf(host, kept)
})

test('with bytes for other than one byte string, or few of them, nothing is held', async () => {
  const host = await sharing()
  const encoded = bytesOf({ bytes: filled(1) })
  const reply = await host.reply(sendShared(host, 'echo', encoded, { encoding: Encoding.MESSAGEPACK }))
  assert.ok(resolved(host, reply).bytes.equals(encoded) && !(reply.flags & Flag.HELD))
  assert.ok(!((await host.reply(sendShared(host, 'echo', Buffer.alloc(5000)))).flags & Flag.HELD))
})

test('without the native part every payload is copied once, in and out', async () => {
  const host = await sharing({ main: mainWithoutNative() })
  for (const name of ['echo', 'part', 'changed', 'later']) {
    const reply = await host.reply(sendShared(host, name, filled(3), { at: INPUT_AT }))
    assert.deepEqual(about(reply), [Kind.RESULT, Flag.SHARED, RESULT], name)
    release(host, resolved(host, reply).offset)
  }
})
