// Payloads that arrive in pieces (SPEC 2.2), collected into one buffer of the announced size.

import { Flag, type Frame, Kind, readUint64, type Seq, Violation } from './protocol.js'

interface Assembly {
  whole: Frame
  total: number
  filled: number
}

export class Chunks {
  readonly #open = new Map<Seq, Assembly>()
  /** The highest seq that ever began: pieces of what was given up still come, and are ignored (R10). */
  #highest: Seq = -1

  constructor(private readonly maxPayload: () => number) {}

  /** Takes the first frame of a chunked payload. False: its total is too large, its pieces will be ignored. */
  begin(frame: Frame): boolean {
    if (this.#open.has(frame.seq)) throw new Violation('two chunked payloads under way for one seq')
    if (frame.end - frame.payloadAt < 8) throw new Violation('a first frame with MORE has no total')
    this.ignore(frame.seq)
    const total = readUint64(frame.bytes, frame.payloadAt)
    if (total > this.maxPayload()) return false
    const assembly = { whole: emptyWhole(frame, Number(total)), total: Number(total), filled: 0 }
    fill(assembly, frame, frame.payloadAt + 8)
    this.#open.set(frame.seq, assembly)
    return true
  }

  /** Takes a CHUNK; returns the whole frame when it was the last one. */
  add(frame: Frame): Frame | undefined {
    const assembly = this.#open.get(frame.seq)
    if (assembly === undefined) {
      if (frame.seq > this.#highest) throw new Violation('a CHUNK of nothing that is under way')
      return undefined
    }
    fill(assembly, frame, frame.payloadAt)
    if (frame.flags & Flag.MORE) return undefined
    this.#open.delete(frame.seq)
    if (assembly.filled !== assembly.total) throw new Violation('chunks do not add up to their total')
    return assembly.whole
  }

  /** Whether the payload of a call is under way. */
  get hasCall(): boolean {
    for (const { whole } of this.#open.values()) if (whole.kind === Kind.CALL) return true
    return false
  }

  /** Lets go of what has arrived; true if there was something. */
  drop(seq: Seq): boolean {
    return this.#open.delete(seq)
  }

  /** Pieces of this seq may come and mean nothing. */
  ignore(seq: Seq): void {
    if (seq > this.#highest) this.#highest = seq
  }
}

function emptyWhole(first: Frame, total: number): Frame {
  const bodyLength = first.payloadAt - first.bodyAt
  const bytes = Buffer.allocUnsafeSlow(bodyLength + total)
  first.bytes.copy(bytes, 0, first.bodyAt, first.payloadAt)
  const { kind, flags, seq } = first
  return {
    kind,
    flags: flags & ~Flag.MORE,
    seq,
    bytes,
    bodyAt: 0,
    payloadAt: bodyLength,
    end: bodyLength + total,
    owned: true,
  }
}

function fill(assembly: Assembly, frame: Frame, from: number): void {
  const count = frame.end - from
  if (assembly.filled + count > assembly.total) throw new Violation('chunks do not add up to their total')
  const { whole } = assembly
  frame.bytes.copy(whole.bytes, whole.payloadAt + assembly.filled, from, frame.end)
  assembly.filled += count
}
