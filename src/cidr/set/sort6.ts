import { sortPairs } from './sort-pairs.js'
import { compareAt, differenceAt6, windowAt6 } from './words6.js'

/** Below this many, comparing whole addresses beats sorting by parts of them. */
const FEW = 64

/**
 * The order in which `count` IPv6 addresses ascend, as indices. Sorts by the 32 bits behind those
 * in which all agree, then each run of addresses that agree in these as well, and so on: addresses
 * of a network differ late. O(n) for each 32 bits that matter.
 */
export function ascending6(words: Uint32Array, count: number): Uint32Array {
  const order = new Uint32Array(count)
  for (let i = 0; i < count; i++) order[i] = i
  sortRun(words, order)
  return order
}

function sortRun(words: Uint32Array, order: Uint32Array): void {
  const count = order.length
  if (count <= FEW) {
    insertionSort(words, order)
    return
  }
  let bit = 128
  for (let i = 1; i < count && bit > 0; i++) bit = Math.min(bit, differenceAt6(words, order[0]!, words, order[i]!))
  if (bit === 128) return
  const keys = new Uint32Array(count)
  for (let i = 0; i < count; i++) keys[i] = windowAt6(words, order[i]!, bit)
  sortPairs(keys, order)
  if (bit >= 96) return
  for (let from = 0; from < count; ) {
    let to = from + 1
    while (to < count && keys[to] === keys[from]) to++
    if (to - from > 1) sortRun(words, order.subarray(from, to))
    from = to
  }
}

function insertionSort(words: Uint32Array, order: Uint32Array): void {
  for (let i = 1; i < order.length; i++) {
    const index = order[i]!
    let j = i
    while (j > 0 && compareAt(words, order[j - 1]!, words, index) > 0) {
      order[j] = order[j - 1]!
      j--
    }
    order[j] = index
  }
}
