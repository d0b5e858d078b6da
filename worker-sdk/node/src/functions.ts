// The functions a worker offers: found by name when called, listed as contracts when the worker is ready.

import type { WorkerFunction } from './actions.js'
import { type Contract, contractOf, type FunctionOptions } from './contract.js'

export interface Offered {
  fn: WorkerFunction
  contract: Contract
}

export class Functions {
  readonly #byName = new Map<string, Offered>()
  readonly contracts: Contract[] = []

  add(name: string, fn: WorkerFunction, options: FunctionOptions, alias?: string): void {
    if (this.#byName.has(name)) throw new Error(`the function ${name} is defined twice`)
    const offered = { fn, contract: contractOf(name, options.kind ?? (isGenerator(fn) ? 'stream' : 'value'), options) }
    this.contracts.push(offered.contract)
    this.#byName.set(name, offered)
    if (alias !== undefined && !this.#byName.has(alias)) this.#byName.set(alias, offered)
  }

  find(name: string): Offered | undefined {
    return this.#byName.get(name)
  }

  /** What to say about a name that is not there. */
  missing(asked: string): string {
    const name = shortened(asked)
    const nearest = this.#nearest(name)
    if (nearest !== undefined) return `there is no function ${name}; did you mean ${nearest}?`
    return `there is no function ${name}${this.contracts.length === 0 ? ': this worker offers none; functions are what its modules export' : ''}`
  }

  #nearest(name: string): string | undefined {
    let nearest: string | undefined
    let least = Number.POSITIVE_INFINITY
    for (const known of this.#byName.keys()) {
      const distance = editDistance(name, known)
      if (distance < least) [nearest, least] = [known, distance]
    }
    return nearest
  }
}

const GENERATORS: ReadonlySet<string> = new Set(['GeneratorFunction', 'AsyncGeneratorFunction'])

function isGenerator(fn: WorkerFunction): boolean {
  return GENERATORS.has(Object.getPrototypeOf(fn)?.constructor?.name)
}

/** How many characters of an unknown name a message repeats. */
const LONGEST_REPEATED = 200

function shortened(name: string): string {
  if (name.length <= LONGEST_REPEATED) return name
  const characters = [...name.slice(0, 2 * LONGEST_REPEATED + 2)]
  return characters.length <= LONGEST_REPEATED ? name : `${characters.slice(0, LONGEST_REPEATED).join('')}…`
}

function editDistance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const replaced = (above[column - 1] as number) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (above[column] as number) + 1, (current[column - 1] as number) + 1))
    }
    above = current
  }
  return above[right.length] as number
}
