// What a worker in TypeScript sees of the SDK. Compiled by `npm run check`, never run.

import { action, type CallContext, InvalidInput, shutdown, startup } from 'ganger-worker'

startup(async (context) => context.log.info('ready', { device: context.device }))
shutdown(() => {})
export const convert = action({ idempotent: true, timeout: '5s' }, async (input: { amount: number }, context) => {
  context.check()
  if (input.amount < 0) throw new InvalidInput('an amount is not negative', '$.amount')
  return input.amount
})
export const total = action({ inputs: {} }, async (_: null, context: CallContext<{ amount: number }>) => {
  let sum = 0
  for await (const { amount } of context.inputs) sum += amount
  return sum
})
