// MessagePack out: writes values into one growing buffer that is reused from frame to frame.
// Our own codec, because the wire wants what general ones do not give: integral numbers are integers up to
// 2^53, nothing private on the wire, and an error that names the path of what cannot be encoded.

import { bytesOf } from './bytes.js'
import { NotEncodable, type PathStep, pathText } from './path.js'
import { ownOf } from './realms.js'

/** Deeper values are refused: no other language's reader takes them. */
export const MAX_DEPTH = 512

const FIRST_CAPACITY = 64 * 1024
const KEPT_CAPACITY = 4 * 1024 * 1024
/** From here on `utf8Write` beats the loop. */
const SHORT_STRING = 48
const MIN_INT64 = -(2n ** 63n)
const MAX_UINT64 = 2n ** 64n - 1n

export class Encoder {
  buffer: Buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
  position = 0
  #depth = 0
  /** Set on a second run only, to find where the first one failed. */
  #trace: { steps: PathStep[]; ancestors: object[] } | null = null

  /** Writes one value; on a value that cannot be encoded nothing is written and `NotEncodable` is thrown. */
  value(value: unknown): void {
    const start = this.position
    this.#depth = 0
    try {
      this.#write(value)
    } catch (error) {
      this.position = start
      throw error instanceof NotEncodable ? this.#explain(value, error) : error
    }
  }

  /** Makes room for `count` more bytes and returns where they begin. */
  reserve(count: number): number {
    this.#room(count)
    const at = this.position
    this.position += count
    return at
  }

  bytes(source: Uint8Array): void {
    this.#room(source.length)
    this.buffer.set(source, this.position)
    this.position += source.length
  }

  /** Gives the written bytes away: they stay untouched from now on. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.position)
    this.buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
    this.position = 0
    return taken
  }

  /** Forgets what is written and lets go of an unusually large buffer. */
  clear(): void {
    this.position = 0
    if (this.buffer.length > KEPT_CAPACITY) this.buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
  }

  /** Runs again with a trace, so that the usual run pays nothing for paths. */
  #explain(value: unknown, first: NotEncodable): NotEncodable {
    const start = this.position
    this.#trace = { steps: [], ancestors: [] }
    this.#depth = 0
    try {
      this.#write(value)
      return first
    } catch (error) {
      if (!(error instanceof NotEncodable)) return first
      return new NotEncodable(error.what, error.hint, pathText(this.#trace.steps))
    } finally {
      this.#trace = null
      this.position = start
    }
  }

  #write(value: unknown): void {
    switch (typeof value) {
      case 'string':
        return this.#string(value)
      case 'number':
        return this.#number(value)
      case 'boolean':
        return this.#byte(value ? 0xc3 : 0xc2)
      case 'undefined':
        return this.#byte(0xc0)
      case 'object':
        return value === null ? this.#byte(0xc0) : this.#object(value)
      case 'bigint':
        return this.#bigint(value)
      case 'function':
        throw new NotEncodable(value.name ? `function ${value.name}` : 'function')
      default:
        throw new NotEncodable(typeof value)
    }
  }

