// Streams out of a Node worker and into it.
import { setTimeout as sleep } from 'node:timers/promises'

let made = 0
let closed = 0
/** How many items were made since the last question, and how many generators were closed. */
export const seen = () => {
  const counted = { made, closed }
  made = 0
  closed = 0
  return counted
}
export const echo = (input) => input
export const pid = () => process.pid
export function* count(to) {
  try {
    for (let n = 0; n < to; n++) {
      made++
      yield n
    }
    return 'counted'
  } finally {
    closed++
  }
}
export async function* blocks({ count: total, size }) {
  const block = Buffer.alloc(size)
  for (let n = 0; n < total; n++) {
    made++
    block.fill(n)
    yield block
  }
}
export async function* failing(after) {
  for (let n = 0; n < after; n++) yield n
  throw Object.assign(new RangeError('out of tokens'), { after })
}
export async function* ticking(_, { signal }) {
  try {
    for (let n = 0; ; n++) {
      yield n
      await sleep(60_000, undefined, { signal })
    }
  } finally {
    closed++
  }
}
export async function* dying(after) {
  for (let n = 0; n < after; n++) yield n
  await sleep(50)
  process.kill(process.pid, 'SIGKILL')
  await sleep(60_000)
}
export function* odd() {
  yield 1
  yield { rows: [() => {}] }
}
export async function sum(start, { inputs }) {
  let all = start
  for await (const item of inputs) all += item
  return all
}
export async function* double(_, { inputs }) {
  for await (const item of inputs) yield typeof item === 'number' ? 2 * item : item
}
export async function first(_, { inputs }) {
  for await (const item of inputs) return item
}
export async function idle(_, { inputs, signal }) {
  await inputs.next()
  await sleep(60_000, undefined, { signal })
}
export function steps(to, context) {
  for (let n = 1; n <= to; n++) context.progress(n, to, n === to ? 'done' : undefined)
  return to
}
export function* stepping(to, context) {
  for (let n = 1; n <= to; n++) {
    context.progress(n, to)
    yield n
  }
}
const inputs = { type: 'integer' }
export const ganger = {
  functions: { sum: { inputs }, double: { inputs: {} }, first: { inputs: {} }, idle: { inputs: {} } },
}
