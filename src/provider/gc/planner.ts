import type { StoreKind } from '../../crd/meta/model.js'
import { infoOf, type KindInfo, kindKey } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { INVALID_ARGUMENT } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { defineWithoutHoldings } from '../../plan/define-planner.js'
import { byAge, type Delta, type Planner, type PlannerContext, type Watch } from '../../plan/index.js'
import { plannerKeys } from '../../plan/planner-keys.js'
import { planObject } from './collect.js'
import { Graph, type GraphNode, kindName, nodeWatch } from './graph.js'
import type { GcOutcome } from './outcome.js'

export interface GcOptions {
  /**
   * All kinds of owners and of dependents. Owners of other kinds count as existing. A model is
   * accepted in place of its `info`.
   */
  readonly kinds: readonly StoreKind[]
  /**
   * Decide nothing before {@link GcPlanner.listed} was called for every kind, for a host that plans
   * while it still lists. Left out or false: the host shows all stored objects before it asks for a
   * plan, as `runUntilQuiet` does.
   */
  readonly waitForLists?: boolean | undefined
}

const GC_OPTIONS: KindOf<GcOptions> = { kinds: ['list', 'object'], waitForLists: 'flag?' }

/** The garbage collector as a {@link Planner}: keys are `Kind.group namespace/name` of objects. */
export interface GcPlanner extends Planner<GcOutcome> {
  /**
   * Called when all objects of a kind that existed at some moment have been observed. `reset`
   * revokes it.
   *
   * @returns the keys to plan again: all objects, once the last kind is listed
   */
  listed(kind: { readonly apiVersion: string; readonly kind: string }): readonly string[]
}

/**
 * The garbage collector of Kubernetes, for stores without one (`collectsGarbage: false`). The rules
 * are those of kube-controller-manager 1.36; differences are documented with each rule.
 *
 * - Objects whose owners do not exist are deleted.
 * - Objects that are deleted in foreground are deleted after their dependents.
 * - Orphaned dependents lose their reference.
 *
 * An owner is identified by uid: another object of its name is not the owner.
 *
 * An owner that was not observed may exist: watches of two kinds may lag behind each other, and a
 * list may be old. So each plan that relies on a missing owner has the store confirm it, by an
 * `absent` effect when the plan is executed. The plan stops if the owner exists. That costs one
 * read for each owner. The deletion itself is for one uid in the version that was read: an object
 * that was given a new owner meanwhile stays.
 *
 * Two decisions rely on the cache: a finalizer `foregroundDeletion` is removed when no known
 * dependent holds the object, a finalizer `orphan` when no known dependent refers to it. A
 * dependent that was not observed yet is then deleted after its owner, also one that should have
 * been orphaned. The collector of Kubernetes has the same limit.
 *
 * `observe` is O(references of the object), and O(d log d) in its dependents where it begins or
 * ends to own them; `plan` is O(its references). Any number of processes may run it at once.
 *
 * @throws IpamError `INVALID_ARGUMENT` for invalid options
 *
 * @example
 * import { explain } from 'ipam-kit/plan'
 *
 * const kind = { apiVersion: 'example.com/v1', kind: 'Box', plural: 'boxes', namespaced: true, statusSubresource: false }
 * const planner = gcPlanner({ kinds: [kind] })
 * const owner = { apiVersion: 'example.com/v1', kind: 'Box', name: 'outer', uid: 'u1' }
 * const metadata = { namespace: 'default', name: 'inner', uid: 'u2', ownerReferences: [owner] }
 * const [key] = planner.observe({ kind: 'present', object: { apiVersion: 'example.com/v1', kind: 'Box', metadata } })
 * explain(planner.plan(key, { nowMs: 0 })).split('\n')[0] // 'collected: no owner is left: Box default/outer is gone'
 */