  #object(value: object): void {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Object.prototype || prototype === null) return this.#map(value as Record<string, unknown>)
    if (Array.isArray(value)) return this.#list(value)
    if (value instanceof Uint8Array) return this.#binary(value)
    this.#special(value)
  }

  #special(given: object): void {
    const value = ownOf(given) ?? given
    if (value instanceof Date) return this.#date(value)
    const bytes = bytesOf(value)
    if (bytes !== undefined) return this.#binary(bytes)
    if (value instanceof Map) return this.#entries(value)
    const toJson = (value as { toJSON?: unknown }).toJSON
    if (typeof toJson === 'function') return this.#nested(value, () => this.#write(toJson.call(value)))
    if (value instanceof Number || value instanceof String || value instanceof Boolean)
      return this.#write(value.valueOf())
    const hint = refusalHint(value)
    if (hint !== undefined) throw new NotEncodable(className(value), hint)
    this.#map(value as Record<string, unknown>)
  }

  #list(list: readonly unknown[]): void {
    this.#enter(list)
    const length = list.length
    this.#head(length, 0x90, 0xdc)
    for (let index = 0; index < length; index++) {
      this.#trace?.steps.push(index)
      this.#write(list[index])
      this.#trace?.steps.pop()
    }
    this.#leave()
  }

  #map(map: Record<string, unknown>): void {
    this.#enter(map)
    const keys = Object.keys(map)
    this.#head(keys.length, 0x80, 0xde)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string
      this.#string(key)
      this.#trace?.steps.push(key)
      this.#write(map[key])
      this.#trace?.steps.pop()
    }
    this.#leave()
  }

  #entries(map: Map<unknown, unknown>): void {
    this.#enter(map)
    this.#head(map.size, 0x80, 0xde)
    for (const [key, value] of map) {
      if (typeof key !== 'string')
        throw new NotEncodable(`Map with a key of type ${typeof key}`, 'keys must be strings')
      this.#string(key)
      this.#trace?.steps.push(key)
      this.#write(value)
      this.#trace?.steps.pop()
    }
    this.#leave()
  }

  #nested(value: object, write: () => void): void {
    this.#enter(value)
    write()
    this.#leave()
  }

  #enter(value: object): void {
    if (++this.#depth > MAX_DEPTH) throw new NotEncodable('a value nested too deep', `${MAX_DEPTH} levels at most`)
    if (this.#trace === null) return
    if (this.#trace.ancestors.includes(value)) throw new NotEncodable('a cycle', 'a value cannot contain itself')
    this.#trace.ancestors.push(value)
  }

  #leave(): void {
    this.#depth--
    this.#trace?.ancestors.pop()
  }

  #number(value: number): void {
    if (Number.isSafeInteger(value) && (value !== 0 || 1 / value > 0)) return this.#integer(value)
    this.#room(9)
    this.buffer[this.position] = 0xcb
    this.position = this.buffer.writeDoubleBE(value, this.position + 1)
  }

  #integer(value: number): void {
    this.#room(9)
    const buffer = this.buffer
    const at = this.position
    if (value >= 0 ? value < 0x80 : value >= -0x20) {
      buffer[at] = value & 0xff
      this.position = at + 1
    } else if (value >= 0) this.#unsigned(buffer, at, value)
    else this.#negative(buffer, at, value)
  }

  #unsigned(buffer: Buffer, at: number, value: number): void {
    if (value < 0x100) {
      buffer[at] = 0xcc
      buffer[at + 1] = value
      this.position = at + 2
    } else if (value < 0x10000) {
      buffer[at] = 0xcd
      this.position = buffer.writeUInt16BE(value, at + 1)
    } else if (value < 0x100000000) {
      buffer[at] = 0xce
      this.position = buffer.writeUInt32BE(value, at + 1)
    } else {
      buffer[at] = 0xcf
      this.position = buffer.writeBigUInt64BE(BigInt(value), at + 1)
    }
  }

  #negative(buffer: Buffer, at: number, value: number): void {
    if (value >= -0x80) {
      buffer[at] = 0xd0
      this.position = buffer.writeInt8(value, at + 1)
    } else if (value >= -0x8000) {
      buffer[at] = 0xd1
      this.position = buffer.writeInt16BE(value, at + 1)
    } else if (value >= -0x80000000) {
      buffer[at] = 0xd2
      this.position = buffer.writeInt32BE(value, at + 1)
    } else {
      buffer[at] = 0xd3
      this.position = buffer.writeBigInt64BE(BigInt(value), at + 1)
    }
  }

  #bigint(value: bigint): void {
    if (value < MIN_INT64 || value > MAX_UINT64) throw new NotEncodable('bigint', 'it does not fit 64 bits')
    if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) return this.#integer(Number(value))
    this.#room(9)
    const at = this.position
    this.buffer[at] = value < 0n ? 0xd3 : 0xcf
    if (value < 0n) this.position = this.buffer.writeBigInt64BE(value, at + 1)
    else this.position = this.buffer.writeBigUInt64BE(value, at + 1)
  }

  #string(text: string): void {
    const length = text.length
    this.#room(length * 3 + 5)
    if (length < SHORT_STRING && this.#ascii(text, length)) return
    // The head's size depends on the byte length: guess it from the characters, move the bytes if wrong.
    const at = this.position
    const guess = stringHead(length)
    const written = this.buffer.utf8Write(text, at + guess)
    const head = stringHead(written)
    if (head !== guess) this.buffer.copyWithin(at + head, at + guess, at + guess + written)
    if (head === 1) this.buffer[at] = 0xa0 | written
    else if (head === 2) {
      this.buffer[at] = 0xd9
      this.buffer[at + 1] = written
    } else if (head === 3) {
      this.buffer[at] = 0xda
      this.buffer.writeUInt16BE(written, at + 1)
    } else {
      this.buffer[at] = 0xdb
      this.buffer.writeUInt32BE(written, at + 1)
    }
    this.position = at + head + written
  }

  #ascii(text: string, length: number): boolean {
    const buffer = this.buffer
    let at = this.position
    if (length < 32) buffer[at++] = 0xa0 | length
    else {
      buffer[at++] = 0xd9
      buffer[at++] = length
    }
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (code > 0x7f) return false
      buffer[at++] = code
    }
    this.position = at
    return true
  }

  #binary(source: Uint8Array): void {
    const length = source.length
    if (length > 0xffffffff) throw new NotEncodable('bytes', 'longer than 4 GiB')
    this.#room(length + 5)
    const at = this.position
    if (length < 0x100) {
      this.buffer[at] = 0xc4
      this.buffer[at + 1] = length
      this.position = at + 2
    } else if (length < 0x10000) {
      this.buffer[at] = 0xc5
      this.position = this.buffer.writeUInt16BE(length, at + 1)
    } else {
      this.buffer[at] = 0xc6
      this.position = this.buffer.writeUInt32BE(length, at + 1)
    }
    this.bytes(source)
  }

  /** A timestamp (extension -1) in its shortest form. */
  #date(date: Date): void {
    const milliseconds = date.getTime()
    if (Number.isNaN(milliseconds)) throw new NotEncodable('Date', 'it is invalid')
    const seconds = Math.floor(milliseconds / 1000)
    const nanoseconds = (milliseconds - seconds * 1000) * 1_000_000
    this.#room(15)
    const buffer = this.buffer
    let at = this.position
    if (nanoseconds === 0 && seconds >= 0 && seconds < 0x100000000) {
      at = buffer.writeUInt16BE(0xd6ff, at)
      this.position = buffer.writeUInt32BE(seconds, at)
    } else if (seconds >= 0 && seconds < 0x400000000) {
      at = buffer.writeUInt16BE(0xd7ff, at)
      this.position = buffer.writeBigUInt64BE((BigInt(nanoseconds) << 34n) | BigInt(seconds), at)
    } else {
      buffer[at] = 0xc7
      at = buffer.writeUInt16BE(0x0cff, at + 1)
      at = buffer.writeUInt32BE(nanoseconds, at)
      this.position = buffer.writeBigInt64BE(BigInt(seconds), at)
    }
  }

  #head(length: number, fixed: number, wide: number): void {
    this.#room(5)
    const at = this.position
    if (length < 16) {
      this.buffer[at] = fixed | length
      this.position = at + 1
    } else if (length < 0x10000) {
      this.buffer[at] = wide
      this.position = this.buffer.writeUInt16BE(length, at + 1)
    } else {
      this.buffer[at] = wide + 1
      this.position = this.buffer.writeUInt32BE(length, at + 1)
    }
  }

  #byte(byte: number): void {
    this.#room(1)
    this.buffer[this.position++] = byte
  }

  #room(count: number): void {
    const needed = this.position + count
    if (needed <= this.buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.position)
    this.buffer = larger
  }
}

