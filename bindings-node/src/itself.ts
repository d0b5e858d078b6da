// An app and a worker in one file: the worker that loads it must not run the app too, or each worker would start a further one, without end.

import { resolve } from 'node:path'
import { refused } from './errors.js'
import { pathOf } from './options.js'

/** Where a worker says what it is loading, until it has. */
const LOADING = Symbol.for('ganger-worker.loading')

/** Whether the workers of such a pool would load what this process, which is one, is loading. */
export function isOfItself(target: unknown): boolean {
  const path = isLoading() ? pathOf(target) : undefined
  return typeof path === 'string' && resolve(path) === loading()
}

/** Of such a pool. Once the worker is ready it may call what it likes. */
export function refuseWhileLoading(fn: string): void {
  if (!isLoading()) return
  const why = `this worker is still loading ${loading()}, which calls a pool of the same workers`
  throw refused('INVALID_OPTION', `${why}: have the app in a file of its own`, fn, { option: 'node' })
}

function isLoading(): boolean {
  return loading() !== undefined
}

function loading(): string | undefined {
  return (globalThis as { [LOADING]?: string })[LOADING]
}
