// Declares the types twice: what `import` gets is an ES module, what `require` gets is not.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const types = 'dist/types'
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], { stdio: 'inherit' })
for (const name of readdirSync(types)) {
  if (!name.endsWith('.d.ts')) continue
  const common = readFileSync(join(types, name), 'utf8').replaceAll(/(from '\.[^']*)\.js'/g, "$1.cjs'")
  writeFileSync(join(types, name.replace(/\.d\.ts$/, '.d.cts')), common)
}
