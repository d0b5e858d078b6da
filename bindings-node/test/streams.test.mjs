// Streams, both ways, and progress: order, backpressure, early ends, and that nothing is left behind.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { Stream } from 'ganger'
import { eventually, failure, leaveNothing, open, record, script, workers } from './support.mjs'

leaveNothing()

const streams = { node: workers('streams.mjs') }
const WINDOW = 64
const MIB = 2 ** 20

async function taken(stream, count = Number.POSITIVE_INFINITY) {
  const items = []
  while (items.length < count) {
    const { done, value } = await stream.next()
    if (done) break
    items.push(value)
  }
  return items
}

const range = (to, from = 0) => Array.from({ length: to - from }, (_, n) => n + from)

/** The worker is free again, without having been replaced. */
async function free(pool, pid) {
  await eventually(() => pool.stats().running === 0, 'a free worker')
  assert.equal(await pool.call('pid'), pid)
}

test('items come in order, then what the function returned', async (t) => {
  const pool = open(t, streams)
  const stream = pool.stream('count', 1000)
  assert.ok(stream instanceof Stream && stream.function === 'count' && stream.id > 0)
  assert.deepEqual(await taken(stream, 1000), range(1000))
  assert.deepEqual(await stream.next(), { done: true, value: 'counted' })
  assert.deepEqual(await stream.next(), { done: true, value: undefined })
  const items = []
  for await (const item of pool.stream('count', 300)) items.push(item)
  assert.deepEqual(items, range(300))
  assert.deepEqual(await taken(pool.stream('count', 0)), [])
  assert.deepEqual(await pool.call('count', 300), range(300), 'who calls it gets the list')
})

test('items may be asked for ahead', async (t) => {
  const stream = open(t, streams).stream('count', 3)
  const asked = range(5).map(() => stream.next())
  assert.deepEqual(
    (await Promise.all(asked)).map(({ value }) => value),
    [0, 1, 2, 'counted', undefined],
  )
})

test('a million items, five read: the worker is free, and was no further than its window', async (t) => {
  const pool = open(t, streams)
  const pid = await pool.call('pid')
  const items = []
  for await (const item of pool.stream('count', 1_000_000)) if (items.push(item) === 5) break
  assert.deepEqual(items, range(5))
  await free(pool, pid)
  const { made, closed } = await pool.call('seen')
  assert.ok(made <= WINDOW, `${made} were made`)
  assert.equal(closed, 1, 'its finally ran')
})

test('who reads slowly holds up the function, but nothing else', async (t) => {
  const pool = open(t, { ...streams, concurrency: 8 })
  const stream = pool.stream('count', 1_000_000)
  await taken(stream, 1)
  for (let read = 1; read <= 200; read++) {
    assert.equal(await pool.call('echo', read), read)
    const { made } = await pool.call('seen')
    assert.ok(made <= WINDOW, `${made} were made of one read`)
    await taken(stream, 1)
  }
  await stream.return()
})

test('every way out frees the worker and closes the function', async (t) => {
  const pool = open(t, streams)
  const pid = await pool.call('pid')
  const controller = new AbortController()
  const ways = {
    return: async (stream) => assert.deepEqual(await stream.return(7), { done: true, value: 7 }),
    dispose: (stream) => stream[Symbol.asyncDispose](),
    cancel: async (stream) => {
      const waiting = failure(stream.next())
      stream.cancel('enough')
      const { code, cause, name } = await waiting
      assert.deepEqual([code, cause, name], ['CANCELLED', 'enough', 'AbortError'])
    },
    abort: async (stream) => {
      const waiting = failure(stream.next())
      controller.abort('stop')
      const { code, cause } = await waiting
      assert.deepEqual([code, cause], ['CANCELLED', 'stop'])
    },
    throw: (stream) =>
      assert.rejects(async () => {
        for await (const _ of stream) throw new Error('mine')
      }, /mine/),
  }
  for (const [way, leave] of Object.entries(ways)) {
    const stream = pool.stream('ticking', null, { signal: way === 'abort' ? controller.signal : undefined })
    if (way !== 'throw') await taken(stream, 1)
    await leave(stream)
    assert.deepEqual(await stream.next(), { done: true, value: undefined }, way)
    await free(pool, pid)
    assert.equal((await pool.call('seen')).closed, 1, way)
  }
})

