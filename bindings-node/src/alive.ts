// Keeps the event loop alive while something is awaited, and lets go of it when nothing is: an idle pool costs no exit.
// What is awaited also keeps its pool from being collected.

import { setInterval } from './timers.js'

const LONG_MS = 2 ** 31 - 1
const holders = new Map<object, number>()
const timer = setInterval(() => {}, LONG_MS).unref()

export function hold(holder: object): void {
  if (holders.size === 0) timer.ref()
  holders.set(holder, (holders.get(holder) ?? 0) + 1)
}

export function release(holder: object): void {
  const count = holders.get(holder)
  if (count === undefined) return
  if (count > 1) holders.set(holder, count - 1)
  else if (holders.delete(holder) && holders.size === 0) timer.unref()
}
