// The event loop's own timers and clock, as they were when this was loaded. Tests put others in the place of the global ones and of those that
// modules export, and let time stand still: calls would stand still with it.

import { performance } from 'node:perf_hooks'
import timers from 'node:timers'

export const { setImmediate, setInterval } = timers

const clock = performance

export function nowMs(): number {
  return clock.now()
}
