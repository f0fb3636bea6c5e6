import type { KubeObject } from '../crd/meta/object.js'
import { compareAge } from './cached-objects.js'

/** The number of objects after which a host may give way to the event loop. */
export const PIECE = 500

/**
 * Sorts objects in pieces: the oldest first, of the same age by namespace and name. A merge sort,
 * stable, O(n log n).
 *
 * @yields `undefined` after each piece
 */
export function* sortedByAge(objects: readonly KubeObject[]): Generator<undefined, readonly KubeObject[]> {
  let runs: (readonly KubeObject[])[] = []
  for (let at = 0; at < objects.length; at += PIECE) {
    runs.push(objects.slice(at, at + PIECE).sort(compareAge))
    yield undefined
  }
  while (runs.length > 1) {
    const longer: (readonly KubeObject[])[] = []
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at]!, runs[at + 1] ?? []))
    runs = longer
  }
  return runs[0] ?? []
}

function* merged(
  left: readonly KubeObject[],
  right: readonly KubeObject[],
): Generator<undefined, readonly KubeObject[]> {
  if (right.length === 0) return left
  const both: KubeObject[] = []
  let [l, r] = [0, 0]
  while (l < left.length || r < right.length) {
    const isLeft = r >= right.length || (l < left.length && compareAge(left[l]!, right[r]!) <= 0)
    both.push(isLeft ? left[l++]! : right[r++]!)
    if (both.length % PIECE === 0) yield undefined
  }
  return both
}
