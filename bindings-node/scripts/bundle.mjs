// Bundles src/ into dist/: one CommonJS file that holds everything, an ES module that hands it on, so that an app which
// loads both ways has one `GangerError`, and the types for each.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const { metafile } = await build({
  entryPoints: ['src/index.ts'],
  outfile: 'dist/index.cjs',
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20.17',
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
  keepNames: true,
  logLevel: 'warning',
  define: { 'import.meta.dirname': '__dirname' },
})
// dist/ is a CommonJS file and an ES module in a package of ES modules: the extensions say which is which.
const names = Object.values(metafile.outputs).flatMap((output) => (output.entryPoint ? exported() : []))
writeFileSync('dist/index.js', `export { ${names.join(', ')} } from './index.cjs'\n`)
types()

/** The value exports of src/index.ts. */
function exported() {
  const source = readFileSync('src/index.ts', 'utf8')
  const lists = [...source.matchAll(/^export \{([^}]*)\}/gm)].map((match) => match[1].split(','))
  return lists
    .flat()
    .map((name) => name.trim())
    .filter((name) => name && !name.startsWith('type '))
}

/** Declarations twice: what `import` gets is an ES module, what `require` gets is not. */
function types() {
  const raw = 'dist/.types'
  rmSync(raw, { recursive: true, force: true })
  rmSync('dist/types', { recursive: true, force: true })
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.', '--outDir', raw], { stdio: 'inherit' })
  mkdirSync('dist/types', { recursive: true })
  cpSync(`${raw}/bindings-node/src`, 'dist/types', { recursive: true })
  rmSync(raw, { recursive: true })
  for (const path of readdirSync('dist/types', { recursive: true }))
    if (path.endsWith('.d.ts')) {
      const text = readFileSync(join('dist/types', path), 'utf8')
      const common = text.replaceAll(/(from '\.[^']*)\.js'/g, "$1.cjs'")
      writeFileSync(join('dist/types', path.replace(/\.d\.ts$/, '.d.cts')), common)
    }
}
