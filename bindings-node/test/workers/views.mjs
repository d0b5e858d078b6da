// Functions that look at large inputs where they lie, and keep them.

import { readFileSync } from 'node:fs'

const kept = []

export const pid = () => process.pid
export const echo = (input) => input
export const length = (input) => input.length
export const part = (input) => input.subarray(1001, 700_003)
export const view = (input) => new DataView(input.buffer, input.byteOffset + 5, 300_000)
export const fail = (input) => {
  throw new Error(`of ${input.length} bytes`)
}

export function keep(input) {
  kept.push(input)
  return input
}
export const keptBytes = () => kept.map((input) => [input[0], input.at(-1), input.every((byte) => byte === input[0])])
export const keptOne = (index) => kept[index]
export const letGo = () => kept.splice(0).length

export function fillKept(byte) {
  for (const input of kept) input.fill(byte)
}

export function change({ at }) {
  kept[0][at] = 99
  return kept[0]
}

export function changeAndReturn(input) {
  input[5] = 99
  return input
}

/** The result is on its way when it is written to. */
export function changeLater(input) {
  setImmediate(() => input.fill(99))
  return input
}

export async function changeWhileItRuns(input) {
  await new Promise((resolve) => setTimeout(resolve, 20))
  input.fill(99, 0, 10)
  return input.subarray(100_000)
}

/** How much of the input arena is mapped, in parts of bytes each. */
export const mapped = () =>
  readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes('memfd:ganger-input'))
    .map((line) => line.split(' ')[0].split('-'))
    .map(([from, to]) => Number(BigInt(`0x${to}`) - BigInt(`0x${from}`)))

/** The same while something looks at it. */
export const mappedMeanwhile = (input) => [input.length, ...mapped()]
