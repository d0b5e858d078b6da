// MessagePack in: reads one value from a range of a buffer. Strict: nothing but the values of SPEC chapter 8,
// nothing after the value, no guess about broken bytes. Byte strings are copied where the range is used again.

import { NotDecodable, type PathStep, pathText } from './path.js'

const LONG_STRING = 24
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Byte strings from here on are views into bytes that belong to the value. */
const VIEW_FROM = 16 * 1024
const MAX_DEPTH = 512
const MAX_BODY_DEPTH = 64
const UNREADABLE = Symbol('unreadable')
const MAX_DATE_SECONDS = 8_640_000_000_000n

/** Reads the one value in `source[start, end)`. `owned`: nobody else uses these bytes, large byte strings may be views. */
export function decode(source: Buffer, start = 0, end = source.length, owned = false): unknown {
  const reader = new Reader(source, start, end, owned ? 'owned' : 'shared')
  try {
    return reader.one()
  } catch (error) {
    throw error instanceof NotDecodable ? explain(source, start, end, error) : error
  }
}

/**
 * Reads the body of a frame. Fields of a later version may hold what we do not know (R5): extensions and maps with other
 * keys become UNREADABLE, which is of the wrong type wherever we look.
 */
export function decodeBody(source: Buffer, start: number, end: number): unknown {
  return new Reader(source, start, end, 'body').one()
}

/** Reads again with a trace, so that the usual read pays nothing for paths. */
function explain(source: Buffer, start: number, end: number, first: NotDecodable): NotDecodable {
  const trace: PathStep[] = []
  try {
    new Reader(source, start, end, 'shared', trace).one()
  } catch (error) {
    if (error instanceof NotDecodable) return new NotDecodable(error.what, pathText(trace))
  }
  return first
}

/** `body`: of a frame. Else a payload, in bytes that are used again (`shared`) or belong to it (`owned`). */
type Mode = 'body' | 'shared' | 'owned'

class Reader {
  #depth = 0
  private readonly lenient: boolean
  private readonly maxDepth: number

  constructor(
    private readonly source: Buffer,
    private at: number,
    private readonly end: number,
    private readonly mode: Mode,
    private readonly trace: PathStep[] | null = null,
  ) {
    this.lenient = mode === 'body'
    this.maxDepth = this.lenient ? MAX_BODY_DEPTH : MAX_DEPTH
  }

  one(): unknown {
    const value = this.#read()
    if (this.at !== this.end) throw new NotDecodable('bytes after the value')
    return value
  }

