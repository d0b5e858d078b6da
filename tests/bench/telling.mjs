// How a measured app talks to the driver: JSON lines on stdout, answers on stdin.
import { readSync, writeSync } from 'node:fs'

const print = (line) => writeSync(1, `${JSON.stringify(line)}\n`)

export const emit = (metric, value, unit, count) => print({ metric, value, unit, count })
export const skip = (reason) => print({ skip: reason })
export const done = () => print({ done: true })

/** What only the driver sees: `cpu` is the seconds used so far; `watch` begins and `growth` ends a look at memory. */
export function ask(question) {
  print({ ask: question })
  const answer = Buffer.alloc(256)
  return JSON.parse(answer.toString('utf8', 0, readSync(0, answer)))
}
