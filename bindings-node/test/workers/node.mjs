// Functions that the tests call in Node workers.

import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'

export const echo = (input) => input
export const pid = () => process.pid
export const now = () => Date.now()
export const length = (bytes) => bytes.length
export const bytes = (count) => Buffer.alloc(count, 7)
export const nothing = () => undefined
export const exit = (code) => process.exit(code)
export const kill = (signal) => process.kill(process.pid, signal)
export const abort = () => process.abort()

export function hoard() {
  const held = []
  for (;;) held.push(Array.from({ length: 1 << 16 }, (_, index) => ({ index })))
}

export const badResult = () => ({ deep: [1, () => 1] })

export async function sleep(ms) {
  await new Promise((resolve) => setTimeout(resolve, ms))
  return ms
}

/** When it began and ended, by a clock that all processes share, in nanoseconds. */
export async function interval(ms) {
  const begun = process.hrtime.bigint()
  await new Promise((resolve) => setTimeout(resolve, ms))
  return [Number(begun), Number(process.hrtime.bigint())]
}

export async function patient(ms, context) {
  await new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    context.signal.addEventListener('abort', () => reject(context.signal.reason))
  })
}

export function spin() {
  for (;;);
}

export function fail(message) {
  const error = new RangeError(message, { cause: new TypeError('the reason') })
  throw Object.assign(error, { status: 418, unsendable: () => 1 })
}

export async function exitSoon(code) {
  setTimeout(() => process.exit(code), 30)
  return 'answered'
}

export function print(lines) {
  for (let line = 0; line < lines; line++) console.log(`out ${line}`)
  writeSync(2, 'err\n')
  return lines
}

export function grandchild() {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
  child.unref()
  return child.pid
}

export function grandchildPrints() {
  return new Promise((resolve) => {
    spawn('sh', ['-c', 'echo from a grandchild'], { stdio: ['ignore', 'inherit', 'inherit'] }).on('exit', resolve)
  })
}

export const traced = (_input, context) => ({ trace: context.trace, attempt: context.attempt })

export function logs(_input, context) {
  for (const level of ['debug', 'info', 'warn', 'error']) context.log[level](`at ${level}`, { n: level })
}
