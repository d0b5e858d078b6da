// Plays the protocol's transcripts against the session and the runner, with functions whose outcome the test decides.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import * as sdk from '../dist/test/parts.mjs'
import { bytesOfStep, meaning, namedBody, PROTOCOL, read } from './notation.mjs'

/** What the transcripts' functions are, if not functions of one value. */
const DESCRIBED = {
  count: { kind: 'stream' },
  sum: { inputs: {} },
  scan: { kind: 'stream', inputs: {} },
  double: { batch: { max: 4, wait: 0 } },
}

/** Records what the session and the runner want done. */
class Player {
  wanted = []
  outcomes = new Map()
  contexts = new Map()
  /** Those for calls that are handed over ahead. */
  tokens = 0

  constructor({ functions, attach, needs = [] }) {
    this.functions = new sdk.Functions()
    for (const name of functions) this.functions.add(name, this.#function(name), DESCRIBED[name] ?? {})
    const ahead = needs.includes('ahead')
    const hello = { sdk: 'test', sdkVersion: '0', language: 'node', pid: 1, sharedMemory: false, ahead }
    this.session = new sdk.Session(this, hello, attach && { token: attach.token, session: 'one' })
    this.readers = { data: this.#reader('data'), control: this.#reader('control') }
    this.session.start()
  }

  #function(name) {
    if (DESCRIBED[name]?.batch !== undefined) return (inputs, context) => this.#calledTogether(inputs, context)
    return (...args) => this.#called(args.at(-1))
  }

  #reader(lane) {
    return new sdk.FrameReader({
      frame: (frame) => this.session.receive(lane, frame),
      oversized: (...about) => this.session.oversized(...about),
    })
  }

  receive(step) {
    if (step.end) return this.session.closed()
    try {
      this.readers[step.lane].push(bytesOfStep(step))
      this.session.takeUp()
    } catch (error) {
      if (!(error instanceof sdk.Violation)) throw error
      this.session.violation(error.message)
    }
  }

  // Effects.
  send(lane, kind, seq, body) {
    this.wanted.push({ send: { lane, kind, seq, body } })
  }
  load(welcome) {
    this.readers.data.maxPayload = welcome.maxPayload
    const outbox = {
      maxPayload: welcome.maxPayload,
      value: (kind, seq, value) => this.#payload(kind, seq, value, sdk.Encoding.MESSAGEPACK),
      raw: (kind, seq, value) => this.#payload(kind, seq, value, sdk.Encoding.RAW),
      flush() {},
    }
    const reporting = { poll() {}, catchUp() {}, report: (kind, seq, body) => this.send('data', kind, seq, body) }
    this.reporting = reporting
    this.limit = welcome.maxPayload
    const credit = (seq, ...body) => this.send('control', sdk.Kind.CREDIT, seq, body)
    this.streams = new sdk.Streams(outbox, credit)
    const ended = (seq) => this.session.ended(seq)
    this.runner = new sdk.Runner(this.functions, welcome, outbox, this.streams, reporting, ended)
    this.wanted.push({ effect: { load: {} } })
  }
  claim() {
    if (this.tokens === 0) return 'gone'
    this.tokens -= 1
    return 'taken'
  }
  run(call) {
    const payload = call.bytes.subarray(call.payloadAt, call.end)
    const raw = call.encoding === sdk.Encoding.RAW
    this.together = [call]
    this.call = { ...call, input: raw ? Buffer.from(payload) : () => sdk.decode(Buffer.from(payload)) }
    this.runner.run(call)
  }
  runTogether(calls) {
    this.together = calls
    this.runner.runTogether(calls)
  }
  cancel(seq, reason) {
    this.runner.cancel(seq, reason)
    const { cancelled, function: name } = this.contexts.get(seq)
    // Of a batch it may have been let go alone.
    if (!cancelled && DESCRIBED[name]?.batch !== undefined) return
    assert.equal(this.contexts.get(seq).cancelled, true)
    this.wanted.push({ effect: { cancel: { seq, reason } } })
  }
  input(seq, item) {
    const value = sdk.decode(Buffer.from(item.bytes.subarray(item.payloadAt, item.end)))
    this.streams.input(seq, item)
    if (this.#reads(seq)) this.wanted.push({ effect: { input: { seq, value } } })
  }
  inputTooLarge(seq) {
    this.runner.inputTooLarge(seq)
  }
  inputEnd(seq) {
    this.streams.inputEnd(seq)
    if (this.#reads(seq)) this.wanted.push({ effect: { input_end: { seq } } })
  }
  /** Items for a function that reads none go nowhere. */
  #reads(seq) {
    return DESCRIBED[this.contexts.get(seq).function]?.inputs !== undefined
  }
  credit(seq, { items, bytes }) {
    this.streams.credit(seq, items, bytes)
  }
  stop() {
    this.wanted.push({ effect: { shutdown: {} } })
  }
  exit(code) {
    this.wanted.push({ effect: { exit: { code } } })
  }
  gone() {
    this.wanted.push({ effect: { exit: {} } })
  }

  #payload(kind, seq, value, encoding) {
    const encoder = new sdk.Encoder()
    encoder.value(value)
    if (encoder.position > this.limit) return undefined
    this.wanted.push({ send: { lane: 'data', kind, seq, payload: value, encoding } })
    return encoder.position
  }