test('an abort drops what was not read: a stream that was cut off never looks complete', async (t) => {
  const pool = open(t, streams)
  const controller = new AbortController()
  const stream = pool.stream('count', 20, { signal: controller.signal })
  await taken(stream, 2)
  await eventually(() => pool.stats().running === 0, 'the end of the call')
  controller.abort()
  assert.equal((await failure(stream.next())).code, 'CANCELLED')
  const late = pool.stream('count', 3, { signal: controller.signal })
  assert.equal((await failure(late.next())).code, 'CANCELLED')
  assert.equal(late.id, 0)
})

test('an error comes after the items before it, and shows who waits', async (t) => {
  const pool = open(t, streams)
  const stream = pool.stream('failing', 3)
  assert.deepEqual(await taken(stream, 3), [0, 1, 2])
  async function reads() {
    await stream.next()
  }
  const error = await failure(reads())
  assert.deepEqual([error.code, error.cause.type, error.cause.message], ['CALL_FAILED', 'RangeError', 'out of tokens'])
  assert.match(error.stack, /reads/)
  assert.deepEqual(await stream.next(), { done: true, value: undefined })
  const odd = pool.stream('odd')
  assert.deepEqual(await taken(odd, 1), [1])
  const { code, details } = await failure(odd.next())
  assert.deepEqual([code, details.path], ['INVALID_RESULT', '$.rows[0]'])
})

test('what is wrong with the call is told when the first item is asked for', async (t) => {
  const pool = open(t, streams)
  for (const [stream, code] of [
    [pool.stream('nobody'), 'NO_SUCH_FUNCTION'],
    [pool.stream('count', () => {}), 'INVALID_INPUT'],
    [pool.stream('count', 1, { timout: 1 }), 'INVALID_OPTION'],
    [pool.stream('sum', 1, { inputs: 'text' }), 'INVALID_OPTION'],
    [pool.stream(3), 'INVALID_INPUT'],
  ]) {
    assert.equal((await failure(stream.next())).code, code)
    assert.deepEqual(await stream.next(), { done: true, value: undefined })
  }
  const one = pool.stream('echo', 'one value')
  assert.deepEqual(await one.next(), { done: true, value: 'one value' })
  await pool.close()
  assert.equal((await failure(pool.stream('count', 1).next())).code, 'POOL_CLOSED')
})

test('a worker that is killed in the middle ends the stream after its items', async (t) => {
  const pool = open(t, streams)
  const stream = pool.stream('dying', 3)
  assert.deepEqual(await taken(stream, 3), [0, 1, 2])
  const error = await failure(stream.next())
  assert.deepEqual([error.code, error.signal, error.attempts], ['WORKER_CRASHED', 'SIGKILL', 1])
  assert.equal(await pool.call('echo', 1), 1)
})

test('clocks end a stream, and waiting in the queue counts as of any call', async (t) => {
  const pool = open(t, streams)
  const running = pool.stream('ticking', null, { timeout: 2000 })
  await taken(running, 1)
  const waiting = pool.stream('count', 3, { queueTimeout: 1 })
  assert.equal((await failure(waiting.next())).code, 'QUEUE_TIMEOUT')
  assert.equal((await failure(running.next())).code, 'TIMEOUT')
  assert.deepEqual(await taken(pool.stream('count', 3)), [0, 1, 2])
})

