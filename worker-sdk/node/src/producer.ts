// Pulls the items of one stream function and sends them while there is credit (R29, R30). It asks for an item only when
// it may send it, so that a function never computes ahead of its reader by more than the window.

import type { Source } from './items.js'
import { Window } from './window.js'

/** How long it may go on before the event loop turns. */
const TURN_MS = 2
/** Items that come faster than this one after the other may leave together. */
const QUICK_MS = 0.1
const MOST_TOGETHER = 16

export interface Production {
  /** Whether the call was cancelled; takes in cancels that came meanwhile. */
  cancelled(): boolean
  /** Sends an item and tells the size of its payload. Throws if it cannot be sent. */
  send(item: unknown): number
  /** Writes what was sent. */
  flush(): void
  ended(final: unknown): void
  failed(error: unknown): void
  /** `send` threw. */
  unsendable(error: unknown): void
  stopped(): void
}

type Step = IteratorResult<unknown>

/**
 * `idle`: waits for credit, or for its turn. `pulling`: the function's code is on the stack. `waiting`: the function has
 * promised an item. `over`: nothing more is sent.
 */
type State = 'idle' | 'pulling' | 'waiting' | 'over'

export class Producer {
  readonly #window = new Window()
  #state: State = 'idle'
  #turnBegan = 0
  #lastAt = 0
  /** How many items in a row came quickly, and how many are not written yet. */
  #quick = 0
  #unwritten = 0
  #resuming: NodeJS.Immediate | undefined

  constructor(
    private readonly source: Source,
    private readonly production: Production,
  ) {}

  start(): void {
    this.#beginTurn()
  }

  credit(items: number, bytes: number): void {
    this.#window.give(items, bytes)
    if (this.#state === 'idle' && this.#resuming === undefined) this.#beginTurn()
  }

  /** The function that is on the stack goes on to its next item. */
  cancel(): void {
    if (this.#state === 'idle' || this.#state === 'waiting') this.#stop()
  }

  #beginTurn(): void {
    this.#resuming = undefined
    this.#turnBegan = performance.now()
    // What passed until there was credit was not the function's.
    this.#lastAt = this.#turnBegan
    this.#pull()
  }

  #pull(): void {
    while (this.#state === 'idle' && this.#window.open) {
      const step = this.#next()
      if (step === undefined) return
      if (isPromised(step)) return this.#wait(step)
      if (!this.#arrived(step)) return
    }
  }

  #next(): Step | PromiseLike<Step> | undefined {
    this.#state = 'pulling'
    try {
      const step = this.source.next()
      this.#state = 'idle'
      return step
    } catch (error) {
      this.#over(() => this.production.failed(error))
      return undefined
    }
  }

  #wait(step: PromiseLike<Step>): void {
    this.#state = 'waiting'
    step.then(
      (arrived) => {
        if (this.#state !== 'waiting') return
        this.#state = 'idle'
        if (this.#arrived(arrived)) this.#pull()
      },
      (error) => {
        if (this.#state === 'waiting') this.#over(() => this.production.failed(error))
      },
    )
    // The function's code ran up to its first wait, and may have seen the cancel.
    if (this.production.cancelled()) this.#stop()
  }

  /** False: go on later, or not at all. */
  #arrived(step: Step): boolean {
    if (step.done === true) return this.#over(() => this.production.ended(step.value))
    if (this.production.cancelled()) return this.#stop() ?? false
    try {
      this.#window.take(this.production.send(step.value))
    } catch (error) {
      this.#close(() => this.production.unsendable(error))
      return false
    }
    const now = performance.now()
    this.#writeInTime(now)
    if (now - this.#turnBegan < TURN_MS) return true
    this.#resuming = setImmediate(() => this.#beginTurn())
    return false
  }

  /** The next item may take the function long, and nothing else runs meanwhile: items wait for it only where that is unlikely. */
  #writeInTime(now: number): void {
    this.#quick = now - this.#lastAt < QUICK_MS ? this.#quick + 1 : 0
    this.#lastAt = now
    if (++this.#unwritten <= Math.min(this.#quick / 4, MOST_TOGETHER)) return
    this.production.flush()
    this.#unwritten = 0
  }

  #stop(): undefined {
    if (this.#state !== 'over') this.#close(() => this.production.stopped())
  }

  /** Lets the function's `finally` run, then tells the end. */
  #close(end: () => void): void {
    this.#state = 'over'
    clearImmediate(this.#resuming)
    try {
      const closed = this.source.stop()
      if (isPromised(closed)) return void closed.then(end, end)
    } catch {
      // The end that was decided on stands.
    }
    end()
  }

  #over(tell: () => void): false {
    this.#state = 'over'
    tell()
    return false
  }
}

function isPromised<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
