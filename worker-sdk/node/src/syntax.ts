// Where a syntax error is. Node writes that on stderr when it dies of one, and nowhere into the error that `import` rejects with.

import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'
import { withoutOwnFrames } from './errors.js'

const CHECK_LIMIT_MS = 10_000

/** The error that came of importing the file, made to tell where it is if that is not in it. */
export function located(error: unknown, file: string): unknown {
  if (!(error instanceof SyntaxError) || isLocated(error)) return error
  const found = checked(file)
  const first = `${error.name}: ${error.message}`
  error.message += ` (${found === undefined ? `${basename(file)}, or what it imports` : place(found, file)})`
  error.stack = found ?? `${file}\n\n${first}`
  return error
}

function isLocated(error: SyntaxError): boolean {
  return typeof error.stack !== 'string' || withoutOwnFrames(error.stack).trim().includes('\n')
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

function place(found: string, file: string): string {
  const line = /^\d+/.exec(found.slice(file.length + 1))?.[0] ?? '?'
  return `${basename(file)}, line ${line}`
}
