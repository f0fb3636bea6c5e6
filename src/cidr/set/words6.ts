import type { Address6 } from '../nouns/types.js'

// IPv6 addresses as words of a Uint32Array: address `i` is `words[4i..4i+3]`, the most significant
// first.

export function addressAt6(words: Uint32Array, index: number): Address6 {
  const i = index << 2
  return { family: 6, w0: words[i]!, w1: words[i + 1]!, w2: words[i + 2]!, w3: words[i + 3]! }
}

/**
 * Negative, 0 or positive, as the address `i` of `left` lies before, at or behind the address `j`
 * of `right`.
 */
export function compareAt(left: Uint32Array, i: number, right: Uint32Array, j: number): number {
  const a = i << 2
  const b = j << 2
  return (
    left[a]! - right[b]! || left[a + 1]! - right[b + 1]! || left[a + 2]! - right[b + 2]! || left[a + 3]! - right[b + 3]!
  )
}

/** As {@link compareAt}, with an address on the right. */
export function compareTo(words: Uint32Array, index: number, address: Address6): number {
  const i = index << 2
  return (
    words[i]! - address.w0 || words[i + 1]! - address.w1 || words[i + 2]! - address.w2 || words[i + 3]! - address.w3
  )
}

/** Whether `left[i]` is the address right behind `right[j]`. */
export function isNext(left: Uint32Array, i: number, right: Uint32Array, j: number): boolean {
  const a = i << 2
  const b = j << 2
  if (left[a + 3] !== (right[b + 3]! + 1) >>> 0) return false
  let carry = left[a + 3] === 0 ? 1 : 0
  for (let word = 2; word >= 0; word--) {
    const next = (right[b + word]! + carry) >>> 0
    if (left[a + word] !== next) return false
    if (carry === 1 && next !== 0) carry = 0
  }
  return carry === 0
}

export function copyAt(from: Uint32Array, i: number, to: Uint32Array, j: number): void {
  const a = i << 2
  const b = j << 2
  to[b] = from[a]!
  to[b + 1] = from[a + 1]!
  to[b + 2] = from[a + 2]!
  to[b + 3] = from[a + 3]!
}

/** Adds one in place. False if it wrapped. */
export function incrementAt(words: Uint32Array, index: number): boolean {
  for (let i = (index << 2) + 3; i >= index << 2; i--) {
    words[i] = words[i]! + 1
    if (words[i] !== 0) return true
  }
  return false
}

/** Subtracts one in place. The caller knows that the value is not zero. */
export function decrementAt(words: Uint32Array, index: number): void {
  for (let i = (index << 2) + 3; i >= index << 2; i--) {
    words[i] = words[i]! - 1
    if (words[i] !== 0xffffffff) return
  }
}

/** Writes `left[i] - right[j] + plus` into four words. The caller knows that it is not negative. */
export function differenceTo6(
  left: Uint32Array,
  i: number,
  right: Uint32Array,
  j: number,
  plus: number,
  to: Uint32Array,
): void {
  let carry = plus
  for (let word = 3; word >= 0; word--) {
    const difference = left[(i << 2) + word]! - right[(j << 2) + word]! + carry
    to[word] = difference
    carry = Math.floor(difference / WORDS)
  }
}

/** Writes `from[i] + words + plus` into `to[j]`. False if that is beyond the last address. */
export function addTo6(
  from: Uint32Array,
  i: number,
  words: Uint32Array,
  plus: number,
  to: Uint32Array,
  j: number,
): boolean {
  let carry = plus
  for (let word = 3; word >= 0; word--) {
    const sum = from[(i << 2) + word]! + words[word]! + carry
    to[(j << 2) + word] = sum
    carry = Math.floor(sum / WORDS)
  }
  return carry === 0
}

/** The number of addresses from `firsts[i]` to `lasts[i]`: 1 to 2^128. */
export function sizeAt6(firsts: Uint32Array, lasts: Uint32Array, index: number): bigint {
  return bigAt6(lasts, index) - bigAt6(firsts, index) + 1n
}

export function bigAt6(words: Uint32Array, index: number): bigint {
  const i = index << 2
  return (
    (BigInt(words[i]!) << 96n) | (BigInt(words[i + 1]!) << 64n) | (BigInt(words[i + 2]!) << 32n) | BigInt(words[i + 3]!)
  )
}

/**
 * 32 bits of an address from bit `bit` on (0 is the most significant); zeros behind its end.
 */
export function windowAt6(words: Uint32Array, index: number, bit: number): number {
  const word = (index << 2) + (bit >> 5)
  const shift = bit & 31
  const high = words[word]! << shift
  return shift === 0 || bit >= 96 ? high >>> 0 : (high | (words[word + 1]! >>> (32 - shift))) >>> 0
}

/** The first bit in which two addresses differ, 128 if in none. */
export function differenceAt6(left: Uint32Array, i: number, right: Uint32Array, j: number): number {
  const a = i << 2
  const b = j << 2
  for (let word = 0; word < 4; word++) {
    const different = left[a + word]! ^ right[b + word]!
    if (different !== 0) return (word << 5) + Math.clz32(different)
  }
  return 128
}

const WORDS = 2 ** 32
