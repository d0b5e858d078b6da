// When to let the event loop turn. Node.js calls back for what other threads have told as long as they tell more, up to a thousand times,
// before timers and everything else have their turn.

import { nowMs, setImmediate } from './timers.js'

const LONG_MS = 4

let began = 0

/** Does something that has come now, or in the next turn of the loop if this one has been going on for long. Says whether it is put off. */
export function letTurn(take: () => void): boolean {
  const now = nowMs()
  if (began === 0) {
    began = now
    setImmediate(end)
  }
  const isLong = now - began > LONG_MS
  if (isLong) setImmediate(take)
  else take()
  return isLong
}

function end(): void {
  began = 0
}
