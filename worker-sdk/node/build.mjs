// Bundles the SDK into dist/: main.js (the worker), index.mjs and index.cjs (what user code imports),
// control-thread.cjs, and test/parts.js (the parts, for the tests; not published).

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.17',
  define: { SDK_VERSION: JSON.stringify(version) },
  logLevel: 'warning',
}
const commonjs = { ...common, format: 'cjs' }
const esm = { ...common, format: 'esm', define: { ...common.define, __dirname: 'import.meta.dirname' } }

// All but the native part, which takes a compiler to make (native.mjs).
mkdirSync('dist', { recursive: true })
for (const name of readdirSync('dist'))
  if (!name.endsWith('.node')) rmSync(join('dist', name), { recursive: true, force: true })
await Promise.all([
  // The worker is CommonJS: the loader of ECMAScript modules takes some milliseconds more to start.
  build({
    ...commonjs,
    entryPoints: ['src/main.ts'],
    outfile: 'dist/main.js',
    banner: { js: '#!/usr/bin/env node' },
  }),
  build({ ...commonjs, entryPoints: ['src/control-thread.ts'], outfile: 'dist/control-thread.cjs' }),
  build({ ...commonjs, entryPoints: ['src/index.ts'], outfile: 'dist/index.cjs' }),
  build({ ...esm, entryPoints: ['src/index.ts'], outfile: 'dist/index.mjs' }),
  build({ ...esm, entryPoints: ['test/parts.ts'], outfile: 'dist/test/parts.mjs' }),
])
// The folder is copied next to native modules, away from package.json: it must say by itself what its .js files are.
writeFileSync('dist/package.json', '{ "type": "commonjs" }\n')
mkdirSync('dist/types')
writeFileSync('dist/types/package.json', '{ "type": "module" }\n')
