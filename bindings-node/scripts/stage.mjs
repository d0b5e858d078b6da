// Puts beside each other in dist/ what the core looks for there, the native module, the shim and the worker SDKs, and with `--programs`
// the command `ganger` and the host of WebAssembly modules.

import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const dist = fileURLToPath(new URL('../dist', import.meta.url))
const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target')
const built = join(target, process.argv.includes('--release') ? 'release' : 'debug')
const library = process.platform === 'darwin' ? 'libganger_node.dylib' : 'libganger_node.so'

mkdirSync(dist, { recursive: true })
replace(join(built, library), join(dist, 'ganger.node'))
replace(join(built, 'ganger-shim'), join(dist, 'ganger-shim'))
if (process.argv.includes('--programs'))
  for (const program of ['ganger', 'ganger-wasm']) replace(join(built, program), join(dist, program))
stagePython()
stageNode()

function stagePython() {
  const from = join(root, 'worker-sdk/python')
  const to = join(dist, 'python')
  rmSync(to, { recursive: true, force: true })
  cpSync(join(from, 'src/ganger_worker'), join(to, 'ganger_worker'), {
    recursive: true,
    filter: (path) => !/__pycache__|\.(pyc|so)$|\.mypy_cache/.test(path),
  })
  copyFileSync(join(from, 'ganger_worker_start.py'), join(to, 'ganger_worker_start.py'))
}

function stageNode() {
  const from = join(root, 'worker-sdk/node')
  if (!existsSync(join(from, 'dist/main.js')))
    execFileSync(process.execPath, ['build.mjs'], { cwd: from, stdio: 'inherit' })
  const to = join(dist, 'node')
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to)
  for (const file of ['main.js', 'index.mjs', 'index.cjs', 'control-thread.cjs', 'package.json'])
    copyFileSync(join(from, 'dist', file), join(to, file))
  // Without it workers copy what they would look at.
  const native = join(from, 'dist/ganger-worker.node')
  if (existsSync(native)) copyFileSync(native, join(to, 'ganger-worker.node'))
}

/** A running process keeps the file it has: writing into it would crash it. */
function replace(from, to) {
  const next = `${to}.next`
  copyFileSync(from, next)
  renameSync(next, to)
}
