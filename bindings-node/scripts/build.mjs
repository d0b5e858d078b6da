// Builds the whole package into dist/: the native module, what lies beside it, the bundle and the types.
// `--release` builds the native parts as they are published, `--command` adds the command `ganger`.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = fileURLToPath(new URL('..', import.meta.url))
const flags = ['--release', '--command'].filter((flag) => process.argv.includes(flag))
const release = flags.includes('--release') ? ['--release'] : []
const command = flags.includes('--command') ? ['-p', 'ganger-cli'] : []

run('cargo', ['build', '-p', 'ganger-node', '-p', 'ganger-shim', ...command, ...release], root)
run(process.execPath, ['scripts/stage.mjs', ...flags], here)
run(process.execPath, ['scripts/bundle.mjs'], here)

function run(program, args, cwd) {
  execFileSync(program, args, { cwd, stdio: 'inherit' })
}
