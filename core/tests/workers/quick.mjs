// Functions that take no time.

let counted = 0

export function echo(x) {
  return x
}

export function count() {
  counted += 1
  return counted
}

export function ran() {
  return counted
}

export function leave(code) {
  process.exit(Number(code))
}
