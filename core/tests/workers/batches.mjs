// Functions that take the inputs of several calls together.

import { existsSync, writeFileSync } from 'node:fs'

const pause = new Int32Array(new SharedArrayBuffer(4))
const integer = { type: 'integer' }

export const ganger = {
  functions: {
    sizes: { batch: { max: 4, wait: '60s' }, input: integer },
    soon: { batch: { max: 1000, wait: 20 } },
    roots: { batch: { max: 4, wait: '60s' }, input: { type: 'number' } },
    too_few: { batch: { max: 2, wait: '60s' } },
    deadly: { batch: { max: 3, wait: '60s' }, idempotent: true },
    held: { batch: { max: 2, wait: '60s' } },
  },
}

export const sizes = (numbers) => numbers.map(() => numbers.length)
export const soon = async (numbers) => numbers.map((number) => -number)
export const roots = (numbers) =>
  numbers.map((number) => (number >= 0 ? Math.sqrt(number) : new RangeError(`${number} has none`)))
export const too_few = (numbers) => numbers.slice(1)

export function deadly(words) {
  if (words.includes('die')) process.kill(process.pid, 'SIGKILL')
  return words.map(() => words.length)
}

// Busy until the file is there, or nobody waits any more.
export function held(paths, context) {
  writeFileSync(`${paths[0]}.begun`, '')
  while (!existsSync(paths[0])) {
    context.check()
    Atomics.wait(pause, 0, 0, 5)
  }
  return paths.map(() => 'held')
}

export const pid = () => process.pid
