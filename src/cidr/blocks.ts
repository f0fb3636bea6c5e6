import { maskWord, type Prefix } from './prefix.js'

// A range as the fewest prefixes: from its first address on, always the largest block that is aligned there and does not pass the last.
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

/** Adds the blocks of the IPv6 range from `firsts[4i..4i+3]` to `lasts[4i..4i+3]` to `out`. At most 254. */
export function blocks6(firsts: Uint32Array, lasts: Uint32Array, index: number, out: Prefix[]): void {
  const i = index << 2
  let a0 = firsts[i]!
  let a1 = firsts[i + 1]!
  let a2 = firsts[i + 2]!
  let a3 = firsts[i + 3]!
  const l0 = lasts[i]!
  const l1 = lasts[i + 1]!
  const l2 = lasts[i + 2]!
  const l3 = lasts[i + 3]!
  for (;;) {
    const aligned = trailingZeros(a0, a1, a2, a3)
    const fitting = fittingBits(l0 - a0, l1 - a1, l2 - a2, l3 - a3)
    const hostBits = aligned < fitting ? aligned : fitting
    out.push({ address: { family: 6, w0: a0, w1: a1, w2: a2, w3: a3 }, length: 128 - hostBits })
    if (hostBits === 128) return
    // on to the address behind the block: one more at its lowest bit, with the carry
    const word = 3 - (hostBits >> 5)
    const step = 2 ** (hostBits & 31)
    let carry = 0
    if (word === 3) {
      a3 += step
      if (a3 > 0xffffffff) {
        a3 -= WORDS
        carry = 1
      }
    }
    a2 += word === 2 ? step : carry
    carry = 0
    if (a2 > 0xffffffff) {
      a2 -= WORDS
      carry = 1
    }
    a1 += word === 1 ? step : carry
    carry = 0
    if (a1 > 0xffffffff) {
      a1 -= WORDS
      carry = 1
    }
    a0 += word === 0 ? step : carry
    if (a0 > 0xffffffff) return
    if ((a0 - l0 || a1 - l1 || a2 - l2 || a3 - l3) > 0) return
  }
}

function trailingZeros(w0: number, w1: number, w2: number, w3: number): number {
  if (w3 !== 0) return 31 - Math.clz32(w3 & -w3)
  if (w2 !== 0) return 63 - Math.clz32(w2 & -w2)
  if (w1 !== 0) return 95 - Math.clz32(w1 & -w1)
  return w0 === 0 ? 128 : 127 - Math.clz32(w0 & -w0)
}

/**
 * The largest number of bits so that 2^bits addresses fit between two, both included; from the differences of their words, which are
 * not negative as a whole.
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
