// Payloads that arrive in pieces (SPEC 2.2), collected into one buffer of the announced size.

import { Flag, type Frame, readUint64, Violation } from './protocol.js'

interface Assembly {
  first: Frame
  total: number
  filled: number
  /** The host gave this one up (R10): what still comes is dropped. */
  dropped: boolean
}

export class Chunks {
  readonly #open = new Map<number, Assembly>()

  constructor(private readonly maxPayload: () => number) {}

  has(seq: number): boolean {
    return this.#open.has(seq)
  }

  /** Takes the first frame of a chunked payload. */
  begin(frame: Frame): void {
    if (this.#open.has(frame.seq)) throw new Violation('two chunked payloads under way for one seq')
    if (frame.end - frame.payloadAt < 8) throw new Violation('a first frame with MORE has no total')
    const total = readUint64(frame.bytes, frame.payloadAt, 'total')
    if (total > this.maxPayload()) throw new Violation('a chunked payload has more than max_payload bytes')
    const bodyLength = frame.payloadAt - frame.bodyAt
    const bytes = Buffer.allocUnsafeSlow(bodyLength + total)
    frame.bytes.copy(bytes, 0, frame.bodyAt, frame.payloadAt)
    const first: Frame = {
      kind: frame.kind,
      flags: frame.flags & ~Flag.MORE,
      seq: frame.seq,
      bytes,
      bodyAt: 0,
      payloadAt: bodyLength,
      end: bodyLength + total,
      owned: true,
    }
    const assembly = { first, total, filled: 0, dropped: false }
    this.#open.set(frame.seq, assembly)
    fill(assembly, frame, frame.payloadAt + 8)
  }

  /** Takes a CHUNK; returns the whole frame when it was the last one. */
  add(frame: Frame): Frame | undefined {
    const assembly = this.#open.get(frame.seq)
    if (assembly === undefined) throw new Violation('a CHUNK of nothing that is under way')
    fill(assembly, frame, frame.payloadAt)
    if (frame.flags & Flag.MORE) return undefined
    this.#open.delete(frame.seq)
    if (assembly.filled !== assembly.total) throw new Violation('chunks do not add up to their total')
    return assembly.dropped ? undefined : assembly.first
  }

  /** Lets go of the memory; chunks that are still on their way are counted and dropped. False if that was done before. */
  drop(seq: number): boolean {
    const assembly = this.#open.get(seq)
    if (assembly === undefined || assembly.dropped) return false
    assembly.dropped = true
    assembly.first.bytes = Buffer.alloc(0)
    return true
  }
}

function fill(assembly: Assembly, frame: Frame, from: number): void {
  const count = frame.end - from
  if (assembly.filled + count > assembly.total) throw new Violation('chunks do not add up to their total')
  if (!assembly.dropped)
    frame.bytes.copy(assembly.first.bytes, assembly.first.payloadAt + assembly.filled, from, frame.end)
  assembly.filled += count
}
