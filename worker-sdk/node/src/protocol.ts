// The wire as constants and types: header, kinds, flags, and the bodies of SPEC chapter 3, checked when read.

import { decodeBody } from './decoder.js'
import { Encoder } from './encoder.js'
import { NotDecodable } from './path.js'

export const HEADER_SIZE = 24
export const VERSION = 1
export const MAX_BODY = 16 * 1024 * 1024

export const Kind = {
  CALL: 1,
  INPUT: 2,
  INPUT_END: 3,
  PING: 4,
  STOP: 5,
  CHUNK: 6,
  RELEASE: 7,
  READY: 16,
  RESULT: 17,
  ERROR: 18,
  ITEM: 19,
  PROGRESS: 20,
  LOG: 21,
  PONG: 22,
  ATTACH: 32,
  HELLO: 33,
  WELCOME: 34,
  CANCEL: 35,
  CREDIT: 36,
} as const

export const Flag = {
  CRITICAL: 0x01,
  MORE: 0x02,
  SHARED: 0x04,
  HELD: 0x08,
  VIEW: 0x40,
  AHEAD: 0x80,
  ENCODING: 0x30,
} as const
export const Encoding = { MESSAGEPACK: 0x00, RAW: 0x10, PICKLE: 0x20 } as const

/** Beyond 2^53 a seq is a bigint; both compare and serve as keys alike. */
export type Seq = number | bigint
export type Lane = 'data' | 'control'
export type CancelReason = 'cancel' | 'timeout' | 'deadline' | 'stop'
export type Level = 'debug' | 'info' | 'warning' | 'error' | 'critical'

/** What a peer must never send: the worker says so on stderr and exits with code 70. */
export class Violation extends Error {
  override name = 'Violation'
}

/** A frame as it lies in a read buffer: body is `[bodyAt, payloadAt)`, payload `[payloadAt, end)`. Valid until the next read. */
export interface Frame {
  kind: number
  flags: number
  seq: Seq
  bytes: Buffer
  bodyAt: number
  payloadAt: number
  end: number
  /** The bytes belong to this frame alone and may be kept. */
  owned: boolean
}

export interface CallBody {
  function: string
  attempt: number
  timeoutMs: number | null
  shape: number
  context: Readonly<Record<string, string>> | null
  batch: InBatch | null
}

/** Which batch a call is in: the number of its first call, and how many it has (R57). */
export interface InBatch {
  first: number
  count: number
}

export interface StopBody {
  reason: string
  timeoutMs: number
}

export interface Welcome {
  version: number
  pool: string
  worker: number
  generation: number
  concurrency: number
  maxPayload: number
  cancelGraceMs: number
  stopTimeoutMs: number
  device: string | null
  /** Where the arenas are; null without shared memory. */
  sharedMemory: SharedMemory | null
  /** Where the tokens of calls are that are handed over ahead (R60); null: there are none. */
  claimsFd: number | null
}

/** The arenas of R42: descriptors, sizes in bytes, and from how many bytes on a payload is worth one. */
export interface SharedMemory {
  inputFd: number
  resultFd: number
  inputSize: number
  resultSize: number
  threshold: number
}

export const ARENA = { INPUT: 0, RESULT: 1 } as const
const REFERENCE_SIZE = 24

/** Where a payload lies (R43). */
export interface Reference {
  arena: number
  offset: number
  length: number
}

export interface CreditBody {
  items: number
  bytes: number
}

const U16 = 0xffff
const U32 = 0xffffffff
const U64 = 2n ** 64n - 1n
const LAST_SHAPE = 1
export const DEFAULT_MAX_PAYLOAD = 4 * 1024 * 1024 * 1024

export function writeHeader(
  target: Buffer,
  at: number,
  header: { kind: number; flags: number; seq: Seq; bodyLength: number; length: number },
): void {
  writeUint64(target, at, header.length)
  target.writeUInt32LE(header.bodyLength, at + 8)
  target[at + 12] = header.kind
  target[at + 13] = header.flags
  target[at + 14] = 0
  target[at + 15] = 0
  writeUint64(target, at + 16, header.seq)
}