for (const sharedMemory of [undefined, 0]) {
  test(`large items, ${sharedMemory === 0 ? 'without' : 'with'} shared memory: each is its own, and memory stays flat`, async (t) => {
    const pool = open(t, { ...streams, sharedMemory })
    let n = 0
    let most = 0
    const before = process.memoryUsage.rss()
    for await (const block of pool.stream('blocks', { count: 300, size: MIB })) {
      assert.equal(block.length, MIB)
      assert.ok(block[0] === n % 256 && block[MIB - 1] === n % 256, `block ${n}`)
      n++
      most = Math.max(most, process.memoryUsage.rss() - before)
    }
    assert.equal(n, 300)
    assert.ok(most < 200 * MIB, `${most} bytes more at most`)
  })
}

test('who does not read holds little memory', async (t) => {
  const pool = open(t, { ...streams, sharedMemory: 0 })
  const stream = pool.stream('blocks', { count: 10_000, size: 64 * 1024 })
  await taken(stream, 1)
  const before = process.memoryUsage.rss()
  await eventually(() => pool.calls().length === 1)
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.ok(process.memoryUsage.rss() - before < 50 * MIB)
  await stream.return()
})

test('streams of Node read it, and pipelines end it', async (t) => {
  const pool = open(t, streams)
  const pid = await pool.call('pid')
  assert.deepEqual(await Readable.from(pool.stream('count', 200)).toArray(), range(200))
  const doubled = new Transform({ objectMode: true, transform: (item, _, done) => done(null, 2 * item) })
  const all = []
  await pipeline(pool.stream('count', 100), doubled, async (items) => {
    for await (const item of items) all.push(item)
  })
  assert.deepEqual(
    all,
    range(100).map((n) => 2 * n),
  )
  await assert.rejects(
    pipeline(pool.stream('count', 1_000_000), async (items) => {
      for await (const item of items) if (item === 10) throw new Error('full')
    }),
    /full/,
  )
  await free(pool, pid)
})

test('a fast stream leaves the event loop its turns', async (t) => {
  const pool = open(t, streams)
  let turns = 0
  const ticks = setInterval(() => turns++, 1)
  let items = 0
  for await (const _ of pool.stream('count', 50_000)) items++
  clearInterval(ticks)
  assert.equal(items, 50_000)
  assert.ok(turns >= 5, `${turns} turns`)
})

test('many streams at once, and calls beside them', async (t) => {
  const pool = open(t, { ...streams, workers: 2, concurrency: 32 })
  const sums = range(20).map(async (n) => {
    let sum = 0
    for await (const item of pool.stream('count', 100 * n)) sum += item
    return sum
  })
  const echoes = range(200).map((n) => pool.call('echo', n))
  assert.deepEqual(await Promise.all(echoes), range(200))
  assert.deepEqual(
    await Promise.all(sums),
    range(20).map((n) => range(100 * n).reduce((sum, item) => sum + item, 0)),
  )
})

test('inputs come from lists, generators, streams', async (t) => {
  const pool = open(t, streams)
  async function* later() {
    yield* range(100)
  }
  function* promises() {
    for (const n of range(100)) yield Promise.resolve(n)
  }
  const web = new ReadableStream({
    start(controller) {
      for (const n of range(100)) controller.enqueue(n)
      controller.close()
    },
  })
  for (const inputs of [range(100), new Set(range(100)), later(), promises(), Readable.from(range(100)), web])
    assert.equal(await pool.call('sum', 5, { inputs }), 4955)
  assert.equal(await pool.call('sum', 5, { inputs: [] }), 5)
  assert.equal(await pool.call('sum', 5), 5, 'none given, none read')
  assert.equal(await pool.submit('sum', 1, { inputs: [2] }), 3)
})

test('both ways at once, each held up by its reader, calls beside', async (t) => {
  const pool = open(t, { ...streams, concurrency: 4 })
  let asked = 0
  let closed = 0
  function* endless() {
    try {
      for (;;) yield asked++
    } finally {
      closed++
    }
  }
  const stream = pool.stream('double', null, { inputs: endless() })
  assert.deepEqual(
    await taken(stream, 500),
    range(500).map((n) => 2 * n),
  )
  assert.equal(await pool.call('echo', 'beside'), 'beside')
  const before = asked
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.ok(asked <= 500 + 3 * WINDOW && asked - before <= 3 * WINDOW, `${asked} were asked for`)
  await stream.return()
  assert.equal(closed, 1, 'the source was closed')
  assert.equal(await pool.call('echo', 1), 1)
})

