import { fillBehind, lowestBit, wordsFor } from '../util/bits.js'

/**
 * Which words of a bitmap are full: the levels above its bits. Level 0 here has a bit for each word
 * of the bitmap, each level above one for each word of the level below.
 */
export class BitmapSummary {
  #levels: Int32Array[] = []
  #isOwned = true

  /** @param words the number of words, none of which is full */
  constructor(words: number) {
    for (let bits = words; bits > 1; bits = wordsFor(bits)) {
      const level = new Int32Array(wordsFor(bits))
      fillBehind(level, bits)
      this.#levels.push(level)
    }
  }

  /** A word has become full. */
  markFull(word: number): void {
    this.#own()
    this.#setUpFrom(0, word)
  }

  /** A word that was full is no longer. */
  markRoom(word: number): void {
    this.#own()
    this.#clearUpFrom(0, word)
  }

  /**
   * All 1024 words of a leaf have become full or are no longer: above them there are 32 words, and
   * above these one.
   */
  markLeaf(leaf: number, isFull: boolean): void {
    this.#own()
    const [words, wordsOfWords] = this.#levels as [Int32Array, Int32Array]
    const wasFull = wordsOfWords[leaf] === -1
    words.fill(isFull ? -1 : 0, leaf * 32, leaf * 32 + 32)
    wordsOfWords[leaf] = isFull ? -1 : 0
    if (isFull) this.#setUpFrom(2, leaf)
    else if (wasFull) this.#clearUpFrom(2, leaf)
  }

  /** The lowest word from `from` on that is not full, or -1. */
  next(from: number): number {
    let position = from
    for (let level = 0; level < this.#levels.length; level++) {
      const words = this.#levels[level]!
      const above = position >>> 5
      if (above >= words.length) return -1
      const room = ~words[above]! & (-1 << (position & 31))
      if (room !== 0) {
        let found = above * 32 + lowestBit(room)
        for (let below = level - 1; below >= 0; below--) found = found * 32 + lowestBit(~this.#levels[below]![found]!)
        return found
      }
      position = above + 1
    }
    return -1
  }

  /** One that begins as this one is. Both copy before they change anything. */
  fork(): BitmapSummary {
    const twin = new BitmapSummary(0)
    twin.#levels = this.#levels
    twin.#isOwned = false
    this.#isOwned = false
    return twin
  }

  #own(): void {
    if (this.#isOwned) return
    this.#levels = this.#levels.map((level) => level.slice())
    this.#isOwned = true
  }

  #setUpFrom(from: number, position: number): void {
    const levels = this.#levels
    let place = position
    for (let level = from; level < levels.length; level++) {
      const words = levels[level]!
      const after = words[place >>> 5]! | (1 << (place & 31))
      place >>>= 5
      words[place] = after
      if (after !== -1) return
    }
  }

  #clearUpFrom(from: number, position: number): void {
    const levels = this.#levels
    let place = position
    for (let level = from; level < levels.length; level++) {
      const words = levels[level]!
      const before = words[place >>> 5]!
      words[place >>> 5] = before & ~(1 << (place & 31))
      place >>>= 5
      if (before !== -1) return
    }
  }
}
