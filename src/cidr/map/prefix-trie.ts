import { refuse } from '../../errors/refuse.js'
import { PrefixDirectory } from './prefix-directory.js'
import { commonStart, FREE, lengthOf, samplePlaces } from './trie-entries.js'

/**
 * Entries by prefix, of one family: a binary trie without the nodes that have one child and no
 * entry (Patricia), in two arrays of integers. The inside of a `PrefixMap`, which checks arguments
 * and writes them to `key`.
 *
 *     branch   | left | right |               the two halves behind the first bit that its entries do not share
 *     entry    | below | word 0 | word 1 ...  what has this prefix too and is longer; the bits of the prefix
 *
 * A branch does not know its bits: a descent tests one bit a branch and compares at the next entry,
 * which is where it would have to stop. An entry keeps its place as long as it is there.
 *
 * A reference is one integer, so that a descent knows what is next before it reads it:
 *
 *     0                                      nothing
 *     bits before it << 23 | index           a branch: positive
 *     sign | length << 23 | index            an entry: negative
 *
 * From 256 entries on a `PrefixDirectory` leads past the first levels.
 *
 * One class and a long file, since search, change and removal all work on the same private arrays:
 * an object between would be one more step to memory in each step of a descent.
 */
export class PrefixTrie<V> {
  /** The prefix or address that the next call is about, host bits cleared; and a word of zeros. */
  readonly key: Int32Array
  /** 32 or 128. */
  readonly bits: number
  readonly #words: number
  readonly #stride: number
  #entries: Int32Array
  #entriesEnd = 1
  /** Removed entries: a list through what was `below`, marked by a length that no entry has. */
  #freeEntry = 0
  /** The first of them is no branch: its left is the way into the trie. */
  #branches: Int32Array
  #branchesEnd = 1
  /** Removed branches: a list through what was `left`. */
  #freeBranch = 0
  #values: (V | undefined)[] = [undefined]
  #size = 0
  /** Another number after each change of the shape. */
  #version = 0
  #directory: PrefixDirectory | undefined
  /** How many changes of the shape there may be before the directory is looked at again. */
  #untilReview = DIRECTORY_FROM

  constructor(words: 1 | 4) {
    this.#words = words
    this.#stride = words + 1
    this.bits = words * 32
    this.key = new Int32Array(words + 1)
    this.#entries = new Int32Array(8 * this.#stride)
    this.#branches = new Int32Array(16)
  }

  get size(): number {
    return this.#size
  }

  valueOf(entry: number): V {
    return this.#values[entry & INDEX] as V
  }

  /** A word of an entry's prefix, signed. */
  wordOf(entry: number, word: number): number {
    return this.#entries[(entry & INDEX) * this.#stride + 1 + word]!
  }

  /** The entry of exactly the key, or 0. */
  find(length: number): number {
    const entry = this.longest(length)
    return lengthOf(entry) === length ? entry : 0
  }

  /** As {@link longest}, for IPv4 only and without the key. */
  longest4(address: number, limit: number): number {
    const branches = this.#branches
    const entries = this.#entries
    const directory = this.#directory
    let slot = -1
    let best = 0
    let ref = branches[0]!
    if (directory !== undefined && limit >= directory.end && ((address ^ directory.base0) & directory.mask0) === 0) {
      slot = (address << directory.skip) >>> directory.shift
      best = directory.table[slot << 1]!
      ref = directory.table[(slot << 1) + 1]!
    } else if (ref < 0 && lengthOf(ref) === 0) {
      // a shift by 32 is one by 0, so a length of 0 is not for the descent
      best = ref
      ref = entries[(ref & INDEX) << 1]!
    }
    for (;;) {
      while (ref > 0) ref = branches[((ref & INDEX) << 1) + ((address >>> ~(ref >>> 23)) & 1)]!
      if (ref === 0) break
      const length = (ref >>> 23) & 255
      const at = (ref & INDEX) << 1
      if (length > limit || (address ^ entries[at + 1]!) >>> -length !== 0) break
      best = ref
      ref = entries[at]!
    }
    return best === 0 && slot >= 0 ? directory!.coarseEntryAt(slot) : best
  }

