// A random worker is killed every few milliseconds while calls echo bytes: what gets through, what fails, how soon.
import { setTimeout as sleep } from 'node:timers/promises'

/** Runs the storm on a Ganger pool; `emit` takes the figures. */
export async function chaos(pool, { seconds, every_ms, bytes, window, settle_s }, emit) {
  const data = Buffer.alloc(bytes, 7)
  const killedAt = new Map()
  const delays = []
  let [ok, failed, unnamed, flying, on] = [0, 0, 0, 0, true]

  const fail = (error) => {
    failed++
    if (error.signal !== 'SIGKILL' || !killedAt.has(error.pid)) unnamed++
    else delays.push(performance.now() - killedAt.get(error.pid))
  }
  const lane = async () => {
    while (on) {
      flying++
      await pool.call('echo', data).then(() => ok++, fail)
      flying--
    }
  }
  const killer = setInterval(() => {
    const alive = pool.stats().details.map((worker) => worker.pid).filter((pid) => pid !== null && !killedAt.has(pid))
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
  emit('failed', failed, 'calls', 1)
  emit('unsettled', flying, 'calls', 1)
  emit('unnamed', unnamed, 'calls', 1)
  emit('killed', killedAt.size, 'workers', 1)
  if (delays.length) emit('failure_delay', delays.sort((a, b) => a - b)[delays.length >> 1], 'ms', delays.length)
  const again = Array.from({ length: 8 }, () => pool.call('echo', data))
  const usable = await Promise.race([Promise.all(again).then(() => 1, () => 0), sleep(settle_s * 1000, 0, { ref: false })])
  emit('usable', usable, 'yes/no', 8)
}
