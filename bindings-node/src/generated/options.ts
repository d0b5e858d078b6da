// Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.

/** A span of time: milliseconds, or text such as `'500ms'`, `'10s'` or `'1m30s'`. */
export type Duration = number | string

/** A span of time, or `'never'` for no limit. */
export type Limit = Duration | 'never'

/** A size: megabytes, or text such as `'512mb'` or `'1.5GiB'`. */
export type Size = number | string

/** Options of a pool. Null or left out is the default. */
export interface PoolOptions {
  /**
   * Workers written in Python: a file, a folder whose files are modules, or the name of a module. A pool has
   * one worker kind.
   * @default none
   */
  python?: string | URL | null | undefined
  /**
   * Workers written for Node.js: a file, or a folder whose files are modules. A pool has one worker kind.
   * @default none
   */
  node?: string | URL | null | undefined
  /**
   * Workers that run WebAssembly: a module, or a folder of them. They may come from somebody who is not
   * trusted: a module sees its input and nothing else. It takes the program `ganger-wasm`. A pool has one
   * worker kind.
   * @default none
   */
  wasm?: string | URL | null | undefined
  /**
   * The most memory that one instance of a WebAssembly module may have. An allocation beyond it fails inside
   * the module. A worker has as many instances as it runs calls at once.
   * @default 128MiB
   */
  wasmMemory?: Size | null | undefined
  /**
   * Gives each call a new instance of its WebAssembly module, so that nothing of one call is left for the
   * next. Otherwise an instance serves one call after the other.
   * @default false
   */
  wasmFresh?: boolean | null | undefined
  /**
   * Workers that are a program of their own, built with any worker SDK: the program and its arguments. No
   * shell reads it.
   * @default none
   */
  command?: readonly string[] | null | undefined
  /**
   * The Python or Node.js that runs `python` or `node` workers, or the `ganger-wasm` that runs `wasm`
   * workers.
   * @default the app's own if it is of that language, else the one on PATH; the installed `ganger-wasm`
   */
  interpreter?: string | URL | null | undefined
  /**
   * What events, errors and workers call the pool.
   * @default from the worker's file or module
   */
  name?: string | null | undefined
  /**
   * The most worker processes. They start as calls need them; each costs its memory. By default one for each
   * CPU that the app may use, by affinity and container quota. 0 is allowed with `endpoint`: then only
   * attached workers run calls.
   * @default usable CPUs
   */
  workers?: number | null | undefined
  /**
   * How many calls a worker runs at once. More than 1 suits calls that wait, and languages with real threads;
   * a crash then costs all of them.
   * @default 1
   */
  concurrency?: number | null | undefined
  /**
   * The fewest workers: so many are started with the pool, and `idleTimeout` stops none of them.
   * @default 0
   */
  minWorkers?: number | null | undefined
  /**
   * How long a worker may have no calls before it is stopped, down to `minWorkers`. By default workers stay.
   * @default none
   */
  idleTimeout?: Limit | null | undefined
  /**
   * The most calls that may wait, beyond those that workers have room for. What is more is handled as
   * `whenFull` says.
   * @default 10000
   */
  maxQueue?: number | null | undefined
  /**
   * The most bytes of input that may wait. One call is admitted to an empty queue whatever its size.
   * @default 256MiB
   */
  maxQueueBytes?: Size | null | undefined
  /**
   * What a full queue does with another call. `reject` fails it at once with `QUEUE_FULL`; `wait` lets it
   * wait for room, in the order of submission, at most `fullTimeout`.
   * @default reject
   */
  whenFull?: 'reject' | 'wait' | null | undefined
  /**
   * The longest that a call may wait for room in a full queue with `whenFull` `wait`. Then it fails with
   * `QUEUE_FULL`.
   * @default none
   */
  fullTimeout?: Limit | null | undefined
  /**
   * The longest that one attempt of a call may run. Then the caller gets `TIMEOUT` at once, the worker is
   * asked to stop the call, and is killed if it does not within `cancelGrace`.
   * @default none
   */
  timeout?: Limit | null | undefined
  /**
   * The longest that a call may wait for its first attempt. Then it fails with `QUEUE_TIMEOUT` and has not
   * run.
   * @default none
   */
  queueTimeout?: Limit | null | undefined
  /**
   * The longest that a call may take in all, waiting and retries included. Then it fails with
   * `DEADLINE_EXCEEDED`.
   * @default none
   */
  deadline?: Limit | null | undefined
  /**
   * How long a call that was cancelled or timed out may take to stop. Then its worker is killed, and the
   * calls beside it fail with `WORKER_CRASHED`.
   * @default 2s
   */
  cancelGrace?: Duration | null | undefined
  /**
   * How long closing the pool lets queued and running calls go on. What is left then fails with
   * `POOL_CLOSED`.
   * @default 10s
   */
  closeTimeout?: Duration | null | undefined
  /**
   * How long a worker that was asked to stop may take for its shutdown hooks. Then it is killed.
   * @default 5s
   */
  stopTimeout?: Duration | null | undefined
  /**
   * How long a worker may take from its start until it is ready, start-up hooks included. Then it is killed
   * and the start has failed.
   * @default 1m
   */
  startTimeout?: Duration | null | undefined
  /**
   * How often a worker without calls is asked whether it lives. Busy and starting workers are never asked:
   * their calls' clocks protect them.
   * @default 10s
   */
  healthInterval?: Limit | null | undefined
  /**
   * How long a worker without calls may take to answer the health check. Then it is killed and replaced at
   * once.
   * @default 10s
   */
  healthTimeout?: Duration | null | undefined
  /**
   * A worker that has answered so many calls, give or take 10 %, is replaced: the replacement is ready first,
   * then the old one finishes what it has and leaves. No call fails or waits for it.
   * @default none
   */
  maxCalls?: number | null | undefined
  /**
   * A worker whose processes use so much memory, give or take 10 %, is replaced in the same way. It is a soft
   * limit: current memory, without what is shared, seen twice in a row, a second apart.
   * @default none
   */
  maxMemory?: Size | null | undefined
  /**
   * A worker that has lived so long, give or take 10 %, is replaced in the same way.
   * @default none
   */
  maxAge?: Limit | null | undefined
  /**
   * The most workers that are replaced at once. Each costs the memory of one more worker while its
   * replacement starts, and until the old one is gone; but one with a call left to finish, which may take
   * hours, holds up no other.
   * @default 1
   */
  maxReplacing?: number | null | undefined
  /**
   * How many threads numerical libraries may use in a worker: sets the variables of OpenMP, OpenBLAS, MKL,
   * BLIS, NumExpr and Accelerate.
   * @default as the libraries do
   */
  innerThreads?: number | null | undefined
  /**
   * Devices, one a worker: each worker has one that no other has, in the variable `GANGER_DEVICE` and as
   * `context.device`. A device `cuda:N` also sets `CUDA_VISIBLE_DEVICES`. By default there are as many
   * workers as devices, and there may not be more; one that is named twice has two workers.
   * @default none
   */
  devices?: readonly string[] | null | undefined
  /**
   * Reloads the workers when their code changes: `true` watches the worker's file or folder, a path watches
   * that. Workers are replaced one by one, ready before the old ones leave; code that cannot start keeps the
   * old workers.
   * @default false
   */
  watch?: boolean | string | URL | null | undefined
  /**
   * How often an idempotent call may run again after its worker died. It concerns no other calls: those never
   * repeat.
   * @default 1
   */
  retries?: number | null | undefined
  /**
   * The largest input or result. A larger one fails its call with `PAYLOAD_TOO_LARGE` and nothing else.
   * @default 4GiB
   */
  maxPayload?: Size | null | undefined
  /**
   * Payloads of 128 KiB and more travel in memory that the app and its workers share: one arena of so many
   * bytes for inputs, and one for the results of each worker. Memory is taken as payloads need it. What finds
   * no room goes through the socket, as all does with 0.
   * @default 1GiB
   */
  sharedMemory?: Size | null | undefined
  /**
   * The most memory that the operating system gives one worker process. An allocation beyond it fails inside
   * the worker, which may end it.
   * @default none
   */
  memoryLimit?: Size | null | undefined
  /**
   * Variables for the workers, beside those of the app. Null removes one that they would inherit.
   * @default none
   */
  env?: Readonly<Record<string, string | null | undefined>> | null | undefined
  /**
   * The directory that workers run in. Paths of worker files are those of the app, not relative to it.
   * @default the app's
   */
  cwd?: string | URL | null | undefined
  /**
   * Lets workers attach that you start by hand, under a debugger for example. `true` listens in a private
   * directory, a path there.
   * @default false
   */
  endpoint?: boolean | string | URL | null | undefined
}

