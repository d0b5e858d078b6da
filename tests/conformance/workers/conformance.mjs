// The functions that `ganger check` looks for, in JavaScript (SPEC chapter 11).

import { setTimeout as sleep } from 'node:timers/promises'
import { action, shutdown, startup } from 'ganger-worker'

startup((context) => {
  context.log.info('start-up')
  if (process.env.GANGER_CHECK === 'fail') throw new Error('told to fail')
})

shutdown(() => console.log('shutdown'))

export const check_hooks = () => null
export const check_echo = (value) => value
export const check_bytes = (count) => Buffer.alloc(count)
export const check_odd = () => Symbol('odd')

export function check_fail(text) {
  throw new RangeError(text)
}

const numbered = { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] }
export const check_number = action({ input: numbered }, ({ number }) => number)

export const check_context = (_, context) => ({
  attempt: context.attempt,
  remaining_ms: context.remaining ?? null,
  trace: context.trace,
})

export function check_say(text, context) {
  context.log.warn(text)
  context.progress(1, 2, 'half')
  console.log(text)
}

export async function check_wait(_, context) {
  context.progress(0)
  await sleep(60_000, undefined, { signal: context.signal })
}

export function check_exit(code) {
  process.exit(code)
}

export function* check_count({ count, bytes, fail }) {
  for (let number = 0; number < count; number++) yield bytes ? Buffer.alloc(bytes) : number
  if (fail) throw new Error('no more')
}

export const check_sum = action({ inputs: {} }, async (_, { inputs }) => {
  let sum = 0
  for await (const number of inputs) sum += number
  return sum
})

const asked = {
  type: 'object',
  properties: {
    number: { type: 'integer' },
    fail: { type: 'boolean' },
    wait: { type: 'boolean' },
    short: { type: 'boolean' },
  },
  required: ['number', 'fail', 'wait'],
}
let another = () => {}
export const check_batch = action({ batch: { max: 4, wait: 0 }, input: asked }, async (all, context) => {
  if (all.some(({ wait }) => wait)) {
    const came = new Promise((resolve) => {
      another = resolve
    })
    context.progress(0)
    await Promise.race([came, sleep(60_000, undefined, { signal: context.signal, ref: false })])
  } else another()
  const ends = all.map(({ number, fail }) => (fail ? new RangeError(`${number} fails`) : { number, of: all.length }))
  return all.some(({ short }) => short) ? ends.slice(1) : ends
})