export function gcPlanner(options: GcOptions): GcPlanner {
  check('gcPlanner', 'options', options, GC_OPTIONS)
  const kinds = readKinds(options)
  const watches = Object.fromEntries([...kinds.values()].map((kind) => [kindName(kind), nodeWatch(kind)]))
  const keys = plannerKeys(...Object.keys(watches))
  const nodeAt = (key: string, cache: PlannerContext<GcWatches, GcState>['cache']) => {
    const read = keys.read(key)
    return read && cache[read.kind]?.get(read.name)
  }
  const wakes = Object.fromEntries(Object.keys(watches).map((name) => [name, wake]))
  const planner = defineWithoutHoldings<GcOutcome, GcWatches, GcState>({
    name: 'gc',
    watches,
    wakes,
    state: () => ({ unlisted: new Set(options.waitForLists === true ? kinds.keys() : []) }),
    plan(key, { cache, state: { unlisted } }) {
      const node = nodeAt(key, cache)
      if (node === undefined) return undefined
      if (unlisted.size === 0)
        return planObject(node, { graph: new Graph(cache), kindOf: (name) => kinds.get(kindKey(name)) })
      const names = [...unlisted].map((kind) => kinds.get(kind)?.kind)
      return { outcome: { kind: 'unlisted', message: `not listed yet: ${names.join(', ')}` }, effects: [] }
    },
    // each of ten thousand dependents would wake it
    isAggregate(key, { cache }) {
      const node = nodeAt(key, cache)
      return node !== undefined && node.role !== 'living'
    },
  })
  const listed: GcPlanner['listed'] = (kind) => {
    const { cache, state } = planner.context
    if (!state.unlisted.delete(kindKey(kind)) || state.unlisted.size > 0) return []
    return keysOf(new Graph(cache).nodes().filter(isOfInterest))
  }
  return Object.assign(planner, { listed })
}

type GcWatches = { readonly [kind: string]: Watch<GraphNode> }

interface GcState {
  /** The kinds that are still to be listed. */
  readonly unlisted: Set<string>
}

/**
 * The keys that a change wakes: the object, its dependents if its role has changed, and its owners
 * that wait for it.
 */
function wake(delta: Delta<GraphNode>, { cache }: PlannerContext<GcWatches, GcState>): readonly string[] {
  const graph = new Graph(cache)
  const [before, now] = [delta.before, delta.now].map((entry) => (entry?.ok === true ? entry.value : undefined))
  const key = now?.key ?? before?.key
  const others = new Map<string, GraphNode>()
  if (before?.uid !== now?.uid || before?.role !== now?.role) {
    const uids = [before?.uid, now?.uid].filter((uid) => uid !== undefined)
    for (const uid of uids) for (const node of graph.dependentsOf(uid)) others.set(node.key, node)
  }
  for (const { uid } of [...(before?.owners ?? []), ...(now?.owners ?? [])]) {
    const owner = graph.withUid(uid)
    if (owner !== undefined && owner.role !== 'living') others.set(owner.key, owner)
  }
  if (key !== undefined) others.delete(key)
  const isOwn = key !== undefined && (isOfInterest(before) || isOfInterest(now))
  return [...(isOwn ? [key] : []), ...keysOf([...others.values()])]
}

function keysOf(nodes: GraphNode[]): string[] {
  return nodes.sort((left, right) => byAge(left.object, right.object)).map(({ key }) => key)
}

/**
 * Whether the collector may have work with an object: most have no owner and are not being deleted.
 */
function isOfInterest(node: GraphNode | undefined): boolean {
  return node !== undefined && (node.owners.length > 0 || node.role !== 'living')
}

/** @throws IpamError `INVALID_ARGUMENT` */
function readKinds(options: GcOptions): ReadonlyMap<string, KindInfo> {
  const kinds: unknown = options?.kinds
  const refuse = (expected: string, got: string) =>
    ipamError(INVALID_ARGUMENT, { function: 'gcPlanner', argument: 'options.kinds', expected, got })
  if (!Array.isArray(kinds) || kinds.length === 0) throw refuse('at least one kind', String(kinds))
  const known = new Map<string, KindInfo>()
  for (const kind of kinds as readonly StoreKind[]) {
    const info = infoOf(kind)
    if (typeof info?.namespaced !== 'boolean')
      throw refuse('kinds that say whether they are namespaced', String(info?.kind))
    if (known.has(kindKey(info))) throw refuse('each kind once, in one version', info.kind)
    known.set(kindKey(info), info)
  }
  return known
}
