// What the chaos suites call in Node workers. A deed with a mark notes it before anything else.

import { existsSync, openSync, writeSync } from 'node:fs'

// Short appends to one file are whole, whoever else appends.
const marks = process.env.MARKS ? openSync(process.env.MARKS, 'a') : undefined

const note = (mark) => marks !== undefined && writeSync(marks, `${mark}\n`)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export const ganger = {
  async startup() {
    await sleep(Number(process.env.START_SECONDS ?? 0) * 1000)
    if (existsSync(process.env.NO_START ?? '/none')) throw new Error('not while the file is there')
  },
}

export function echo(input) {
  note(input.mark)
  return input.mark
}

export async function work(input) {
  note(input.mark)
  await sleep(input.seconds * 1000)
  return input.mark
}

/** Stops when it is asked. */
export async function hang(input, context) {
  note(input.mark)
  await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)))
}

/** Does not stop when it is asked. */
export function spin(input) {
  note(input.mark)
  for (;;);
}

export async function crash(input) {
  note(input.mark)
  process.kill(process.pid, 'SIGKILL')
  // The signal comes when it comes.
  await sleep(60_000)
}

export function bomb() {
  const held = []
  for (;;) held.push(Buffer.alloc(16 << 20, 1))
}

export const size = (data) => data.length
export const bytes_of = (count) => Buffer.alloc(count)

/** One line without an end. */
export function shout(count) {
  let written = 0
  while (written < count) written += write(Buffer.alloc(Math.min(count - written, 1 << 20), 'y'))
  return written
}

/** A full pipe that does not block says so. */
function write(bytes) {
  for (;;) {
    try {
      return writeSync(2, bytes)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

export function shout_and_crash(count) {
  shout(count)
  process.exit(3)
}
