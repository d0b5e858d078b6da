// Every exported function is one that a pool can call.
export function greet({ name }) {
  return `Hello, ${name}! (from Node)`
}
