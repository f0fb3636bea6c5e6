// The entries of a `PrefixTrie`: each is a reference to what lies below it, or that it is free, and
// the words of its address behind that.

/** A length that no reference has: that of an entry which is free. */
export const FREE = 255

/** How many entries are looked at to find where nearly all of them are. */
const SAMPLES = 128
const NEARLY_ALL = 7 / 8
const CANDIDATES = 3

/** The length of an entry, or the number of bits before a branch. */
export function lengthOf(ref: number): number {
  return (ref >>> 23) & 255
}

/**
 * Where the words of some entries stand.
 *
 * @param end where the last entry ends
 * @param stride how many integers an entry takes; the first place is none
 */
export function samplePlaces(entries: Int32Array, end: number, stride: number): number[] {
  const places: number[] = []
  const step = Math.max(1, Math.floor(end / stride / SAMPLES)) * stride
  for (let at = stride; at < end; at += step) if (lengthOf(entries[at]!) !== FREE) places.push(at + 1)
  return places
}

/**
 * How many first bits nearly all of some entries share, up to `most`; the first of them that has
 * these is written to `base`. One pass over them for each of a few candidates: if nearly all are
 * alike, one of these is of them.
 *
 * @param entries integers in which the words of an entry stand from each of `places` on
 */
export function commonStart(entries: Int32Array, places: readonly number[], base: Int32Array, most: number): number {
  const counts = new Int32Array(most + 1)
  let longest = 0
  for (let candidate = 0; candidate < CANDIDATES; candidate++) {
    const at = places[Math.floor(((candidate + 0.5) * places.length) / CANDIDATES)]!
    counts.fill(0)
    for (const other of places) counts[sharedBits(entries, at, other, most)]!++
    let shared = most
    for (let count = counts[most]!; count < places.length * NEARLY_ALL; count += counts[shared]!) shared--
    if (shared < longest) continue
    longest = shared
    base.set(entries.subarray(at, at + base.length))
  }
  return longest
}

/** How many first bits two entries share, at most `most`. */
function sharedBits(entries: Int32Array, at: number, other: number, most: number): number {
  for (let word = 0; word << 5 < most; word++) {
    const difference = entries[at + word]! ^ entries[other + word]!
    if (difference !== 0) return Math.min(most, (word << 5) + Math.clz32(difference))
  }
  return most
}
