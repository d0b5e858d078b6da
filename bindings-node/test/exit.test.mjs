// How a process with pools ends, and what it leaves: nothing.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { eventually, killed, leaveNothing, lives, scratch, script, workersOf } from './support.mjs'

leaveNothing()

const node = "new Pool({ node: here + 'node.mjs', workers: 2 })"

test('a host without descriptors fails calls instead of hanging, and heals', async () => {
  const { code, out, err } = await script(
    `
    import { closeSync, openSync } from 'node:fs'
    const warm = ${node}
    await warm.call('nothing')
    await warm.close()
    const pool = ${node}
    const taken = []
    try { for (;;) taken.push(openSync('/dev/null')) } catch {}
    const error = await pool.call('nothing').catch((error) => error)
    for (const fd of taken) closeSync(fd)
    console.log(error.code)
    const until = Date.now() + 25_000
    let healed
    while (healed === undefined && Date.now() < until) healed = await pool.call('nothing').then(() => 'healed', () => undefined)
    console.log(healed)
    await pool.close()`,
    { limits: 'ulimit -n 64' },
  ).ended
  assert.deepEqual([code, out], [0, 'START_FAILED\nhealed\n'], err)
})

test('a pool that is never used does not keep the process', async () => {
  assert.deepEqual(await script(`${node}; console.log('end')`).ended, { code: 0, signal: null, out: 'end\n', err: '' })
})

test('an idle pool that was not closed does not keep the process, and its workers go', async () => {
  const { code, out, err } = await script(`const pool = ${node}; console.log(await pool.call('pid'))`).ended
  assert.deepEqual([code, err], [0, ''])
  await killed(Number(out))
})

test('a pending call keeps the process until it is settled', async () => {
  const source = `const pool = ${node}; pool.call('sleep', 500).then((ms) => console.log('after', ms))`
  assert.deepEqual(await script(source).ended, { code: 0, signal: null, out: 'after 500\n', err: '' })
})

test('closing keeps the process until the workers are gone', async () => {
  const source = `const pool = ${node}; const pid = await pool.call('pid')
    pool.close().then(() => console.log(pid)); process.on('exit', () => process.stdout.write('exit '))`
  const { code, out } = await script(source).ended
  assert.equal(code, 0)
  const [pid] = out.match(/\d+/)
  assert.ok(!lives(Number(pid)))
})

test('listeners do not keep the process', async () => {
  const source = `const pool = ${node}; pool.on('worker:exit', () => {}); console.log(await pool.call('echo', 1))`
  assert.equal((await script(source).ended).code, 0)
})

test('await using closes the pool where the language has it', { skip: !supportsUsing() }, async () => {
  const source = `{ await using pool = ${node}; await pool.call('echo', 1) } console.log('closed')`
  assert.equal((await script(source).ended).out, 'closed\n')
})

test('process.exit with a running call leaves no worker', async () => {
  const source = `const pool = ${node}; console.log(await pool.call('pid')); pool.call('spin'); pool.call('sleep', 60000)
    setTimeout(() => process.exit(3), 200)`
  const { code, out } = await script(source).ended
  assert.equal(code, 3)
  await killed(Number(out))
})

test('an uncaught error in the app leaves no worker and prints once', async () => {
  const source = `const pool = ${node}; console.log(await pool.call('pid')); pool.call('spin').catch(() => {})
    throw new Error('of the app')`
  const { code, out, err } = await script(source).ended
  assert.equal(code, 1)
  assert.equal(err.match(/of the app/g).length, 2, 'the line of source and the error')
  await killed(Number(out))
})

test('a rejected call that nobody handles ends the app as any rejection does', async () => {
  const { code, err } = await script(`${node}.call('fail', 'nobody listens')`).ended
  assert.equal(code, 1)
  assert.match(err, /nobody listens/)
})

test('Ctrl-C ends the host, and the workers with it', async () => {
  const { child, printed, ended } = script(
    `const pool = ${node}; console.log(await pool.call('pid')); await pool.call('spin')`,
  )
  await eventually(() => printed.out.endsWith('\n'))
  child.kill('SIGINT')
  assert.equal((await ended).signal, 'SIGINT')
  await killed(Number(printed.out))
})

