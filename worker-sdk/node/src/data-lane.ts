// The data lane: a socket that reads into our own buffers and writes through the outbox. `node:net` is loaded when it
// is needed: HELLO leaves before.

import type { Socket } from 'node:net'
import { Outbox } from './outbox.js'
import { type Frame, type Seq, Violation } from './protocol.js'
import { FrameReader } from './reader.js'

/** A turn that runs functions longer than this writes after each of them, so that a slow one delays no reply. */
const LONG_TURN_MS = 1
/** The global one is looked up each time. */
const clock = performance

export interface DataLaneHandler {
  frame(frame: Frame): void
  oversized(kind: number, flags: number, seq: Seq): void
  /** The frames of one read were given; what lies in them is gone with the next. */
  read(): void
  violation(message: string): void
  /** End of file or an error. */
  closed(error?: Error): void
}

export class DataLane {
  readonly outbox: Outbox
  readonly #reader: FrameReader
  #turnBegan = 0

  private constructor(
    makeSocket: (onread: { buffer: () => Buffer; callback: (count: number) => boolean }) => Socket,
    private readonly handler: DataLaneHandler,
    fd: number | null,
  ) {
    this.#reader = new FrameReader({
      frame: (frame) => {
        handler.frame(frame)
        if (!this.outbox.isEmpty && clock.now() - this.#turnBegan > LONG_TURN_MS) this.outbox.flush()
      },
      oversized: (kind, flags, seq) => handler.oversized(kind, flags, seq),
    })
    const socket = makeSocket({ buffer: () => this.#reader.space(), callback: (count) => this.#read(count) })
    const closed = (error?: unknown): void => handler.closed(error instanceof Error ? error : undefined)
    socket.on('end', closed).on('error', closed).on('close', closed)
    this.outbox = new Outbox(socket, fd, closed)
    socket.resume()
  }

  static inherited(fd: number, handler: DataLaneHandler): DataLane {
    const net = process.getBuiltinModule('node:net')
    const make = (onread: object): Socket => new net.Socket({ fd, readable: true, writable: true, onread } as object)
    return new DataLane(make, handler, fd)
  }

  static attached(endpoint: string, handler: DataLaneHandler): DataLane {
    const net = process.getBuiltinModule('node:net')
    let socket!: Socket
    const lane = new DataLane((onread) => (socket = net.connect({ path: endpoint, onread } as never)), handler, null)
    socket.once('connect', () => {
      const handle = (socket as unknown as { _handle?: { fd?: number } })._handle
      lane.outbox.fd = handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : null
    })
    return lane
  }

  set maxPayload(bytes: number) {
    this.#reader.maxPayload = bytes
    this.outbox.maxPayload = bytes
  }

  #read(count: number): boolean {
    this.#turnBegan = clock.now()
    this.outbox.beginTurn()
    try {
      this.#reader.filled(count)
      this.handler.read()
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      this.handler.violation(error.message)
    } finally {
      this.outbox.endTurn()
    }
    return true
  }
}
