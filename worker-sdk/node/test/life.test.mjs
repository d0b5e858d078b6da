// A worker's life: loading, hooks, stopping, the host's death, violations, attaching.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { decode, FrameReader, Kind } from '../dist/test/parts.mjs'
import { bytesOf, frame, Host, MAIN, project, until, welcome } from './host.mjs'

const alive = (pid) => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

test('HELLO comes before any user code and says who is there', async () => {
  const folder = project({
    'w.mjs': `import { writeFileSync } from 'node:fs'; writeFileSync(import.meta.dirname + '/loaded', ''); export const f = () => 1`,
  })
  const host = new Host(join(folder, 'w.mjs'))
  const { body } = await host.hello()
  assert.equal(existsSync(join(folder, 'loaded')), false)
  assert.equal(body.language, 'node')
  assert.equal(body.sdk, 'ganger-worker')
  assert.equal(body.pid, host.child.pid)
  assert.ok(body.min_version <= 1 && body.max_version >= 1)
  host.welcome()
  await host.next((frame) => frame.kind === Kind.READY)
  await host.leave()
})

test('a syntax error fails the start with its text and place, and exits 1', async () => {
  const folder = project({ 'a.mjs': 'export const a = 1', 'w.mjs': 'export const a = 1\nexport const f = ( => 1' })
  const host = await Host.started(folder)
  assert.equal(host.last.body.code, 'START_FAILED')
  assert.equal(host.last.body.type, 'SyntaxError')
  assert.equal(host.last.body.message, "Unexpected token '=>' (w.mjs, line 2)")
  assert.ok(host.last.body.traceback.startsWith(`${join(folder, 'w.mjs')}:2\nexport const f = ( => 1\n`))
  assert.match(host.last.body.traceback, /\n\nSyntaxError: Unexpected token '=>'$/)
  assert.deepEqual(await host.exited, { code: 1, signal: null })
})

test('a syntax error in what a file imports names the file', async () => {
  const folder = project({ 'w.mjs': `import './x.mjs'`, 'x.mjs': `import './y.mjs'`, 'y.mjs': '\nexport const = 1' })
  const host = await Host.started(join(folder, 'w.mjs'))
  assert.equal(host.last.body.type, 'SyntaxError')
  assert.match(host.last.body.message, /\(y\.mjs, line 2\)$/)
  const aliased = project({
    'package.json': '{"imports": {"#x": "./x.mjs"}}',
    'w.mjs': `import '#x'`,
    'x.mjs': 'let = (',
  })
  const other = await Host.started(join(aliased, 'w.mjs'))
  assert.match(other.last.body.message, /\(w\.mjs, or what it imports\)$/)
})

test('a failing start-up hook, a missing file, a wrong option fail the start', async () => {
  const cases = {
    'hook.mjs': [
      `import { startup } from 'ganger-worker'; startup(async () => { throw new RangeError('no model') })`,
      /no model/,
    ],
    'option.mjs': [
      'export const f = () => 1; export const ganger = { functions: { f: { idempotnt: true } } }',
      /idempotnt/,
    ],
    'described.mjs': ['export const f = () => 1; export const ganger = { functions: { g: {} } }', /describes g/],
  }
  const folder = project(Object.fromEntries(Object.entries(cases).map(([name, [source]]) => [name, source])))
  for (const [name, [, message]] of [...Object.entries(cases), ['nothing.mjs', ['', /does not exist/]]]) {
    const host = await Host.started(join(folder, name))
    assert.equal(host.last.body.code, 'START_FAILED')
    assert.match(host.last.body.message, message)
    assert.equal((await host.exited).code, 1)
  }
})

test('hooks run in order, know the pool, and log', async () => {
  const folder = project({
    'w.mjs': `
      import { startup, shutdown } from 'ganger-worker'
      const order = []
      startup(async (context) => { await null; order.push('one'); context.log.info('model loaded') })
      startup((context) => { order.push(context.pool) })
      shutdown(() => console.log('bye first'))
      shutdown(async () => { await null; console.log('bye last') })
      export const seen = () => order
      export const ganger = { startup: () => { order.push('described') } }`,
  })
  const host = await Host.started(join(folder, 'w.mjs'))
  const log = await host.next((frame) => frame.kind === Kind.LOG)
  assert.deepEqual([log.seq, log.body[1], log.body[2]], [0, 'ganger', 'model loaded'])
  assert.deepEqual(await host.call('seen'), ['one', 'test', 'described'])
  assert.deepEqual(await host.stop(), { code: 0, signal: null })
  assert.equal(host.stdout, 'bye last\nbye first\n')
})

test('STOP waits for running calls and delivers their results', async () => {
  const folder = project({
    'w.mjs': `export const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms, 'done'))`,
  })
  const host = await Host.started(join(folder, 'w.mjs'))
  const seq = host.send('later', 100)
  const exited = host.stop()
  assert.equal((await host.reply(seq)).value, 'done')
  assert.deepEqual(await exited, { code: 0, signal: null })
})

