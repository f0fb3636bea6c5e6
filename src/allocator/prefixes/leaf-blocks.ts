import { lowestBit } from '../util/bits.js'

// Parts of 32 leaves in a row, which are the bits of a word: bit 0 is the lowest leaf. Level 0 is
// all of them, level 1 a half, and so on to level 5, a single leaf. Those of levels 0 to 4 are
// numbered as in a heap: 1 is all, 2 and 3 are the halves, 16 to 31 the pairs.

/** Levels from all leaves to one. */
export const STRIDE = 5

/** The leaves of the part of a level that a leaf is in. */
export function leavesOf(level: number, leaf: number): number {
  const size = 32 >>> level
  return (-1 >>> (32 - size)) << (leaf & -size)
}

/** The number of the part of a level, 0 to 4, that a leaf is in. */
export function partAt(level: number, leaf: number): number {
  return (1 << level) | (leaf >>> (STRIDE - level))
}

/** The first leaf of each part of a level all of whose leaves are set. */
export function wholeParts(leaves: number, level: number): number {
  if (level === 5) return leaves
  const pairs = leaves & (leaves >>> 1) & 0x55555555
  if (level === 4) return pairs
  const fours = pairs & (pairs >>> 2) & 0x11111111
  if (level === 3) return fours
  const eights = fours & (fours >>> 4) & 0x01010101
  if (level === 2) return eights
  const halves = eights & (eights >>> 8) & 0x00010001
  return level === 1 ? halves : halves & (halves >>> 16)
}

/** The level of the largest part all of whose leaves are set. There is a leaf that is set. */
export function widestLevel(leaves: number): number {
  const pairs = leaves & (leaves >>> 1) & 0x55555555
  if (pairs === 0) return 5
  const fours = pairs & (pairs >>> 2) & 0x11111111
  if (fours === 0) return 4
  const eights = fours & (fours >>> 4) & 0x01010101
  if (eights === 0) return 3
  const halves = eights & (eights >>> 8) & 0x00010001
  if (halves === 0) return 2
  return leaves === -1 ? 0 : 1
}

/**
 * Whether a part is in one of some others, or one of them in it; the parts are the bits of a word.
 */
export function isRelated(part: number, parts: number): boolean {
  return (parts & RELATED[part]!) !== 0
}

/** The leaves of some parts, which are the bits of a word. */
export function leavesOfParts(parts: number): number {
  let leaves = 0
  for (let rest = parts; rest !== 0; rest &= rest - 1) {
    const part = lowestBit(rest)
    const level = 31 - Math.clz32(part)
    leaves |= leavesOf(level, part << (STRIDE - level))
  }
  return leaves
}

/** For each part those around it and in it, without itself. */
const RELATED = /* @__PURE__ */ Int32Array.from({ length: 32 }, (_, part) => {
  let parts = 0
  for (let other = 1; other < 32; other++) {
    const deeper = Math.clz32(part) - Math.clz32(other)
    if (deeper > 0 ? other >>> deeper === part : deeper < 0 && part >>> -deeper === other) parts |= 1 << other
  }
  return parts
})
