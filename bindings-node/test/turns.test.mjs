// An app that takes its time over each result leaves the event loop its turns: in them, what it gave up is given back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveNothing, nodeWorker, open } from './support.mjs'

leaveNothing()

test('however soon the next answer is there, few are taken in one turn of the loop', async (t) => {
  const pool = open(t, nodeWorker)
  await pool.warm()
  const turns = countTurns()
  // How long the app looks away, so that the answer comes while it does, and is read now by the loop, now by another thread.
  for (const ms of [0.3, 0.5, 1, 1.5, 2, 3])
    for (let call = 0; call < 60; call++) {
      spin(5)
      const answer = pool.call('echo', call)
      spin(ms)
      assert.equal(await answer, call)
      turns.count()
    }
  const most = turns.end()
  t.diagnostic(`${most} answers in one turn`)
  assert.ok(most <= 4, `${most} answers in one turn`)
})

function spin(ms) {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** Counts what happens in one turn of the loop. */
function countTurns() {
  let [counted, most] = [0, 0]
  let next = setImmediate(turn)
  function turn() {
    counted = 0
    next = setImmediate(turn)
  }
  return {
    count() {
      most = Math.max(most, ++counted)
    },
    end() {
      clearImmediate(next)
      return most
    },
  }
}
