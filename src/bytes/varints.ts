// What is stored: a version, numbers of any length in as few bytes as they need (seven bits a byte,
// the lowest first, the high bit set on all but the last: unsigned LEB128), and a checksum of all
// of that: CRC-32C, marked, the lowest byte first.

import { crc32c } from './crc32c.js'

const CHECKSUM_BYTES = 4
/**
 * Marks a checksum. Unmarked, stored bytes over as many bits that are set inside of others would
 * change these and not their checksum.
 */
const MARK = 0x6970616d

/** Bytes that grow. */
export class ByteWriter {
  #bytes = new Uint8Array(64)
  #length = 0

  byte(value: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(this.#length * 2)
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes[this.#length++] = value
  }

  /** A whole number from 0 to 2^32 - 1. */
  number(value: number): void {
    let left = value
    while (left > 127) {
      this.byte((left & 127) | 128)
      left >>>= 7
    }
    this.byte(left)
  }

  /** Four words, the most significant first. They are used up. */
  words(words: Uint32Array): void {
    while (words[0] !== 0 || words[1] !== 0 || words[2] !== 0 || words[3]! > 127) {
      this.byte((words[3]! & 127) | 128)
      words[3] = (words[3]! >>> 7) | (words[2]! << 25)
      words[2] = (words[2]! >>> 7) | (words[1]! << 25)
      words[1] = (words[1]! >>> 7) | (words[0]! << 25)
      words[0] = words[0]! >>> 7
    }
    this.byte(words[3]!)
  }

  done(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  /** What was written, with its checksum. */
  sealed(): Uint8Array {
    return sealed(this.#bytes.subarray(0, this.#length))
  }
}

/** Some bytes, one part behind the other, with the checksum of all of them. */
export function sealed(...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const bytes = new Uint8Array(length + CHECKSUM_BYTES)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  new DataView(bytes.buffer).setUint32(length, crc32c(bytes.subarray(0, length)) ^ MARK, true)
  return bytes
}

/**
 * Reads what a {@link ByteWriter} wrote and sealed, from behind the version on. After the first
 * problem all that it reads is 0.
 */
export class ByteReader {
  readonly #bytes: Uint8Array
  /** Where the checksum begins. */
  readonly #end: number
  position = 1
  problem: { readonly position: number; readonly problem: string } | undefined

  /** @param version the only one that is read */
  constructor(bytes: Uint8Array, version: number) {
    this.#bytes = bytes
    const end = bytes.length - CHECKSUM_BYTES
    this.#end = end
    if (bytes.length > 0 && bytes[0] !== version) this.refuse(0, `version ${bytes[0]}, expected ${version}`)
    else if (end < 1) this.refuse(bytes.length, 'the bytes end too early')
    else {
      const stored = new DataView(bytes.buffer, bytes.byteOffset + end).getInt32(0, true)
      if ((crc32c(bytes.subarray(0, end)) ^ MARK) !== stored)
        this.refuse(end, 'damaged bytes: their checksum is another one')
    }
  }

  refuse(position: number, problem: string): void {
    this.problem ??= { position, problem }
  }

  byte(): number {
    if (this.problem !== undefined) return 0
    if (this.position >= this.#end) {
      this.refuse(this.position, 'the bytes end too early')
      return 0
    }
    return this.#bytes[this.position++]!
  }

  /** All bytes that were not read yet. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.position, this.#end)
  }

  /**
   * A number of things of two bytes at least, so that no count makes room for more than the bytes
   * can hold.
   */
  count(): number {
    const at = this.position
    const count = this.number()
    if (count * 2 > this.#end - this.position) {
      this.refuse(at, 'more things than there are bytes for')
      return 0
    }
    return count
  }

  /** A whole number from 0 to 2^32 - 1. */
  number(): number {
    const at = this.position
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte()
      value += (byte & 127) * scale
      if (value > 0xffffffff || scale > 0xffffffff) {
        this.refuse(at, 'a number of more than 32 bits')
        return 0
      }
      if (byte < 128) {
        if (byte === 0 && scale > 1) this.refuse(at, 'a number in more bytes than it needs')
        return value
      }
    }
  }

  /** Four words, the most significant first. */
  words(to: Uint32Array): void {
    const at = this.position
    to.fill(0)
    for (let bit = 0; ; bit += 7) {
      const byte = this.byte()
      const value = byte & 127
      if (bit > 126 || (bit === 126 && value > 3)) {
        this.refuse(at, 'a number of more than 128 bits')
        return
      }
      const word = 3 - (bit >> 5)
      const shift = bit & 31
      to[word]! |= value << shift
      if (shift > 25 && word > 0) to[word - 1]! |= value >>> (32 - shift)
      if (byte < 128) {
        if (byte === 0 && bit > 0) this.refuse(at, 'a number in more bytes than it needs')
        return
      }
    }
  }
}
