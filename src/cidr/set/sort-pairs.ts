/** Below this many, insertion beats the passes of a radix sort. */
const FEW = 64

/**
 * Sorts pairs of unsigned 32-bit numbers by the first of each, in place. O(n): three passes of 11
 * bits, of which those are left out in which all numbers agree.
 */
export function sortPairs(keys: Uint32Array, payload: Uint32Array): void {
  const count = keys.length
  let sorted = true
  for (let i = 1; i < count && sorted; i++) sorted = keys[i - 1]! <= keys[i]!
  if (sorted) return
  if (count <= FEW) insertionSort(keys, payload)
  else radixSort(keys, payload)
}

function insertionSort(keys: Uint32Array, payload: Uint32Array): void {
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i]!
    const value = payload[i]!
    let j = i
    while (j > 0 && keys[j - 1]! > key) {
      keys[j] = keys[j - 1]!
      payload[j] = payload[j - 1]!
      j--
    }
    keys[j] = key
    payload[j] = value
  }
}

function radixSort(keys: Uint32Array, payload: Uint32Array): void {
  const count = keys.length
  const low = new Uint32Array(2048)
  const middle = new Uint32Array(2048)
  const high = new Uint32Array(1024)
  for (let i = 0; i < count; i++) {
    const key = keys[i]!
    low[key & 2047]!++
    middle[(key >>> 11) & 2047]!++
    high[key >>> 22]!++
  }
  let from: Uint32Array = keys
  let fromPayload: Uint32Array = payload
  let to: Uint32Array = new Uint32Array(count)
  let toPayload: Uint32Array = new Uint32Array(count)
  for (const [counts, shift] of [
    [low, 0],
    [middle, 11],
    [high, 22],
  ] as const) {
    if (counts[(from[0]! >>> shift) & (counts.length - 1)] === count) continue
    scatter(from, fromPayload, to, toPayload, counts, shift)
    const spare = from
    const sparePayload = fromPayload
    from = to
    fromPayload = toPayload
    to = spare
    toPayload = sparePayload
  }
  if (from !== keys) {
    keys.set(from)
    payload.set(fromPayload)
  }
}

/**
 * One pass: moves each pair to its place by some bits of the key, pairs of equal bits in the order
 * that they have.
 */
function scatter(
  from: Uint32Array,
  fromPayload: Uint32Array,
  to: Uint32Array,
  toPayload: Uint32Array,
  counts: Uint32Array,
  shift: number,
): void {
  const mask = counts.length - 1
  let before = 0
  for (let i = 0; i <= mask; i++) {
    const count = counts[i]!
    counts[i] = before
    before += count
  }
  for (let i = 0; i < from.length; i++) {
    const key = from[i]!
    const at = counts[(key >>> shift) & mask]!++
    to[at] = key
    toPayload[at] = fromPayload[i]!
  }
}
