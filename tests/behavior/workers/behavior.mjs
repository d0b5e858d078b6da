// The functions of the behaviour suite, in JavaScript.

import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const pause = new Int32Array(new SharedArrayBuffer(4))

export const echo = (value) => value
export const add = ({ a, b }) => a + b
export const pid = () => process.pid
export const attempt = (_, context) => context.attempt
export const is_limited = (_, context) => context.remaining !== undefined

export function* count(to) {
  for (let n = 0; n < to; n++) yield n
}

let madeSoFar = 0

export function* numbers(to) {
  for (let n = 0; n < to; n++) {
    madeSoFar++
    yield n
  }
}

// How many of these there were since this was asked before.
export function made() {
  const found = madeSoFar
  madeSoFar = 0
  return found
}

export async function sum(start, { inputs }) {
  for await (const number of inputs) start += number
  return start
}

export async function first(count, { inputs }) {
  const items = []
  while (items.length < count) items.push((await inputs.next()).value)
  return items
}

export async function* mirror(_, { inputs }) {
  yield* inputs
}

export function* fail_after(count) {
  yield* numbers(count)
  throw new TypeError('that is all')
}

export async function* die_after(count) {
  yield* numbers(count)
  await sleep(50)
  die()
}

export function* wait_after(count, context) {
  yield* numbers(count)
  polite(undefined, context)
}

export function steps(count, context) {
  for (let step = 1; step <= count; step++) context.progress(step, count, `step ${step}`)
  return count
}

export function halves(numbers) {
  const half = (number) => (number % 2 ? new TypeError(`${number} is odd`) : { half: number / 2, of: numbers.length })
  return numbers.map(half)
}

export const too_few = (numbers) => numbers.slice(1)

export async function nap_together(seconds, context) {
  await sleep(Math.max(...seconds) * 1000, undefined, { signal: context.signal })
  return seconds.map(() => 'napped')
}

export function fail(text) {
  throw new TypeError(text)
}

export async function nap(seconds, context) {
  await sleep(seconds * 1000, undefined, { signal: context.signal })
  return 'napped'
}

export function polite(_, context) {
  while (!context.cancelled) Atomics.wait(pause, 0, 0, 2)
  return 'stopped'
}

export function stubborn(seconds) {
  Atomics.wait(pause, 0, 0, seconds * 1000)
  return 'ended'
}

export function leave(code) {
  process.exit(code)
}

export function die() {
  process.kill(process.pid, 'SIGKILL')
  Atomics.wait(pause, 0, 0, 60_000)
}

export function die_at_first(path, context) {
  try {
    closeSync(openSync(path, 'wx'))
  } catch {
    return context.attempt
  }
  die()
}

const reads = { inputs: {} }

export const ganger = {
  functions: {
    die_at_first: { idempotent: true },
    halves: { batch: { max: 3, wait: '60s' }, input: { type: 'integer' } },
    too_few: { batch: { max: 2, wait: '60s' } },
    nap_together: { batch: { max: 2, wait: '60s' } },
    sum: reads,
    first: reads,
    mirror: reads,
  },
}
