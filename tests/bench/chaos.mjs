// A random worker is killed every few milliseconds while calls echo bytes: what gets through, what fails, how soon.
import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_AFTER_REFUSAL_MS = 5

/** Runs the storm on a Ganger pool; `emit` takes the figures. */
export async function chaos(pool, { seconds, every_ms, victims, bytes, window, settle_s }, emit) {
  const data = Buffer.alloc(bytes, 7)
  const killedAt = new Map()
  const delays = []
  let [ok, lost, refused, unnamed, flying, on] = [0, 0, 0, 0, 0, true]

  const fail = (error) => {
    if (error.code === 'START_FAILED') return refused++
    lost++
    if (error.signal !== 'SIGKILL' || !killedAt.has(error.pid)) unnamed++
    else delays.push(performance.now() - killedAt.get(error.pid))
  }
  // An app that is refused does not ask again at once: it would only take the CPU from the workers that start.
  const lane = async () => {
    while (on) {
      flying++
      const before = refused
      await pool.call('echo', data).then(() => ok++, fail)
      flying--
      if (refused > before) await sleep(PAUSE_AFTER_REFUSAL_MS)
    }
  }
  const killer = setInterval(() => {
    const working = (worker) => worker.calls > 0 || worker.running > 0
    const choice = pool
      .stats()
      .details.filter((worker) => victims === 'any' || working(worker))
      .map(({ pid }) => pid)
    const alive = choice.filter((pid) => pid !== null && !killedAt.has(pid))
    const pid = alive[Math.floor(Math.random() * alive.length)]
    if (pid === undefined) return
    killedAt.set(pid, performance.now())
    try {
      process.kill(pid, 'SIGKILL')
    } catch {} // it was gone already
  }, every_ms)

  const lanes = Promise.all(Array.from({ length: window }, lane))
  await sleep(seconds * 1000)
  on = false
  clearInterval(killer)
  await Promise.race([lanes, sleep(settle_s * 1000, 0, { ref: false })])
  emit('completed', ok, 'calls', 1)
  emit('lost', lost, 'calls', 1)
  emit('refused', refused, 'calls', 1)
  emit('unsettled', flying, 'calls', 1)
  emit('unnamed', unnamed, 'calls', 1)
  emit('killed', killedAt.size, 'workers', 1)
  if (delays.length) emit('failure_delay', delays.sort((a, b) => a - b)[delays.length >> 1], 'ms', delays.length)
  await recovery(() => pool.call('echo', data), settle_s, emit)
}

/** How long it takes until eight calls beside each other succeed again. */
async function recovery(call, limit_s, emit) {
  const begin = performance.now()
  for (let took = 0; took < limit_s; ) {
    const late = sleep(limit_s * 1000, false, { ref: false })
    const fine = await Promise.race([
      Promise.all(Array.from({ length: 8 }, call)).then(
        () => true,
        () => false,
      ),
      late,
    ])
    took = (performance.now() - begin) / 1000
    if (fine) return emit('recovery', took, 's', 8)
    await sleep(20)
  }
}
