// Builds the native part and puts it into dist/, beside the bundle. `--release` builds it as it is published.

import { execFileSync } from 'node:child_process'
import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const release = process.argv.includes('--release')
const built = join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), release ? 'release' : 'debug')
const library = process.platform === 'darwin' ? 'libganger_worker_node.dylib' : 'libganger_worker_node.so'
const target = fileURLToPath(new URL('dist/ganger-worker.node', import.meta.url))

execFileSync('cargo', ['build', '--quiet', '-p', 'ganger-worker-node', ...(release ? ['--release'] : [])], {
  cwd: root,
  stdio: 'inherit',
})
// A running process keeps the file it has: writing into it would crash it.
copyFileSync(join(built, library), `${target}.next`)
renameSync(`${target}.next`, target)
