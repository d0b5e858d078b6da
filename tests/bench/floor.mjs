// The floor for Node: blocking ping-pong over an inherited socket, with no protocol at all.
//   node floor.mjs child FD            answers what it reads
//   node floor.mjs host FD CALLS       asks one message at a time, prints microseconds as JSON
import { readSync, writeSync } from 'node:fs'

const [role, fd, calls] = process.argv.slice(2)
const message = Buffer.alloc(32)

if (role === 'child') {
  for (;;) {
    const count = readSync(+fd, message)
    if (count === 0) break
    writeSync(+fd, message, 0, count)
  }
} else {
  const times = []
  for (let i = 0; i < calls; i++) {
    const begin = performance.now()
    writeSync(+fd, message)
    readSync(+fd, message)
    times.push((performance.now() - begin) * 1000)
  }
  console.log(JSON.stringify(times))
}
