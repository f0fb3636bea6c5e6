import { ByteReader, ByteWriter } from '../../bytes/varints.js'
import type { Address, Family, RangeSet } from '../../cidr/index.js'
import { readSet, writeSet } from '../../cidr/internal.js'
import { isName, MOST_COUNTED, type Owner } from '../request.js'

// The writer and the reader of stored allocators. Numbers are varints; numbers of up to 53 bits are
// two of them. A text is the index of an earlier occurrence, or 0 and its characters. The last
// bytes are a checksum.

const HALF = 2 ** 32

/** The problem of an entry that is stored twice and must be unique. */
export const TWICE = 'an entry that must be unique is there twice'

export class StateWriter extends ByteWriter {
  readonly #texts = new Map<string, number>()

  /** A whole number from 0 to 2^53 - 1. */
  large(value: number): void {
    this.number(value % HALF)
    this.number(Math.floor(value / HALF))
  }

  set(set: RangeSet): void {
    writeSet(set, this)
  }

  text(text: string): void {
    const known = this.#texts.get(text)
    this.number(known ?? 0)
    if (known !== undefined) return
    this.#texts.set(text, this.#texts.size + 1)
    this.number(text.length)
    for (let i = 0; i < text.length; i++) this.number(text.charCodeAt(i))
  }

  address(address: Address): void {
    this.byte(address.family)
    if (address.family === 4) this.number(address.value)
    else this.words(Uint32Array.of(address.w0, address.w1, address.w2, address.w3))
  }

  optional<T>(value: T | undefined, write: (value: T) => void): void {
    this.byte(value === undefined ? 0 : 1)
    if (value !== undefined) write(value)
  }

  /** An owner with its name and kind. */
  owner({ uid, key, kind, interface: name }: Owner): void {
    this.text(uid)
    for (const one of [key, kind, name]) this.optional(one, (text) => this.text(text))
  }
}

export class StateReader extends ByteReader {
  readonly #texts: string[] = []

  large(): number {
    const at = this.position
    const low = this.number()
    const high = this.number()
    if (high >= 2 ** 21) this.refuse(at, 'a number of more than 53 bits')
    return high * HALF + low
  }

  set(): RangeSet {
    return readSet(this)
  }

  text(): string {
    const at = this.position
    const place = this.number()
    if (place > 0) {
      const known = this.#texts[place - 1]
      if (known === undefined) this.refuse(at, 'a text that does not stand before it')
      return known ?? ''
    }
    const length = this.number()
    if (length > this.rest().length) {
      this.refuse(at, 'the bytes end too early')
      return ''
    }
    const parts: string[] = []
    for (let i = 0; i < length; i++) {
      const code = this.number()
      if (code > 0xffff) this.refuse(at, 'a character of more than 16 bits')
      parts.push(String.fromCharCode(code))
    }
    const text = parts.join('')
    this.#texts.push(text)
    return text
  }

  family(): Family {
    const at = this.position
    const family = this.byte()
    if (family === 4) return family
    if (family !== 6) this.refuse(at, `the family ${family}`)
    return 6
  }

  address(): Address {
    if (this.family() === 4) return { family: 4, value: this.number() }
    const words = new Uint32Array(4)
    this.words(words)
    return { family: 6, w0: words[0]!, w1: words[1]!, w2: words[2]!, w3: words[3]! }
  }

  optional<T>(read: () => T): T | undefined {
    const at = this.position
    const flag = this.byte()
    if (flag > 1) this.refuse(at, 'neither 0 nor 1')
    return flag === 1 ? read() : undefined
  }

  /** A list of entries of at least two bytes. */
  list<T>(read: (nth: number) => T): T[] {
    const count = this.count()
    const things: T[] = []
    for (let i = 0; i < count && this.problem === undefined; i++) things.push(read(i))
    return things
  }

  /** A sequence, or a time. */
  counted(): number {
    const at = this.position
    const value = this.large()
    if (value > MOST_COUNTED) this.refuse(at, 'a number of more than 52 bits')
    return value
  }

  owner(): Owner {
    const at = this.position
    const uid = this.text()
    if (!isName(uid)) this.refuse(at, uid === '' ? 'an owner without a uid' : 'a uid that no owner has')
    const [key, kind, name] = [0, 1, 2].map(() => this.optional(() => this.text()))
    if (name !== undefined && !isName(name))
      this.refuse(at, name === '' ? 'an interface without a name' : 'a name that no interface has')
    return {
      uid,
      ...(key === undefined ? {} : { key }),
      ...(kind === undefined ? {} : { kind }),
      ...(name === undefined ? {} : { interface: name }),
    }
  }

  /** The sequence of a hold, which is at most the last one. */
  sequence(last: number, what: string): number {
    const at = this.position
    const sequence = this.large()
    if (sequence > last) this.refuse(at, `a sequence above the last one of ${what}`)
    return sequence
  }
}

/** The first position at which two arrays of bytes differ; -1 if they are the same. */
export function firstDifference(left: Uint8Array, right: Uint8Array): number {
  const length = Math.max(left.length, right.length)
  for (let i = 0; i < length; i++) if (left[i] !== right[i]) return i
  return -1
}