test('large items in both directions', async (t) => {
  const pool = open(t, streams)
  const sent = range(50).map((n) => Buffer.alloc(MIB, n))
  let n = 0
  for await (const block of pool.stream('double', null, { inputs: sent })) assert.ok(block.equals(sent[n++]))
  assert.equal(n, 50)
  const own = pool.alloc(MIB).fill(3)
  assert.ok((await pool.call('first', null, { inputs: [own] })).equals(Buffer.alloc(MIB, 3)))
  assert.equal(own.length, 0, 'given away')
})

for (const sharedMemory of [undefined, 0]) {
  test(`a lot both ways at once ${sharedMemory === 0 ? 'without' : 'with'} shared memory, calls and cancels beside`, async (t) => {
    const pool = open(t, { ...streams, concurrency: 4, sharedMemory })
    const pid = await pool.call('pid')
    let flowing = true
    async function beside() {
      let calls = 0
      for (; flowing; calls++) {
        assert.equal(await pool.call('echo', calls), calls)
        const ticking = pool.stream('ticking')
        await taken(ticking, 1)
        await ticking.return()
        await eventually(() => pool.stats().running === 1 || !flowing, 'the end of what was left')
      }
      return calls
    }
    const calls = beside()
    function* source() {
      const block = Buffer.alloc(MIB)
      for (let n = 0; n < 200; n++) yield block.fill(n)
    }
    let n = 0
    for await (const block of pool.stream('double', null, { inputs: source() })) {
      assert.ok(block.length === MIB && block[0] === n && block[MIB - 1] === n, `block ${n}`)
      n++
    }
    flowing = false
    assert.equal(n, 200)
    assert.ok((await calls) > 0)
    await free(pool, pid)
  })
}

test('a source that fails gives the call up, and its own error is told', async (t) => {
  const pool = open(t, streams)
  const pid = await pool.call('pid')
  const mine = new Error('no more')
  async function* broken() {
    yield 1
    throw mine
  }
  assert.equal(await failure(pool.call('sum', 0, { inputs: broken() })), mine)
  const stream = pool.stream('double', null, { inputs: broken() })
  assert.equal(await failure(taken(stream)), mine)
  let closed = false
  function* unsendable() {
    try {
      yield 1
      yield { rows: [() => {}] }
    } finally {
      closed = true
    }
  }
  const { code, details } = await failure(
    pool.call('first', 0, { inputs: unsendable() }).then(() => pool.call('sum', 0, { inputs: unsendable() })),
  )
  assert.deepEqual([code, details.path], ['INVALID_INPUT', '$.rows[0]'])
  assert.ok(closed)
  await free(pool, pid)
})

test('an item that does not fit fails the call with its path', async (t) => {
  const pool = open(t, streams)
  const error = await failure(pool.call('sum', 0, { inputs: [1, 'two'] }))
  assert.deepEqual([error.code, error.details.path], ['INVALID_INPUT', '$'])
})

test('when the call ends, what the items come from is closed', async (t) => {
  const pool = open(t, streams)
  const readable = new Readable({ objectMode: true, read() {} })
  readable.push(1)
  assert.equal(await pool.call('first', null, { inputs: readable }), 1)
  await eventually(() => readable.destroyed, 'a destroyed source')
  const signal = AbortSignal.timeout(50)
  let closed = false
  async function* waiting() {
    try {
      yield 1
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    } finally {
      closed = true
    }
  }
  assert.equal((await failure(pool.call('idle', null, { inputs: waiting(), signal }))).code, 'CANCELLED')
  await eventually(() => closed, 'a closed source')
})

