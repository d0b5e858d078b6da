// Packs what is published, into a folder: `node pack.mjs DESTINATION`. The package of the SDK, which is JavaScript alone, and the one with the
// native part for this system. Who installs the first gets the second along where there is one; where there is none, the SDK does without.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

/** Where arenas are, and so something to be looked at. */
const SYSTEMS = ['linux-x64-gnu', 'linux-arm64-gnu', 'linux-x64-musl', 'linux-arm64-musl']

const destination = resolve(process.argv[2] ?? '.')
const about = JSON.parse(readFileSync('package.json', 'utf8'))
const place = mkdtempSync(join(tmpdir(), 'ganger-pack-'))
try {
  packSdk()
  if (process.platform === 'linux') packNative(`linux-${process.arch}-${libc()}`)
} finally {
  rmSync(place, { recursive: true })
}

function packSdk() {
  const { scripts, devDependencies, ...published } = about
  const native = Object.fromEntries(SYSTEMS.map((system) => [nameOf(system), about.version]))
  const files = [...published.files, 'LICENSE-*']
  pack('sdk', { ...published, files, optionalDependencies: native }, ['dist', 'README.md'])
}

function packNative(system) {
  const [os, cpu, libc] = system.split('-')
  const { version, license, engines } = about
  const description = `The native part of ganger-worker for ${system}`
  const systems = { os: [os], cpu: [cpu], libc: [libc === 'gnu' ? 'glibc' : libc] }
  const file = 'ganger-worker.node'
  const main = { main: file, files: [file, 'LICENSE-*'] }
  pack('native', { name: nameOf(system), version, description, license, engines, ...systems, ...main }, [
    join('dist', file),
  ])
}

/** A folder with the package as it is published, and its archive. */
function pack(name, manifest, files) {
  const folder = join(place, name)
  for (const file of [...files, '../../LICENSE-MIT', '../../LICENSE-APACHE'])
    cpSync(file, join(folder, basename(file)), { recursive: true })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', destination], {
    cwd: folder,
    stdio: ['ignore', process.stderr, process.stderr],
  })
}

function nameOf(system) {
  return `${about.name}-${system}`
}

function libc() {
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}
