// The outcome of a call that has no result.

/** The error is made where the call is awaited: so it shows that place, and no call pays for it. */
export class Failure {
  constructor(readonly error: () => unknown) {}
}
