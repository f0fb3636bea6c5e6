import { maskWord, type Prefix } from '../nouns/prefix-core.js'
import { addressAt6, compareAt, copyAt } from './words6.js'

// A range as the fewest prefixes: from its first address on, always the largest block that is
// aligned there and does not pass the last.
//
//     range     5 6 7 8 9
//     blocks    |5| |6 7| |8 9|

/** Adds the blocks of an IPv4 range to `out`. At most 62. */
export function blocks4(first: number, last: number, out: Prefix[]): void {
  for (let at = first; ; ) {
    const length = lengthAt4(at, last)
    out.push({ address: { family: 4, value: at }, length })
    const end = (at | ~maskWord(length)) >>> 0
    if (end === last) return
    at = end + 1
  }
}

/** The length of the largest block that begins at `at` and does not pass `last`. */
export function lengthAt4(at: number, last: number): number {
  const aligned = at === 0 ? 0 : 1 + Math.clz32(at & -at)
  const beyond = last - at
  const fitting = beyond === 0xffffffff ? 0 : 1 + Math.clz32(beyond + 1)
  return aligned > fitting ? aligned : fitting
}

/**
 * Adds the blocks of the IPv6 range from `firsts[4i..4i+3]` to `lasts[4i..4i+3]` to `out`. At most
 * 254.
 */
export function blocks6(firsts: Uint32Array, lasts: Uint32Array, index: number, out: Prefix[]): void {
  const at = new Uint32Array(4)
  copyAt(firsts, index, at, 0)
  for (;;) {
    const length = lengthAt6(at, lasts, index)
    out.push({ address: addressAt6(at, 0), length })
    if (!toNext6(at, length, lasts, index)) return
  }
}

/**
 * The length of the largest block that begins at the four words of `at` and does not pass the last
 * address of a range.
 */
export function lengthAt6(at: Uint32Array, lasts: Uint32Array, index: number): number {
  const i = index << 2
  const a0 = at[0]!
  const a1 = at[1]!
  const a2 = at[2]!
  const a3 = at[3]!
  const aligned = trailingZeros(a0, a1, a2, a3)
  const fitting = fittingBits(lasts[i]! - a0, lasts[i + 1]! - a1, lasts[i + 2]! - a2, lasts[i + 3]! - a3)
  return 128 - (aligned < fitting ? aligned : fitting)
}

/**
 * Moves `at` from the first address of a block to the one behind the block: one more at the lowest
 * bit of its network part, with the carry. False if that is behind the range.
 */
export function toNext6(at: Uint32Array, length: number, lasts: Uint32Array, index: number): boolean {
  let word = (length - 1) >> 5
  for (let step = 1 << (31 & -length); word >= 0; step = 1) {
    at[word] = at[word]! + step
    // 0: the word has overflowed
    if (at[word] !== 0) return compareAt(at, 0, lasts, index) <= 0
    word--
  }
  return false
}

function trailingZeros(w0: number, w1: number, w2: number, w3: number): number {
  if (w3 !== 0) return 31 - Math.clz32(w3 & -w3)
  if (w2 !== 0) return 63 - Math.clz32(w2 & -w2)
  if (w1 !== 0) return 95 - Math.clz32(w1 & -w1)
  return w0 === 0 ? 128 : 127 - Math.clz32(w0 & -w0)
}

/**
 * The largest number of bits so that 2^bits addresses fit between two, both included; from the
 * differences of their words, which are not negative as a whole.
 */
function fittingBits(d0: number, d1: number, d2: number, d3: number): number {
  let word3 = d3 + 1
  let word2 = d2
  let word1 = d1
  let word0 = d0
  if (word3 < 0) {
    word3 += WORDS
    word2--
  } else if (word3 > 0xffffffff) {
    word3 -= WORDS
    word2++
  }
  if (word2 < 0) {
    word2 += WORDS
    word1--
  } else if (word2 > 0xffffffff) {
    word2 -= WORDS
    word1++
  }
  if (word1 < 0) {
    word1 += WORDS
    word0--
  } else if (word1 > 0xffffffff) {
    word1 -= WORDS
    word0++
  }
  if (word0 > 0xffffffff) return 128
  if (word0 > 0) return 127 - Math.clz32(word0)
  if (word1 > 0) return 95 - Math.clz32(word1)
  return word2 > 0 ? 63 - Math.clz32(word2) : 31 - Math.clz32(word3)
}

const WORDS = 2 ** 32
