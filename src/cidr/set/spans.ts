import { maskWord, type Prefix } from '../nouns/prefix-core.js'
import type { Address } from '../nouns/types.js'
import { none4, normalise4, type Ranges4, UNBUILT } from './ranges4.js'
import { none6, normalise6, type Ranges6 } from './ranges6.js'

/**
 * First and last addresses in the order in which they come, in arrays that grow: what sets are made
 * of, without an object a range.
 */
export class Spans {
  #firsts4 = UNBUILT
  #lasts4 = UNBUILT
  #count4 = 0
  #firsts6 = UNBUILT
  #lasts6 = UNBUILT
  #count6 = 0
  readonly #expected: number

  /** @param source what they will be made of: an array tells how many there may be */
  constructor(source?: Iterable<unknown>) {
    this.#expected = Array.isArray(source) ? Math.min(Math.max(1, source.length), MANY) : FEW
  }

  get isEmpty(): boolean {
    return this.#count4 === 0 && this.#count6 === 0
  }

  /** The caller knows that this is a prefix. */
  addPrefix({ address, length }: Prefix): void {
    if (address.family === 4) this.addBlock4(address.value, length)
    else this.#pushBlock6(address.w0, address.w1, address.w2, address.w3, length)
  }

  /** The prefix of an IPv4 address. */
  addBlock4(value: number, length: number): void {
    const mask = maskWord(length)
    this.#push4((value & mask) >>> 0, (value | ~mask) >>> 0)
  }

  /** The prefix of the IPv6 address of four words. */
  addBlock6(words: Uint32Array, length: number): void {
    this.#pushBlock6(words[0]!, words[1]!, words[2]!, words[3]!, length)
  }

  /** The caller knows that these are addresses of one family, and in order. */
  addOrdered(first: Address, last: Address): void {
    if (first.family === 4 && last.family === 4) this.#push4(first.value, last.value)
    else if (first.family === 6 && last.family === 6) {
      const at = this.#room6()
      const firsts = this.#firsts6
      const lasts = this.#lasts6
      firsts[at] = first.w0
      firsts[at + 1] = first.w1
      firsts[at + 2] = first.w2
      firsts[at + 3] = first.w3
      lasts[at] = last.w0
      lasts[at + 1] = last.w1
      lasts[at + 2] = last.w2
      lasts[at + 3] = last.w3
    }
  }

  /** All of them as a set. These spans are used up: they are empty afterwards. */
  take(): { readonly v4: Ranges4; readonly v6: Ranges6 } {
    const count4 = this.#count4
    const count6 = this.#count6 * 4
    const v4 = count4 === 0 ? none4 : normalise4(begin(this.#firsts4, count4), begin(this.#lasts4, count4))
    const v6 = count6 === 0 ? none6 : normalise6(begin(this.#firsts6, count6), begin(this.#lasts6, count6))
    this.#firsts4 = UNBUILT
    this.#lasts4 = UNBUILT
    this.#firsts6 = UNBUILT
    this.#lasts6 = UNBUILT
    this.#count4 = 0
    this.#count6 = 0
    return { v4, v6 }
  }

  #push4(first: number, last: number): void {
    if (this.#count4 === this.#firsts4.length) {
      this.#firsts4 = grown(this.#firsts4, this.#expected)
      this.#lasts4 = grown(this.#lasts4, this.#expected)
    }
    this.#firsts4[this.#count4] = first
    this.#lasts4[this.#count4] = last
    this.#count4++
  }

  #pushBlock6(w0: number, w1: number, w2: number, w3: number, length: number): void {
    const m0 = maskWord(length)
    const m1 = maskWord(length - 32)
    const m2 = maskWord(length - 64)
    const m3 = maskWord(length - 96)
    const at = this.#room6()
    const firsts = this.#firsts6
    const lasts = this.#lasts6
    firsts[at] = w0 & m0
    firsts[at + 1] = w1 & m1
    firsts[at + 2] = w2 & m2
    firsts[at + 3] = w3 & m3
    lasts[at] = w0 | ~m0
    lasts[at + 1] = w1 | ~m1
    lasts[at + 2] = w2 | ~m2
    lasts[at + 3] = w3 | ~m3
  }

  /** Where the words of one more IPv6 range go. */
  #room6(): number {
    const at = this.#count6 * 4
    if (at === this.#firsts6.length) {
      this.#firsts6 = grown(this.#firsts6, this.#expected * 4)
      this.#lasts6 = grown(this.#lasts6, this.#expected * 4)
    }
    this.#count6++
    return at
  }
}

const FEW = 8
/** What an array says about itself is believed up to this: it may be all holes. */
const MANY = 2 ** 20

/** The first words, as an array that has no others. */
function begin(words: Uint32Array, length: number): Uint32Array {
  return length === words.length ? words : words.slice(0, length)
}

function grown(words: Uint32Array, least: number): Uint32Array {
  const larger = new Uint32Array(Math.max(least, words.length * 2))
  larger.set(words)
  return larger
}