  #read(): unknown {
    if (this.at >= this.end) throw new NotDecodable('the value ends too early')
    const byte = this.source[this.at++] as number
    if (byte < 0x80) return byte
    if (byte >= 0xe0) return byte - 0x100
    if (byte < 0x90) return this.#map(byte & 0x0f)
    if (byte < 0xa0) return this.#list(byte & 0x0f)
    if (byte < 0xc0) return this.#string(byte & 0x1f)
    return this.#marked(byte)
  }

  #marked(byte: number): unknown {
    switch (byte) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#binary(this.#unsigned(1 << (byte - 0xc4)))
      case 0xca:
        return this.#float(this.source.readFloatBE(this.#take(4)))
      case 0xcb:
        return this.#float(this.source.readDoubleBE(this.#take(8)))
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (byte - 0xcc))
      case 0xcf:
        return narrow(this.source.readBigUInt64BE(this.#take(8)))
      case 0xd0:
        return this.source.readInt8(this.#take(1))
      case 0xd1:
        return this.source.readInt16BE(this.#take(2))
      case 0xd2:
        return this.source.readInt32BE(this.#take(4))
      case 0xd3:
        return narrow(this.source.readBigInt64BE(this.#take(8)))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#string(this.#unsigned(1 << (byte - 0xd9)))
      case 0xdc:
      case 0xdd:
        return this.#list(this.#unsigned(2 << (byte - 0xdc)))
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(2 << (byte - 0xde)))
      case 0xc1:
        throw new NotDecodable('the byte c1 means nothing')
      default:
        return this.#extension(byte)
    }
  }

  /** No field that a host sends is a float. As a number, `1.0` would pass for the integer that it is not. */
  #float(value: number): number | symbol {
    return this.lenient && Number.isInteger(value) ? UNREADABLE : value
  }

  #list(length: number): unknown[] {
    // Each item has a byte at least: a length that lies allocates nothing.
    if (length > this.end - this.at) throw new NotDecodable('the list ends too early')
    this.#enter()
    const list = new Array<unknown>(length)
    for (let index = 0; index < length; index++) {
      this.trace?.push(index)
      list[index] = this.#read()
      this.trace?.pop()
    }
    this.#depth--
    return list
  }

  #map(length: number): Record<string, unknown> | symbol {
    if (length * 2 > this.end - this.at) throw new NotDecodable('the map ends too early')
    this.#enter()
    const map: Record<string, unknown> = {}
    let readable = true
    for (let index = 0; index < length; index++) {
      const key = this.#key()
      if (typeof key !== 'string') {
        readable = false
        this.#read()
        continue
      }
      this.trace?.push(key)
      const value = this.#read()
      this.trace?.pop()
      if (key === '__proto__') ownProperty(map, key, value)
      else map[key] = value
    }
    this.#depth--
    return readable ? map : UNREADABLE
  }

  #key(): string | symbol {
    const byte = this.at < this.end ? (this.source[this.at] as number) : 0
    if (byte >= 0xa0 && byte < 0xc0) {
      this.at++
      return this.#string(byte & 0x1f)
    }
    const key = this.#read()
    if (typeof key === 'string') return key
    if (this.lenient && this.#depth > 1) return UNREADABLE
    throw new NotDecodable('a map has a key that is not a string')
  }

  #enter(): void {
    if (++this.#depth > this.maxDepth) throw new NotDecodable(`nested deeper than ${this.maxDepth} levels`)
  }

  #string(length: number): string {
    const start = this.#take(length)
    if (length < LONG_STRING) {
      const text = shortText(this.source, start, length)
      if (text !== undefined) return text
    }
    const text = this.source.utf8Slice(start, start + length)
    // utf8Slice replaces what is broken: only then is it worth asking the strict decoder.
    if (text.includes('\ufffd')) this.#checkUtf8(start, length)
    return text
  }

  #checkUtf8(start: number, length: number): void {
    try {
      strictUtf8.decode(this.source.subarray(start, start + length))
    } catch {
      throw new NotDecodable('a string is not UTF-8')
    }
  }

  #binary(length: number): Buffer {
    const start = this.#take(length)
    if (this.mode === 'owned' && length >= VIEW_FROM) return this.source.subarray(start, start + length)
    const copy = Buffer.allocUnsafeSlow(length)
    this.source.copy(copy, 0, start, start + length)
    return copy
  }

  #extension(byte: number): Date | symbol {
    const length = byte <= 0xc9 ? this.#unsigned(1 << (byte - 0xc7)) : 1 << (byte - 0xd4)
    const type = this.source.readInt8(this.#take(1))
    const at = this.#take(length)
    if (type !== -1) {
      if (this.lenient) return UNREADABLE
      throw new NotDecodable(`extension type ${type} is not allowed`)
    }
    if (length === 4) return new Date(this.source.readUInt32BE(at) * 1000)
    if (length === 8) {
      const packed = this.source.readBigUInt64BE(at)
      return timestamp(packed & 0x3ffffffffn, Number(packed >> 34n))
    }
    if (length === 12) return timestamp(this.source.readBigInt64BE(at + 4), this.source.readUInt32BE(at))
    throw new NotDecodable('a timestamp has 4, 8 or 12 bytes')
  }

  #unsigned(width: number): number {
    const at = this.#take(width)
    if (width === 1) return this.source[at] as number
    return width === 2 ? this.source.readUInt16BE(at) : this.source.readUInt32BE(at)
  }

  /** Steps over `count` bytes and returns where they begin. */
  #take(count: number): number {
    const start = this.at
    if (count > this.end - start) throw new NotDecodable('the value ends too early')
    this.at = start + count
    return start
  }
}

/**
 * Short ASCII strings read before: keys, names and choices come again and again, and comparing bytes is far cheaper
 * than making a string of them.
 */
const RECENT = 1024
const recent: string[] = new Array<string>(RECENT).fill('')

function shortText(source: Buffer, start: number, length: number): string | undefined {
  if (length === 0) return ''
  let hash = length
  for (let at = start; at < start + length; at++) {
    const byte = source[at] as number
    if (byte > 0x7f) return undefined
    hash = (hash * 31 + byte) | 0
  }
  const slot = hash & (RECENT - 1)
  const known = recent[slot] as string
  if (known.length === length && isSame(known, source, start)) return known
  const text = source.latin1Slice(start, start + length)
  recent[slot] = text
  return text
}

function isSame(text: string, source: Buffer, start: number): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) !== source[start + index]) return false
  return true
}

function narrow(value: bigint): number | bigint {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
}

function timestamp(seconds: bigint, nanoseconds: number): Date {
  if (nanoseconds > 999_999_999) throw new NotDecodable('a timestamp has more than a second of nanoseconds')
  if (seconds > MAX_DATE_SECONDS || seconds < -MAX_DATE_SECONDS) throw new NotDecodable('a timestamp is out of range')
  return new Date(Number(seconds) * 1000 + Math.floor(nanoseconds / 1_000_000))
}

/** A key named `__proto__` is data, never the prototype. */
function ownProperty(map: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
}
