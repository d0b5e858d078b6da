// Memory outside of JavaScript's that nobody needs any more: V8 looks for it when it runs out of its own, which may take for ever.

/**
 * Whoever asks V8 for a buffer has it look for young buffers that nobody can reach, a matter of a fraction of a millisecond, if there are
 * 32 MiB of them. Without that they would lie there until a collection of everything.
 */
export function collectMany(): void {
  void new ArrayBuffer(8)
}

/** Where `collectMany` begins to do something. */
export const MANY_BYTES = 32 * 1024 * 1024

/** Has buffers that were found given up in the collection itself, not by a thread that has to be waited for. For processes that are ours. */
export function giveUpAtOnce(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-concurrent-array-buffer-sweeping')
}

/** Above it, other threads are of use in a collection of everything. */
const LARGE_HEAP = 64 * 1024 * 1024
let isAlone = false

/**
 * V8 begins to collect everything with each buffer of 64 MiB and more. From now on it wakes nobody for that who would take the processor from the
 * call, and does not go on with it by itself when there is nothing else to do, which is when the app is busy with the answer: whoever holds views
 * looks for them. For processes that are ours.
 */
export function collectAlone(): void {
  if (isAlone) return
  isAlone = true
  if (!heapIsSmall()) return
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  // Never amid a collection that others have a part in.
  collectAll()
  setFlagsFromString('--no-concurrent-marking')
  setFlagsFromString('--no-incremental-marking-task')
}

/** Whether a collection of everything is a matter of some milliseconds. */
export function heapIsSmall(): boolean {
  return process.getBuiltinModule('node:v8').getHeapStatistics().used_heap_size <= LARGE_HEAP
}

type Collect = (young?: { type: 'minor' }) => void
let collect: Collect | undefined

/** Looks for young buffers at once. For processes that are ours: it is done behind the back of whoever else is there. */
export function collectYoung(): void {
  collect ??= exposed()
  collect({ type: 'minor' })
}

/** The same for all buffers. It takes as long as the heap is large. */
export function collectAll(): void {
  collect ??= exposed()
  // Older V8 takes any option for a wish for the young.
  collect()
}

/** Only a context that is made while the flag is set has the function. */
function exposed(): Collect {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  const { runInNewContext } = process.getBuiltinModule('node:vm')
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('gc') as Collect
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}
