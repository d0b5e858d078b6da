// One Node peer, one case, one process: node hosts.mjs PEER CASE PARAMETERS, the parameters as JSON.
// Prints JSON lines {metric, value, unit, count}; the driver runs it under a time limit.
import { randomFillSync } from 'node:crypto'
import { chaos } from './chaos.mjs'
import { BLOCK } from './functions.mjs'
import { crash, living } from './kills.mjs'
import { POOLS } from './pools.mjs'
import { ask, done, emit, skip } from './telling.mjs'

const TINY = { a: 1 }
const WARM_UP_S = 0.4
// A neighbour's busy moment spoils one of them.
const SLICES = 5
// Items of a stream that show about how long more will take.
const FEW = 1000
// How long a pool may take to start the rest of its workers.
const STARTING_S = 5

const now = () => performance.now() / 1000
const sorted = (values) => values.toSorted((a, b) => a - b)
const median = (values) => sorted(values)[values.length >> 1]

/** Calls as long as `more` says so, at most `window` in flight, and tells how many there were. */
async function windowed({ call }, name, payload, window, more) {
  let count = 0
  const lane = async () => {
    while (more(count)) {
      count++
      await call(name, payload)
    }
  }
  await Promise.all(Array.from({ length: window }, lane))
  return count
}

const until =
  (seconds, end = now() + seconds) =>
  () =>
    now() < end
const times = (calls) => (count) => count < calls

/** How long each of as many calls as fit takes, of two at least. */
async function within(seconds, call, most = Infinity) {
  const took = []
  for (const end = now() + seconds; took.length < 2 || (now() < end && took.length < most); ) took.push(await call())
  return took
}

async function timed(call) {
  const begin = now()
  await call()
  return now() - begin
}

function cpu(before, calls) {
  const after = ask('cpu')
  if (before !== null && after !== null) emit('cpu', ((after - before) / calls) * 100_000, 's', calls)
}

const CASES = {
  async latency(peer, { seconds, calls }) {
    const call = () => timed(() => peer.call('noop', TINY))
    await within(WARM_UP_S, call)
    const before = ask('cpu')
    const took = await within(seconds, call, calls)
    cpu(before, took.length)
    emit('p50', median(took) * 1e6, 'µs', took.length)
    emit('p99', sorted(took)[Math.floor(took.length * 0.99)] * 1e6, 'µs', took.length)
  },
  async throughput(peer, { window, seconds }) {
    await windowed(peer, 'noop', TINY, window, until(WARM_UP_S))
    const before = ask('cpu')
    const rates = []
    let total = 0
    for (let slice = 0; slice < SLICES; slice++) {
      const begin = now()
      const count = await windowed(peer, 'noop', TINY, window, until(seconds / SLICES))
      rates.push(count / (now() - begin))
      total += count
    }
    cpu(before, total)
    emit('rate', median(rates), 'calls/s', total)
  },
  // First with an eye on memory, then on time; windowed only with a window.
  async echo(peer, { bytes, window, seconds }) {
    const data = randomFillSync(Buffer.allocUnsafeSlow(bytes))
    const lend = () => peer.lend?.(data) ?? data
    // The first call's is there before memory is watched, as that of peers is.
    let own = lend()
    const once = async (check) => {
      const given = own ?? lend()
      own = undefined
      const begin = now()
      const back = await peer.call('echo', given)
      const took = now() - begin
      if (check && Buffer.compare(back, data) !== 0) throw new Error('it came back another')
      peer.release?.(back)
      return took
    }
    await peer.call('noop', TINY)
    ask('watch')
    for (let i = 0; i < 2; i++) await once(true)
    const growth = ask('growth')
    if (growth !== null) emit('growth', growth, 'bytes', 2)
    const took = await within(seconds, () => once(false))
    emit('p50', median(took) * 1000, 'ms', took.length)
    // A call takes its block: one cannot be filled beforehand for each of many.
    if (!window || peer.lend) return
    await windowed(peer, 'echo', data, window, times(window))
    const begin = now()
    const count = await windowed(peer, 'echo', data, window, until(seconds))
    emit('rate', count / (now() - begin), 'calls/s', count)
  },
  // As many items as the time should hold, in slices; the first are looked at.
  async streams(peer, { bytes, seconds }) {
    const run = async (count) => {
      let got = 0
      const begin = now()
      await peer.stream({ count, blocks: bytes > 0 ? 1 : 0 }, () => got++)
      const took = now() - begin
      if (got !== count) throw new Error(`${got} items came of ${count}`)
      return count / took
    }
    const first = []
    await peer.stream({ count: 3, blocks: bytes > 0 ? 1 : 0 }, (item) => first.push(item))
    const right = (item, number) => (bytes ? Buffer.compare(item, BLOCK) === 0 : item.a === number)
    if (first.length !== 3 || !first.every(right)) throw new Error('they came otherwise')
    let rate = 0
    for (const end = now() + WARM_UP_S; rate === 0 || now() < end; ) rate = await run(FEW)
    const count = Math.max(FEW, Math.round((rate * seconds) / SLICES))
    const before = ask('cpu')
    const rates = []
    for (let slice = 0; slice < SLICES; slice++) rates.push(await run(count))
    cpu(before, SLICES * count)
    emit('rate', median(rates), 'items/s', SLICES * count)
    if (bytes) emit('megabytes', (median(rates) * bytes) / 1e6, 'MB/s', SLICES * count)
  },
  async waits(peer, { calls, ms }) {
    const all = () => windowed(peer, 'wait', { ms }, calls, times(calls))
    // Once unmeasured: the pool starts workers as calls need them, and these calls need all of them.
    await all()
    emit('total', await timed(all), 's', calls)
  },
  crash,
  async chaos(peer, given) {
    await windowed(peer, 'noop', TINY, 16, times(16))
    await chaos(peer.pool, given, emit)
  },
}

const [name, kind, parameters] = process.argv.slice(2)
const given = JSON.parse(parameters)
const begin = now()
const peer = await POOLS[name](given)
if (peer.skip) {
  skip(peer.skip)
  process.exit()
}
await peer.call('noop', TINY)
emit('first', (now() - begin) * 1000, 'ms', 1)
if (kind !== 'waits' && kind !== 'streams') await living(peer, given.workers, STARTING_S)
await CASES[kind](peer, given)
done()
if (kind === 'crash') process.exit() // what was killed may never close
await peer.close()