  /** A function of the worker: its outcome comes with a later step, at once when it does. */
  #called(context) {
    const { seq, function: name, attempt, timeoutMs, shape, context: trace } = this.call
    const input = typeof this.call.input === 'function' ? this.call.input() : this.call.input
    this.contexts.set(seq, context)
    assert.equal(context.function, name)
    this.wanted.push({
      effect: { run: { seq, function: name, input, attempt, timeout_ms: timeoutMs, shape, context: trace } },
    })
    if (DESCRIBED[name]?.kind === 'stream') return this.#yielding(seq)
    return new Promise((resolve, reject) => this.outcomes.set(seq, { resolve, reject }))
  }

  #calledTogether(inputs, context) {
    const calls = this.together.map(({ seq, attempt, timeoutMs, shape, context: trace }, at) => {
      this.contexts.set(seq, context)
      return {
        seq,
        function: context.function,
        input: inputs[at],
        attempt,
        timeout_ms: timeoutMs,
        shape,
        context: trace,
      }
    })
    assert.equal(inputs.length, calls.length)
    this.wanted.push({ effect: { run_together: { calls } } })
    return new Promise((resolve, reject) => this.outcomes.set(calls[0].seq, { resolve, reject }))
  }

  /** A stream of what later steps yield; `stopped` comes once it was told to stop. */
  #yielding(seq) {
    const stream = new Yielding(() => this.contexts.get(seq).cancelled)
    this.outcomes.set(seq, stream)
    return stream
  }

  happen(what) {
    const [[name, given]] = Object.entries(what)
    const outcome = this.outcomes.get(given.seq ?? given.seqs?.[0])
    switch (name) {
      case 'loaded':
        return this.session.loaded(this.functions.contracts)
      case 'load_failed':
        return this.session.failed(sdk.reportOf('START_FAILED', new Error(given.message)))
      case 'return':
        return outcome.resolve(meaning(given.value))
      case 'yield':
        return outcome.yield(meaning(given.value))
      case 'read':
        return this.contexts
          .get(given.seq)
          .inputs.next()
          .catch(() => {})
      case 'return_together':
        return outcome.resolve(
          given.results.map((end) => ('value' in end ? meaning(end.value) : new Error(end.message))),
        )
      case 'stopped_together':
        return outcome.reject(this.contexts.get(given.seqs[0]).signal.reason)
      case 'progress_together':
        return this.contexts.get(given.seqs[0]).progress(given.done, given.total, given.note)
      case 'raise_together':
      case 'raise':
        return outcome.reject(new Error(given.message))
      case 'stopped':
        return outcome.reject(this.contexts.get(given.seq).signal.reason)
      case 'invalid_input':
        return outcome.reject(new sdk.InvalidInput(given.message, given.path))
      case 'invalid_result':
        return outcome.resolve(unencodableAt(given.path))
      case 'log':
        return this.reporting.report(sdk.Kind.LOG, given.seq, [given.level, given.logger, given.message, null])
      case 'progress':
        return this.contexts.get(given.seq).progress(given.done, given.total, given.note)
      case 'hooks_done':
        return this.session.stopped()
      default:
        assert.fail(`this test cannot make ${name} happen`)
    }
  }

  expect(step) {
    const index = this.wanted.findIndex((want) => fits(want, step))
    assert.ok(index >= 0, `wanted ${JSON.stringify(step)}, got ${JSON.stringify(this.wanted, printable)}`)
    this.wanted.splice(index, 1)
  }

  expectNothingMore() {
    assert.deepEqual(this.wanted, [])
  }
}

/** An async iterator whose steps the test decides. */
class Yielding {
  #steps = []
  #waiting

  constructor(cancelled) {
    this.cancelled = cancelled
  }

