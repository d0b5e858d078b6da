// The control lane while the main thread computes, read by a native thread or by one of JavaScript.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Kind } from '../dist/test/parts.mjs'
import { frame, Host, project, until, VARIANTS } from './host.mjs'

const folder = project({
  'w.mjs': `
    export function forever(_, context) { context.log.info('in'); for (;;); }
    export function polls(_, context) { context.log.info('in'); while (!context.cancelled); return 'asked' }
    export function pollsFor(ms, context) {
      context.log.info('in')
      for (const end = Date.now() + ms; Date.now() < end; ) void context.cancelled
      return 'over'
    }
    export function* items(_, context) { for (let n = 0; ; n++) yield n }
    export const echo = (input) => input`,
})
const inside = (host) => host.next((frame) => frame.kind === Kind.LOG)
const credit = (seq, items) => frame({ kind: Kind.CREDIT, seq, body: [items, 1 << 20] })
const threads = (pid) =>
  readdirSync(`/proc/${pid}/task`).map((id) => readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8'))

for (const [how, main] of VARIANTS) {
  const skip = main === undefined && 'the native part is not built'
  const check = (what, body, options = {}) =>
    test(`${what}, ${how}`, { skip }, async () => {
      const host = await Host.started(join(folder, 'w.mjs'), { main, ...options })
      try {
        await body(host)
      } finally {
        await host.leave()
      }
    })

  check('the end of control ends a worker that computes', async (host) => {
    host.send('forever')
    await inside(host)
    host.controlLane.destroy()
    assert.deepEqual(await host.exited, { code: null, signal: 'SIGKILL' })
  })

  check('a function that computes sees its cancel', async (host) => {
    const seq = host.send('polls')
    await inside(host)
    host.cancel(seq)
    assert.equal((await host.reply(seq)).value, 'asked')
    assert.equal(await host.call('echo', 1), 1)
  })

  check('a cancel that comes byte by byte is one', async (host) => {
    const seq = host.send('polls')
    await inside(host)
    for (const byte of frame({ kind: Kind.CANCEL, seq, body: ['timeout'] })) {
      host.controlLane.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    assert.equal((await host.reply(seq)).value, 'asked')
  })

  check('more cancels than anybody makes are kept for a worker that computes', async (host) => {
    const busy = host.send('polls')
    await inside(host)
    const waiting = Array.from({ length: 10_000 }, (_, index) => busy + 1 + index)
    for (const seq of waiting) host.cancel(seq)
    host.cancel(busy)
    assert.equal((await host.reply(busy)).value, 'asked')
    const calls = waiting.map(() => host.send('echo', 1))
    assert.deepEqual(calls, waiting)
    const codes = await host.values(calls)
    assert.ok(codes.every((code) => code === 'CANCELLED'))
  })

  check(
    'credit that comes while another call polls is not lost',
    async (host) => {
      const stream = host.send('items', null)
      const given = ({ kind, seq }) => kind === Kind.ITEM && seq === stream
      host.controlLane.write(credit(stream, 1))
      await host.next(given)
      const busy = host.send('pollsFor', 200)
      await inside(host)
      host.controlLane.write(credit(stream, 1))
      assert.equal((await host.reply(busy)).value, 'over')
      await host.next(given)
      host.cancel(stream)
      await host.reply(stream)
    },
    { welcome: { concurrency: 2 } },
  )

  check('what makes no sense ends the worker once it is free', async (host) => {
    const seq = host.send('pollsFor', 100)
    await inside(host)
    host.controlLane.write(frame({ kind: Kind.CANCEL, seq, body: [1] }))
    assert.deepEqual(await host.exited, { code: 70, signal: null })
    await until(() => /^ganger-worker: protocol violation: .+\n$/.test(host.stderr), 'the line')
  })
}

test('the native part spares a worker a thread of JavaScript', { skip: VARIANTS[0][1] === undefined }, async () => {
  const host = await Host.started(join(folder, 'w.mjs'), { main: VARIANTS[0][1] })
  const names = threads(host.child.pid)
  assert.deepEqual(
    names.filter((name) => /control/.test(name)),
    ['ganger-control\n'],
  )
  await host.leave()
})
