// Functions for large payloads, in Node.

export const pid = () => process.pid
export const echo = (input) => input
export const made = ({ size, byte }) => Buffer.alloc(size, byte)
export const about = (input) => [input.length, input[0] ?? null, input.at(-1) ?? null]
export const kind = (input) => input.constructor.name
export const nested = ({ size, byte }) => ({ list: [Buffer.alloc(size, byte), 'x'.repeat(size)] })
export const kill = () => process.kill(process.pid, 'SIGKILL')

export function change(input) {
  input.fill(9)
  return input
}

export function once(input, context) {
  if (context.attempt === 1) process.kill(process.pid, 'SIGKILL')
  return input
}

/** Answers although it was asked to stop. */
export async function stubborn(input) {
  await new Promise((resolve) => setTimeout(resolve, 100))
  return input
}
