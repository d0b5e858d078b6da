// What users of other pools met in their workers, to be met here.

import { appendFileSync, existsSync, writeFileSync } from 'node:fs'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const kept = []

export const ganger = {
  startup: () => {
    if (existsSync(process.env.NO_START ?? '/none')) throw new Error('not while the file is there')
  },
  shutdown: async () => {
    await sleep(Number(process.env.LEAVE_MS ?? 0))
    if (process.env.LEFT) appendFileSync(process.env.LEFT, 'left\n')
  },
}

export const echo = (input) => input
export const pid = () => process.pid
export const many_bytes = (count) => Buffer.alloc(count, 'z')

/** Never stops, whoever asks. */
export function never_end(path) {
  writeFileSync(`${path}.begun`, '')
  for (;;);
}

export async function wait_for_file(path) {
  writeFileSync(`${path}.begun`, '')
  while (!existsSync(path)) await sleep(10)
  return process.pid
}

export function die(how) {
  if (how === 'exit') process.exit(3)
  process.kill(process.pid, how)
}

/** Keeps so much from now on, and ends with the file. */
export async function grow_and_wait({ megabytes, path }) {
  kept.push(Buffer.alloc(megabytes * 1024 * 1024, 1))
  return await wait_for_file(path)
}

export function odd_result(kind) {
  const cycle = []
  cycle.push([cycle])
  return {
    function: { deep: [1, () => 1] },
    file: { log: Symbol('a file') },
    'too large an integer': { n: 2n ** 64n },
    cycle,
  }[kind]
}

export function fail_with_a_cycle() {
  const error = new RangeError('the message stays')
  throw Object.assign(error, { me: error, number: 7 })
}

export function note_at_exit(path) {
  process.on('exit', () => writeFileSync(path, ''))
}
