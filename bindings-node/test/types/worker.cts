// The same for a worker that is a CommonJS module.

import { action } from 'ganger-worker'

import worker = require('ganger-worker')

export const twice = action({ idempotent: true }, (input: number, context) => input * context.attempt)
export const twiceToo = worker.action({}, (input: number) => input * 2)
