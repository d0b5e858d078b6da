// From a target (a file or a folder) to functions and hooks. In a folder each file is a module and its functions are
// named `module.function`, with dots for nested folders; in a single file the bare name serves, and `file.function` too.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, extname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Hook, hooks, isHook, type ModuleDescription, optionsOf, type WorkerFunction } from './actions.js'
import type { FunctionOptions } from './contract.js'
import { Functions } from './functions.js'
import { described as describedIn } from './jsdoc.js'
import { provideSdk } from './resolve.js'
import { located } from './syntax.js'

export interface Loaded {
  functions: Functions
  startup: Hook[]
  shutdown: Hook[]
}

type Namespace = Readonly<Record<string, unknown>>

/** What is being loaded, for who would load it again and again: a pool of these workers, in them. */
const LOADING = Symbol.for('ganger-worker.loading')

export async function load(target: string): Promise<Loaded> {
  const path = resolve(target)
  const process = globalThis as { [LOADING]?: string }
  process[LOADING] = path
  try {
    return await loadFrom(path, target)
  } finally {
    delete process[LOADING]
  }
}

async function loadFrom(path: string, target: string): Promise<Loaded> {
  const single = !stat(path, target).isDirectory()
  const files = single ? [path] : sourceFiles(path)
  if (files.length === 0) throw new Error(`${target} has no module that Node could load`)
  provideSdk(files)
  const functions = new Functions()
  for (const file of files) {
    const namespace = extname(file) === '.cjs' ? required(file) : await imported(file)
    const comments = describedIn(readFileSync(file, 'utf8'))
    collect(functions, namespace, single ? { stem: stemOf(file) } : { prefix: moduleName(path, file) }, comments)
  }
  return { functions, startup: hooks().startup, shutdown: [...hooks().shutdown].reverse() }
}

async function imported(file: string): Promise<Namespace> {
  try {
    return await import(pathToFileURL(file).href)
  } catch (error) {
    throw located(error, file)
  }
}

/** Spares CommonJS the loader of ECMAScript modules, and gives what `import` would. */
function required(file: string): Namespace {
  const main: unknown = createRequire(file)(file)
  const names = typeof main === 'function' || (typeof main === 'object' && main !== null) ? main : {}
  return { ...names, default: main }
}

/** `prefix` for a module of a folder, `stem` for a single file. */
type Naming = { prefix: string } | { stem: string }

function collect(
  functions: Functions,
  namespace: Namespace,
  naming: Naming,
  comments: ReadonlyMap<string, FunctionOptions>,
): void {
  const exported = exportsOf(namespace)
  const description = (exported['ganger'] ?? {}) as ModuleDescription
  const described = description.functions ?? {}
  for (const name of Object.keys(described))
    if (!isFunction(exported[name]))
      throw new Error(`ganger.functions describes ${name}, which is no exported function`)
  for (const [name, value] of Object.entries(exported)) {
    if (!isFunction(value)) continue
    const stated = { ...optionsOf(value), ...described[name] }
    const comment = commentOn(value, name, comments)
    const options = { ...(stated.batch === undefined ? comment : ofEach(comment)), ...stated }
    const bare = options.name ?? name
    if ('stem' in naming)
      functions.add(
        name === 'default' && options.name === undefined ? naming.stem : bare,
        value,
        options,
        `${naming.stem}.${bare}`,
      )
    else functions.add(qualified(naming.prefix, bare), value, options)
  }
  if (description.startup !== undefined) hooks().startup.push(description.startup)
  if (description.shutdown !== undefined) hooks().shutdown.push(description.shutdown)
}

/** By the exported name, or by the function's own. */
function commentOn(
  fn: WorkerFunction,
  name: string,
  comments: ReadonlyMap<string, FunctionOptions>,
): FunctionOptions | undefined {
  return comments.get(name) ?? comments.get(fn.name)
}

/** The comment of a function that takes batches speaks of arrays; its contract speaks of one call. */
function ofEach(comment: FunctionOptions | undefined): FunctionOptions {
  const { input, output, ...rest } = comment ?? {}
  const items = [
    ['input', input?.['items']],
    ['output', output?.['items']],
  ]
  return { ...rest, ...Object.fromEntries(items.filter(([, schema]) => schema !== undefined)) }
}

/** The exports by name; what a CommonJS module or a default object holds counts as exported. */
function exportsOf(namespace: Namespace): Record<string, unknown> {
  const { default: main, 'module.exports': _, ...named } = namespace
  if (typeof main === 'function') return { ...named, default: main }
  if (typeof main !== 'object' || main === null || Object.getPrototypeOf(main) !== Object.prototype) return named
  return { ...(main as Record<string, unknown>), ...named }
}

function qualified(prefix: string, name: string): string {
  if (name === 'default' && prefix !== '') return prefix
  return prefix === '' ? name : `${prefix}.${name}`
}

function isFunction(value: unknown): value is WorkerFunction {
  return typeof value === 'function' && !isHook(value) && !/^class\b/.test(Function.prototype.toString.call(value))
}

const JAVASCRIPT = ['.js', '.mjs', '.cjs']
const TYPESCRIPT = ['.ts', '.mts', '.cts']

function sourceFiles(folder: string): string[] {
  const wanted = runsTypeScript() ? [...JAVASCRIPT, ...TYPESCRIPT] : JAVASCRIPT
  const files: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (/^[._]/.test(entry.name) || entry.name === 'node_modules') continue
    if (entry.isDirectory()) files.push(...sourceFiles(path))
    else if (wanted.includes(extname(entry.name)) && !/\.(d|test|spec)\.\w+$/.test(entry.name)) files.push(path)
  }
  return files.sort()
}

/** Node itself strips types, or a loader that the user asked for may do so. */
function runsTypeScript(): boolean {
  const features = process.features as { typescript?: string | false }
  const loader = /--(import|require|loader|experimental-loader)\b|^-r\b/
  return Boolean(features.typescript) || loader.test([...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' '))
}

function moduleName(folder: string, file: string): string {
  const parts = relative(folder, file).split(sep)
  const stem = stemOf(parts.pop() as string)
  return [...parts, ...(stem === 'index' ? [] : [stem])].join('.')
}

function stemOf(file: string): string {
  return basename(file, extname(file))
}

function stat(path: string, target: string): ReturnType<typeof statSync> & object {
  try {
    return statSync(path)
  } catch {
    throw new Error(`the worker's target ${target} does not exist (looked at ${path})`)
  }
}
