// Sends photographs to workers in Python, Node and Rust, several at once, and kills one worker half-way.
//   node app.mjs PHOTOGRAPHS OUT
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { Pool } from 'ganger'
import { Report } from './report.mjs'

const [folder, out] = process.argv.slice(2)
const workers = join(import.meta.dirname, 'workers')

const pools = {
  python: new Pool({ python: workers, name: 'thumbnails', workers: 2 }),
  node: new Pool({ node: join(workers, 'colours.mjs'), name: 'colours', workers: 2 }),
  // Rust runs its calls in threads: one process is enough.
  rust: new Pool({ command: [process.env.FINGERPRINT], name: 'fingerprints', workers: 1, concurrency: 4 }),
}

const files = (await readdir(folder)).sort()
const report = new Report(pools, { title: 'Node app', calls: 3 * files.length + 1 })
let thumbnails = 0

async function look(file) {
  const photo = await readFile(join(folder, file))
  const thumbnail = await pools.python.call('thumbnails.thumbnail', { photo, size: 200 }, { idempotent: true })
  if (++thumbnails === files.length / 2) killOne(pools.python)
  const [colours, fingerprint] = await Promise.all([
    pools.node.call('palette', { pixels: thumbnail.pixels }),
    pools.rust.call('fingerprint', { photo, ...thumbnail }),
  ])
  return { name: parse(file).name, ...thumbnail, colours, ...fingerprint }
}

// What a bug in C code or the kernel's memory killer would do. The call that the worker had is idempotent, so it runs again.
function killOne(pool) {
  const { pid } = pool.stats().details.find((worker) => worker.busy)
  process.kill(pid, 'SIGKILL')
}

try {
  report.start()
  const pictures = await Promise.all(files.map(look))
  const title = `${pictures.length} pictures, looked at by Python, Node and Rust`
  const sheet = await pools.python.call('contact_sheet.draw', { title, pictures })
  await mkdir(out, { recursive: true })
  await writeFile(join(out, 'node.png'), sheet)
  await writeFile(join(out, 'node.json'), JSON.stringify(pictures.map(({ pixels, ...picture }) => picture)))
} finally {
  report.finish()
  await Promise.all(Object.values(pools).map((pool) => pool.close()))
}
