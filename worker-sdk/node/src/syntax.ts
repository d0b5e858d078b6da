// Where a syntax error is. Node writes that on stderr when it dies of one, and nowhere into the error that `import` rejects with.

import { spawnSync } from 'node:child_process'
import { basename, dirname, resolve } from 'node:path'
import { withoutOwnFrames } from './errors.js'
import { IMPORT, textOf } from './resolve.js'

const CHECK_LIMIT_MS = 10_000
/** Each file is asked about in a process of its own. */
const MOST_FILES = 20

/** The error that came of importing the file, made to tell where it is if that is not in it. */
export function located(error: unknown, file: string): unknown {
  if (!(error instanceof SyntaxError) || isLocated(error)) return error
  const found = foundIn(file)
  const first = `${error.name}: ${error.message}`
  error.message += ` (${found === undefined ? `${basename(file)}, or what it imports` : place(found)})`
  error.stack = found ?? `${file}\n\n${first}`
  return error
}

function isLocated(error: SyntaxError): boolean {
  return typeof error.stack !== 'string' || withoutOwnFrames(error.stack).trim().includes('\n')
}

/** In the file or, one after the other, in what it imports by relative names. */
function foundIn(file: string): string | undefined {
  const files = new Set([file])
  for (const file of files) {
    const found = checked(file)
    if (found !== undefined) return found
    for (const [, specifier] of textOf(file).matchAll(IMPORT))
      if (specifier?.startsWith('.') && files.size < MOST_FILES) files.add(resolve(dirname(file), specifier))
  }
  return undefined
}

/** What Node says of the file: `FILE:LINE`, the line, a mark below it, the error. Nothing if it finds no fault in this one. */
function checked(file: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, [...process.execArgv, '--check', file], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: CHECK_LIMIT_MS,
  })
  const said = (stderr ?? '').slice(Math.max(0, (stderr ?? '').indexOf(`${file}:`)))
  const end = said.search(/^\s+at /m)
  return said.startsWith(`${file}:`) && end > 0 ? said.slice(0, end).trimEnd() : undefined
}

function place(found: string): string {
  const [, file, line] = /^(.*):(\d+)$/m.exec(found) ?? []
  return `${basename(file ?? '')}, line ${line}`
}
