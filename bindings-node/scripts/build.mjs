// Builds the whole package into dist/: the native module, what lies beside it, the bundle and the types.
// `--release` builds the native parts as they are published.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = fileURLToPath(new URL('..', import.meta.url))
const release = process.argv.includes('--release')

run('cargo', ['build', '-p', 'ganger-node', '-p', 'ganger-shim', ...(release ? ['--release'] : [])], root)
run(process.execPath, ['scripts/stage.mjs', ...(release ? ['--release'] : [])], here)
run(process.execPath, ['scripts/bundle.mjs'], here)

function run(program, args, cwd) {
  execFileSync(program, args, { cwd, stdio: 'inherit' })
}