test('progress is heard in the asynchronous context in which the call was made', async (t) => {
  const pool = open(t, streams)
  const storage = new AsyncLocalStorage()
  const heard = []
  const onProgress = () => heard.push(storage.getStore())
  const called = storage.run('call', () => pool.call('steps', 3, { onProgress }))
  const streamed = storage.run('stream', () => taken(pool.stream('stepping', 2, { onProgress })))
  await Promise.all([called, streamed])
  assert.deepEqual(heard.sort(), ['call', 'call', 'call', 'stream', 'stream'])
})

test('progress reaches the caller before the outcome', async (t) => {
  const pool = open(t, streams)
  const heard = []
  assert.equal(await pool.call('steps', 3, { onProgress: (progress) => heard.push(progress) }), 3)
  assert.deepEqual(heard, [
    { done: 1, total: 3, note: null },
    { done: 2, total: 3, note: null },
    { done: 3, total: 3, note: 'done' },
  ])
  heard.length = 0
  for await (const _ of pool.stream('stepping', 5, { onProgress: ({ done }) => heard.push(done) }));
  assert.deepEqual(heard, [1, 2, 3, 4, 5])
  const warnings = []
  const warn = (warning) => warnings.push(warning)
  process.on('warning', warn)
  const onProgress = () => {
    throw new Error('of mine')
  }
  assert.equal(await pool.call('steps', 1, { onProgress }), 1)
  await eventually(() => warnings.length > 0, 'a warning')
  process.off('warning', warn)
  assert.match(warnings[0].message, /progress threw: Error: of mine/)
})

test('a flood of progress keeps the last of it', async (t) => {
  const pool = open(t, streams)
  let last
  await pool.call('steps', 100_000, { onProgress: ({ done }) => (last = done) })
  assert.equal(last, 100_000)
})

test('a stream that nobody holds any more is given up', async () => {
  const { code, err, out } = await script(
    `
    const pool = new Pool({ node: here + 'streams.mjs', workers: 1 })
    const pid = await pool.call('pid')
    let closed = 0
    function* endless() { try { for (;;) yield 1 } finally { closed++ } }
    async function forget() {
      const stream = pool.stream('double', null, { inputs: endless() })
      await stream.next()
    }
    await forget()
    const until = Date.now() + 20_000
    while (pool.stats().running > 0 && Date.now() < until) { globalThis.gc(); await new Promise((resolve) => setTimeout(resolve, 10)) }
    console.log(pool.stats().running, closed, await pool.call('pid') === pid)
    await pool.close()`,
    { nodeArgs: ['--expose-gc'] },
  ).ended
  assert.deepEqual([code, out.trim()], [0, '0 1 true'], err)
})

test('who awaits an item is not forgotten, and an open stream keeps the process', async () => {
  const { code, err, out } = await script(
    `
    const pool = new Pool({ node: here + 'streams.mjs', workers: 1 })
    const collect = setInterval(() => globalThis.gc(), 5).unref()
    async function read() { for await (const item of pool.stream('count', 3)) console.log(item) }
    read().then(() => console.log('read'))`,
    { nodeArgs: ['--expose-gc'] },
  ).ended
  assert.deepEqual([code, out.trim().split('\n')], [0, ['0', '1', '2', 'read']], err)
})

test('events and listings know a stream as the call that it is', async (t) => {
  const pool = open(t, streams)
  const retries = record(pool, 'call:retry')
  const stream = pool.stream('ticking', null)
  await taken(stream, 1)
  const [{ id, fn }] = pool.calls()
  assert.deepEqual([id, fn], [stream.id, 'ticking'])
  const of = Object.fromEntries(pool.functions().map((it) => [it.name, [it.kind, it.inputs]]))
  assert.deepEqual(
    [of.count, of.sum, of.double, of.echo],
    [
      ['stream', null],
      ['value', { type: 'integer' }],
      ['stream', {}],
      ['value', null],
    ],
  )
  await stream.return()
  assert.deepEqual(retries, [])
})
