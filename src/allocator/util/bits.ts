// Bits of a word: 32 of them, the lowest is bit 0.

/** The place of the lowest bit that is set. The word is not 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word)
}

/** How many bits are set. */
export function popCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  bits = (bits + (bits >>> 4)) & 0x0f0f0f0f
  return Math.imul(bits, 0x01010101) >>> 24
}

/** How many of the first `end` bits of some words are set. */
export function popCountBelow(words: Int32Array, end: number): number {
  const stop = end >>> 5
  let count = 0
  for (let at = 0; at < stop; at++) count += popCount(words[at]!)
  const rest = end & 31
  return rest === 0 ? count : count + popCount(words[stop]! & ~(-1 << rest))
}

/**
 * The place of the set bit that has `rank` set ones below it. The word has more than `rank` of
 * them.
 */
export function selectBit(word: number, rank: number): number {
  let rest = word
  for (let i = 0; i < rank; i++) rest &= rest - 1
  return lowestBit(rest)
}

/** The bits from `low` to `high`, 0 to 31, both included. */
export function bitsBetween(low: number, high: number): number {
  return (-1 << low) & (-1 >>> (31 - high))
}

/** The bits from `low` on, 0 to 31. */
export function highBits(low: number): number {
  return -1 << low
}

/** How many words some bits need; one at least. */
export function wordsFor(bits: number): number {
  return Math.max(1, Math.ceil(bits / 32))
}

/** Sets what lies behind `bits` bits in the last word. */
export function fillBehind(words: Int32Array, bits: number): void {
  const rest = bits - (words.length - 1) * 32
  if (rest < 32) words[words.length - 1]! |= highBits(rest)
}
