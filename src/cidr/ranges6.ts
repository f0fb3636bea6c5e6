import type { Address6 } from './address.js'

/**
 * Sorted, disjoint, non-adjacent IPv6 ranges. Four words an end: range `i` is `firsts[4i..4i+3]` to `lasts[4i..4i+3]`, both
 * included, most significant word first.
 */
export interface Ranges6 {
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
}

export const none6: Ranges6 = { firsts: new Uint32Array(0), lasts: new Uint32Array(0) }

/** Sorts and merges ranges given in any order, overlapping or not. O(n log n), O(n) if they are in order already. */
export function normalise6(firsts: readonly Address6[], lasts: readonly Address6[]): Ranges6 {
  const count = firsts.length
  const from = pack(firsts)
  const to = pack(lasts)
  const order = new Uint32Array(count)
  let sorted = true
  for (let i = 0; i < count; i++) {
    order[i] = i
    if (i > 0 && compareAt(from, i, from, i - 1) < 0) sorted = false
  }
  if (!sorted) order.sort((a, b) => compareAt(from, a, from, b))

  const out = new Output(count)
  for (let i = 0; i < count; i++) {
    const at = order[i]!
    if (out.length > 0 && !isBeyond(from, at, out.lasts, out.length - 1)) {
      if (compareAt(to, at, out.lasts, out.length - 1) > 0) copyAt(to, at, out.lasts, out.length - 1)
    } else {
      copyAt(from, at, out.firsts, out.length)
      copyAt(to, at, out.lasts, out.length)
      out.length++
    }
  }
  return out.done()
}

/** `a` without `b`. One sweep over both, O(a + b). See `subtract4` for the picture. */
export function subtract6(a: Ranges6, b: Ranges6): Ranges6 {
  const countA = count6(a)
  const countB = count6(b)
  const out = new Output(countA + countB)
  const first = new Uint32Array(4)
  let j = 0
  for (let i = 0; i < countA; i++) {
    copyAt(a.firsts, i, first, 0)
    while (j < countB && compareAt(b.lasts, j, first, 0) < 0) j++
    let k = j
    let open = true
    while (k < countB && compareAt(b.firsts, k, a.lasts, i) <= 0) {
      if (compareAt(b.firsts, k, first, 0) > 0) {
        copyAt(first, 0, out.firsts, out.length)
        copyAt(b.firsts, k, out.lasts, out.length)
        decrementAt(out.lasts, out.length)
        out.length++
      }
      if (compareAt(b.lasts, k, a.lasts, i) >= 0) {
        open = false
        break
      }
      copyAt(b.lasts, k, first, 0)
      incrementAt(first, 0)
      k++
    }
    if (open) {
      copyAt(first, 0, out.firsts, out.length)
      copyAt(a.lasts, i, out.lasts, out.length)
      out.length++
    }
    j = k
  }
  return out.done()
}

/** What `a` and `b` have in common. One sweep over both, O(a + b). */
export function intersect6(a: Ranges6, b: Ranges6): Ranges6 {
  const countA = count6(a)
  const countB = count6(b)
  const out = new Output(countA + countB)
  let i = 0
  let j = 0
  while (i < countA && j < countB) {
    const firstIsA = compareAt(a.firsts, i, b.firsts, j) >= 0
    const lastIsA = compareAt(a.lasts, i, b.lasts, j) <= 0
    copyAt(firstIsA ? a.firsts : b.firsts, firstIsA ? i : j, out.firsts, out.length)
    copyAt(lastIsA ? a.lasts : b.lasts, lastIsA ? i : j, out.lasts, out.length)
    if (compareAt(out.firsts, out.length, out.lasts, out.length) <= 0) out.length++
    if (compareAt(a.lasts, i, b.lasts, j) < 0) i++
    else j++
  }
  return out.done()
}

/** Index of the range that has the address, or -1. Binary search, O(log n). */
export function find6(ranges: Ranges6, address: Address6): number {
  let low = 0
  let high = count6(ranges)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareTo(ranges.firsts, middle, address) <= 0) low = middle + 1
    else high = middle
  }
  return low > 0 && compareTo(ranges.lasts, low - 1, address) >= 0 ? low - 1 : -1
}

export function count6(ranges: Ranges6): number {
  return ranges.firsts.length >>> 2
}

export function addressAt6(words: Uint32Array, index: number): Address6 {
  const i = index << 2
  return { family: 6, w0: words[i]!, w1: words[i + 1]!, w2: words[i + 2]!, w3: words[i + 3]! }
}

/** Ranges being written; one more slot than asked for, so that a candidate can be written before it is known to count. */
class Output {
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
  length = 0

  constructor(capacity: number) {
    this.firsts = new Uint32Array((capacity + 1) * 4)
    this.lasts = new Uint32Array((capacity + 1) * 4)
  }

  done(): Ranges6 {
    return { firsts: this.firsts.slice(0, this.length * 4), lasts: this.lasts.slice(0, this.length * 4) }
  }
}

function pack(addresses: readonly Address6[]): Uint32Array {
  const words = new Uint32Array(addresses.length * 4)
  for (let i = 0; i < addresses.length; i++) {
    const address = addresses[i]!
    words[i * 4] = address.w0
    words[i * 4 + 1] = address.w1
    words[i * 4 + 2] = address.w2
    words[i * 4 + 3] = address.w3
  }
  return words
}

function compareAt(left: Uint32Array, i: number, right: Uint32Array, j: number): number {
  const a = i << 2
  const b = j << 2
  return (
    left[a]! - right[b]! || left[a + 1]! - right[b + 1]! || left[a + 2]! - right[b + 2]! || left[a + 3]! - right[b + 3]!
  )
}

function compareTo(words: Uint32Array, index: number, address: Address6): number {
  const i = index << 2
  return (
    words[i]! - address.w0 || words[i + 1]! - address.w1 || words[i + 2]! - address.w2 || words[i + 3]! - address.w3
  )
}

/** Whether `left[i]` lies more than one behind `right[j]`: neither inside nor right behind it. */
function isBeyond(left: Uint32Array, i: number, right: Uint32Array, j: number): boolean {
  if (compareAt(left, i, right, j) <= 0) return false
  const next = right.slice(j << 2, (j << 2) + 4)
  return incrementAt(next, 0) && compareAt(left, i, next, 0) > 0
}

function copyAt(from: Uint32Array, i: number, to: Uint32Array, j: number): void {
  const a = i << 2
  const b = j << 2
  to[b] = from[a]!
  to[b + 1] = from[a + 1]!
  to[b + 2] = from[a + 2]!
  to[b + 3] = from[a + 3]!
}

/** Adds one in place. False if it wrapped. */
function incrementAt(words: Uint32Array, index: number): boolean {
  for (let i = (index << 2) + 3; i >= index << 2; i--) {
    words[i] = words[i]! + 1
    if (words[i] !== 0) return true
  }
  return false
}

/** Subtracts one in place. The caller knows that the value is not zero. */
function decrementAt(words: Uint32Array, index: number): void {
  for (let i = (index << 2) + 3; i >= index << 2; i--) {
    words[i] = words[i]! - 1
    if (words[i] !== 0xffffffff) return
  }
}