  [Symbol.asyncIterator]() {
    return this
  }
  next() {
    return new Promise((settle) => {
      this.#waiting = settle
      this.#go()
    })
  }
  return() {
    return this.cancelled() ? new Promise((_, reject) => (this.reject = reject)) : Promise.resolve()
  }
  yield(value) {
    this.#add({ done: false, value })
  }
  resolve(value) {
    this.#add({ done: true, value })
  }
  reject(error) {
    this.#add(Promise.reject(error))
  }
  #add(step) {
    this.#steps.push(step)
    this.#go()
  }
  #go() {
    if (this.#waiting === undefined || this.#steps.length === 0) return
    this.#waiting(this.#steps.shift())
    this.#waiting = undefined
  }
}

function printable(_, value) {
  return typeof value === 'bigint' ? String(value) : value
}

function unencodableAt(path) {
  return { [path.replace('$.', '')]: () => {} }
}

function fits(want, step) {
  if (step.effect !== undefined) return want.effect !== undefined && contains(want.effect, meaning(step.effect))
  if (want.send === undefined) return false
  const { lane, kind, seq, body, payload } = want.send
  const { send } = step
  if (lane !== send.lane || kind !== sdk.Kind[send.kind] || seq !== send.seq) return false
  if (send.payload !== undefined && !same(payload, meaning(send.payload))) return false
  return send.body === undefined || contains(namedBody(kind, body), send.body)
}

function contains(whole, part) {
  if (Array.isArray(part))
    return (
      Array.isArray(whole) && whole.length === part.length && part.every((item, index) => contains(whole[index], item))
    )
  if (typeof part !== 'object' || part === null || Buffer.isBuffer(part)) return same(whole, part)
  return (
    typeof whole === 'object' && whole !== null && Object.keys(part).every((key) => contains(whole[key], part[key]))
  )
}

function same(left, right) {
  try {
    assert.deepStrictEqual(left, right)
    return true
  } catch {
    return false
  }
}

async function play(player, steps) {
  for (const step of steps) {
    if (step.repeat !== undefined) for (let round = 0; round < step.repeat; round++) await play(player, step.steps)
    else if (step.tokens !== undefined) player.tokens += step.tokens
    else if (step.send !== undefined || step.effect !== undefined) player.expect(step)
    else {
      player.expectNothingMore()
      if (step.receive !== undefined) player.receive(step.receive)
      else player.happen(step.happen)
      // What follows by itself: promises, and the turns that a stream leaves to others.
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    }
  }
}

const SUPPORTED = ['streams', 'input streams', 'batches', 'ahead']

for (const file of readdirSync(new URL('transcripts/', PROTOCOL)).filter((name) => name.endsWith('.json'))) {
  const transcript = read(`transcripts/${file}`)
  const skip = transcript.needs.includes('shared memory') && 'it needs arenas: arenas.test.mjs has some'
  test(`${file}: ${transcript.about}`, { skip }, async () => {
    assert.ok(transcript.needs.every((need) => SUPPORTED.includes(need)))
    const player = new Player(transcript)
    await play(player, transcript.steps)
    player.expectNothingMore()
  })
}

for (const [ending, steps] of [
  [
    'arrives and ends',
    [
      { receive: { lane: 'data', kind: 'CHUNK', seq: 1, payload_hex: '01' } },
      { effect: { run: { seq: 1, function: 'add', input: [1] } } },
      { happen: { return: { seq: 1, value: 1 } } },
      { send: { lane: 'data', kind: 'RESULT', seq: 1, payload: 1 } },
    ],
  ],
  [
    'is cancelled',
    [
      { receive: { lane: 'control', kind: 'CANCEL', seq: 1, body: { reason: 'stop' } } },
      { send: { lane: 'data', kind: 'ERROR', seq: 1, body: { code: 'CANCELLED' } } },
    ],
  ],
]) {
  test(`a STOP waits until a call whose chunks are under way ${ending}`, async () => {
    const start = read('transcripts/stop-idle.json').steps.slice(0, 5)
    const player = new Player({ functions: ['add'] })
    await play(player, [
      ...start,
      {
        receive: {
          lane: 'data',
          kind: 'CALL',
          seq: 1,
          body: { function: 'add' },
          flags: ['CRITICAL', 'MORE'],
          payload_hex: '020000000000000091',
        },
      },
      { receive: { lane: 'data', kind: 'STOP', seq: 0, body: { reason: 'close' } } },
      ...steps,
      { effect: { shutdown: {} } },
    ])
    player.expectNothingMore()
  })
}
