// What workers import: `import { action, startup, shutdown } from 'ganger-worker'`.

export { action, type Hook, type ModuleDescription, shutdown, startup, type WorkerFunction } from './actions.js'
export type { CallContext, Log, WorkerContext } from './context.js'
export type { Duration, FunctionOptions, JsonSchema } from './contract.js'
export { Cancelled } from './errors.js'
export { InvalidInput } from './path.js'
