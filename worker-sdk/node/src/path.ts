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

/** An input that is a value, but not one that the function takes. */
export class Misfit extends Error {
  constructor(
    message: string,
    readonly path: string,
  ) {
    super(message)
  }
}

function stepText(step: PathStep): string {
  if (typeof step === 'number') return `[${step}]`
  return /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
}
