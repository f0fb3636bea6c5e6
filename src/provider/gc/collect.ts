import { formatRef, hasFinalizer, isDeleting, type OwnerReference, refOf } from '../../crd/meta/object.js'
import type { Propagation } from '../../plan/effect.js'
import { deleteObject, type Effect, type Plan, patchObject, removeFinalizer } from '../../plan/index.js'
import { FOREGROUND, type Graph, type GraphNode, ORPHAN } from './graph.js'
import type { GcOutcome } from './outcome.js'
import { formatTie, namespaceEvents, proofsOf, type Tie, tieOf, type World } from './owners.js'

/**
 * Plans one object for the collector. Sources are named after functions in garbagecollector.go of
 * Kubernetes 1.36.
 *
 * O(references of the object); for an object that waits for its dependents, also in the waiting
 * owners above it.
 */
export function planObject(node: GraphNode, world: World): Plan<GcOutcome> {
  const ties = node.owners.map((ref) => tieOf(ref, node, world))
  if (isDeleting(node.object)) {
    const left = ties.filter((tie) => tie.is === 'orphaning')
    return left.length > 0 ? planPrune(node, ties, left, world) : planDeletion(node, world.graph)
  }
  if (ties.length === 0) return keep('it has no owner', [])
  const loose = ties.filter(isLoose)
  if (loose.some((tie) => tie.is === 'orphaning')) return planPrune(node, ties, loose, world)
  if (loose.length === ties.length) return planCollection(node, loose, world)
  return loose.length > 0 ? planPrune(node, ties, loose, world) : keep(whyKept(ties), unresolved(ties))
}

/** Whether an owner no longer keeps its dependent. */
function isLoose(tie: Tie): boolean {
  return tie.is !== 'solid' && tie.is !== 'unresolved'
}

/**
 * Removes references from an object that stays. Owners that are being deleted are among them, also
 * if another owner keeps the object: they would wait for it forever.
 *
 * Source: `attemptToDeleteItem`, first case, and `orphanDependents`. Upstream removes all
 * references of a uid, here only those to loose owners.
 */
function planPrune(node: GraphNode, ties: readonly Tie[], loose: readonly Tie[], world: World): Plan<GcOutcome> {
  const removed = loose.map((tie) => tie.ref)
  const ownerReferences = node.owners.filter((ref) => !removed.includes(ref))
  const why = `${whyLoose(loose)}${ownerReferences.length > 0 ? ', and others still own it' : ''}`
  const patch = patchObject(node.object, { metadata: { ownerReferences } }, why)
  const effects = [...proofsOf(loose, node, world), patch, ...namespaceEvents(loose, node)]
  const message = `removing references: ${whyLoose(loose)}`
  return { outcome: { kind: 'pruned', message, removed, unresolved: unresolved(ties) }, effects }
}

/**
 * Deletes an object without an owner that keeps it. If it has dependents, and its owner waits for
 * its own dependents, it waits for its dependents too. Else its own finalizers decide about its
 * dependents.
 *
 * The deletion requires the version that was read, as a new owner may have been added since.
 *
 * Source: `attemptToDeleteItem`, second and third case.
 */
function planCollection(node: GraphNode, ties: readonly Tie[], world: World): Plan<GcOutcome> {
  const isForeground = ties.some((tie) => tie.is === 'waiting') && world.graph.countDependents(node.uid) > 0
  const propagation = isForeground ? 'Foreground' : propagationOf(node)
  const why = whyLoose(ties)
  const deletion = deleteObject(node.object, why, { propagation })
  const effects: Effect[] = [...proofsOf(ties, node, world), deletion, ...namespaceEvents(ties, node)]
  return { outcome: { kind: 'collected', message: `no owner is left: ${why}`, propagation }, effects }
}

/** The propagation that the finalizers of an object ask for, which were set before its deletion. */
function propagationOf({ object }: GraphNode): Propagation {
  if (hasFinalizer(object, ORPHAN)) return 'Orphan'
  return hasFinalizer(object, FOREGROUND) ? 'Foreground' : 'Background'
}

/**
 * Plans an object that is being deleted: its finalizer is removed when its dependents no longer
 * hold it.
 */
function planDeletion(node: GraphNode, graph: Graph): Plan<GcOutcome> {
  switch (node.role) {
    case 'living':
      return { outcome: { kind: 'leaving', message: 'it is being deleted' }, effects: [] }
    case 'orphaning':
      return planOrphaning(node, graph)
    case 'waiting':
      return planWaiting(node, graph)
  }
}

/**
 * Source: `attemptToOrphanWorker`. There the owner removes itself from its dependents; here each
 * dependent has a plan of its own.
 */
function planOrphaning(node: GraphNode, graph: Graph): Plan<GcOutcome> {
  const dependents = graph.countDependents(node.uid)
  if (dependents === 0) return finish(node, ORPHAN, 'nothing refers to it any more')
  const message = `it is deleted when nothing refers to it any more: ${names(graph.dependentsOf(node.uid), dependents)}`
  return { outcome: { kind: 'held', message, by: ORPHAN, dependents }, effects: [] }
}