/** Options of a call. Null or left out is the default. */
export interface CallOptions {
  /**
   * The longest that one attempt may run. Then the caller gets `TIMEOUT` at once, the worker is asked to stop
   * the call, and is killed if it does not within `cancelGrace`.
   * @default as the function, else the pool
   */
  timeout?: Limit | null | undefined
  /**
   * The longest that the call may wait for its first attempt. Then it fails with `QUEUE_TIMEOUT` and has not
   * run.
   * @default as the pool
   */
  queueTimeout?: Limit | null | undefined
  /**
   * The longest that everything may take, waiting and retries included. Then the call fails with
   * `DEADLINE_EXCEEDED`.
   * @default as the pool
   */
  deadline?: Limit | null | undefined
  /**
   * Says that running the call twice does no harm: if its worker dies, it runs again on another one. Without
   * it a call never repeats.
   * @default as the function, else false
   */
  idempotent?: boolean | null | undefined
  /**
   * How often an idempotent call may run again after its worker died. A call that kills its worker costs
   * `retries` + 1 workers.
   * @default as the pool
   */
  retries?: number | null | undefined
  /**
   * Calls of a higher priority leave the queue first; equal ones in the order of submission.
   * @default 0
   */
  priority?: number | null | undefined
  /**
   * How much of a worker's `concurrency` the call takes. A call of many slots waits until one worker has them
   * all free.
   * @default as the function, else 1
   */
  slots?: number | null | undefined
  /**
   * What the call costs a node, from 1 to 100. A local pool carries it and ignores it.
   * @default as the function, else 1
   */
  weight?: number | null | undefined
  /**
   * How long the call may take to stop once it was cancelled or timed out; then its worker is killed.
   * @default as the pool
   */
  cancelGrace?: Duration | null | undefined
  /**
   * Calls with the same text prefer the worker that served the last of them. It is a preference: if that
   * worker has no room the call goes to another, and so do those after it.
   * @default none
   */
  affinity?: string | null | undefined
  /**
   * Runs the call alone on its worker, whatever its `concurrency`. `node` is for clusters; a local pool
   * treats both alike.
   * @default as the function, else none
   */
  exclusive?: 'worker' | 'node' | null | undefined
  /**
   * Trace context that the function sees: `traceparent`, `tracestate`, `baggage` and names of your own. It
   * travels with every attempt.
   * @default none
   */
  trace?: Readonly<Record<string, string>> | null | undefined
}

/** Options of closing a pool. Null or left out is the default. */
export interface CloseOptions {
  /**
   * How long queued and running calls may go on. What is left then fails with `POOL_CLOSED`.
   * @default `close_timeout` of the pool
   */
  timeout?: Limit | null | undefined
}

/** Options that take a path. */
export const pathOptions: ReadonlySet<string> = new Set([
  'python',
  'node',
  'wasm',
  'interpreter',
  'watch',
  'cwd',
  'endpoint',
])
