// The room of a result arena: no two blocks overlap, what is free again is used again, and all of it can be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Blocks } from '../dist/test/parts.mjs'

const KIB = 1024
const MIB = 1024 * KIB

/** Takes until there is no room. */
function fill(blocks, bytes) {
  const taken = []
  for (;;) {
    const offset = blocks.take(bytes)
    if (offset === undefined) return taken
    taken.push(offset)
  }
}

test('classes waste a fourth at most', () => {
  const size = 64 * MIB
  for (const bytes of [1, 16 * KIB, 16 * KIB + 1, 130_000, 300_000, MIB, MIB + 1, 5 * MIB + 3]) {
    const count = fill(new Blocks(size), bytes).length
    assert.ok(count <= size / bytes && count >= Math.floor(size / (bytes * 1.25 + 16 * KIB)), `${count} of ${bytes}`)
  }
})

test('the block that became free last is taken first', () => {
  const blocks = new Blocks(MIB)
  const [first, second] = [blocks.take(100_000), blocks.take(100_000)]
  assert.notEqual(first, second)
  blocks.give(first)
  blocks.give(second)
  assert.deepEqual([blocks.take(99_000), blocks.take(99_000)], [second, first])
})

test('an offset that is not lent is ignored', () => {
  const blocks = new Blocks(MIB)
  const offset = blocks.take(300_000)
  blocks.give(1)
  blocks.give(offset)
  blocks.give(offset)
  assert.equal(new Set(fill(blocks, 300_000)).size, 3)
})

test('neighbours join again and all of it can be taken', () => {
  const blocks = new Blocks(8 * MIB)
  const taken = fill(blocks, 300_000)
  assert.ok(taken.length > 20)
  for (const offset of taken.reverse()) blocks.give(offset)
  assert.equal(blocks.take(8 * MIB), 0)
  assert.equal(blocks.take(1), undefined)
  assert.equal(new Blocks(1000).take(1), undefined)
})

test('no two blocks overlap whatever the order', () => {
  const blocks = new Blocks(64 * MIB)
  const held = []
  let random = 1n
  const draw = (below) => {
    random = (random * 6364136223846793005n + 1442695040888963407n) & (2n ** 64n - 1n)
    return Number(random >> 33n) % below
  }
  let refused = 0
  for (let round = 0; round < 20_000; round++) {
    if (draw(5) < 3) {
      const length = 2 ** (10 + draw(13)) + draw(1000)
      const offset = blocks.take(length)
      if (offset === undefined) refused++
      else {
        assert.ok(held.every((other) => other.offset + other.length <= offset || offset + length <= other.offset))
        assert.ok(offset + length <= 64 * MIB)
        held.push({ offset, length })
      }
    } else if (held.length > 0) blocks.give(held.splice(draw(held.length), 1)[0].offset)
  }
  assert.ok(refused > 0)
  for (const { offset } of held) blocks.give(offset)
  assert.equal(blocks.take(64 * MIB), 0)
})
