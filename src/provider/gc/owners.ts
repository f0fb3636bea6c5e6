import { formatRef, groupOf, type KindInfo, type ObjectRef, type OwnerReference, refOf } from '../../crd/meta/object.js'
import { type Effect, type EventEffect, eventAbout, guard, proofOfAbsence } from '../../plan/index.js'
import { type Graph, type GraphNode, keyOf } from './graph.js'

/** What plans are made from: the objects that were seen, and the kinds that are seen at all. */
export interface World {
  readonly graph: Graph
  /** The watched kind of that group and name. */
  kindOf(name: { readonly apiVersion: string; readonly kind: string }): KindInfo | undefined
}

/** A reference to an owner, and what has become of that owner. */
export type Tie =
  /** The owner is there, and keeps its dependents. */
  | { readonly is: 'solid'; readonly ref: OwnerReference }
  /** The owner is being deleted, and waits until its dependents are gone. */
  | { readonly is: 'waiting'; readonly ref: OwnerReference; readonly owner: GraphNode }
  /** The owner is being deleted, and leaves its dependents behind. */
  | { readonly is: 'orphaning'; readonly ref: OwnerReference; readonly owner: GraphNode }
  /** The owner cannot be looked for: it counts as one that is there. */
  | { readonly is: 'unresolved'; readonly ref: OwnerReference; readonly problem: string }
  /** The owner is not known under that name: it is gone, or was not seen yet. */
  | {
      readonly is: 'absent'
      readonly ref: OwnerReference
      /** Where it would be. */
      readonly place: ObjectRef
      /** The object of that uid in another namespace, if there is one. */
      readonly elsewhere: GraphNode | undefined
    }

/**
 * Finds out what has become of the owner that a reference means. It means an object by uid, and
 * only if kind and name are right, in the namespace of the dependent unless the kind is
 * cluster-scoped.
 *
 * An owner that leaves its dependents behind is found by its uid alone, as dependents are.
 * Otherwise a cluster-scoped object cannot have a namespaced owner: the reference does not say
 * which namespace is meant.
 *
 * Source: `isDangling` and `classifyReferences` in garbagecollector.go of Kubernetes 1.36,
 * `orphanDependents` for the second rule. There an object with one reference that cannot be
 * followed is left as it is, with all of its references.
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
 * What must still hold, at the moment that counts, for an object to lose its ties: each owner that
 * is thought gone does not exist, each one that is being deleted is in the state that was seen.
 * They come before the write that relies on them.
 *
 * Kubernetes reads each owner from the API server before it acts (`isDangling`), whatever its
 * caches say. These effects do that here. After them an owner cannot come back: a uid is not used
 * again, and a deletion is not taken back. In which way it goes may still change before the write,
 * as it may there.
 */
export function proofsOf(ties: readonly Tie[], dependent: GraphNode, { graph }: World): Effect[] {
  const proofs = new Map<string, Effect>()
  for (const tie of ties) {
    if (tie.is === 'absent') {
      const { place, ref } = tie
      const key = keyOf(place)
      // the dependent has that name itself: the write that comes is for that one object
      if (key === dependent.key) continue
      const needed = proofOfAbsence({ ref: place, uid: ref.uid }, 'the plan relies on its end', graph.kindOf(key))
      for (const proof of needed) proofs.set(`${ref.uid} ${key}`, proof)
    } else if ((tie.is === 'waiting' || tie.is === 'orphaning') && tie.owner !== dependent) {
      const what = tie.is === 'waiting' ? 'waiting for its dependents to go' : 'leaving its dependents behind'
      proofs.set(tie.owner.key, guard(tie.owner.object, `the plan relies on it ${what}`))
    }
  }
  return [...proofs.values()]
}

/**
 * Events about owners in other namespaces. Source: `reportInvalidNamespaceOwnerRef` in
 * graph_builder.go of Kubernetes 1.36, which has the same reason.
 */
export function namespaceEvents(ties: readonly Tie[], dependent: GraphNode): EventEffect[] {
  return ties.flatMap((tie): EventEffect[] => {
    if (tie.is !== 'absent' || tie.elsewhere === undefined) return []
    const [meant, found] = [formatRef(tie.place), formatRef(refOf(tie.elsewhere.object))]
    const message = `owner ${meant} is not in the namespace of this object: ${found} has its uid`
    return [eventAbout(dependent.object, { type: 'Warning', reason: 'OwnerRefInvalidNamespace', message })]
  })
}

/** An owner in words, as the dependent means it. */
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

/** `Kind.group`, or `Kind` in the core group. */
export function kindName({ apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>): string {
  const group = groupOf(apiVersion)
  return group === '' ? kind : `${kind}.${group}`
}