/** A whole frame of a body alone, in bytes of its own. */
export function bodyFrame(kind: number, seq: Seq, body: unknown): Buffer {
  const encoder = new Encoder()
  encoder.reserve(HEADER_SIZE)
  encoder.value(body)
  const length = encoder.position - HEADER_SIZE
  writeHeader(encoder.buffer, 0, { kind, flags: 0, seq, bodyLength: length, length })
  return encoder.take()
}

export function writeUint64(target: Buffer, at: number, value: number | bigint): void {
  if (typeof value === 'bigint') {
    target.writeBigUInt64LE(value, at)
    return
  }
  target.writeUInt32LE(value >>> 0, at)
  target.writeUInt32LE(Math.floor(value / 0x100000000), at + 4)
}

/** A u64: a number while that is exact. */
export function readUint64(source: Buffer, at: number): number | bigint {
  const high = source.readUInt32LE(at + 4)
  if (high > 0x1fffff) return source.readBigUInt64LE(at)
  return high * 0x100000000 + source.readUInt32LE(at)
}

export function readCall(frame: Frame): CallBody {
  const list = bodyList(frame, 'CALL')
  const context = list[4] ?? null
  const batch = list[5] ?? null
  return {
    function: text(list[0] === undefined ? '' : list[0], 'function'),
    attempt: integer(list[1], 'attempt', U32, 1),
    timeoutMs: list[2] === undefined || list[2] === null ? null : integer(list[2], 'timeout_ms', U64, 0),
    shape: integer(list[3], 'shape', LAST_SHAPE, 0),
    context: context === null ? null : textMap(context, 'context'),
    batch: batch === null ? null : inBatch(batch),
  }
}

function inBatch(value: unknown): InBatch {
  if (!Array.isArray(value)) throw new Violation('batch is not a list')
  return { first: integer(value[0], 'first', U64, 0), count: integer(value[1], 'count', U32, 0) }
}

export function readStop(frame: Frame): StopBody {
  const map = bodyMap(frame, 'STOP')
  return {
    reason: text(map['reason'] === undefined ? '' : map['reason'], 'reason'),
    timeoutMs: integer(map['timeout_ms'], 'timeout_ms', U64, 5000),
  }
}

export function readWelcome(frame: Frame): Welcome {
  const map = bodyMap(frame, 'WELCOME')
  const device = map['device'] ?? null
  const claimsFd = map['claims_fd'] ?? null
  return {
    version: integer(map['version'], 'version', U16, 0),
    pool: text(map['pool'] === undefined ? '' : map['pool'], 'pool'),
    worker: integer(map['worker'], 'worker', U32, 0),
    generation: integer(map['generation'], 'generation', U32, 0),
    concurrency: integer(map['concurrency'], 'concurrency', U32, 1),
    maxPayload: integer(map['max_payload'], 'max_payload', U64, DEFAULT_MAX_PAYLOAD),
    cancelGraceMs: integer(map['cancel_grace_ms'], 'cancel_grace_ms', U64, 2000),
    stopTimeoutMs: integer(map['stop_timeout_ms'], 'stop_timeout_ms', U64, 5000),
    device: device === null ? null : text(device, 'device'),
    sharedMemory: readSharedMemory(map['shared_memory'] ?? null),
    claimsFd: claimsFd === null ? null : integer(claimsFd, 'claims_fd', U32, 0),
  }
}

function readSharedMemory(value: unknown): SharedMemory | null {
  if (value === null) return null
  if (!isMap(value)) throw new Violation('shared_memory is not a map')
  return {
    inputFd: integer(value['input_fd'], 'input_fd', U32, 0),
    resultFd: integer(value['result_fd'], 'result_fd', U32, 0),
    inputSize: integer(value['input_size'], 'input_size', U64, 0),
    resultSize: integer(value['result_size'], 'result_size', U64, 0),
    threshold: integer(value['threshold'], 'threshold', U64, 0),
  }
}

