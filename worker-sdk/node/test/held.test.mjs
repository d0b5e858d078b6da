// When a worker looks for inputs that nothing can reach any more: counted, with a collector that finds nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeldViews } from '../dist/test/parts.mjs'

const LARGE = 64 << 20
const turn = () => new Promise(setImmediate)

function counting({ isSmall = true } = {}) {
  const looks = { all: 0, many: 0, young: 0 }
  const collector = {
    collectAll: () => looks.all++,
    collectAlone() {},
    collectMany: () => looks.many++,
    collectYoung: () => looks.young++,
    giveUpAtOnce() {},
    heapIsSmall: () => isSmall,
  }
  return { looks, collector }
}

async function answered(views, seq, bytes = LARGE) {
  views.add(seq, bytes)
  assert.equal(views.isHeldAtAnswer(seq), true)
  await turn()
}

test('what outlives the calls after it is looked for among everything, and again after a while', async (t) => {
  let now = 5000
  t.mock.method(performance, 'now', () => now)
  const { looks, collector } = counting()
  const views = new HeldViews(1 << 30, () => {}, collector)
  await answered(views, 1)
  assert.deepEqual(looks, { all: 0, many: 1, young: 0 }, 'the call has only just been answered')
  await answered(views, 2)
  assert.equal(looks.all, 1, 'the first is no longer young')
  views.remove(2)
  await answered(views, 3)
  assert.equal(looks.all, 1, 'the first was looked for in vain')
  views.remove(3)
  await answered(views, 4)
  await answered(views, 5)
  assert.equal(looks.all, 2, 'the fourth is one more')
  views.remove(5)
  await answered(views, 6)
  assert.equal(looks.all, 2)
  now += 3000
  views.remove(6)
  await answered(views, 7)
  assert.equal(looks.all, 3, 'they may have been let go of since')
})

test('a large heap is left to V8', async () => {
  const { looks, collector } = counting({ isSmall: false })
  const views = new HeldViews(1 << 30, () => {}, collector)
  for (let seq = 1; seq <= 5; seq++) await answered(views, seq)
  assert.deepEqual(looks, { all: 0, many: 5, young: 0 })
})

test('short inputs are looked for among the young', async () => {
  const { looks, collector } = counting()
  const views = new HeldViews(1 << 20, () => {}, collector)
  await answered(views, 1, 300_000)
  assert.deepEqual(looks, { all: 0, many: 0, young: 1 })
})
