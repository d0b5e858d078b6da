// What `ganger types` writes, as an app uses it. Compiled by `npm run check`, never run.

import { Pool, type Stream } from 'ganger'
import type { Place, Workers as Prices } from '../../../core/cli/tests/types/prices_client.js'
import type { Shape, Workers as Shapes } from '../../../core/cli/tests/types/shapes_client.js'

const pool = new Pool({ python: 'prices.py' })
const prices = pool.proxy<Prices>({ timeout: '5s' })
const place: Place = { city: 'Ur' }
const price: number = await prices.convert({ amount: 3, currency: 'EUR', place }, { timeout: 500 })
const pruned: string | undefined = (await prices.deep.down.prune({ tree: { name: 'a', children: [] } }))?.name
const counted: Stream<number> = prices.count.stream({ to: 3 })
for await (const word of prices['words.stream'].stream({ text: 'a b' })) console.log(word.length)
const total: number = await prices.total({ start: price }, { inputs: [1, 2] })
const nothing: null = await prices.nothing()
const [data]: [Uint8Array, ...unknown[]] = await prices.mixed({
  pair: [1, 'a'],
  table: { a: [1] },
  either: null,
  moment: new Date(),
  data: new Uint8Array(),
  more: 'than is known',
})
console.log(pruned, counted, total, nothing, data, await prices.class.import({ value: 1 }))

const shapes = new Pool({ node: 'shapes.mjs' }).proxy<Shapes>()
const shape: Shape = { kind: 'group', 'of-what': [{ kind: 'circle', radius: 1 }] }
const turned: Record<string, number | null> = await shapes.rotate(shape)
await shapes.measure({ unit: 3, big: 2n ** 60n, at: new Date(), corner: [1, 2, 'a'], 'with space': { a: '', b: null } })
for await (const [x, y] of shapes.corners.stream({ sides: 3 })) console.log(x + y, turned)

const unchecked = pool.proxy()
const anything: unknown = await unchecked['prices']?.['convert']?.({ amount: 3 })
console.log(anything)

// @ts-expect-error a text for a number
await prices.convert({ amount: '3' })
// @ts-expect-error no such currency
await prices.convert({ amount: 3, currency: 'GBP' })
// @ts-expect-error no such field
await prices.convert({ amount: 3, curency: 'EUR' })
// @ts-expect-error an amount is missing
await prices.convert({})
// @ts-expect-error an input is missing
await prices.convert()
// @ts-expect-error no such function
await prices.convrt({ amount: 3 })
// @ts-expect-error no such option
await prices.convert({ amount: 3 }, { timout: 3 })
// @ts-expect-error a stream is read, not awaited
await prices.count({ to: 3 })
// @ts-expect-error a stream is never tried again
prices.count.stream({ to: 3 }, { retries: 1 })
// @ts-expect-error items of another type
await prices.total(null, { inputs: ['a'] })
// @ts-expect-error a circle has a radius
await shapes.rotate({ kind: 'circle' })
// @ts-expect-error a number, not a text
export const wrong: string = await prices.convert({ amount: 3 })
// @ts-expect-error it cannot be replaced
prices.convert = async () => 3
