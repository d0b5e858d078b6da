// Calls handed over ahead (SPEC 5.4), on a real worker process and a real eventfd, with the native part and without.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Flag, Kind } from '../dist/test/parts.mjs'
import { Host, project, until, VARIANTS } from './host.mjs'

const source = `
import { execFileSync } from 'node:child_process'
import { existsSync, readlinkSync, writeFileSync } from 'node:fs'
const log = []
const there = (path) => new Promise((resolve) => {
  const look = () => (existsSync(path) ? resolve() : setTimeout(look, 2))
  look()
})
export const seen = () => log.splice(0)
export const note = (input) => { log.push(input); return input }
export async function hold(path) { log.push('hold'); await there(path); log.push('let go'); return 'held' }
export async function slow(input) { log.push('begin ' + input); await new Promise(setImmediate); log.push('end ' + input); return input }
export async function heed(_, { signal, log }) {
  log.info('it runs')
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  return 'heeded'
}
export const soon = async (input) => { log.push(input); return input }
export async function* each(count) { for (let item = 0; item < count; item++) yield item; log.push('streamed') }
export const fail = (input) => { log.push(input); throw new Error('on purpose') }
export const odd = (input) => { log.push(input); return () => {} }
export const die = () => process.kill(process.pid, 'SIGKILL')
export const leave = (code) => process.exit(code)
export function big({ bytes, path }) { setTimeout(() => writeFileSync(path, ''), 20); return Buffer.alloc(bytes) }
export function mark(path) { writeFileSync(path, ''); return 'marked' }
let turned = false
export const arm = () => { setTimeout(() => { turned = true }, 0) }
export const hasTurned = () => turned
export const remaining = (_, context) => context.remaining
export const children = () => execFileSync('ls', ['-l', '/proc/self/fd'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
export const isInherited = (fd) => readlinkSync('/proc/self/fd/' + fd).includes('eventfd')
export const bytes = (size) => Buffer.alloc(size)
export const length = (input) => input.length
`
const folder = project({ 'work.mjs': source })
const open = []
after(() => Promise.all(open.map((host) => host.leave())))

class AheadHost extends Host {
  static async started(main) {
    const host = new AheadHost(`${folder}/work.mjs`, {
      through: ['python3', fileURLToPath(new URL('claims.py', import.meta.url))],
      arenas: ['pipe'],
      main,
    })
    open.push(host)
    const lines = createInterface({ input: host.child.stdio[5] })
    host.child.stdio[5].on('error', () => {})
    host.answers = lines[Symbol.asyncIterator]()
    host.claimsFd = await host.answer()
    host.greeting = await host.hello()
    host.welcome({ claims_fd: host.claimsFd })
    await host.next(({ kind }) => kind === Kind.READY)
    return host
  }

  async answer() {
    return Number((await this.answers.next()).value)
  }

  tell(command) {
    this.child.stdio[5].write(`${command}\n`)
    return this.answer()
  }

  /** Puts a token in for each, then writes them all at once; gives their numbers. */
  async handOver(...calls) {
    await this.tell(`put ${calls.length}`)
    return this.write(...calls)
  }

  write(...calls) {
    this.data.cork()
    const seqs = calls.map(([name, input, options]) => this.send(name, input, { encoding: Flag.AHEAD, ...options }))
    this.data.uncork()
    return seqs
  }

  /** A call that runs until it is let go. */
  async holding() {
    const path = join(project({}), 'go')
    const [seq] = await this.handOver(['hold', path])
    await until(async () => (await this.tell('left')) === 0, 'the call to be claimed')
    return { seq, letGo: () => this.touch(path) }
  }

  touch(path) {
    copyFileSync(`${folder}/work.mjs`, path)
  }

  leave() {
    this.child.stdio[5].end()
    return super.leave()
  }
}

