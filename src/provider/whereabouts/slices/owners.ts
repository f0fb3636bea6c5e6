import type { KubeObject, OwnerReference } from '../../../crd/meta/object.js'
import { isDefinition } from './watches.js'

/**
 * The owners of a NodeSlicePool: its definitions, with the first as the controller, and other
 * owners as they are.
 *
 * Definitions of other namespaces cannot own it: the garbage collector looks for an owner in the
 * namespace of the dependent, does not find it, and deletes the dependent under live Pods. Nor may
 * some of them own it alone: it would be deleted with those. So the definitions are owners only if
 * all of them are in the namespace of the NodeSlicePool. O(definitions).
 *
 * @see https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */
export function ownersOf(
  namespace: string,
  before: readonly OwnerReference[],
  definitions: readonly KubeObject[],
): readonly OwnerReference[] {
  const isHere = definitions.every(({ metadata }) => metadata.namespace === namespace)
  const uids = new Set(isHere ? definitions.map(({ metadata }) => metadata.uid) : [])
  const kept = before.filter((owner) => !isDefinition(owner) || uids.delete(owner.uid))
  const added = definitions.flatMap(({ apiVersion, kind, metadata: { name, uid } }) =>
    uid !== undefined && uids.has(uid) ? [{ apiVersion, kind, name, uid }] : [],
  )
  const hasController = kept.some(({ controller }) => controller === true)
  return [
    ...kept,
    ...added.map((owner, index) =>
      index === 0 && !hasController ? { ...owner, blockOwnerDeletion: true, controller: true } : owner,
    ),
  ]
}
