// From files to function names and contracts; user code that imports 'ganger-worker' without having it installed.

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Host, MAIN, project } from './host.mjs'

const namesOf = (host) => host.last.body.functions.map(({ name }) => name).sort()

async function inHost(target, options, act) {
  const host = await Host.started(target, options)
  try {
    assert.ok(host.last.body.functions, JSON.stringify(host.last.body))
    await act(host)
  } finally {
    await host.leave()
  }
}

test('in a folder each file is a module; nested folders are dotted; tests, hidden and private files are not modules', async () => {
  const folder = project({
    'prices.js': 'export const convert = (x) => x * 2; export default function () { return "default" }',
    'package.json': '{"type": "module"}',
    'geo/index.mjs': 'export const here = () => "here"',
    'geo/far/away.cjs': 'exports.there = () => "there"; exports.ganger = { functions: { there: { summary: "Far" } } }',
    'prices.test.js': 'throw new Error("no module")',
    '_private.js': 'throw new Error("no module")',
    '.hidden.js': 'throw new Error("no module")',
    'node_modules/x/index.js': 'throw new Error("no module")',
    'types.d.ts': '',
  })
  await inHost(folder, {}, async (host) => {
    assert.deepEqual(namesOf(host), ['geo.far.away.there', 'geo.here', 'prices', 'prices.convert'])
    assert.equal(await host.call('prices.convert', 2), 4)
    assert.equal(await host.call('prices'), 'default')
    assert.equal(await host.call('geo.far.away.there'), 'there')
  })
})

test('a CommonJS file exports an object, a function, or a function with more beside it', async () => {
  const folder = project({
    'one.cjs': 'module.exports = { twice: (x) => 2 * x, nothing: 1 }',
    'two.cjs': 'module.exports = () => "two"; module.exports.more = () => "more"',
    'three.cjs': 'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = () => "three"',
    'four.cjs': 'module.exports = class { static f() {} }',
  })
  await inHost(folder, {}, async (host) => {
    assert.deepEqual(namesOf(host), ['one.twice', 'three', 'two', 'two.more'])
    assert.deepEqual(
      [await host.call('one.twice', 2), await host.call('two'), await host.call('three')],
      [4, 'two', 'three'],
    )
  })
})

test('contracts carry what the author said', async () => {
  const folder = project({
    'w.mjs': `
      import { action } from 'ganger-worker'
      export const convert = action({ summary: 'Converts', idempotent: true, timeout: '5s', weight: 10, name: 'to' }, (x) => x)
      export function* tokens() {}
      export const plain = () => 1
      export const ganger = { functions: { plain: { slots: 2, exclusive: 'worker', timeout: 250, batch: { max: 8, wait: '10ms' } } } }`,
  })
  await inHost(join(folder, 'w.mjs'), {}, async (host) => {
    assert.deepEqual(
      host.last.body.functions.sort((a, b) => (a.name < b.name ? -1 : 1)),
      [
        {
          name: 'plain',
          kind: 'value',
          slots: 2,
          exclusive: 'worker',
          timeout_ms: 250,
          batch: { max: 8, wait_ms: 10 },
        },
        { name: 'to', kind: 'value', summary: 'Converts', idempotent: true, weight: 10, timeout_ms: 5000 },
        { name: 'tokens', kind: 'stream' },
      ],
    )
    assert.equal(await host.call('w.to', 5), 5)
  })
})

test("import and require of 'ganger-worker' work where it is not installed, in files deeper down too", async () => {
  const folder = project({
    'esm.mjs': `import { startup } from 'ganger-worker'; import './lib/deep.mjs'; globalThis.order = []; startup(() => order.push('esm')); export const order1 = () => globalThis.order`,
    'lib/deep.mjs': `import { startup } from 'ganger-worker'; startup(() => order.push('deep'))`,
    'common.cjs': `const { startup, action } = require('ganger-worker'); let up = false; startup(() => { up = true }); exports.up = action({ summary: 'x' }, () => up)`,
  })
  await inHost(join(folder, 'esm.mjs'), {}, async (host) =>
    assert.deepEqual(await host.call('order1'), ['deep', 'esm']),
  )
  await inHost(join(folder, 'common.cjs'), {}, async (host) => {
    assert.equal(await host.call('up'), true)
    assert.equal(host.last.kind, 17)
  })
})

test("only a file that the target imports asks for 'ganger-worker'", async () => {
  const folder = project({
    'w.mjs': `export { f } from './lib/inner.mjs'`,
    'lib/inner.mjs': `import { action } from 'ganger-worker'; export const f = action({ summary: 'inner' }, () => 'inner')`,
  })
  await inHost(join(folder, 'w.mjs'), {}, async (host) => assert.equal(await host.call('f'), 'inner'))
})

test('an installed copy is used, and its hooks and options count', async () => {
  const copy = new URL('../dist/index.mjs', import.meta.url).href
  const folder = project({
    'node_modules/ganger-worker/package.json': '{"name": "ganger-worker", "type": "module", "exports": "./index.js"}',
    'node_modules/ganger-worker/index.js': `export * from ${JSON.stringify(copy)}; export const installed = true`,
    'w.mjs': `import * as sdk from 'ganger-worker'; let up = false; sdk.startup(() => { up = true }); export const f = () => [sdk.installed, up]`,
  })
  await inHost(join(folder, 'w.mjs'), {}, async (host) => assert.deepEqual(await host.call('f'), [true, true]))
})

test('two functions of one name fail the start', async () => {
  const folder = project({
    'a.mjs':
      'export const f = () => 1; export const g = () => 2; export const ganger = { functions: { g: { name: "f" } } }',
  })
  const host = await Host.started(folder)
  assert.match(host.last.body.message, /a\.f is defined twice/)
  await host.exited
})

test('options of Node do not run in the control thread', async () => {
  const folder = project({
    'pre.mjs': `globalThis.loads = (globalThis.loads ?? 0) + 1; console.log('preloaded')`,
    'w.mjs': 'export const loads = () => globalThis.loads',
  })
  const options = { env: { NODE_OPTIONS: `--import ${join(folder, 'pre.mjs')}` } }
  await inHost(join(folder, 'w.mjs'), options, async (host) => {
    assert.equal(await host.call('loads'), 1)
    assert.equal(host.stdout, 'preloaded\n')
  })
})

test('TypeScript runs where Node strips types', { skip: !process.features.typescript }, async () => {
  const folder = project({
    'prices.ts': 'export const convert = (amount: number): number => amount * 2',
    'types.d.ts': 'export type X = 1',
  })
  await inHost(folder, {}, async (host) => assert.equal(await host.call('prices.convert', 2), 4))
  await inHost(join(folder, 'prices.ts'), {}, async (host) => assert.equal(await host.call('convert', 2), 4))
})

test('the built folder works wherever it is copied', async () => {
  const folder = project({ 'w.mjs': `import { action } from 'ganger-worker'; export const f = action({}, () => 1)` })
  cpSync(dirname(MAIN), join(folder, 'sdk'), { recursive: true })
  await inHost('w.mjs', { main: join(folder, 'sdk/main.js'), cwd: folder }, async (host) => {
    assert.equal(await host.call('f'), 1)
  })
})
