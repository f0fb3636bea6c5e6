import { formatRef, type KindInfo, type ObjectRef, type OwnerReference, refOf } from '../../crd/meta/object.js'
import { type Effect, type EventEffect, eventAbout, guard, proofOfAbsence } from '../../plan/index.js'
import { type Graph, type GraphNode, keyOf, kindName } from './graph.js'

/** The input of plans: the objects, and the watched kinds. */
export interface World {
  readonly graph: Graph
  /** The watched kind of that group and name. */
  kindOf(name: { readonly apiVersion: string; readonly kind: string }): KindInfo | undefined
}

/** A reference to an owner, with the state of that owner. */
export type Tie =
  /** The owner exists, and keeps its dependents. */
  | { readonly is: 'solid'; readonly ref: OwnerReference }
  /** The owner is being deleted, and waits until its dependents are deleted. */
  | { readonly is: 'waiting'; readonly ref: OwnerReference; readonly owner: GraphNode }
  /** The owner is being deleted, and its dependents stay. */
  | { readonly is: 'orphaning'; readonly ref: OwnerReference; readonly owner: GraphNode }
  /** The owner cannot be looked up: it counts as existing. */
  | { readonly is: 'unresolved'; readonly ref: OwnerReference; readonly problem: string }
  /** No owner is known under that name: it does not exist, or was not observed yet. */
  | {
      readonly is: 'absent'
      readonly ref: OwnerReference
      /** Where it would be. */
      readonly place: ObjectRef
      /** The object with that uid in another namespace, if it exists. */
      readonly elsewhere: GraphNode | undefined
    }

/**
 * Finds the owner of a reference. A reference means an object by uid, and only if kind and name are
 * right. The owner is in the namespace of the dependent, unless its kind is cluster-scoped.
 *
 * An owner that leaves its dependents behind is found by its uid alone, as dependents are. Else a
 * cluster-scoped object cannot have a namespaced owner: the reference does not contain a namespace.
 *
 * Source: `isDangling` and `classifyReferences` in garbagecollector.go of Kubernetes 1.36,
 * `orphanDependents` for the second rule. Upstream leaves an object with one reference that cannot
 * be followed as it is, with all of its references.
 */
export function tieOf(ref: OwnerReference, dependent: GraphNode, { graph, kindOf }: World): Tie {
  const known = graph.withUid(ref.uid)
  if (known?.role === 'orphaning') return { is: 'orphaning', ref, owner: known }
  const kind = kindOf(ref)
  if (kind === undefined) {
    return { is: 'unresolved', ref, problem: `its owner ${kindName(ref)} ${ref.name} is of a kind that is not watched` }
  }
  const { namespace } = dependent.object.metadata
  if (kind.namespaced && namespace === undefined) {
    const problem = `its owner ${kindName(ref)} ${ref.name} is in a namespace, and nothing says in which`
    return { is: 'unresolved', ref, problem }
  }
  const { apiVersion } = kind
  const name = { apiVersion, kind: kind.kind, name: ref.name }
  const place: ObjectRef = kind.namespaced && namespace !== undefined ? { ...name, namespace } : name
  const key = keyOf(place)
  if (known?.key === key) return known.role === 'waiting' ? { is: 'waiting', ref, owner: known } : { is: 'solid', ref }
  const isElsewhere = known !== undefined && known.object.metadata.namespace !== place.namespace
  return { is: 'absent', ref, place, elsewhere: isElsewhere ? known : undefined }
}

/**
 * Effects that prove the state of owners right before the write that relies on it. Each owner that
 * is thought missing does not exist, and each one that is being deleted is in the state that was
 * read.
 *
 * Kubernetes reads each owner from the API server before it acts (`isDangling`), whatever its
 * caches contain. These effects do the same. After them an owner cannot return: a uid is not used
 * again, and a deletion is not undone. The propagation of the deletion may still change before the
 * write, as upstream.
 */
export function proofsOf(ties: readonly Tie[], dependent: GraphNode, { graph }: World): Effect[] {
  const proofs = new Map<string, Effect>()
  for (const tie of ties) {
    if (tie.is === 'absent') {
      const { place, ref } = tie
      const key = keyOf(place)
      // the dependent itself has that name: the next write is for exactly that object
      if (key === dependent.key) continue
      const needed = proofOfAbsence(
        { ref: place, uid: ref.uid },
        'the plan requires that it does not exist',
        graph.kindOf(place),
      )
      for (const proof of needed) proofs.set(`${ref.uid} ${key}`, proof)
    } else if ((tie.is === 'waiting' || tie.is === 'orphaning') && tie.owner !== dependent) {
      const what = tie.is === 'waiting' ? 'waiting for its dependents to be deleted' : 'leaving its dependents behind'
      proofs.set(tie.owner.key, guard(tie.owner.object, `the plan requires that it is ${what}`))
    }
  }
  return [...proofs.values()]
}

/**
 * Events about owners in other namespaces. Source: `reportInvalidNamespaceOwnerRef` in
 * graph_builder.go of Kubernetes 1.36, with the same reason.
 */
export function namespaceEvents(ties: readonly Tie[], dependent: GraphNode): EventEffect[] {
  return ties.flatMap((tie): EventEffect[] => {
    if (tie.is !== 'absent' || tie.elsewhere === undefined) return []
    const [meant, found] = [formatRef(tie.place), formatRef(refOf(tie.elsewhere.object))]
    const message = `owner ${meant} is not in the namespace of this object: ${found} has its uid`
    return [eventAbout(dependent.object, { type: 'Warning', reason: 'OwnerRefInvalidNamespace', message })]
  })
}

/** The text of an owner, as the dependent names it. */
export function formatTie(tie: Tie): string {
  switch (tie.is) {
    case 'waiting':
    case 'orphaning':
      return formatRef(refOf(tie.owner.object))
    case 'absent':
      return formatRef(tie.place)
    default:
      return `${tie.ref.kind} ${tie.ref.name}`
  }
}
