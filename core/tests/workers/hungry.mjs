// A worker that wants more memory than it may have: as objects, which V8 cannot do without, and as buffers, which it can ask for.

const STEP = 10 << 20

export const echo = (x) => x

export function leak() {
  const held = []
  for (;;) held.push(Array.from({ length: 1 << 16 }, (_, index) => ({ index })))
}

export const wantAtOnce = (megabytes) => Buffer.alloc(megabytes << 20).length

export function buffers() {
  const held = []
  for (;;) held.push(Buffer.alloc(STEP, 1))
}