test('process.exit in a function ends the worker after what was sent is written', async () => {
  const folder = project({
    'w.mjs': `
      export const big = (size) => Buffer.alloc(size, 1)
      export const mixed = (size) => ({ bytes: Buffer.alloc(size, 1) })
      export function leave(code) { process.exit(code) }`,
  })
  const host = await Host.started(join(folder, 'w.mjs'), { welcome: { concurrency: 8 } })
  host.data.pause()
  const seqs = [host.send('big', 3_000_000), host.send('mixed', 3_000_000), host.send('big', 10)]
  const last = host.send('leave', 7)
  // The worker cannot be done before we read: much of this is in its own hands when it exits.
  setTimeout(() => host.data.resume(), 200)
  assert.deepEqual(
    (await Promise.all(seqs.map((seq) => host.reply(seq)))).map(({ payload }) => payload.length > 9),
    [true, true, true],
  )
  assert.deepEqual(await host.exited, { code: 7, signal: null })
  assert.ok(!host.frames.some(({ seq }) => seq === last))
})

test('an uncaught exception outside a call ends the worker with its trace', async () => {
  const folder = project({
    'w.mjs': `export function arm() { setTimeout(() => { throw new Error('from a timer') }, 1); return 'armed' }`,
  })
  const host = await Host.started(join(folder, 'w.mjs'))
  assert.equal(await host.call('arm'), 'armed')
  assert.equal((await host.exited).code, 1)
  await until(() => /from a timer/.test(host.stderr), 'the trace')
})

for (const lane of ['data', 'controlLane']) {
  test(`the end of ${lane} ends a worker that computes`, async () => {
    const folder = project({ 'w.mjs': 'export function forever(_, context) { context.log.info("in"); for (;;); }' })
    const host = await Host.started(join(folder, 'w.mjs'))
    host.send('forever')
    await host.next((frame) => frame.kind === Kind.LOG)
    // A dying host loses both; the busy worker can only see control.
    if (lane === 'data') host.data.destroy()
    host.controlLane.destroy()
    await host.exited
  })
}

test('the end of data ends an idle worker while control stays', async () => {
  const host = await Host.started(join(project({ 'w.mjs': 'export const f = () => 1' }), 'w.mjs'))
  host.data.destroy()
  await host.exited
})

test('a host that goes away during a busy start takes the worker with it', async () => {
  const folder = project({
    'w.mjs': 'import { writeFileSync } from "node:fs"; writeFileSync(import.meta.dirname + "/in", ""); for (;;);',
  })
  const host = new Host(join(folder, 'w.mjs'))
  await host.hello()
  host.welcome()
  await until(() => existsSync(join(folder, 'in')), 'the start')
  await host.leave()
})

test('a child of the worker holds no lane and sees no variable of them', async () => {
  const folder = project({
    'w.mjs': `
      import { spawn } from 'node:child_process'
      export function child() {
        const sleeper = spawn('sleep', ['600'], { stdio: 'ignore', detached: true })
        sleeper.unref()
        return { pid: sleeper.pid, lanes: Object.keys(process.env).filter((name) => name.startsWith('GANGER_')) }
      }`,
  })
  const host = await Host.started(join(folder, 'w.mjs'))
  const { pid, lanes } = await host.call('child')
  try {
    assert.deepEqual(lanes, [])
    host.child.kill('SIGKILL')
    await host.exited
    // End of file reaches us although the child lives: it holds no copy of our lanes.
    await until(() => host.data.closed && host.controlLane.closed, 'the end of both lanes')
    assert.ok(alive(pid))
  } finally {
    process.kill(pid, 'SIGKILL')
  }
})

for (const [what, lane, bytes] of [
  ['a critical frame of an unknown kind', 'data', frame({ kind: 200, flags: 1 })],
  ['a broken header', 'data', Buffer.from('000000000000000001000000040000000100000000000000', 'hex')],
  ['a call on control', 'controlLane', frame({ kind: Kind.CALL, flags: 1, seq: 1, body: ['f'], payload: bytesOf(1) })],
  ['a broken header on control', 'controlLane', Buffer.from('000000000000000001000000230000000100000000000000', 'hex')],
  ['a cancel without sense', 'controlLane', frame({ kind: Kind.CANCEL, seq: 1, body: [1] })],
]) {
  test(`${what} is a violation: one line, exit 70`, async () => {
    const host = await Host.started(join(project({ 'w.mjs': 'export const f = () => 1' }), 'w.mjs'))
    host[lane].write(bytes)
    assert.deepEqual(await host.exited, { code: 70, signal: null })
    await until(() => /^ganger-worker: protocol violation: .+\n$/.test(host.stderr), 'the line')
  })
}

