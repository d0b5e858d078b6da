// The streams of the calls that run: whose items go out, whose come in, and the credit of both.

import { bytesOf } from './bytes.js'
import type { JsonSchema } from './contract.js'
import type { Payload } from './effects.js'
import { Inputs } from './inputs.js'
import type { Source } from './items.js'
import type { Outbox } from './outbox.js'
import { InvalidInput, NotDecodable } from './path.js'
import { payloadValue } from './payload.js'
import { Producer, type Production } from './producer.js'
import { Kind, type Seq } from './protocol.js'
import { checkInput } from './schema.js'

/** An item of more bytes than the host takes. */
export class TooLarge extends Error {}

interface Reading {
  inputs: Inputs
  schema: JsonSchema
  /** How many came. */
  count: number
}

export class Streams {
  readonly #producers = new Map<Seq, Producer>()
  readonly #readings = new Map<Seq, Reading>()

  constructor(
    private readonly outbox: Outbox,
    private readonly give: (seq: Seq, items: number, bytes: number) => void,
  ) {}

  /** Opens the input stream of a call. */
  open(seq: Seq, schema: JsonSchema): Inputs {
    const inputs = new Inputs((items, bytes) => {
      if (this.#readings.has(seq)) this.give(seq, items, bytes)
    })
    this.#readings.set(seq, { inputs, schema, count: 0 })
    return inputs
  }

  produce(seq: Seq, source: Source, call: Omit<Production, 'send' | 'flush'>): void {
    const send = (item: unknown): number => this.#send(seq, item)
    const producer = new Producer(source, { ...call, send, flush: () => this.outbox.flush() })
    this.#producers.set(seq, producer)
    producer.start()
  }

  cancel(seq: Seq): void {
    this.#producers.get(seq)?.cancel()
  }

  credit(seq: Seq, items: number, bytes: number): void {
    this.#producers.get(seq)?.credit(items, bytes)
  }

  input(seq: Seq, item: Payload | string): void {
    const reading = this.#readings.get(seq)
    // A function that reads no stream is sent nothing more for want of credit.
    if (reading === undefined) return
    const bytes = typeof item === 'string' ? 0 : item.end - item.payloadAt
    reading.inputs.put(received(item, reading.schema, reading.count++), bytes)
  }

  inputEnd(seq: Seq): void {
    this.#readings.get(seq)?.inputs.end()
  }

  ended(seq: Seq): void {
    if (this.#producers.size > 0) this.#producers.delete(seq)
    if (this.#readings.size > 0) this.#readings.delete(seq)
  }

  /** A function may fill its buffer again once an item is sent. */
  #send(seq: Seq, item: unknown): number {
    const bytes = typeof item === 'object' && item !== null ? bytesOf(item) : undefined
    const sent =
      bytes === undefined ? this.outbox.value(Kind.ITEM, seq, item) : this.outbox.raw(Kind.ITEM, seq, bytes, true)
    if (sent === undefined) throw new TooLarge('the item is too large')
    return sent
  }
}

/** The payload is read now, while it is there; what is wrong with it is told when the function takes it. */
function received(item: Payload | string, schema: JsonSchema, index: number): () => unknown {
  try {
    if (typeof item === 'string') throw new InvalidInput(item)
    const value = payloadValue(item)
    checkInput(schema, value)
    return () => value
  } catch (error) {
    const misfit =
      error instanceof NotDecodable || error instanceof InvalidInput
        ? new InvalidInput(`item ${index} of the input stream: ${error.message}`, error.path)
        : error
    return () => {
      throw misfit
    }
  }
}
