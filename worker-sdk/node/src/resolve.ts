// Lets user code import 'ganger-worker' where it is not installed: it then gets the copy beside this file.
// An installed one is left alone; marks and hooks are shared through the process's registry either way.

import { readFileSync } from 'node:fs'
import Module, { createRequire, register } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const NAME = 'ganger-worker'

interface Resolved {
  url: string
  shortCircuit?: boolean
}
type Next = (specifier: string, context: unknown) => Resolved
type RegisterHooks = (hooks: { resolve(specifier: string, context: unknown, next: Next): Resolved }) => void

export function provideSdk(files: readonly string[]): void {
  const registerHooks = (Module as unknown as { registerHooks?: RegisterHooks }).registerHooks
  if (registerHooks !== undefined) return registerHooks({ resolve: resolveOrOwn })
  // Node before 22.15 starts a thread for such hooks, 30 ms: only if some file looks as if it needed it.
  if (someMentionsSdk(files) && !isInstalled(files[0] as string)) register(hookModule())
  provideToRequire()
}

/** What a module imports by a relative name or an alias. */
export const IMPORT = /(?:from|import|require)\s*\(?\s*['"]([.#][^'"]*)['"]/g

/** Whether these files, or what they import by relative names, mention the SDK. An alias (`#lib`) counts as maybe. */
function someMentionsSdk(files: readonly string[]): boolean {
  const reached = new Set(files)
  for (const file of reached) {
    const source = textOf(file)
    if (source.includes(NAME)) return true
    for (const [, specifier] of source.matchAll(IMPORT)) {
      if (specifier?.startsWith('#')) return true
      reached.add(resolve(dirname(file), specifier as string))
    }
  }
  return false
}

/** What `require` finds without its extension is found here too; anything else that cannot be read is no matter. */
export function textOf(file: string): string {
  for (const path of [file, `${file}.js`, `${file}.cjs`, join(file, 'index.js')]) {
    try {
      return readFileSync(path, 'utf8')
    } catch {}
  }
  return ''
}

function isInstalled(file: string): boolean {
  try {
    createRequire(file).resolve(NAME)
    return true
  } catch {
    return false
  }
}

function ownModule(): string {
  return pathToFileURL(join(__dirname, 'index.mjs')).href
}

function resolveOrOwn(specifier: string, context: unknown, next: Next): Resolved {
  if (specifier !== NAME) return next(specifier, context)
  try {
    return next(specifier, context)
  } catch {
    return { url: ownModule(), shortCircuit: true }
  }
}

function provideToRequire(): void {
  const loader = Module as unknown as { _resolveFilename(specifier: string, ...rest: unknown[]): string }
  const original = loader._resolveFilename
  loader._resolveFilename = function (this: unknown, specifier, ...rest) {
    if (specifier !== NAME) return original.call(this, specifier, ...rest)
    try {
      return original.call(this, specifier, ...rest)
    } catch {
      return join(__dirname, 'index.cjs')
    }
  }
}

/** The same rule as `resolveOrOwn`, as a module of its own for the hooks' thread. */
function hookModule(): string {
  const source = `export async function resolve(specifier, context, next) {
    if (specifier !== ${JSON.stringify(NAME)}) return next(specifier, context)
    try { return await next(specifier, context) }
    catch { return { url: ${JSON.stringify(ownModule())}, shortCircuit: true } }
  }`
  return `data:text/javascript,${encodeURIComponent(source)}`
}
