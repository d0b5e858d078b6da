// Ganger: a supervised pool of worker processes in any language.

export { Call } from './call.js'
export type {
  ErrorCode,
  ErrorFields,
  ErrorReport,
  WorkerDeath,
} from './generated/errors.js'
export { errorCodes, GangerError, isGangerError, RemoteError } from './generated/errors.js'
export type * from './generated/events.js'
export { eventNames } from './generated/events.js'
export type { CloseOptions, Duration, Limit, Size } from './generated/options.js'
export type * from './generated/stats.js'
export type { Logger } from './logger.js'
export { release } from './memory.js'
export { Pool } from './pool.js'
export type { UncheckedFunction, UncheckedWorkers } from './proxy.js'
export { Stream } from './stream.js'
export type {
  BroadcastOptions,
  CallOptions,
  Invitation,
  PoolOptions,
  Progress,
  StreamOptions,
  WorkerOutcome,
} from './surface.js'
