// Bundles the SDK into dist/: main.js (the worker), index.js and index.cjs (what user code imports),
// control-thread.cjs, and test/parts.js (the parts, for the tests; not published).

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.17',
  define: { SDK_VERSION: JSON.stringify(version) },
  logLevel: 'warning',
}

rmSync('dist', { recursive: true, force: true })
await Promise.all([
  build({
    ...common,
    format: 'esm',
    entryPoints: ['src/main.ts'],
    outfile: 'dist/main.js',
    banner: { js: '#!/usr/bin/env node' },
  }),
  build({ ...common, format: 'esm', entryPoints: ['src/index.ts'], outfile: 'dist/index.js' }),
  build({
    ...common,
    format: 'cjs',
    entryPoints: ['src/index.ts'],
    outfile: 'dist/index.cjs',
    define: { ...common.define, 'import.meta.url': '"file:///"' },
  }),
  build({
    ...common,
    format: 'cjs',
    entryPoints: ['src/control-thread.ts'],
    outfile: 'dist/control-thread.cjs',
    define: { ...common.define, 'import.meta.url': '"file:///"' },
  }),
  build({ ...common, format: 'esm', entryPoints: ['test/parts.ts'], outfile: 'dist/test/parts.js' }),
])
// The folder is copied next to native modules, away from package.json: it must say by itself what its .js files are.
writeFileSync('dist/package.json', '{ "type": "module" }\n')
