// Sends what an app gives along into a running call: each item is asked for only when there is room for it.

import { type Source, severalSource } from '../../worker-sdk/node/src/items.js'
import type { Bells } from './bells.js'
import { refused, thrownBySeam } from './errors.js'
import { Failure } from './failure.js'
import { GangerError } from './generated/errors.js'
import { type Blocks, empty } from './memory.js'
import type { NativeInputs, NativePool } from './native.js'
import { encodeInput } from './values.js'

/** What the seam says of an input stream. */
const WAIT = 0
const OVER = 2

/** Where items go: a call of a function, in a pool. */
export interface Destination {
  readonly native: NativePool
  readonly inputs: NativeInputs
  readonly blocks: Blocks
  readonly bells: Bells
  readonly number: number
  readonly fn: string
}

/** A call that is sent items. */
export interface Fed {
  readonly fn: string
  /** Why there are no more of them, if the call is given up for it. */
  broken: Broken | undefined
}

export interface Broken {
  readonly error: unknown
}

/** Throws if something was given that has no items. */
export function inputsSource(given: unknown, fn: string): Source | undefined {
  if (given === undefined || given === null) return undefined
  const source = severalSource(given)
  if (source !== undefined) return source
  throw refused('INVALID_OPTION', `inputs: items are expected, not ${typeof given}`, fn, { option: 'inputs' })
}

/** How a call ended. Who gave it up is told in place of that it was given up. */
export function unlessBroken(outcome: unknown, broken: Broken | undefined): unknown {
  if (broken === undefined || !(outcome instanceof Failure)) return outcome
  return new Failure(() => {
    const error = outcome.error()
    return error instanceof GangerError && error.code === 'CANCELLED' ? broken.error : error
  })
}

export class Feed {
  #over = false
  #rung: (() => void) | undefined

  constructor(
    private readonly source: Source,
    private readonly to: Destination,
    call: Fed,
  ) {
    this.#run().catch((error: unknown) => {
      if (this.#over) return
      this.#over = true
      call.broken = { error: thrownBySeam(error) }
      this.to.inputs.fail()
    })
  }

  /** The call has ended. What the items come from is closed. */
  stop(): void {
    if (this.#over) return
    this.#over = true
    this.to.bells.forget(this.to.number)
    this.#rung?.()
    close(this.source)
  }

  ring(): void {
    this.#rung?.()
  }

  async #run(): Promise<void> {
    // What makes the items is the app's code: it does not run within the call that is being made.
    await undefined
    let state = this.to.inputs.ready()
    while (!this.#over) {
      if (state === OVER) return this.stop()
      if (state === WAIT) {
        await this.#room()
        state = this.to.inputs.ready()
        continue
      }
      let step = this.source.next()
      if (isPromised(step)) step = await step
      if (this.#over) return
      if (step.done === true) return this.#finish()
      state = this.#send(isPromised(step.value) ? await step.value : step.value)
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#rung = resolve
      this.to.bells.wait(this.to.number, this)
    })
  }

  #finish(): void {
    this.#over = true
    this.to.inputs.finish()
  }

  #send(item: unknown): number {
    const { native, inputs, blocks, fn } = this.to
    try {
      const { bytes, length, encoding } = encodeInput(item, fn)
      const block = blocks.find(bytes)
      const state = native.send(inputs, bytes, length, block ?? encoding)
      if (block !== undefined) empty(bytes.buffer)
      return state
    } catch (error) {
      close(this.source)
      throw error
    }
  }
}

/** Nobody is left to be told what goes wrong in it. */
function close(source: Source): void {
  try {
    const closed = source.stop()
    if (isPromised(closed)) closed.then(undefined, () => {})
  } catch {
    // As above.
  }
}

function isPromised<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
