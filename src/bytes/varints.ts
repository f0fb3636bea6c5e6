// Numbers of any length in as few bytes as they need: seven bits a byte, the lowest first, the high bit set on all but the last
// (unsigned LEB128).

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
}

/** Reads what a {@link ByteWriter} wrote. After the first problem all that it reads is 0. */
export class ByteReader {
  readonly #bytes: Uint8Array
  position = 0
  problem: { readonly position: number; readonly problem: string } | undefined

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  refuse(position: number, problem: string): void {
    this.problem ??= { position, problem }
  }

  byte(): number {
    if (this.problem !== undefined) return 0
    const value = this.#bytes[this.position]
    if (value === undefined) {
      this.refuse(this.position, 'the bytes end too early')
      return 0
    }
    this.position++
    return value
  }

  /** A number of things of two bytes at least, so that no count makes room for more than the bytes can hold. */
  count(): number {
    const at = this.position
    const count = this.number()
    if (count * 2 > this.#bytes.length - this.position) {
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
