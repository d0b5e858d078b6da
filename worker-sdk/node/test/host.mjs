// A host small enough to read: starts the built worker on two lanes and speaks the protocol with it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decode, Encoder, FrameReader, Kind, writeHeader } from '../dist/test/parts.mjs'

export const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))
export const LIMIT = 20_000

/** Writes files (name → source) into a new folder and returns its path. */
export function project(files) {
  const folder = mkdtempSync(join(tmpdir(), 'ganger-node-test-'))
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), source)
  }
  return folder
}

/** The worker as it is where nobody built the native part. */
export function mainWithoutNative() {
  const copy = project({})
  for (const name of ['main.js', 'control-thread.cjs', 'package.json'])
    copyFileSync(join(dirname(MAIN), name), join(copy, name))
  return join(copy, 'main.js')
}

/** Both ways in which a worker may be built; undefined if the native part is not there. */
export const VARIANTS = [
  ['with the native part', existsSync(join(dirname(MAIN), 'ganger-worker.node')) ? MAIN : undefined],
  ['without', mainWithoutNative()],
]

export function bytesOf(value) {
  if (value === undefined) return Buffer.alloc(0)
  const encoder = new Encoder()
  encoder.value(value)
  return encoder.take()
}

export function frame({ kind, seq = 0, flags = 0, body, payload = Buffer.alloc(0) }) {
  const bodyBytes = bytesOf(body)
  const header = Buffer.alloc(24)
  writeHeader(header, 0, { kind, flags, seq, bodyLength: bodyBytes.length, length: bodyBytes.length + payload.length })
  return Buffer.concat([header, bodyBytes, payload])
}

export const welcome = (extra = {}) => ({
  version: 1,
  pool: 'test',
  worker: 2,
  generation: 3,
  concurrency: 1,
  max_payload: 2 ** 32,
  cancel_grace_ms: 2000,
  stop_timeout_ms: 5000,
  ...extra,
})

/** Polls until `check` gives something truthy. */
export async function until(check, what) {
  const end = Date.now() + LIMIT
  for (;;) {
    const found = await check()
    if (found) return found
    assert.ok(Date.now() < end, `waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export class Host {
  frames = []
  control = []
  stderr = ''
  stdout = ''
  exited
  #seq = 0
  #waiting = []

  static async started(target, options = {}) {
    const host = new Host(target, options)
    await host.hello()
    host.welcome(options.welcome)
    await host.next((frame) => frame.kind === Kind.READY || (frame.kind === Kind.ERROR && frame.seq === 0))
    return host
  }

  constructor(
    target,
    { env = {}, execArgv = [], cwd, main = MAIN, inheritStderr = false, arenas = [], through = [] } = {},
  ) {
    const lanes = { GANGER_DATA_FD: '3', GANGER_CONTROL_FD: '4' }
    const [command, ...args] = [...through, process.execPath, ...execArgv, main, target]
    this.child = spawn(command, args, {
      stdio: ['ignore', 'pipe', inheritStderr ? 'inherit' : 'pipe', 'pipe', 'pipe', ...arenas],
      env: { ...process.env, ...lanes, ...env },
      cwd,
    })
    this.data = this.child.stdio[3]
    this.controlLane = this.child.stdio[4]
    this.child.stdout.on('data', (chunk) => (this.stdout += chunk))
    this.child.stderr?.on('data', (chunk) => (this.stderr += chunk))
    this.exited = once(this.child, 'exit').then(([code, signal]) => ({ code, signal }))
    this.#listen(this.data, this.frames)
    this.#listen(this.controlLane, this.control)
  }

  #listen(lane, into) {
    const reader = new FrameReader({
      oversized() {},
      frame: (frame) => {
        into.push(copyOf(frame))
        for (const wake of this.#waiting.splice(0)) wake()
      },
    })
    lane.on('data', (chunk) => reader.push(chunk)).on('error', () => {})
  }

  /** The first frame that fits, now or later; it is taken out. */
  async next(fits = () => true, list = this.frames) {
    const end = AbortSignal.timeout(LIMIT)
    for (;;) {
      const index = list.findIndex(fits)
      if (index >= 0) {
        const [found] = list.splice(index, 1)
        this.last = found
        return found
      }
      await new Promise((resolve, reject) => {
        this.#waiting.push(resolve)
        end.onabort = () => reject(new Error(`no such frame came; stderr: ${this.stderr}`))
      })
    }
  }

  hello() {
    return this.next((frame) => frame.kind === Kind.HELLO, this.control)
  }

  welcome(extra) {
    this.controlLane.write(frame({ kind: Kind.WELCOME, flags: 1, body: welcome(extra) }))
  }

  /** Writes a CALL and returns its seq. */
  send(name, input, { timeoutMs = null, shape = 0, context = null, attempt = 1, encoding = 0, payload } = {}) {
    const seq = ++this.#seq
    const body = [name, attempt, timeoutMs, shape, context]
    this.data.write(frame({ kind: Kind.CALL, flags: 1 | encoding, seq, body, payload: payload ?? bytesOf(input) }))
    return seq
  }

  ping() {
    const seq = ++this.#seq
    this.data.write(frame({ kind: Kind.PING, seq }))
    return seq
  }

  cancel(seq, reason) {
    this.controlLane.write(frame({ kind: Kind.CANCEL, seq, body: reason === undefined ? undefined : [reason] }))
  }

  reply(seq) {
    return this.next((frame) => frame.seq === seq && (frame.kind === Kind.RESULT || frame.kind === Kind.ERROR))
  }

  /** What became of each: its value, or the code of its error. */
  async values(seqs) {
    const replies = []
    for (const seq of seqs) replies.push(await this.reply(seq))
    return replies.map(({ kind, value, body }) => (kind === Kind.RESULT ? value : body.code))
  }

  async call(name, input, options) {
    const reply = await this.reply(this.send(name, input, options))
    assert.equal(reply.kind, Kind.RESULT, JSON.stringify(reply.body))
    return reply.value
  }

  async error(name, input, options) {
    const reply = await this.reply(this.send(name, input, options))
    assert.equal(reply.kind, Kind.ERROR)
    return reply.body
  }

  stop() {
    this.data.write(frame({ kind: Kind.STOP, flags: 1, body: { reason: 'close', timeout_ms: 5000 } }))
    return this.exited
  }

  /** Closes both lanes; the worker must go. */
  async leave() {
    this.data.destroy()
    this.controlLane.destroy()
    return this.exited
  }
}

function copyOf({ kind, flags, seq, bytes, bodyAt, payloadAt, end }) {
  const payload = Buffer.from(bytes.subarray(payloadAt, end))
  const body = bodyAt === payloadAt ? undefined : decode(Buffer.from(bytes.subarray(bodyAt, payloadAt)))
  const value = (flags & 0x30) === 0x10 || payload.length === 0 ? payload : tryDecode(payload)
  return { kind, flags, seq, body, payload, value }
}

function tryDecode(payload) {
  try {
    return decode(payload)
  } catch (error) {
    return error
  }
}
