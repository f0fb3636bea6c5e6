/**
 * Index of the last of some ascending numbers that is at most `value`, or -1. Binary search, O(log
 * n).
 */
export function lastAtMost(ascending: Float64Array, value: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
