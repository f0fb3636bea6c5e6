/**
 * Sorted, disjoint, non-adjacent IPv4 ranges: `firsts[i]..lasts[i]`, both included. The inside of a `RangeSet`; IPv4 and IPv6
 * have separate code so that each stays monomorphic.
 */
export interface Ranges4 {
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
}

export const none4: Ranges4 = { firsts: new Uint32Array(0), lasts: new Uint32Array(0) }

/** Sorts and merges ranges given in any order, overlapping or not. O(n log n), O(n) if they are in order already. */
export function normalise4(firsts: readonly number[], lasts: readonly number[]): Ranges4 {
  const count = firsts.length
  const order = new Uint32Array(count)
  let sorted = true
  for (let i = 0; i < count; i++) {
    order[i] = i
    if (i > 0 && firsts[i]! < firsts[i - 1]!) sorted = false
  }
  if (!sorted) order.sort((a, b) => firsts[a]! - firsts[b]!)

  const outFirsts = new Uint32Array(count)
  const outLasts = new Uint32Array(count)
  let length = 0
  for (let i = 0; i < count; i++) {
    const first = firsts[order[i]!]!
    const last = lasts[order[i]!]!
    // merge what overlaps or touches:   |---a---|
    //                                      |---b---|   or   |--b--| right behind
    if (length > 0 && first <= outLasts[length - 1]! + 1) {
      if (last > outLasts[length - 1]!) outLasts[length - 1] = last
    } else {
      outFirsts[length] = first
      outLasts[length] = last
      length++
    }
  }
  return { firsts: outFirsts.slice(0, length), lasts: outLasts.slice(0, length) }
}

/** `a` without `b`. One sweep over both, O(a + b). */
export function subtract4(a: Ranges4, b: Ranges4): Ranges4 {
  const firsts: number[] = []
  const lasts: number[] = []
  let j = 0
  for (let i = 0; i < a.firsts.length; i++) {
    let first = a.firsts[i]!
    const last = a.lasts[i]!
    while (j < b.firsts.length && b.lasts[j]! < first) j++
    // a:      |----------------|
    // b:   |----|   |--|    |------|
    // out:       |-|    |--|
    let k = j
    let open = true
    while (k < b.firsts.length && b.firsts[k]! <= last) {
      if (b.firsts[k]! > first) {
        firsts.push(first)
        lasts.push(b.firsts[k]! - 1)
      }
      if (b.lasts[k]! >= last) {
        open = false
        break
      }
      first = b.lasts[k]! + 1
      k++
    }
    if (open) {
      firsts.push(first)
      lasts.push(last)
    }
    j = k
  }
  return { firsts: Uint32Array.from(firsts), lasts: Uint32Array.from(lasts) }
}

/** What `a` and `b` have in common. One sweep over both, O(a + b). */
export function intersect4(a: Ranges4, b: Ranges4): Ranges4 {
  const firsts: number[] = []
  const lasts: number[] = []
  let i = 0
  let j = 0
  while (i < a.firsts.length && j < b.firsts.length) {
    const first = Math.max(a.firsts[i]!, b.firsts[j]!)
    const last = Math.min(a.lasts[i]!, b.lasts[j]!)
    if (first <= last) {
      firsts.push(first)
      lasts.push(last)
    }
    if (a.lasts[i]! < b.lasts[j]!) i++
    else j++
  }
  return { firsts: Uint32Array.from(firsts), lasts: Uint32Array.from(lasts) }
}

/** Index of the range that has `value`, or -1. Binary search, O(log n). */
export function find4(ranges: Ranges4, value: number): number {
  let low = 0
  let high = ranges.firsts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ranges.firsts[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low > 0 && value <= ranges.lasts[low - 1]! ? low - 1 : -1
}
