// Watches AbortSignals with one listener each, however many calls share one: Node.js warns of ten.

interface Watched {
  readonly actions: Set<() => void>
  readonly listener: () => void
}

const watched = new WeakMap<AbortSignal, Watched>()

/** Runs `action` when `signal` aborts. */
export function watchAbort(signal: AbortSignal, action: () => void): void {
  const known = watched.get(signal)
  if (known !== undefined) {
    known.actions.add(action)
    return
  }
  const actions = new Set([action])
  const listener = (): void => {
    for (const action of [...actions]) action()
  }
  watched.set(signal, { actions, listener })
  signal.addEventListener('abort', listener)
}

/** Forgets `action`, and the signal with the last one. */
export function unwatchAbort(signal: AbortSignal, action: () => void): void {
  const known = watched.get(signal)
  if (known === undefined) return
  known.actions.delete(action)
  if (known.actions.size > 0) return
  signal.removeEventListener('abort', known.listener)
  watched.delete(signal)
}

/** Whether it is one, of whichever realm and maker. */
export function isSignal(given: unknown): given is AbortSignal {
  const signal = given as AbortSignal | null | undefined
  return (
    typeof signal === 'object' &&
    signal !== null &&
    typeof signal.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  )
}
