// Types of the surface that core's tables do not have: what only Node.js apps give and get.

import type { CallOptions as CommonCallOptions, PoolOptions as CommonPoolOptions } from './generated/options.js'
import type { Logger } from './logger.js'

/** Options of a pool. */
export interface PoolOptions extends CommonPoolOptions {
  /** Where what workers log and print goes: `console`, or a logger with its methods. Without it there is only the event `worker:log`. */
  logger?: Logger | null | undefined
}

/** Options of a call. Without `trace` the active context of OpenTelemetry goes along, if the app uses it. */
export interface CallOptions<Item = unknown> extends CommonCallOptions {
  /** Gives the call up when it aborts: the call fails with an AbortError of the code CANCELLED, whose cause is the signal's reason. */
  signal?: AbortSignal | null | undefined
  /**
   * Items for a function that reads a stream beside its input: a list, a generator, an async iterable, a `Readable`. Each is asked for only when the
   * worker has room for it. When the call ends, what they come from is closed; when that fails, the call is given up and fails with its error.
   */
  inputs?: Iterable<Item> | AsyncIterable<Item> | null | undefined
  /** Hears how far the call is, whenever its function says so. */
  onProgress?: ((progress: Progress) => unknown) | null | undefined
}

/** Options of a stream. It is never tried again. */
export type StreamOptions<Item = unknown> = Omit<CallOptions<Item>, 'idempotent' | 'retries'>

/** How far a call is, in its function's own unit. */
export interface Progress {
  readonly done: number
  /** What there is to do, if the function knows. */
  readonly total: number | null
  /** A line for people. */
  readonly note: string | null
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
