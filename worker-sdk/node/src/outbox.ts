// Frames out. What is sent in one turn of the event loop leaves in one write, made directly on the descriptor;
// only when the kernel's buffer is full does the socket take over and the rest waits for it.

import { writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Arenas } from './arenas.js'
import type { Claim } from './effects.js'
import { Encoder } from './encoder.js'
import { type Native, TAKEN } from './native.js'
import { NotEncodable } from './path.js'
import {
  Encoding,
  Flag,
  HEADER_SIZE,
  Kind,
  MAX_BODY,
  type Reference,
  type Seq,
  SHARED_FRAME_SIZE,
  writeHeader,
  writeSharedFrame,
} from './protocol.js'

/** Raw payloads from here on are written from where they lie. */
const COPY_LIMIT = 16 * 1024
/** A turn's frames are written early when they reach this. */
const EARLY_WRITE = 256 * 1024
/** Node refuses to write 2 GiB at once. */
const MOST_AT_ONCE = 1 << 30
/** Beyond this much unwritten, `congested` says so. */
const CONGESTED = 1024 * 1024

export class Outbox {
  readonly #encoder = new Encoder()
  /** Finished pieces before what the encoder holds. */
  #pieces: Uint8Array[] = []
  #piecesLength = 0
  /** What the socket is writing; nothing else is written meanwhile. */
  #handedOver: Uint8Array[] = []
  #scheduled = false
  #inTurn = false
  maxPayload = Number.MAX_SAFE_INTEGER
  /** Where large payloads go, if the host agreed. */
  arenas: Arenas | null = null
  /** Nothing waits for the kernel any more. */
  onDrained: (() => void) | null = null

  constructor(
    private readonly socket: Socket,
    /** Null before the socket is connected, and where descriptors cannot be written directly (Windows). */
    public fd: number | null,
    private readonly onGone: () => void,
  ) {}

  /** More is unwritten than is good: progress may be left out. */
  get congested(): boolean {
    return this.#handedOver.length > 0 && this.#piecesLength + this.#encoder.position > CONGESTED
  }

  /** All that was sent is with the kernel. */
  get isEmpty(): boolean {
    return this.#encoder.position === 0 && this.#pieces.length === 0 && this.#handedOver.length === 0
  }

