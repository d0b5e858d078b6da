// Large payloads in shared memory: nothing is lost, nothing changes under a reader, and all of it comes back.

import assert from 'node:assert/strict'
import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { release } from 'ganger'
import { eventually, failure, leaveNothing, open, script, workers } from './support.mjs'

leaveNothing()

const THRESHOLD = 128 * 1024
const MIB = 1 << 20
const both = { Node: { node: workers('memory.mjs') }, Python: { python: workers('memory.py') } }
const used = (pool) => pool.stats().sharedMemory.used

/** Bytes that say where they belong. */
function pattern(size, seed = 0) {
  const bytes = Buffer.allocUnsafeSlow(size)
  const numbers = new Uint32Array(bytes.buffer, 0, Math.floor(size / 4))
  for (let index = 0; index < numbers.length; index++) numbers[index] = index * 2654435761 + seed
  bytes.fill(seed, numbers.length * 4)
  return bytes
}

/** Memory behind the arena that the only worker leaves results in. */
async function resultBytes(pool) {
  const folder = `/proc/${pool.stats().details[0].pid}/fd`
  const fd = readdirSync(folder).find((name) => target(`${folder}/${name}`).includes('ganger-results'))
  return statSync(`${folder}/${fd}`).blocks * 512
}

function target(path) {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

for (const [language, worker] of Object.entries(both)) {
  for (const sharedMemory of [undefined, '1mib', 0])
    test(`${language}: payloads of all sizes come back as they went, with ${sharedMemory ?? 'enough'} to share`, async (t) => {
      const pool = open(t, { ...worker, sharedMemory })
      const sizes = [0, 1, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, MIB - 1, MIB, MIB + 1, 5_000_003]
      for (const size of [...sizes, ...(sharedMemory === undefined ? [64 * MIB] : [])]) {
        const bytes = pattern(size, size)
        const echoed = await pool.call('echo', bytes)
        assert.ok(Buffer.isBuffer(echoed) && echoed.equals(bytes), `${size}`)
        release(echoed)
        await eventually(() => used(pool) === 0)
      }
      const { refused, size } = pool.stats().sharedMemory
      if (sharedMemory === undefined) assert.equal(refused, 0)
      else assert.deepEqual([refused, size], sharedMemory === 0 ? [0, 0] : [2, MIB], 'each payload counts once')
      await eventually(() => used(pool) === 0)
    })

  test(`${language}: values that are encoded come back as they went`, async (t) => {
    const pool = open(t, worker)
    const value = Array.from({ length: 20_000 }, (_, index) => ({ index, text: `row ${index}` }))
    const { list } = await pool.call('nested', { size: MIB, byte: 7 })
    assert.deepEqual(await pool.call('echo', value), value)
    assert.ok(list[0].equals(Buffer.alloc(MIB, 7)) && list[1] === 'x'.repeat(MIB))
    assert.equal(release(list[0]), false, 'a part of a value is its own')
    assert.equal(list[0].length, MIB)
    await eventually(() => used(pool) === 0)
  })

  for (const sharedMemory of [undefined, '1mib'])
    test(`${language}: many calls at once, with ${sharedMemory ?? 'enough'} to share`, async (t) => {
      const pool = open(t, { ...worker, workers: 2, concurrency: 4, sharedMemory })
      const inputs = Array.from({ length: 60 }, (_, index) => pattern(THRESHOLD - 2 + index * 7001, index))
      const echoed = await Promise.all(inputs.map((input) => pool.call('echo', input)))
      for (const [index, bytes] of echoed.entries()) assert.ok(bytes.equals(inputs[index]), `${index}`)
      assert.equal(pool.stats().sharedMemory.refused > 0, sharedMemory !== undefined)
    })

  test(`${language}: a result stays as it is while it is held, and may be changed`, async (t) => {
    const pool = open(t, worker)
    const held = []
    for (let call = 0; call < 8; call++) held.push(await pool.call('echo', pattern(MIB, call)))
    for (const [call, bytes] of held.entries()) assert.ok(bytes.equals(pattern(MIB, call)), `${call}`)
    for (const bytes of held) bytes.fill(1)
    const next = await pool.call('echo', pattern(MIB, 99))
    assert.ok(held.every((bytes) => bytes.equals(Buffer.alloc(MIB, 1))) && next.equals(pattern(MIB, 99)))
  })

  test(`${language}: an input is copied before call returns`, async (t) => {
    const pool = open(t, worker)
    const input = pattern(MIB)
    const call = pool.call('stubborn', input)
    input.fill(0)
    assert.ok((await call).equals(pattern(MIB)))
  })

  test(`${language}: an input of many calls lies there once, and each call has it as it was`, async (t) => {
    const pool = open(t, { ...worker, workers: 2 })
    const input = pattern(MIB)
    const first = Array.from({ length: 6 }, () => pool.call('echo', input))
    const taken = used(pool)
    assert.ok(taken >= MIB && taken < 2 * MIB, `${taken} bytes`)
    input.fill(7)
    const second = Array.from({ length: 6 }, () => pool.call('echo', input))
    assert.ok(used(pool) >= 2 * MIB)
    const results = await Promise.all([...first, ...second])
    for (const [index, bytes] of results.entries()) {
      assert.ok(bytes.equals(index < 6 ? pattern(MIB) : input), `${index}`)
      // Nobody else has what is written to it, whoever shares its memory; and a call that comes now gets what the input is now.
      bytes.fill(index)
      assert.ok((await pool.call('echo', input)).equals(input), `${index}`)
    }
    assert.ok(results.every((bytes, index) => bytes.equals(Buffer.alloc(MIB, index))))
  })

  test(`${language}: a worker that dies with a large input gives it back`, async (t) => {
    const pool = open(t, worker)
    for (let call = 0; call < 3; call++) {
      const error = await failure(pool.call('kill', pattern(MIB)))
      assert.equal(error.code, 'WORKER_CRASHED')
    }
    await eventually(() => used(pool) === 0)
  })

  test(`${language}: a second attempt reads the same block`, async (t) => {
    const pool = open(t, { ...worker, sharedMemory: '2mib' })
    const call = pool.call('once', pattern(MIB + 5), { idempotent: true })
    const taken = used(pool)
    assert.ok(taken >= MIB + 5)
    const result = await call
    assert.ok(result.equals(pattern(MIB + 5)))
    assert.equal(pool.stats().retried, 1)
    assert.equal(pool.stats().sharedMemory.refused, 0)
    release(result)
    await eventually(() => used(pool) === 0)
  })

  test(`${language}: what comes after its call timed out is given back`, async (t) => {
    const pool = open(t, { ...worker, sharedMemory: '16mib' })
    await pool.warm()
    for (let call = 0; call < 14; call++) {
      const error = await failure(pool.call('stubborn', pattern(MIB), { timeout: 20 }))
      assert.equal(error.code, 'TIMEOUT')
    }
    await eventually(() => pool.stats().busy === 0 && used(pool) === 0)
    assert.equal(pool.stats().crashed, 0)
    // Fourteen that were not given back would be as many megabytes.
    assert.ok((await resultBytes(pool)) <= 4 * MIB, `${await resultBytes(pool)}`)
  })

  test(`${language}: a result outlives its worker and its pool`, async (t) => {
    const pool = open(t, worker)
    const first = await pool.call('echo', pattern(MIB, 1))
    process.kill(await pool.call('pid'), 'SIGKILL')
    await eventually(() => pool.stats().crashed === 1)
    const second = await pool.call('echo', pattern(MIB, 2))
    await pool.close()
    assert.ok(first.equals(pattern(MIB, 1)) && second.equals(pattern(MIB, 2)))
    first.fill(3)
    assert.equal(release(first), true)
    assert.ok(second.equals(pattern(MIB, 2)))
  })

  test(`${language}: release empties every view of a result, once`, async (t) => {
    const pool = open(t, worker)
    const bytes = await pool.call('made', { size: MIB, byte: 5 })
    const part = bytes.subarray(10, 20)
    assert.equal(part[0], 5)
    assert.equal(release(bytes), true)
    assert.deepEqual([bytes.length, part.length, release(bytes), release(part)], [0, 0, false, false])
    const error = await failure(pool.call('echo', bytes))
    assert.deepEqual([error.code, error.function], ['INVALID_INPUT', 'echo'])
    assert.match(error.message, /released/)
    const own = Buffer.from('own')
    assert.equal(release(own), false)
    assert.equal(own.toString(), 'own')
  })

  for (const sharedMemory of [undefined, 0])
    test(`${language}: what is made in place is taken by its call, with ${sharedMemory ?? 'enough'} to share`, async (t) => {
      const pool = open(t, { ...worker, sharedMemory })
      const input = pool.alloc(MIB)
      const numbers = new Uint32Array(input.buffer)
      assert.deepEqual([input.length, numbers.length], [MIB, MIB / 4])
      input.set(pattern(MIB, 4))
      assert.equal(used(pool), sharedMemory === 0 ? 0 : MIB)
      const call = pool.call('stubborn', input)
      assert.deepEqual([input.length, numbers.length], [0, 0])
      numbers[0] = 1
      const again = await failure(pool.call('echo', input))
      assert.equal(again.code, 'INVALID_INPUT')
      assert.match(again.message, /given to a call/)
      const result = await call
      assert.ok(result.equals(pattern(MIB, 4)))
      result.fill(0)
      release(result)
      await eventually(() => used(pool) === 0)
    })

  test(`${language}: any view of all of it is it, and one of a part is copied`, async (t) => {
    const pool = open(t, worker)
    for (const whole of [(bytes) => new DataView(bytes.buffer), (bytes) => bytes.buffer]) {
      const bytes = pool.alloc(MIB).fill(6)
      assert.deepEqual(await pool.call('about', whole(bytes)), [MIB, 6, 6])
      assert.equal(bytes.length, 0)
    }
    const bytes = pool.alloc(MIB).fill(7)
    for (const part of [bytes.subarray(1), bytes.subarray(0, MIB - 1)])
      assert.deepEqual(await pool.call('about', part), [MIB - 1, 7, 7])
    assert.deepEqual(await open(t, worker).call('about', bytes), [MIB, 7, 7], 'of another pool')
    assert.ok(bytes.equals(Buffer.alloc(MIB, 7)))
    assert.equal(release(bytes), true)
    await eventually(() => used(pool) === 0)
  })

  test(`${language}: a call that cannot be made takes nothing`, async (t) => {
    const pool = open(t, worker)
    const bytes = pool.alloc(MIB).fill(8)
    for (const options of [{ timeout: -1 }, { signal: AbortSignal.abort() }])
      await failure(pool.call('about', bytes, options))
    assert.deepEqual(await pool.call('about', bytes), [MIB, 8, 8])
  })

  test(`${language}: broadcast takes it for all workers, and each result is one's own`, async (t) => {
    const pool = open(t, { ...worker, workers: 2 })
    await pool.warm()
    const outcomes = await pool.broadcast('stubborn', pool.alloc(MIB).fill(9))
    const results = outcomes.map(({ value }) => value)
    assert.equal(results.length, 2)
    results[0].fill(1)
    assert.ok(results[1].equals(Buffer.alloc(MIB, 9)))
    for (const result of results) release(result)
    await eventually(() => used(pool) === 0)
  })
}

test('a Node function may change its input, and nobody else sees it', async (t) => {
  const pool = open(t, both.Node)
  const input = pattern(MIB)
  assert.ok((await pool.call('change', input)).equals(Buffer.alloc(MIB, 9)))
  assert.ok(input.equals(pattern(MIB)))
})

test('what a Python function keeps of its input does not change when the app changes the result', async (t) => {
  const pool = open(t, both.Python)
  for (const fill of [1, 2, 3]) {
    const result = await pool.call('keep', pool.alloc(MIB).fill(fill))
    assert.equal(result[0], fill)
    result.fill(99)
    release(result)
  }
  assert.deepEqual(await pool.call('kept_bytes'), [1, 2, 3])
  assert.ok(used(pool) >= 3 * MIB)
})

test('a Python function gets what was made in place as a memoryview, other bytes as bytes', async (t) => {
  for (const sharedMemory of [undefined, 0]) {
    const pool = open(t, { ...both.Python, sharedMemory })
    assert.equal(await pool.call('kind', pool.alloc(MIB)), 'memoryview')
    assert.equal(await pool.call('kind', pool.alloc(10)), 'memoryview')
    assert.equal(await pool.call('kind', Buffer.alloc(MIB)), 'bytes')
  }
})

test('alloc wants a number of bytes, and says so', (t) => {
  const pool = open(t, both.Node)
  for (const bytes of [-1, 1.5, Number.NaN, '5', undefined])
    assert.throws(() => pool.alloc(bytes), { code: 'INVALID_INPUT' })
  assert.throws(() => pool.alloc(2 ** 50), RangeError)
  assert.equal(pool.alloc(0).length, 0)
})

test('a payload that is longer than allowed is refused, also in shared memory', async (t) => {
  const pool = open(t, { ...both.Node, maxPayload: '1mib' })
  assert.equal((await failure(pool.call('echo', pool.alloc(MIB + 1)))).code, 'PAYLOAD_TOO_LARGE')
  assert.equal((await failure(pool.call('made', { size: MIB + 1, byte: 1 }))).code, 'PAYLOAD_TOO_LARGE')
  assert.equal((await pool.call('made', { size: MIB, byte: 1 })).length, MIB)
  await eventually(() => used(pool) === 0)
})

const collecting = { nodeArgs: ['--expose-gc'] }
const turn = 'const turn = () => new Promise((resolve) => setTimeout(resolve, 20));'

test('what nobody holds any more is collected and given back', async () => {
  const { code, out, err } = await script(
    `${turn}
    const pool = new Pool({ python: here + 'memory.py', workers: 1 })
    const used = () => pool.stats().sharedMemory.used
    await (async () => {
      const unused = pool.alloc(1 << 20)
      const result = await pool.call('echo', pool.alloc(1 << 20).fill(4))
      console.log(unused.length, result[0], used() >= 2 << 20)
    })()
    for (let n = 0; used() > 0 && n < 500; n++) { gc(); await turn() }
    console.log(used())
    await pool.close()`,
    collecting,
  ).ended
  assert.deepEqual([code, err, out], [0, '', '1048576 4 true\n0\n'])
})

test('a result is readable after its pool was collected', async () => {
  const { code, out, err } = await script(
    `${turn}
    const results = await (async () => {
      const pool = new Pool({ node: here + 'memory.mjs', workers: 1 })
      const results = [await pool.call('made', { size: 1 << 20, byte: 5 }), pool.alloc(1 << 20).fill(6)]
      await pool.close()
      return results
    })()
    for (let n = 0; n < 10; n++) { gc(); await turn() }
    console.log(...results.map((bytes) => bytes.every((byte) => byte === bytes[0]) && bytes[0]))`,
    collecting,
  ).ended
  assert.deepEqual([code, err, out], [0, '', '5 6\n'])
})

test('two hundred large calls leave no mapping and no descriptor', async () => {
  const { code, out, err } = await script(
    `${turn}
    import { readFileSync, readdirSync } from 'node:fs'
    const maps = () => readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('memfd:ganger')).length
    const counts = () => [maps(), readdirSync('/proc/self/fd').length]
    await (async () => {
      const pool = new Pool({ node: here + 'memory.mjs', workers: 1 })
      const round = async (calls) => {
        for (let call = 0; call < calls; call++) await pool.call('echo', call % 2 ? pool.alloc(1 << 20) : Buffer.alloc(1 << 20))
        for (let n = 0; pool.stats().sharedMemory.used > 0 && n < 500; n++) { gc(); await turn() }
      }
      await round(5)
      const before = counts()
      await round(200)
      console.log(JSON.stringify(counts()) === JSON.stringify(before) || [before, counts()])
      await pool.close()
    })()
    for (let n = 0; maps() > 0 && n < 500; n++) { gc(); await turn() }
    console.log(maps())`,
    collecting,
  ).ended
  assert.deepEqual([code, err, out], [0, '', 'true\n0\n'])
})

test('a thread that ends with large results in its hands takes nobody along', async () => {
  const { code, out, err } = await script(`
    import { Worker } from 'node:worker_threads'
    const source = \`
      import { Pool } from 'ganger'; import { parentPort } from 'node:worker_threads'
      const pool = new Pool({ node: \${JSON.stringify(here + 'memory.mjs')}, workers: 1 })
      globalThis.held = []
      setInterval(() => held.length > 6 && parentPort.postMessage('on'), 20)
      for (;;) held.push(await pool.call('echo', pool.alloc(1 << 20)), pool.alloc(1 << 20))\`
    for (let round = 0; round < 4; round++) {
      const thread = new Worker(source, { eval: true })
      await new Promise((resolve, reject) => thread.once('message', resolve).once('error', reject))
      await thread.terminate()
    }
    console.log('alive')`).ended
  assert.deepEqual([code, out, err], [0, 'alive\n', ''])
})