test('the control thread, still waiting for its lane, holds up no end', async () => {
  const target = join(project({ 'w.mjs': 'export const f = () => 1' }), 'w.mjs')
  const unanswered = new Host(target)
  await unanswered.hello()
  await unanswered.leave()
  const misunderstood = new Host(target)
  await misunderstood.hello()
  misunderstood.welcome({ version: 9 })
  assert.deepEqual(await misunderstood.exited, { code: 70, signal: null })
})

test('a cancel right behind WELCOME reaches its call', async () => {
  const source = `export const wait = (_, { signal }) => new Promise((_, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason))
  })`
  const host = new Host(join(project({ 'w.mjs': source }), 'w.mjs'))
  await host.hello()
  const answer = frame({ kind: Kind.WELCOME, flags: 1, body: welcome() })
  host.controlLane.write(Buffer.concat([answer, frame({ kind: Kind.CANCEL, seq: 1 })]))
  await host.next((frame) => frame.kind === Kind.READY)
  // Read before the call comes or while it runs: both end it.
  assert.equal((await host.error('wait')).code, 'CANCELLED')
  await host.leave()
})

test('unknown kinds are skipped, on both lanes', async () => {
  const host = await Host.started(join(project({ 'w.mjs': 'export const f = () => 1' }), 'w.mjs'))
  host.data.write(frame({ kind: 200, payload: Buffer.alloc(200_000) }))
  host.controlLane.write(frame({ kind: 201, body: { x: 1 } }))
  assert.equal(await host.call('f'), 1)
  await host.leave()
})

test('without lanes it explains itself', async () => {
  const child = spawn(process.execPath, [MAIN, 'x.mjs'], { stdio: ['ignore', 'pipe', 'pipe'], env: {} })
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = await once(child, 'close')
  assert.equal(code, 64)
  assert.match(stderr, /GANGER_ENDPOINT/)
})

test('a worker attaches to an endpoint with its token', async () => {
  const folder = project({ 'w.mjs': 'export const double = (x) => 2 * x' })
  const endpoint = join(folder, 'pool.sock')
  const lanes = {}
  const server = createServer((socket) => {
    const seen = []
    const reader = new FrameReader({
      oversized() {},
      frame({ kind, seq, bytes, bodyAt, payloadAt, end }) {
        const body = bodyAt === payloadAt ? undefined : decode(Buffer.from(bytes.subarray(bodyAt, payloadAt)))
        if (kind === Kind.ATTACH) lanes[body.lane] = { socket, seen, attach: body }
        else
          seen.push({
            kind,
            seq,
            body,
            value: payloadAt === end ? undefined : decode(Buffer.from(bytes.subarray(payloadAt, end))),
          })
      },
    })
    socket.on('data', (chunk) => reader.push(chunk)).on('error', () => {})
  })
  server.listen(endpoint)
  await once(server, 'listening')
  const child = spawn(process.execPath, [MAIN, join(folder, 'w.mjs')], {
    stdio: 'inherit',
    env: { ...process.env, GANGER_ENDPOINT: endpoint, GANGER_TOKEN: 'secret' },
  })
  const exited = once(child, 'exit')
  try {
    await until(() => lanes.control?.seen.some(({ kind }) => kind === Kind.HELLO) && lanes.data, 'both lanes')
    assert.equal(lanes.data.attach.token, 'secret')
    assert.equal(lanes.data.attach.session, lanes.control.attach.session)
    lanes.control.socket.write(frame({ kind: Kind.WELCOME, flags: 1, body: welcome() }))
    await until(() => lanes.data.seen.some(({ kind }) => kind === Kind.READY), 'READY')
    lanes.data.socket.write(frame({ kind: Kind.CALL, flags: 1, seq: 1, body: ['double'], payload: bytesOf(21) }))
    await until(() => lanes.data.seen.some(({ kind, value }) => kind === Kind.RESULT && value === 42), 'the result')
    lanes.data.socket.write(frame({ kind: Kind.STOP, flags: 1 }))
    assert.deepEqual(await exited, [0, null])
  } finally {
    child.kill('SIGKILL')
    server.close()
  }
})

test('a worker that cannot attach says why', async () => {
  const folder = project({ 'w.mjs': 'export const f = () => 1' })
  const endpoint = join(folder, 'pool.sock')
  const attach = async () => {
    const env = { ...process.env, GANGER_ENDPOINT: endpoint, GANGER_TOKEN: 'wrong' }
    const child = spawn(process.execPath, [MAIN, join(folder, 'w.mjs')], { stdio: ['ignore', 'pipe', 'pipe'], env })
    let stderr = ''
    child.stderr.on('data', (chunk) => (stderr += chunk))
    await once(child, 'close')
    return stderr
  }
  assert.match(await attach(), /cannot attach to .*pool\.sock: .*ENOENT/)
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.destroy())).listen(
    endpoint,
  )
  await once(server, 'listening')
  const stderr = await attach()
  server.close()
  assert.match(stderr, /cannot attach/)
})