  /** A frame of a body alone. Throws `NotEncodable` and sends nothing if the body is no body. */
  body(kind: number, seq: Seq, body?: unknown): void {
    const encoder = this.#encoder
    const at = encoder.reserve(HEADER_SIZE)
    if (body !== undefined) this.#write(at, body)
    const length = encoder.position - at - HEADER_SIZE
    if (length > MAX_BODY) {
      encoder.position = at
      throw new NotEncodable('a body of more than 16 MiB')
    }
    writeHeader(encoder.buffer, at, { kind, flags: this.#held(kind, seq), seq, bodyLength: length, length })
    this.#appended()
  }

  /** A frame with a value as its payload. Tells its size; undefined, and nothing sent, if that is more than `maxPayload`. */
  value(kind: number, seq: Seq, value: unknown): number | undefined {
    const encoder = this.#encoder
    const at = encoder.reserve(HEADER_SIZE)
    this.#write(at, value)
    const length = encoder.position - at - HEADER_SIZE
    if (length > this.maxPayload) {
      encoder.position = at
      return undefined
    }
    const shared = this.#leave(encoder.buffer, at + HEADER_SIZE, length)
    if (shared !== undefined) {
      encoder.position = at
      return this.#reference(kind, Encoding.MESSAGEPACK, seq, shared)
    }
    writeHeader(encoder.buffer, at, { kind, flags: this.#held(kind, seq), seq, bodyLength: 0, length })
    this.#appended()
    return length
  }

  /** A frame with a byte string as its payload; one that is long enough is not copied, unless it may change afterwards. */
  raw(kind: number, seq: Seq, bytes: Uint8Array, mayChange = false): number | undefined {
    if (bytes.length > this.maxPayload) return undefined
    const shared = this.#find(seq, bytes) ?? this.#leave(bytes, 0, bytes.length)
    if (shared !== undefined) return this.#reference(kind, Encoding.RAW, seq, shared)
    const encoder = this.#encoder
    const at = encoder.reserve(HEADER_SIZE)
    const flags = Encoding.RAW | this.#held(kind, seq)
    writeHeader(encoder.buffer, at, { kind, flags, seq, bodyLength: 0, length: bytes.length })
    if (bytes.length < COPY_LIMIT) encoder.bytes(bytes)
    else this.#piece(mayChange ? Buffer.from(bytes) : bytes)
    this.#appended()
    return bytes.length
  }

  beginTurn(): void {
    this.#inTurn = true
  }

  endTurn(): void {
    this.#inTurn = false
    this.flush()
  }

  /** Writes what the kernel takes now. */
  flush(): void {
    if (this.#handedOver.length > 0) return
    if (this.#pieces.length === 0) this.#flushEncoder()
    else this.#flushPieces()
  }

  /** The same with the native part's help, which takes the next call's token with the last write. */
  flushAndClaim(native: Native, tokens: number): Claim {
    if (this.#handedOver.length > 0) return 'later'
    if (this.#pieces.length > 0) this.#flushPieces()
    if (this.#handedOver.length > 0) return 'later'
    const encoder = this.#encoder
    const done = native.sendAndClaim(this.fd ?? -1, encoder.buffer, encoder.position, tokens)
    if (done < 0) {
      encoder.clear()
      return done === TAKEN ? 'taken' : 'gone'
    }
    this.#handOver([encoder.take().subarray(done)])
    return 'later'
  }

  /** Writes everything, however long it takes: for the end of the process, when no loop turns any more. */
  flushBlocking(): void {
    this.#piece()
    const pieces = [...this.#unwrittenByTheSocket(), ...this.#pieces]
    this.#handedOver = []
    this.#pieces = []
    if (this.fd === null) return
    for (const piece of pieces) if (!writeBlocking(this.fd, piece)) return
  }

  /** Where they lie already, if they are worth a reference. */
  #find(seq: Seq, bytes: Uint8Array): Reference | undefined {
    return this.arenas?.takes(bytes.length) ? this.arenas.find(seq, bytes) : undefined
  }

  /** A flag of the frame that ends a call. */
  #held(kind: number, seq: Seq): number {
    const ends = kind === Kind.RESULT || kind === Kind.ERROR
    return ends && this.arenas?.holds(seq) ? Flag.HELD : 0
  }

  /** Puts a large payload into shared memory, if there is some. */
  #leave(bytes: Uint8Array, at: number, length: number): Reference | undefined {
    if (this.arenas === null || !this.arenas.takes(length)) return undefined
    return this.arenas.write(bytes.subarray(at, at + length))
  }

  #reference(kind: number, encoding: number, seq: Seq, to: Reference): number {
    const at = this.#encoder.reserve(SHARED_FRAME_SIZE)
    writeSharedFrame(this.#encoder.buffer, at, [kind, encoding | this.#held(kind, seq), seq], to)
    this.#appended()
    return to.length
  }

  #write(at: number, value: unknown): void {
    try {
      this.#encoder.value(value)
    } catch (error) {
      this.#encoder.position = at
      throw error
    }
  }

  #appended(): void {
    if (this.#inTurn) {
      if (this.#encoder.position + this.#piecesLength > EARLY_WRITE) this.flush()
    } else if (!this.#scheduled) {
      this.#scheduled = true
      process.nextTick(() => {
        this.#scheduled = false
        this.flush()
      })
    }
  }

  /** Closes the encoder's bytes as a piece, and appends another. */
  #piece(bytes?: Uint8Array): void {
    if (this.#encoder.position > 0) this.#push(this.#encoder.take())
    if (bytes !== undefined) this.#push(bytes)
  }

  #push(piece: Uint8Array): void {
    this.#pieces.push(piece)
    this.#piecesLength += piece.length
  }

  /** The usual case: all of it in one write, the buffer stays. */
  #flushEncoder(): void {
    const encoder = this.#encoder
    const length = encoder.position
    if (length === 0) return
    const written = this.#tryWrite(encoder.buffer, length)
    if (written === length) encoder.clear()
    else this.#handOver([encoder.take().subarray(written)])
  }

  #flushPieces(): void {
    this.#piece()
    const pieces = this.#pieces
    this.#pieces = []
    this.#piecesLength = 0
    for (let index = 0; index < pieces.length; index++) {
      const piece = pieces[index] as Uint8Array
      const written = this.#tryWrite(piece, piece.length)
      if (written < piece.length) return this.#handOver([piece.subarray(written), ...pieces.slice(index + 1)])
    }
  }

  #tryWrite(bytes: Uint8Array, length: number): number {
    if (this.fd === null) return 0
    let at = 0
    try {
      while (at < length) at += writeSome(this.fd, bytes, at, length)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code !== 'EAGAIN' && code !== 'EINTR') this.onGone()
    }
    return at
  }

  #handOver(pieces: Uint8Array[]): void {
    this.#handedOver = pieces
    const last = pieces.length - 1
    this.socket.cork()
    for (let index = 0; index < last; index++) this.socket.write(pieces[index] as Uint8Array)
    this.socket.write(pieces[last] as Uint8Array, () => {
      this.#handedOver = []
      this.flush()
      if (this.isEmpty) this.onDrained?.()
    })
    this.socket.uncork()
  }

  /** The socket writes in order, so what it has left is the end of what it was given. */
  #unwrittenByTheSocket(): Uint8Array[] {
    if (this.#handedOver.length === 0) return []
    const handle = (this.socket as unknown as { _handle?: { writeQueueSize?: number } })._handle
    const all = Buffer.concat(this.#handedOver)
    return [all.subarray(all.length - Math.min(all.length, handle?.writeQueueSize ?? 0))]
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

function writeSome(fd: number, bytes: Uint8Array, at: number, end: number): number {
  return writeSync(fd, bytes, at, Math.min(end - at, MOST_AT_ONCE))
}

function writeBlocking(fd: number, bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSome(fd, bytes, at, bytes.length)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code !== 'EAGAIN' && code !== 'EINTR') return false
      Atomics.wait(sleeper, 0, 0, 1)
    }
  }
  return true
}
