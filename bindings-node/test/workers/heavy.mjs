// A worker that takes its time to load, leaks, and says what it knows of itself.

const held = []

const load = () => new Promise((resolve) => setTimeout(resolve, Number(process.env.LOAD_SECONDS ?? 0) * 1000))
const leave = () => {
  if (process.env.EXIT_CODE !== undefined) process.exit(Number(process.env.EXIT_CODE))
}

export const ganger = { startup: load, shutdown: leave, functions: { alone: { exclusive: 'worker' } } }

export const pid = () => process.pid

export async function nap(ms) {
  await new Promise((resolve) => setTimeout(resolve, ms))
  return process.pid
}

export function busy(ms) {
  for (const until = performance.now() + ms; performance.now() < until; );
  return process.pid
}

export function leak(megabytes) {
  held.push(Buffer.alloc(megabytes * 1024 * 1024, 1))
  return process.pid
}

export const binding = (_input, context) => [
  context.device,
  ...['GANGER_DEVICE', 'CUDA_VISIBLE_DEVICES', 'OMP_NUM_THREADS'].map((name) => process.env[name] ?? null),
]

let running = 0
let most = 0

/** The most calls that ran at once while it did, itself included. */
export async function together(ms) {
  most = Math.max(most, ++running)
  await new Promise((resolve) => setTimeout(resolve, ms))
  running--
  return most
}

export async function alone(ms) {
  const beside = running
  running++
  await new Promise((resolve) => setTimeout(resolve, ms))
  running--
  return beside
}