/** The payload of a frame with SHARED, in the input arena. */
export function readReference(frame: Frame, inputSize: number): Reference {
  const { bytes, payloadAt } = frame
  if (frame.flags & Flag.MORE || frame.end - payloadAt !== REFERENCE_SIZE)
    throw new Violation('a malformed reference to shared memory')
  const numbers = [0, 8, 16].map((at) => Number(readUint64(bytes, payloadAt + at)))
  const [arena, offset, length] = numbers as [number, number, number]
  if (arena !== ARENA.INPUT || offset + length > inputSize)
    throw new Violation(`a reference to ${length} bytes at ${offset}, which are not in the input arena`)
  return { arena, offset, length }
}

/** A whole frame whose payload lies in shared memory. */
export function writeSharedFrame(target: Buffer, at: number, about: [number, number, Seq], to: Reference): void {
  const [kind, flags, seq] = about
  writeHeader(target, at, { kind, flags: flags | Flag.SHARED, seq, bodyLength: 0, length: REFERENCE_SIZE })
  writeUint64(target, at + HEADER_SIZE, to.arena)
  writeUint64(target, at + HEADER_SIZE + 8, to.offset)
  writeUint64(target, at + HEADER_SIZE + 16, to.length)
}

export const SHARED_FRAME_SIZE = HEADER_SIZE + REFERENCE_SIZE

/** Offsets of blocks of this worker's arena that are free again (R45). */
export function readRelease(frame: Frame): number[] {
  return bodyList(frame, 'RELEASE').map((offset) => integer(offset, 'offset', U64, 0))
}

export function readCancel(frame: Frame): CancelReason {
  const list = bodyList(frame, 'CANCEL')
  const reason = text(list[0] === undefined ? 'cancel' : list[0], 'reason')
  return reason === 'timeout' || reason === 'deadline' || reason === 'stop' ? reason : 'cancel'
}

export function readCredit(frame: Frame): CreditBody {
  const list = bodyList(frame, 'CREDIT')
  return { items: integer(list[0], 'items', U32, 0), bytes: integer(list[1], 'bytes', U64, 0) }
}

function bodyValue(frame: Frame, kind: string): unknown {
  try {
    return decodeBody(frame.bytes, frame.bodyAt, frame.payloadAt)
  } catch (error) {
    if (error instanceof NotDecodable) throw new Violation(`the body of ${kind} is malformed: ${error.message}`)
    throw error
  }
}

function bodyList(frame: Frame, kind: string): unknown[] {
  if (frame.bodyAt === frame.payloadAt) return []
  const value = bodyValue(frame, kind)
  if (!Array.isArray(value)) throw new Violation(`the body of ${kind} is not a list`)
  return value
}

function bodyMap(frame: Frame, kind: string): Record<string, unknown> {
  if (frame.bodyAt === frame.payloadAt) return {}
  const value = bodyValue(frame, kind)
  if (!isMap(value)) throw new Violation(`the body of ${kind} is not a map`)
  return value
}

function text(value: unknown, field: string): string {
  if (typeof value !== 'string') throw new Violation(`${field} is not a string`)
  return value
}

/** A limit beyond 2^53 is as good as 2^53. */
function integer(value: unknown, field: string, most: bigint | number, byDefault: number): number {
  if (value === undefined) return byDefault
  if (typeof value !== 'bigint' && !Number.isInteger(value)) throw new Violation(`${field} is not an integer`)
  if ((value as number) < 0 || (value as number) > most) throw new Violation(`${field} is out of range`)
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER)
}

function textMap(value: unknown, field: string): Record<string, string> {
  if (!isMap(value)) throw new Violation(`${field} is not a map`)
  for (const key of Object.keys(value))
    if (typeof value[key] !== 'string') throw new Violation(`${field}.${key} is not a string`)
  return value as Record<string, string>
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

const KNOWN: ReadonlySet<number> = new Set(Object.values(Kind))

/** A frame that is not for this lane and direction: a violation if we know it or must (R3), else skipped. */
export function unexpected(kind: number, flags: number, lane: Lane): void {
  if (KNOWN.has(kind)) throw new Violation(`kind ${kind} does not belong on ${lane}`)
  if (flags & Flag.CRITICAL) throw new Violation(`critical frame of unknown kind ${kind}`)
}
