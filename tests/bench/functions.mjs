// The functions that the Node peers, and a Ganger pool, run in their workers.
import { isMainThread, threadId } from 'node:worker_threads'

export const noop = (payload) => payload
export const echo = (payload) => payload
export const BLOCK = Buffer.alloc(
  1 << 16,
  Uint8Array.from({ length: 256 }, (_, index) => index),
)
/** So many small items, or blocks of 64 KiB. */
export function* items({ count, blocks }) {
  for (let number = 0; number < count; number++) yield blocks ? Buffer.from(BLOCK) : { a: number }
}
// Said to be async, because poolifier waits for no other.
export const wait = async ({ ms }) => new Promise((done) => setTimeout(done, ms, ms))
// After some time, so that every worker has to answer when as many are asked at once.
export const pid = async ({ ms }) => new Promise((done) => setTimeout(done, ms, isMainThread ? process.pid : threadId))