  /** The longest entry of at most `limit` bits that covers the key, or 0. */
  longest(limit: number): number {
    const directory = this.#directory
    const { key } = this
    if (directory !== undefined && limit >= directory.end && directory.has(key)) {
      const slot = directory.slotOf(key)
      const best = this.#descend(directory.topAt(slot), limit)
      return best !== 0 ? best : directory.entryAt(slot)
    }
    return this.#descend(this.#branches[0]!, limit)
  }

  #descend(ref: number, limit: number): number {
    const branches = this.#branches
    const entries = this.#entries
    const { key } = this
    let best = 0
    for (;;) {
      while (ref > 0) ref = branches[((ref & INDEX) << 1) + bitOf(key, ref >>> 23)]!
      if (ref === 0 || lengthOf(ref) > limit || !this.#covers(ref)) return best
      best = ref
      ref = entries[(ref & INDEX) * this.#stride]!
    }
  }

  /** The entries of at most `limit` bits that cover the key, shortest first. */
  covering(limit: number): number[] {
    const found: number[] = []
    let ref = this.#branches[0]!
    for (;;) {
      while (ref > 0) ref = this.#branches[((ref & INDEX) << 1) + bitOf(this.key, ref >>> 23)]!
      if (ref === 0 || lengthOf(ref) > limit || !this.#covers(ref)) return found
      found.push(ref)
      ref = this.#below(ref)
    }
  }

  /** The entries that the key covers, in order. */
  coveredBy(length: number, limit: number): number[] {
    const found: number[] = []
    if (this.#common(length) < length) return found
    let top = this.#branches[0]!
    while (lengthOf(top) < length) top = this.#next(top)
    const rest = [top]
    while (rest.length > 0) {
      const ref = rest.pop()!
      if (ref < 0 && found.push(ref) >= limit) break
      this.#pushParts(ref, rest)
    }
    return found
  }

  /** All entries in order; after a change, those behind the last one that it gave. */
  *inOrder(): IterableIterator<number> {
    const last = new Int32Array(this.#words)
    let version = this.#version
    let rest = [this.#branches[0]!]
    while (rest.length > 0) {
      const ref = rest.pop()!
      this.#pushParts(ref, rest)
      if (ref >= 0) continue
      for (let word = 0; word < this.#words; word++) last[word] = this.wordOf(ref, word)
      yield ref
      if (version === this.#version) continue
      version = this.#version
      this.key.set(last)
      rest = this.#behind(lengthOf(ref))
    }
  }

  /** The parts of the trie with what comes behind the key in order, the first part last. */
  #behind(length: number): number[] {
    const parts: number[] = []
    const common = this.#common(length)
    let ref = this.#branches[0]!
    while (ref !== 0 && lengthOf(ref) < length && lengthOf(ref) <= common) {
      if (ref > 0 && bitOf(this.key, ref >>> 23) === 0) parts.push(this.#branches[((ref & INDEX) << 1) + 1]!)
      ref = this.#next(ref)
    }
    // now all below begins with the common bits, and either has those of the key or is to the left
    // or to the right of it
    if (common < length) {
      if (bitOf(this.key, common) === 0) parts.push(ref)
    } else parts.push(ref < 0 && lengthOf(ref) === length ? this.#below(ref) : ref)
    return parts
  }

  #pushParts(ref: number, to: number[]): void {
    if (ref > 0) to.push(this.#branches[((ref & INDEX) << 1) + 1]!, this.#branches[(ref & INDEX) << 1]!)
    else if (ref < 0) to.push(this.#below(ref))
  }

  #below(entry: number): number {
    return this.#entries[(entry & INDEX) * this.#stride]!
  }

  /** What comes after a part of the trie on the way to the key. */
  #next(ref: number): number {
    return this.#linked(this.#linkTo(ref))
  }

  /** Where that is written: in the branches, or at ~link in the entries. */
  #linkTo(ref: number): number {
    return ref > 0 ? ((ref & INDEX) << 1) + bitOf(this.key, ref >>> 23) : ~((ref & INDEX) * this.#stride)
  }

  #linked(link: number): number {
    return link >= 0 ? this.#branches[link]! : this.#entries[~link]!
  }

  #link(link: number, ref: number): void {
    if (link >= 0) this.#branches[link] = ref
    else this.#entries[~link] = ref
  }

  /** @throws IpamError `INVALID_ARGUMENT` if there is no room for one more */
  set(length: number, value: V): void {
    const common = this.#common(length)
    // the way down to where the key leaves the trie
    let above = -1
    let link = 0
    let ref = this.#branches[0]!
    while (ref !== 0 && lengthOf(ref) < length && lengthOf(ref) <= common) {
      above = lengthOf(ref)
      link = this.#linkTo(ref)
      ref = this.#linked(link)
    }
    if (ref < 0 && lengthOf(ref) === length && common === length) {
      this.#values[ref & INDEX] = value
      return
    }
    this.#reserve()
    const entry = this.#addEntry(length, value)
    let top = entry
    if (common === length || ref === 0) this.#link(~((entry & INDEX) * this.#stride), ref)
    else top = bitOf(this.key, common) === 0 ? this.#addBranch(common, entry, ref) : this.#addBranch(common, ref, entry)
    this.#link(link, top)
    this.#size++
    const directory = this.#directory
    if (directory !== undefined) {
      if (length < directory.end) directory.entryAdded(entry, this.key)
      else if (above < directory.end) directory.topAdded(lengthOf(top) >= directory.end ? top : entry, this.key)
    }
    this.#changed()
  }

  delete(length: number): boolean {
    let linkOfParent = 0
    let parent = 0
    let covering = 0
    let link = 0
    let ref = this.#branches[0]!
    while (ref !== 0 && lengthOf(ref) < length) {
      linkOfParent = link
      parent = ref
      if (ref < 0) covering = ref
      link = this.#linkTo(ref)
      ref = this.#linked(link)
    }
    if (ref >= 0 || lengthOf(ref) !== length || !this.#covers(ref)) return false

    const below = this.#below(ref)
    const directory = this.#directory
    // a branch needs two: its other half takes its place
    const sibling = below === 0 && parent > 0 ? this.#branches[link ^ 1]! : 0
    if (sibling !== 0) {
      this.#link(linkOfParent, sibling)
      this.#branches[(parent & INDEX) << 1] = this.#freeBranch
      this.#freeBranch = parent & INDEX
    } else this.#link(link, below)
    if (directory !== undefined) {
      if (length < directory.end) directory.entryRemoved(ref, covering, this.key)
      else if (sibling !== 0 && parent >>> 23 >= directory.end) directory.topRemoved(parent, sibling, this.key)
      else directory.topRemoved(ref, below, this.key)
    }
    this.#removeEntry(ref)
    this.#size--
    this.#changed()
    return true
  }

  clear(): void {
    this.#entries = new Int32Array(8 * this.#stride)
    this.#entriesEnd = 1
    this.#freeEntry = 0
    this.#branches = new Int32Array(16)
    this.#branchesEnd = 1
    this.#freeBranch = 0
    this.#values = [undefined]
    this.#size = 0
    this.#version++
    this.#directory = undefined
    this.#untilReview = DIRECTORY_FROM
  }

  /** How many of the first `length` bits of the key are the beginning of an entry. */
  #common(length: number): number {
    const branches = this.#branches
    const entries = this.#entries
    const { key } = this
    const directory = this.#directory
    let ref = branches[0]!
    if (directory !== undefined && length >= directory.end && directory.has(key)) {
      const top = directory.topAt(directory.slotOf(key))
      if (top !== 0) ref = top
    }
    let last = 0
    for (;;) {
      // behind the key either half does: all entries of the branch have the same bits before
      while (ref > 0) ref = branches[((ref & INDEX) << 1) + (ref >>> 23 < length ? bitOf(key, ref >>> 23) : 0)]!
      if (ref === 0) break
      last = ref
      if (lengthOf(ref) >= length || !this.#covers(ref)) break
      ref = entries[(ref & INDEX) * this.#stride]!
    }
    const limit = Math.min(length, lengthOf(last))
    const at = (last & INDEX) * this.#stride + 1
    for (let word = 0; word << 5 < limit; word++) {
      const difference = entries[at + word]! ^ key[word]!
      if (difference !== 0) return Math.min(limit, (word << 5) + Math.clz32(difference))
    }
    return limit
  }

  /** Whether an entry covers the key. */
  #covers(entry: number): boolean {
    const entries = this.#entries
    const { key } = this
    let rest = lengthOf(entry)
    let at = (entry & INDEX) * this.#stride + 1
    let word = 0
    for (; rest >= 32; rest -= 32) if (entries[at++] !== key[word++]) return false
    return rest === 0 || (entries[at]! ^ key[word]!) >>> (32 - rest) === 0
  }

  /** Makes room for one more entry and branch; there are never more branches than entries. */
  #reserve(): void {
    if (this.#freeEntry === 0 && this.#entriesEnd * this.#stride >= this.#entries.length) {
      if (this.#entriesEnd > INDEX) {
        refuse('PrefixMap', 'prefix', 'one for a map that is not full', `one more than ${INDEX} of a family`)
      }
      this.#entries = doubled(this.#entries)
    }
    if (this.#branchesEnd << 1 >= this.#branches.length) this.#branches = doubled(this.#branches)
  }

  #addEntry(length: number, value: V): number {
    const entries = this.#entries
    let index = this.#freeEntry
    if (index !== 0) this.#freeEntry = entries[index * this.#stride]! & INDEX
    else index = this.#entriesEnd++
    const at = index * this.#stride
    entries[at] = 0
    for (let word = 0; word < this.#words; word++) entries[at + 1 + word] = this.key[word]!
    this.#values[index] = value
    return SIGN | (length << 23) | index
  }

  #removeEntry(entry: number): void {
    const index = entry & INDEX
    this.#values[index] = undefined
    this.#entries[index * this.#stride] = (FREE << 23) | this.#freeEntry
    this.#freeEntry = index
  }

  #addBranch(bit: number, left: number, right: number): number {
    const branches = this.#branches
    let index = this.#freeBranch
    if (index !== 0) this.#freeBranch = branches[index << 1]!
    else index = this.#branchesEnd++
    branches[index << 1] = left
    branches[(index << 1) + 1] = right
    return (bit << 23) | index
  }

  #changed(): void {
    this.#version++
    if (--this.#untilReview <= 0) this.#review()
  }

  /**
   * Makes the directory that fits the entries: as many slots as entries, or up to twice that, where
   * nearly all of them are.
   */
  #review(): void {
    const size = this.#size
    this.#untilReview = Math.max(DIRECTORY_FROM, size) >> 1
    if (size < DIRECTORY_FROM) {
      this.#directory = undefined
      return
    }
    const bits = Math.min(MAX_DIRECTORY_BITS, 32 - Math.clz32(size))
    const base = new Int32Array(this.#words)
    const places = samplePlaces(this.#entries, this.#entriesEnd * this.#stride, this.#stride)
    const skip = commonStart(this.#entries, places, base, this.bits - bits)
    const old = this.#directory
    if (old !== undefined && old.shift === 32 - bits && old.skip === skip && old.has(base)) return
    this.#directory = new PrefixDirectory(base, skip, bits)
    this.#fill(this.#directory)
  }

  #fill(directory: PrefixDirectory): void {
    const words = new Int32Array(this.#words)
    const rest = [this.#branches[0]!]
    while (rest.length > 0) {
      const ref = rest.pop()!
      const isTop = lengthOf(ref) >= directory.end
      if (isTop || ref < 0) {
        let entry = ref
        // any entry of a branch has the bits before it
        while (entry > 0) entry = this.#branches[(entry & INDEX) << 1]!
        for (let word = 0; word < this.#words; word++) words[word] = this.wordOf(entry, word)
        if (isTop) directory.topAdded(ref, words)
        else directory.entryAdded(ref, words)
      }
      if (!isTop) this.#pushParts(ref, rest)
    }
  }
}

const SIGN = 1 << 31
const INDEX = 0x7fffff
/** A smaller trie is in the first level cache anyway. */
const DIRECTORY_FROM = 256
const MAX_DIRECTORY_BITS = 20

function bitOf(key: Int32Array, index: number): number {
  return (key[index >>> 5]! >>> (~index & 31)) & 1
}

function doubled(words: Int32Array): Int32Array {
  const grown = new Int32Array(words.length * 2)
  grown.set(words)
  return grown
}
