import type { KubeObject } from '../crd/meta/object.js'

/** Oldest first; of the same age by namespace and name, as the list has them. */
export function byAge(left: KubeObject, right: KubeObject): number {
  const a = left.metadata.creationTimestamp ?? ''
  const b = right.metadata.creationTimestamp ?? ''
  return a < b ? -1 : a > b ? 1 : 0
}