test('Ctrl-C with eight calls under way does not wait for them, and workers say nothing', async () => {
  const source = `const pool = new Pool({ python: here + 'python.py', workers: 4 }); await pool.warm()
    const calls = Array.from({ length: 8 }, () => pool.call('sleep', 3_600_000))
    while (pool.stats().busy < 4) await new Promise((resolve) => setTimeout(resolve, 10))
    console.log(...pool.stats().details.map((worker) => worker.pid), 'under way')
    await Promise.all(calls)`
  const { child, printed, ended } = script(source, { group: true })
  await eventually(() => printed.out.includes('under way'))
  // As a terminal does it: everyone in the group is told.
  process.kill(-child.pid, 'SIGINT')
  const { signal, err } = await ended
  assert.deepEqual([signal, err], ['SIGINT', ''])
  await Promise.all(printed.out.match(/\d+/g).map((pid) => killed(Number(pid))))
})

test('an hour-long call holds up the end for the close timeout', async () => {
  const source = `const pool = new Pool({ python: here + 'python.py', workers: 1, closeTimeout: 500 })
    const call = pool.call('sleep', 3_600_000).catch((error) => console.log(error.code))
    while (pool.stats().busy < 1) await new Promise((resolve) => setTimeout(resolve, 10))
    console.log(pool.stats().details[0].pid)
    await pool.close()
    await call`
  const { code, out, err } = await script(source).ended
  assert.deepEqual([code, err, out.split('\n')[1]], [0, '', 'POOL_CLOSED'])
  await killed(Number.parseInt(out, 10))
})

test('SIGKILL of the host leaves nothing: idle workers, busy loops, one inside C, a grandchild, a socket', async (t) => {
  const runtime = scratch(t, 'runtime')
  mkdirSync(runtime, { recursive: true })
  const { child, printed, ended } = script(`
    process.env.XDG_RUNTIME_DIR = ${JSON.stringify(runtime)}
    const idle = new Pool({ node: here + 'node.mjs', workers: 2, endpoint: true }), busy = ${node}, parent = ${node}
    const inC = new Pool({ python: here + 'heavy.py', workers: 1 })
    const python = new Pool({ python: here + 'python.py', workers: 1 })
    console.log(await idle.call('pid'), await busy.call('pid'), await parent.call('pid'), await parent.call('grandchild'),
      await python.call('pid'), await inC.call('nap', 1), 'ready')
    busy.call('spin'); python.call('spin'); inC.call('busy', 1e6)
    setInterval(() => {}, 1000)`)
  await eventually(() => printed.out.includes('ready'))
  const pids = printed.out.match(/\d+/g).map(Number)
  assert.equal(pids.length, 6)
  assert.ok(pids.every(lives))
  assert.equal(readdirSync(runtime).length, 1)
  await eventually(() => workersOf(child.pid).length >= 5)
  child.kill('SIGKILL')
  await ended
  await Promise.all(pids.map(killed))
  await eventually(() => readdirSync(runtime).length === 0, 'no socket is left')
})

test('a pool that is dropped is terminated and warns once', async () => {
  const source = `
    async function forget(count) {
      for (let index = 0; index < count; index++) {
        const pool = new Pool({ node: here + 'node.mjs', workers: 1 })
        pool.on('worker:exit', () => {})
        pids.push(await pool.call('pid'))
      }
    }
    const pids = []
    let warnings = 0
    process.on('warning', (warning) => { if (/dropped without close/.test(warning.message)) warnings++ })
    await forget(3)
    const lives = (pid) => { try { process.kill(pid, 0); return true } catch { return false } }
    for (let round = 0; round < 500 && (pids.some(lives) || warnings === 0); round++) {
      globalThis.gc()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    console.log(pids.filter(lives).length, warnings)`
  const { code, out } = await script(source, { nodeArgs: ['--expose-gc'] }).ended
  assert.deepEqual([code, out], [0, '0 1\n'])
})

test('a dropped pool with a pending call lives until the call is settled', async () => {
  const source = `
    const answer = new Pool({ node: here + 'node.mjs', workers: 1 }).call('sleep', 500)
    const collect = setInterval(() => globalThis.gc(), 20)
    console.log(await answer)
    clearInterval(collect)`
  const { out } = await script(source, { nodeArgs: ['--expose-gc'] }).ended
  assert.equal(out, '500\n')
})

function supportsUsing() {
  try {
    new Function('return async () => { await using x = null }')
    return true
  } catch {
    return false
  }
}
