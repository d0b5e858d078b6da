// When to let the event loop turn. Node.js calls back for what other threads have told as long as they tell more, up to a thousand times,
// before timers and everything else have their turn.

const LONG_MS = 4

let began = 0

/** Whether this turn of the loop has been going on for so long that what has come should wait for the next. */
export function isLongTurn(): boolean {
  const now = performance.now()
  if (began !== 0) return now - began > LONG_MS
  began = now
  setImmediate(end)
  return false
}

function end(): void {
  began = 0
}
