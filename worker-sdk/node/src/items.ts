// Values that are many values, one after the other: generators, async iterables, streams of Node and of the web.

import type { Readable } from 'node:stream'

type Step = IteratorResult<unknown>

/** Where the items of a stream function come from. */
export interface Source {
  next(): Step | PromiseLike<Step>
  /** No more is wanted: what the function has opened must be closed, even while `next` waits. */
  stop(): unknown
}

/** Undefined: the value is one value. A function that is declared to be a stream may also return a list, or nothing. */
export function sourceOf(value: unknown, declared: boolean): Source | undefined {
  if (!declared) return typeof value === 'object' && value !== null ? ownSource(value) : undefined
  const source = value === undefined || value === null ? severalSource([]) : severalSource(value)
  if (source === undefined) throw new TypeError(`a stream function returned ${typeof value}, which has no items`)
  return source
}

/** Of anything that has items. Text and bytes are one value. */
export function severalSource(value: unknown): Source | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return ownSource(value) ?? (isSeveral(value) ? iteratorSource(value[Symbol.iterator]()) : undefined)
}

/** Of what is meant to be read once. */
function ownSource(value: object): Source | undefined {
  if (Symbol.asyncIterator in value) return asyncSource(value as AsyncIterable<unknown>)
  return isGenerator(value) ? iteratorSource(value) : undefined
}

function asyncSource(value: AsyncIterable<unknown>): Source {
  if (tag(value) === '[object ReadableStream]') return webSource(value as ReadableStream)
  return isReadable(value) ? readableSource(value) : iteratorSource(value[Symbol.asyncIterator]())
}

function iteratorSource(iterator: Iterator<unknown> | AsyncIterator<unknown>): Source {
  return { next: () => iterator.next(), stop: () => iterator.return?.() }
}

/** Its iterator is an async generator, whose `return()` would wait for the read under way. */
function readableSource(readable: Readable): Source {
  const iterator = readable[Symbol.asyncIterator]()
  return { next: () => iterator.next(), stop: () => readable.destroy() }
}

function webSource(stream: ReadableStream): Source {
  const reader = stream.getReader()
  return { next: () => reader.read() as Promise<Step>, stop: () => reader.cancel() }
}

function isReadable(value: object): value is Readable {
  const { pipe, destroy } = value as Partial<Readable>
  return typeof pipe === 'function' && typeof destroy === 'function'
}

function isGenerator(value: object): value is Generator<unknown> {
  return Symbol.toStringTag in value && tag(value) === '[object Generator]'
}

function isSeveral(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value && !ArrayBuffer.isView(value)
}

function tag(value: object): string {
  return Object.prototype.toString.call(value)
}
