// Types of the surface that core's tables do not have: what only Node.js apps give and get.

import type { CallOptions as CommonCallOptions, PoolOptions as CommonPoolOptions } from './generated/options.js'
import type { Logger } from './logger.js'

/** Options of a pool. */
export interface PoolOptions extends CommonPoolOptions {
  /** Where what workers log and print goes: `console`, or a logger with its methods. Without it there is only the event `worker:log`. */
  logger?: Logger | null | undefined
}

/** Options of a call. Without `trace` the active context of OpenTelemetry goes along, if the app uses it. */
export interface CallOptions extends CommonCallOptions {
  /** Gives the call up when it aborts: the call fails with an AbortError of the code CANCELLED, whose cause is the signal's reason. */
  signal?: AbortSignal | null | undefined
}

/** Options of a broadcast. Its calls never repeat, and wait for nothing but their worker. */
export interface BroadcastOptions extends Omit<CommonCallOptions, 'affinity' | 'idempotent' | 'priority' | 'retries'> {
  /** Gives all its calls up when it aborts: the broadcast fails with an AbortError of the code CANCELLED, whose cause is the signal's reason. */
  signal?: AbortSignal | null | undefined
}

/** What became of a broadcast on one worker, in the shape of `Promise.allSettled`. */
export type WorkerOutcome<T = unknown> =
  | {
      /** The worker's place in the pool. */
      readonly worker: number
      readonly status: 'fulfilled'
      readonly value: T
    }
  | {
      /** The worker's place in the pool. */
      readonly worker: number
      readonly status: 'rejected'
      /** A `GangerError`. */
      readonly reason: unknown
    }

/** Where a worker that is started by hand attaches, and its one-time token. */
export interface Invitation {
  /** For `GANGER_ENDPOINT`. */
  readonly address: string
  /** For `GANGER_TOKEN`; good for one worker. */
  readonly token: string
}
