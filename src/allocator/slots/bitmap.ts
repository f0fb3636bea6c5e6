import { assertBytes, isBytes, notBytes } from '../../cidr/internal.js'
import { check } from '../../errors/check.js'
import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { refuseIn, shown } from '../../errors/refuse.js'
import {
  bitsBetween,
  fillBehind,
  highBits,
  lowestBit,
  popCount,
  popCountBelow,
  selectBit,
  wordsFor,
} from '../util/bits.js'
import { bitmapFromBase64, bitmapToBase64, decodeBitmap, encodeBitmap, type StoredBitmap } from './bitmap-codec.js'
import { BitmapSummary } from './bitmap-summary.js'
import {
  alignedFrom,
  assertIndex,
  assertRange,
  assertWithin,
  checkedRun,
  type FreeRunOptions,
  freeRangesOf,
  type SlotRange,
  type Slots,
  usedRangesOf,
} from './slots.js'

/** 2^30 slots are 128 MiB: a larger space is not dense and wants another structure. */
const MAX_SIZE = 2 ** 30

/** A leaf is 1024 words: 4 KiB for 32,768 slots. */
const LEAF_BITS = 10
const LEAF_WORDS = 2 ** LEAF_BITS
const LEAF_SLOTS = LEAF_WORDS * 32

/** What a leaf is without or with all of its slots taken. Shared and never written to. */
const EMPTY = /* @__PURE__ */ new Int32Array(LEAF_WORDS)
const FULL = /* @__PURE__ */ new Int32Array(LEAF_WORDS).fill(-1)

/**
 * A hierarchical bitmap: level 0 has a bit a slot, and each bit above says that a whole word of 32
 * bits below is full.
 *
 *     level 1   1 1 0 ...               the first two words below are full
 *     level 0   ffffffff ffffffff 0000000f
 *
 * Finding the lowest free slot descends one word a level: O(log32 n) at any fill, 4 levels for a
 * /12. Memory is a bit a slot and a thirty-first of that; level 0 lies in leaves of 4 KiB, and
 * those that are wholly free or wholly taken by {@link takeRange} cost nothing.
 *
 * {@link fork} makes an independent copy that shares memory until one of both is changed: O(n /
 * 32,768). So a caller can try a plan and drop it. The first write then copies a leaf, and the
 * first that fills a word, or makes room in a full one, the levels above: O(n / 1024).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a size that is not a whole number from 0 to 2^30;
 * `INDEX_OUT_OF_RANGE`
 * @example
 * const bitmap = new Bitmap(100)
 * bitmap.take(0)
 * bitmap.nextFree(0) // 1
 * bitmap.takeRange(0, 49) // 49
 * bitmap.nextFreeRun(8, { alignment: 8 }) // 56
 */
export class Bitmap implements Slots {
  #size: number
  #used = 0
  /** All words below are full. */
  #low = 0
  #leaves: Int32Array[]
  /** How many slots of a leaf are taken. */
  #leafUsed: Int32Array
  /** 1 for a leaf that no fork shares. */
  #leafOwned: Uint8Array
  /** Level 1 and up. */
  #summary: BitmapSummary

  constructor(size: number) {
    assertWithin('Bitmap', 'size', size, 0, MAX_SIZE)
    this.#size = size
    const words = wordsFor(size)
    const count = Math.max(1, Math.ceil(words / LEAF_WORDS))
    this.#leaves = new Array<Int32Array>(count).fill(EMPTY)
    this.#leafUsed = new Int32Array(count)
    this.#leafOwned = new Uint8Array(count)
    // the last leaf is as long as it has to be, and what lies behind the end counts as taken, so
    // that no search needs to know where the end is
    const last = new Int32Array(words - (count - 1) * LEAF_WORDS)
    fillBehind(last, size - (count - 1) * LEAF_SLOTS)
    this.#leaves[count - 1] = last
    this.#leafOwned[count - 1] = 1
    this.#summary = new BitmapSummary(words)
  }

