// Where in a value something is wrong, and the errors that say so.

export type PathStep = string | number

/** `$.rows[3]["first name"]` */
export function pathText(steps: readonly PathStep[]): string {
  return `$${steps.map(stepText).join('')}`
}

/** A value that MessagePack, as the protocol uses it, cannot carry. */
export class NotEncodable extends Error {
  constructor(
    readonly what: string,
    readonly hint = '',
    readonly path = '$',
  ) {
    super(`${path}: ${what} cannot be sent${hint ? ` (${hint})` : ''}`)
  }
}

/** Bytes that are no value the protocol allows. */
export class NotDecodable extends Error {
  constructor(
    readonly what: string,
    readonly path = '$',
  ) {
    super(`${path}: ${what}`)
  }
}

const INVALID_INPUT = Symbol.for('ganger-worker.invalid-input')

/** Thrown when a value is none that the function takes; a function may throw it, too. `path` as in `$.rows[3].name`. */
export class InvalidInput extends Error {
  override name = 'InvalidInput'
  readonly [INVALID_INPUT] = true

  constructor(
    message: string,
    readonly path = '$',
  ) {
    super(message)
  }
}

/** Also when it comes from another copy of this package. */
export function isInvalidInput(error: unknown): error is InvalidInput {
  return typeof error === 'object' && error !== null && INVALID_INPUT in error
}

function stepText(step: PathStep): string {
  if (typeof step === 'number') return `[${step}]`
  return /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
}