function stringHead(length: number): number {
  return length < 32 ? 1 : length < 0x100 ? 2 : length < 0x10000 ? 3 : 5
}

/** Why an object of this class would lose its meaning as a map; undefined if it would not. */
function refusalHint(value: object): string | undefined {
  if (value instanceof Promise) return 'await it'
  if (value instanceof Set) return 'send a list: [...set]'
  if (value instanceof Error) return 'throw it, or send its message'
  if (ArrayBuffer.isView(value))
    return 'send Array.from(it) for numbers, Buffer.from(it.buffer, it.byteOffset, it.byteLength) for bytes'
  if (value instanceof RegExp || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef)
    return ''
  if (Symbol.iterator in value || Symbol.asyncIterator in value) return 'send a list'
  if (Symbol.toStringTag in value && Object.keys(value).length === 0) return platformHint(value)
  return undefined
}

/** What Node.js makes keeps all that it has from view: as a map it would be empty. */
function platformHint(value: object): string {
  if (value instanceof Blob) return 'send await it.arrayBuffer()'
  return value instanceof AbortSignal ? 'pass it in the options: { signal }' : ''
}

function className(value: object): string {
  const name = value.constructor?.name
  return name && name !== 'Object' ? name : Object.prototype.toString.call(value).slice(8, -1)
}
