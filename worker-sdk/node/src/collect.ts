// Functions that yield many values. This version answers them with the list of their items (SPEC R31).

import type { CallContext } from './context.js'

export function isItems(value: unknown): value is Generator<unknown> {
  return tag(value) === '[object Generator]'
}

export function isAsyncItems(value: unknown): value is AsyncGenerator<unknown> {
  return tag(value) === '[object AsyncGenerator]'
}

function tag(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : undefined
}

export function collectSync(items: Iterable<unknown>, context: CallContext): unknown[] {
  const list: unknown[] = []
  for (const item of items) {
    list.push(item)
    context.check()
  }
  return list
}

export async function collectAsync(items: AsyncIterable<unknown>, context: CallContext): Promise<unknown[]> {
  const list: unknown[] = []
  for await (const item of items) {
    list.push(item)
    context.check()
  }
  return list
}