  get size(): number {
    return this.#size
  }

  get used(): number {
    return this.#used
  }

  /** O(1). */
  has(index: number): boolean {
    assertIndex(index, this.#size)
    return (this.#leaves[index >>> (LEAF_BITS + 5)]![(index >>> 5) & (LEAF_WORDS - 1)]! & (1 << (index & 31))) !== 0
  }

  /** O(log32 n). */
  take(index: number): boolean {
    assertIndex(index, this.#size)
    const leaf = index >>> (LEAF_BITS + 5)
    const at = (index >>> 5) & (LEAF_WORDS - 1)
    const bit = 1 << (index & 31)
    const before = this.#leaves[leaf]![at]!
    if ((before & bit) !== 0) return false
    const words = this.#leafOwned[leaf] === 1 ? this.#leaves[leaf]! : this.#own(leaf)
    words[at] = before | bit
    this.#leafUsed[leaf]!++
    this.#used++
    if ((before | bit) === -1) this.#summary.markFull(index >>> 5)
    return true
  }

  /** O(log32 n). */
  release(index: number): boolean {
    assertIndex(index, this.#size)
    const leaf = index >>> (LEAF_BITS + 5)
    const at = (index >>> 5) & (LEAF_WORDS - 1)
    const bit = 1 << (index & 31)
    const before = this.#leaves[leaf]![at]!
    if ((before & bit) === 0) return false
    const words = this.#leafOwned[leaf] === 1 ? this.#leaves[leaf]! : this.#own(leaf)
    words[at] = before & ~bit
    this.#leafUsed[leaf]!--
    this.#used--
    if (before === -1) {
      const word = index >>> 5
      if (word < this.#low) this.#low = word
      this.#summary.markRoom(word)
    }
    return true
  }

  /** O(words that the range touches, or leaves where it has all of one). */
  takeRange(first: number, last: number): number {
    assertRange('Bitmap.takeRange', first, last, this.#size)
    return this.#setRange(first, last, true)
  }

  releaseRange(first: number, last: number): number {
    assertRange('Bitmap.releaseRange', first, last, this.#size)
    this.#low = Math.min(this.#low, first >>> 5)
    return this.#setRange(first, last, false)
  }

  /** O(log32 n). */
  nextFree(from: number): number {
    if (from === this.#size) return -1
    assertIndex(from, this.#size)
    let word = from >>> 5
    let start = from
    const low = this.#low
    const isLowest = word <= low
    if (word < low) {
      if (low * 32 >= this.#size) return -1
      word = low
      start = low * 32
    }
    const free = ~this.#leaves[word >>> LEAF_BITS]![word & (LEAF_WORDS - 1)]! & (-1 << (start & 31))
    if (free !== 0) return word * 32 + lowestBit(free)
    const next = this.#summary.next(word + 1)
    if (isLowest && (start & 31) === 0) this.#low = next < 0 ? Math.ceil(this.#size / 32) : next
    if (next < 0) return -1
    return next * 32 + lowestBit(~this.#leaves[next >>> LEAF_BITS]![next & (LEAF_WORDS - 1)]!)
  }

  /** O(log32 n). */
  nextFreeAround(from: number): number {
    const found = this.nextFree(from)
    return found < 0 && from > 0 ? this.nextFree(0) : found
  }

  /** O(n / 32,768 + 1024): leaves without a taken slot are passed over. */
  nextUsed(from: number): number {
    if (from === this.#size) return -1
    assertIndex(from, this.#size)
    const start = from >>> 5
    let leaf = start >>> LEAF_BITS
    let at = start & (LEAF_WORDS - 1)
    let used = this.#leaves[leaf]![at]! & (-1 << (from & 31))
    for (;;) {
      const words = this.#leaves[leaf]!
      if (this.#leafUsed[leaf]! > 0) {
        while (used === 0 && ++at < words.length) used = words[at]!
        if (used !== 0) {
          const index = (leaf * LEAF_WORDS + at) * 32 + lowestBit(used)
          // what lies behind the end only looks as if it was taken
          return index < this.#size ? index : -1
        }
      }
      if (++leaf === this.#leaves.length) return -1
      at = 0
      used = this.#leaves[leaf]![0]!
    }
  }

  /** O(n / 32 + free ranges) at worst. */
  nextFreeRun(length: number, options: FreeRunOptions = {}): number {
    const { from, alignment, offset } = checkedRun('Bitmap.nextFreeRun', length, options, this.#size)
    let first = this.nextFree(from)
    while (first >= 0) {
      const start = alignedFrom(first, alignment, offset)
      if (start + length > this.#size) return -1
      const used = this.nextUsed(first)
      if (used < 0 || used - start >= length) return start
      first = this.nextFree(used)
    }
    return -1
  }

  /** O(n / 32,768 + 1024). */
  countUsed(first: number, last: number): number {
    assertRange('Bitmap.countUsed', first, last, this.#size)
    return this.#usedBelow(last + 1) - this.#usedBelow(first)
  }

  /** O(n / 32,768 + 1024). */
  freeAt(rank: number): number {
    assertWithin('Bitmap.freeAt', 'rank', rank, 0, Number.MAX_SAFE_INTEGER)
    if (rank >= this.#size - this.#used) return -1
    let leaf = 0
    let left = rank
    for (; left >= LEAF_SLOTS - this.#leafUsed[leaf]!; leaf++) left -= LEAF_SLOTS - this.#leafUsed[leaf]!
    const words = this.#leaves[leaf]!
    for (let at = 0; ; at++) {
      const free = 32 - popCount(words[at]!)
      if (left < free) return (leaf * LEAF_WORDS + at) * 32 + selectBit(~words[at]!, left)
      left -= free
    }
  }

  freeRanges(): IterableIterator<SlotRange> {
    return freeRangesOf(this)
  }

  usedRanges(): IterableIterator<SlotRange> {
    return usedRangesOf(this)
  }

  /** O(n / 32,768). */
  fork(): Bitmap {
    const twin = new Bitmap(0)
    twin.#size = this.#size
    twin.#used = this.#used
    twin.#low = this.#low
    twin.#leaves = [...this.#leaves]
    twin.#leafUsed = this.#leafUsed.slice()
    twin.#leafOwned = new Uint8Array(this.#leaves.length)
    twin.#summary = this.#summary.fork()
    this.#leafOwned.fill(0)
    return twin
  }

  /**
   * The slots as words, the lowest slot in the lowest bit of the first; bits behind the end are 0.
   * A copy. O(n / 32).
   *
   * @example
   * const bitmap = new Bitmap(40)
   * bitmap.take(33)
   * Array.from(bitmap.toWords()) // [0, 2]
   */
  toWords(): Int32Array {
    const words = new Int32Array(Math.ceil(this.#size / 32))
    for (const [leaf, part] of this.#leaves.entries()) {
      words.set(part.subarray(0, words.length - leaf * LEAF_WORDS), leaf * LEAF_WORDS)
    }
    const rest = this.#size & 31
    if (rest > 0) words[words.length - 1]! &= ~(-1 << rest)
    return words
  }

  /**
   * A bitmap from the words of {@link toWords}. The bitmap uses the array itself: do not change it
   * afterwards. O(n / 32).
   *
   * @throws IpamError `INVALID_ARGUMENT` if there are too many or too few words for the size, or
   * bits behind the end
   * @example
   * Bitmap.fromWords(40, Int32Array.of(0, 2)).nextUsed(0) // 33
   */
  static fromWords(size: number, words: Int32Array): Bitmap {
    const bitmap = new Bitmap(size)
    const count = Math.ceil(size / 32)
    if (!(words instanceof Int32Array) || words.length !== count) {
      const got = words instanceof Int32Array ? `${words.length} words` : typeof words
      refuseIn('Bitmap.fromWords', 'words', `an Int32Array of ${count} words`, got)
    }
    const rest = size & 31
    if (rest > 0) {
      assertWithin('Bitmap.fromWords', 'the last word', words[words.length - 1]! >>> 0, 0, 2 ** rest - 1)
      words[words.length - 1]! |= highBits(rest)
    }
    for (let leaf = 0; leaf * LEAF_WORDS < words.length; leaf++) bitmap.#adopt(leaf, words)
    return bitmap
  }

  /**
   * A bitmap as compact bytes, with a version and a checksum: one bit for each slot, or the taken
   * ranges, whichever is shorter. A bitmap has one stored form. O(n / 32).
   *
   * @example
   * const bitmap = new Bitmap(1000)
   * bitmap.takeRange(100, 149)
   * Array.from(Bitmap.encode(bitmap)) // [2, 1, 232, 7, 1, 100, 49, 97, 156, 155, 218]
   */
  static encode(bitmap: Bitmap): Uint8Array {
    assertBitmap('Bitmap.encode', bitmap)
    return encodeBitmap(bitmap.size, bitmap.toWords())
  }

  /**
   * The bitmap that {@link encode} stored. O(n / 32).
   *
   * @throws IpamError `MALFORMED_BYTES` for bytes that `encode` does not write: another version,
   * missing or extra bytes, slots after the last one, the longer one of the two forms, a wrong
   * checksum; `INVALID_ARGUMENT` for a value that is not a Uint8Array
   * @example
   * Bitmap.decode(Uint8Array.of(2, 1, 232, 7, 1, 100, 49, 97, 156, 155, 218)).used // 50
   */
  static decode(bytes: Uint8Array): Bitmap {
    assertBytes('Bitmap.decode', bytes)
    return unwrap(Bitmap.safeDecode(bytes))
  }

  /**
   * As {@link decode}, with the failure as a value.
   *
   * @example
   * const result = Bitmap.safeDecode(Uint8Array.of(1))
   * !result.ok && result.failure.context.problem // 'version 1, expected 2'
   */
  static safeDecode(bytes: Uint8Array): Result<Bitmap, 'MALFORMED_BYTES'> {
    if (!isBytes(bytes)) return failWith(MALFORMED_BYTES, notBytes('a bitmap', bytes))
    return restored(decodeBitmap(bytes, MAX_SIZE))
  }

  /**
   * One bit for each slot as Base64 with padding, for a field of an object. The lowest slot is in
   * the lowest bit of the first byte. The text does not contain the size. A million slots are 175
   * kB at any fill. O(n / 32).
   *
   * @example
   * const bitmap = new Bitmap(12)
   * bitmap.take(1)
   * bitmap.take(11)
   * Bitmap.toBase64(bitmap) // 'Agg='
   */
  static toBase64(bitmap: Bitmap): string {
    assertBitmap('Bitmap.toBase64', bitmap)
    return bitmapToBase64(bitmap.size, bitmap.toWords())
  }

  /**
   * A bitmap of `size` slots from the text of {@link toBase64}. O(n / 32).
   *
   * @throws IpamError `MALFORMED_BYTES` for a text of another length, a text that is not Base64,
   * and bits after the last slot; `INVALID_ARGUMENT`
   * @example
   * Bitmap.fromBase64(12, 'Agg=').nextUsed(2) // 11
   */
  static fromBase64(size: number, text: string): Bitmap {
    check('Bitmap.fromBase64', 'text', text, 'text')
    return unwrap(Bitmap.safeFromBase64(size, text))
  }

  /**
   * As {@link fromBase64}, with the failure as a value.
   *
   * @example
   * const result = Bitmap.safeFromBase64(12, 'Agg')
   * !result.ok && result.failure.context.problem // '3 characters of Base64, and 12 slots need 4'
   */
  static safeFromBase64(size: number, text: string): Result<Bitmap, 'MALFORMED_BYTES'> {
    assertWithin('Bitmap.safeFromBase64', 'size', size, 0, MAX_SIZE)
    if (typeof text !== 'string') {
      return failWith(MALFORMED_BYTES, { what: 'a bitmap', position: 0, problem: `${shown(text)}, expected a text` })
    }
    return restored(bitmapFromBase64(size, text))
  }

  /** Takes a leaf from words, with what lies behind the end set already. */
  #adopt(leaf: number, all: Int32Array): void {
    const words = all.subarray(leaf * LEAF_WORDS, Math.min(all.length, (leaf + 1) * LEAF_WORDS))
    let used = 0
    for (let at = 0; at < words.length; at++) {
      const word = words[at]!
      used += popCount(word)
      if (word === -1) this.#summary.markFull(leaf * LEAF_WORDS + at)
    }
    used -= words.length * 32 - Math.min(words.length * 32, this.#size - leaf * LEAF_SLOTS)
    this.#leaves[leaf] = words
    this.#leafOwned[leaf] = 1
    this.#leafUsed[leaf] = used
    this.#used += used
  }

  /** A leaf that may be written to. */
  #own(leaf: number): Int32Array {
    const copy = this.#leaves[leaf]!.slice()
    this.#leaves[leaf] = copy
    this.#leafOwned[leaf] = 1
    return copy
  }

  #setRange(first: number, last: number, taken: boolean): number {
    let changed = 0
    for (let index = first; index <= last; ) {
      const leaf = index >>> (LEAF_BITS + 5)
      const end = Math.min(last, (leaf + 1) * LEAF_SLOTS - 1)
      if (end - index + 1 === LEAF_SLOTS) changed += this.#setLeaf(leaf, taken)
      else changed += this.#setWithin(leaf, index, end, taken)
      index = end + 1
    }
    this.#used += taken ? changed : -changed
    return changed
  }

  /** All slots of a leaf of full length. */
  #setLeaf(leaf: number, taken: boolean): number {
    const used = this.#leafUsed[leaf]!
    this.#leaves[leaf] = taken ? FULL : EMPTY
    this.#leafOwned[leaf] = 0
    this.#leafUsed[leaf] = taken ? LEAF_SLOTS : 0
    this.#summary.markLeaf(leaf, taken)
    return taken ? LEAF_SLOTS - used : used
  }

  #setWithin(leaf: number, first: number, last: number, taken: boolean): number {
    let words = this.#leaves[leaf]!
    let changed = 0
    for (let index = first; index <= last; ) {
      const word = index >>> 5
      const at = word & (LEAF_WORDS - 1)
      const mask = bitsBetween(index & 31, Math.min(31, last - word * 32))
      const before = words[at]!
      const after = taken ? before | mask : before & ~mask
      if (after !== before) {
        if (this.#leafOwned[leaf] === 0) words = this.#own(leaf)
        words[at] = after
        changed += popCount(before ^ after)
        if (after === -1) this.#summary.markFull(word)
        else if (before === -1) this.#summary.markRoom(word)
      }
      index = word * 32 + 32
    }
    this.#leafUsed[leaf]! += taken ? changed : -changed
    return changed
  }

  /** How many slots below `end` are taken. */
  #usedBelow(end: number): number {
    const leaf = end >>> (LEAF_BITS + 5)
    let used = 0
    for (let i = 0; i < leaf; i++) used += this.#leafUsed[i]!
    return used + popCountBelow(this.#leaves[leaf] ?? EMPTY, end & (LEAF_SLOTS - 1))
  }
}

function restored(stored: Result<StoredBitmap, 'MALFORMED_BYTES'>): Result<Bitmap, 'MALFORMED_BYTES'> {
  if (!stored.ok) return stored
  const { value } = stored
  if ('words' in value) return { ok: true, value: Bitmap.fromWords(value.size, value.words) }
  const bitmap = new Bitmap(value.size)
  for (const { first, last } of value.ranges) bitmap.takeRange(first, last)
  return { ok: true, value: bitmap }
}

function assertBitmap(of: string, bitmap: unknown): void {
  if (!(bitmap instanceof Bitmap)) refuseIn(of, 'bitmap', 'a Bitmap', bitmap)
}