/**
 * Source: `processDeletingDependentsItem`. There an object that refers to itself waits forever, and
 * so do the objects of a ring that the collector did not delete. Here no object waits for itself,
 * directly or indirectly.
 */
function planWaiting(node: GraphNode, graph: Graph): Plan<GcOutcome> {
  const blockers = first(graph.blockersOf(node.uid), SHOWN + 1).filter(({ key }) => key !== node.key)
  if (blockers.length === 0) return finish(node, FOREGROUND, 'no dependent holds it up')
  const ring = node.owners.filter((ref) => isHeldUp(node, ref, graph) && isAbove(node, ref.uid, graph))
  if (ring.length > 0) return planUnblock(node, ring)
  const blocksItself = node.owners.some((owner) => owner.uid === node.uid && owner.blockOwnerDeletion === true)
  const dependents = graph.countBlockers(node.uid) - (blocksItself ? 1 : 0)
  const message = `it is deleted after its dependents: ${names(blockers, dependents)}`
  return { outcome: { kind: 'held', message, by: FOREGROUND, dependents }, effects: [] }
}

/**
 * Breaks a ring of objects that wait for each other. Source: `attemptToDeleteItem`, second case.
 * Upstream takes any waiting dependent for a sign of a ring; here it is a real one.
 */
function planUnblock(node: GraphNode, ring: readonly OwnerReference[]): Plan<GcOutcome> {
  const ownerReferences = node.owners.map((ref) => (ring.includes(ref) ? { ...ref, blockOwnerDeletion: false } : ref))
  const why = `it and ${list(ring.map((ref) => `${ref.kind} ${ref.name}`))} wait for each other`
  const effects = [patchObject(node.object, { metadata: { ownerReferences } }, why)]
  return { outcome: { kind: 'unblocked', message: why }, effects }
}

/** Whether the deletion of an owner waits for this object. */
function isHeldUp(node: GraphNode, ref: OwnerReference, graph: Graph): boolean {
  const owner = graph.withUid(ref.uid)
  return ref.blockOwnerDeletion === true && owner?.role === 'waiting' && owner.key !== node.key
}

/**
 * Whether an owner, or an object that it holds, and so on, is held by the owner's own dependent.
 */
function isAbove(node: GraphNode, ownerUid: string, graph: Graph): boolean {
  const seen = new Set([ownerUid])
  for (const uid of seen) {
    if (uid === node.uid) return true
    const owner = graph.withUid(uid)
    for (const ref of owner?.owners ?? []) if (owner !== undefined && isHeldUp(owner, ref, graph)) seen.add(ref.uid)
  }
  return false
}

function finish(node: GraphNode, finalizer: string, why: string): Plan<GcOutcome> {
  return { outcome: { kind: 'finished', message: why }, effects: [removeFinalizer(node.object, finalizer, why)] }
}

function keep(message: string, unresolved: readonly OwnerReference[]): Plan<GcOutcome> {
  return { outcome: { kind: 'kept', message, unresolved }, effects: [] }
}

function unresolved(ties: readonly Tie[]): readonly OwnerReference[] {
  return ties.filter((tie) => tie.is === 'unresolved').map((tie) => tie.ref)
}

function whyKept(ties: readonly Tie[]): string {
  const solid = ties.filter((tie) => tie.is === 'solid').map(formatTie)
  if (solid.length > 0) return `it is owned by ${list(solid)}`
  return `${list(ties.flatMap((tie) => (tie.is === 'unresolved' ? [tie.problem] : [])))}: taken as there`
}

/** Why owners no longer keep their dependent, one clause for each reason. */
function whyLoose(ties: readonly Tie[]): string {
  const clauses: string[] = []
  for (const [is, what] of [
    ['absent', 'gone'],
    ['waiting', 'waiting for its dependents to be deleted'],
    ['orphaning', 'leaving its dependents behind'],
  ] as const) {
    const owners = ties.filter((tie) => tie.is === is).map(formatTie)
    if (owners.length > 0) clauses.push(`${list(owners)} ${owners.length > 1 ? 'are' : 'is'} ${what}`)
  }
  return clauses.join(', ')
}

/** The maximum number of names in a message. */
const SHOWN = 3

function names(nodes: Iterable<GraphNode>, total: number): string {
  return list(
    first(nodes, SHOWN).map((node) => formatRef(refOf(node.object))),
    total,
  )
}

function first(nodes: Iterable<GraphNode>, most: number): GraphNode[] {
  const found: GraphNode[] = []
  for (const node of nodes) if (found.push(node) >= most) break
  return found
}

/** Names as a text, with the number of those that are left out. */
function list(names: readonly string[], total: number = names.length): string {
  const shown = names.slice(0, SHOWN)
  const more = total - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}