const unavailable = process.platform !== 'linux' && 'there are no eventfds'
for (const [how, main] of VARIANTS) {
  const skip = unavailable || (main === undefined && 'the native part is not built')
  const check = (what, body) => test(`${what}, ${how}`, { skip }, async () => body(await AheadHost.started(main)))

  check('calls run in the order in which they came, functions of every kind among them', async (host) => {
    assert.equal(host.greeting.body.ahead, true)
    const seqs = await host.handOver(
      ['note', 1],
      ['slow', 2],
      ['fail', 3],
      ['soon', 4],
      ['nothing', 5],
      ['each', 2],
      ['odd', 6],
      ['bytes', 20_000],
      ['slow', 7],
      ['note', 8],
    )
    const expected = [1, 2, 'CALL_FAILED', 4, 'NO_SUCH_FUNCTION', null, 'INVALID_RESULT', Buffer.alloc(20_000), 7, 8]
    await until(() => host.frames.filter(({ kind }) => kind !== Kind.ITEM).length === seqs.length, 'all answers')
    const order = host.frames.map(({ seq }) => seq)
    assert.deepEqual(
      order,
      order.toSorted((left, right) => left - right),
    )
    assert.deepEqual(await host.values(seqs), expected)
    const began = [1, 'begin 2', 'end 2', 3, 4, 'streamed', 6, 'begin 7', 'end 7', 8]
    assert.deepEqual(await host.call('seen'), began)
    assert.equal(await host.tell('left'), 0)
  })

  check('a call begins when the answer of the one before is out, and none after a death', async (host) => {
    const seqs = await host.handOver(['note', 1], ['soon', 2], ['fail', 3], ['die'], ['note', 5], ['note', 6])
    assert.equal(await host.tell('end'), -9)
    assert.deepEqual(await host.values(seqs.slice(0, 3)), [1, 2, 'CALL_FAILED'])
    assert.equal(host.frames.length, 0)
    assert.equal(await host.tell('left'), 2)
  })

  check('a call that exits leaves the rest unclaimed', async (host) => {
    const seqs = await host.handOver(['note', 1], ['leave', 7], ['note', 3], ['note', 4], ['note', 5])
    assert.equal(await host.tell('end'), 7)
    assert.deepEqual(await host.values(seqs.slice(0, 1)), [1])
    assert.equal(await host.tell('left'), 3)
  })

  check('what was taken back is neither run nor answered', async (host) => {
    const { seq, letGo } = await host.holding()
    const seqs = await host.handOver(['note', 1], ['note', 2], ['note', 3], ['note', 4])
    assert.equal(await host.tell('take'), 1)
    assert.equal(await host.tell('take'), 1)
    // One that is taken back may have been cancelled first.
    host.cancel(seqs[3])
    letGo()
    assert.deepEqual(await host.values([seq, ...seqs.slice(0, 2)]), ['held', 1, 2])
    assert.deepEqual(await host.call('seen'), ['hold', 'let go', 1, 2])
    const later = await host.handOver(['note', 5], ['note', 6])
    assert.deepEqual(await host.values(later), [5, 6])
    assert.deepEqual(host.frames, [])
  })

  check('a call that comes as ever says that those before it were taken back', async (host) => {
    const { seq, letGo } = await host.holding()
    const [first, second] = await host.handOver(['note', 1], ['note', 2])
    await host.tell('take')
    await host.tell('take')
    letGo()
    await host.values([seq])
    host.data.cork()
    host.write(['note', 3])
    const third = host.send('length', Buffer.alloc(100_000))
    host.data.uncork()
    assert.deepEqual(await host.values([third]), [100_000])
    assert.deepEqual(await host.call('seen'), ['hold', 'let go'])
    assert.ok(!host.frames.some((frame) => frame.seq === first || frame.seq === second))
  })

  check('a call that waits can be cancelled, and a cancel may come before it', async (host) => {
    const seqs = await host.handOver(['heed'], ['note', 1], ['note', 2], ['note', 3])
    await host.next(({ kind }) => kind === Kind.LOG)
    host.cancel(seqs[2])
    host.cancel(seqs[3] + 2)
    // Cancels come in order: once the first call has ended by its own, the others are there.
    host.cancel(seqs[0])
    assert.deepEqual(await host.values(seqs), ['heeded', 1, 'CANCELLED', 3])
    assert.deepEqual(await host.values(await host.handOver(['note', 4], ['note', 5])), [4, 'CANCELLED'])
    assert.deepEqual(await host.call('seen'), [1, 3, 4])
  })

  check('nothing begins while an answer does not fit into the socket', async (host) => {
    const [turned, mark] = ['turned', 'mark'].map((name) => join(project({}), name))
    host.data.pause()
    const seqs = await host.handOver(['big', { bytes: 8_000_000, path: turned }], ['mark', mark])
    await until(() => existsSync(turned), 'the first to have run, and the loop to have turned')
    assert.equal(await host.tell('left'), 1)
    assert.equal(existsSync(mark), false)
    host.data.resume()
    assert.equal((await host.reply(seqs[0])).payload.length, 8_000_000)
    assert.deepEqual(await host.values([seqs[1]]), ['marked'])
  })

  check('the event loop is let breathe between many calls', async (host) => {
    const { letGo } = await host.holding()
    const calls = Array.from({ length: 400 }, () => ['hasTurned'])
    const seqs = await host.handOver(['arm'], ...calls)
    // They must all lie ready: what is read later lets the loop turn by itself.
    const ping = host.ping()
    await host.next(({ kind, seq }) => kind === Kind.PONG && seq === ping)
    letGo()
    assert.equal((await host.values(seqs)).at(-1), true)
  })

  check('STOP behind calls that were taken back ends the worker in peace', async (host) => {
    const { seq, letGo } = await host.holding()
    await host.handOver(['note', 1], ['note', 2])
    await host.tell('take')
    await host.tell('take')
    host.stop()
    letGo()
    assert.deepEqual(await host.values([seq]), ['held'])
    assert.equal(await host.tell('end'), 0)
    assert.deepEqual(host.frames, [])
  })

  check('STOP finds nothing running, and calls that were taken back', async (host) => {
    host.data.cork()
    host.write(['note', 1], ['note', 2])
    host.stop()
    host.data.uncork()
    assert.equal(await host.tell('end'), 0)
    assert.deepEqual(host.frames, [])
  })

  check('the time of a call counts from when it begins', async (host) => {
    const { letGo } = await host.holding()
    const [seq] = await host.handOver(['remaining', null, { timeoutMs: 1000 }])
    await new Promise((resolve) => setTimeout(resolve, 1200))
    letGo()
    const [remaining] = await host.values([seq])
    assert.ok(remaining > 0 && remaining <= 1000, remaining)
  })

  check('a frame cut in two and one larger than the read buffer wait as well', async (host) => {
    const { seq, letGo } = await host.holding()
    const size = 300_000
    const seqs = await host.handOver(
      ['note', 1],
      ['length', 'x'.repeat(size)],
      ['length', 'y'.repeat(60_000)],
      ['note', 2],
    )
    // A ping is answered by whoever has read what was before it.
    const ping = host.ping()
    await host.next((frame) => frame.kind === Kind.PONG && frame.seq === ping)
    letGo()
    assert.deepEqual(await host.values([seq, ...seqs]), ['held', 1, size, 60_000, 2])
  })

  check('what functions start inherits no claims', async (host) => {
    assert.equal(await host.call('isInherited', String(host.claimsFd)), true)
    const list = await host.call('children')
    assert.ok(!list.includes('eventfd'), list)
  })
}

test('without an agreement the flag means nothing', { skip: unavailable }, async () => {
  const host = await Host.started(`${folder}/work.mjs`)
  const reply = await host.reply(host.send('note', 1, { encoding: Flag.AHEAD }))
  assert.equal(reply.value, 1)
  await host.leave()
})
