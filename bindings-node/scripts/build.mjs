// Builds the whole package into dist/: the native module, what lies beside it, the bundle and the types.
// `--release` builds the native parts as they are published, `--programs` adds the command `ganger` and `ganger-wasm`.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = fileURLToPath(new URL('..', import.meta.url))
const flags = ['--release', '--programs'].filter((flag) => process.argv.includes(flag))
const release = flags.includes('--release') ? ['--release'] : []
const programs = flags.includes('--programs') ? ['-p', 'ganger-cli', '-p', 'ganger-wasm'] : []

run('cargo', ['build', '-p', 'ganger-node', '-p', 'ganger-shim', ...programs, ...release], root)
run(process.execPath, ['scripts/stage.mjs', ...flags], here)
run(process.execPath, ['scripts/bundle.mjs'], here)

function run(program, args, cwd) {
  execFileSync(program, args, { cwd, stdio: 'inherit' })
}
