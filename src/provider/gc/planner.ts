import { type KindInfo, type KubeObject, kindKey, refOf } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/index.js'
import { type Change, type Plan, type Planner, Sightings } from '../../plan/index.js'
import { planObject } from './collect.js'
import { Graph, type GraphNode, keyOf, nodeOf } from './graph.js'
import type { GcOutcome } from './outcome.js'
import type { World } from './owners.js'

export interface GcOptions {
  /** All kinds that own others, and all that are owned. References to other kinds count as references to something that is there. */
  readonly kinds: readonly KindInfo[]
  /**
   * Decide nothing before {@link GcPlanner.listed} was called for every kind, for a host that plans while it still lists. Left out or false: the
   * host shows all that is stored before it asks for a plan, as `runUntilQuiet` does.
   */
  readonly waitForLists?: boolean | undefined
}

/** The garbage collector as a {@link Planner}: keys are `Kind.group namespace/name` of objects. */
export interface GcPlanner extends Planner<GcOutcome> {
  /**
   * Says that all objects of a kind that there were at some moment have been shown. `reset` takes it back.
   *
   * @returns the keys to plan again: all that there are, with the last kind that was missing
   */
  listed(kind: { readonly apiVersion: string; readonly kind: string }): readonly string[]
}

/**
 * The garbage collector of Kubernetes, for stores that have none (`collectsGarbage: false`): objects whose owners are gone are deleted, objects
 * that are deleted in foreground go after their dependents, orphaned dependents lose their reference. The rules are those of
 * kube-controller-manager 1.36; what differs is said with the rule.
 *
 * An owner is one by uid: another object that has got its name is none. What was not seen is not taken for gone: watches of two kinds may lag
 * behind each other, and a list may be old. So each plan that relies on the end of an owner first has the store confirm it, by an `absent` effect
 * at the moment when the plan is carried out, and stops if the owner lives. That costs one read for each owner. The deletion itself
 * is for one uid in the version that was seen: an object that was given a new owner meanwhile stays.
 *
 * Two things rest on what was shown: a finalizer `foregroundDeletion` goes when no dependent is known that holds the object up, a finalizer
 * `orphan` when none is known that refers to it. A dependent that nobody has shown yet is then collected after its owner; one that was to be
 * orphaned is collected all the same. The collector of Kubernetes has the same limit.
 *
 * `observe` is O(references of the object), and O(d log d) in its dependents where it begins or ends to own them; `plan` is O(its references).
 * Any number of processes may collect at once.
 *
 * @throws IpamError `INVALID_ARGUMENT` for options that are none
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
  return new Gc(options)
}

class Gc implements GcPlanner {
  readonly name = 'gc'
  readonly watches: readonly KindInfo[]
  readonly #kinds: ReadonlyMap<string, KindInfo>
  readonly #waitsForLists: boolean
  /** The kinds that are still to be listed. */
  readonly #unlisted = new Set<string>()
  readonly #graph = new Graph()
  readonly #sightings = new Sightings()
  readonly #world: World = { graph: this.#graph, kindOf: (name) => this.#kinds.get(kindKey(name)) }

  constructor(options: GcOptions) {
    this.#kinds = readKinds(options)
    this.watches = [...this.#kinds.values()]
    this.#waitsForLists = options.waitForLists ?? false
    this.reset()
  }

  observe(change: Change): readonly string[] {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (!this.#kinds.has(kindKey(ref))) return []
    const key = keyOf(ref)
    if (change.kind === 'absent' && change.confirmed === true && change.uid !== undefined) {
      this.#graph.setMissing(change.uid, key)
      // of one that is not known by that name there is no more to be learned; if it shows up after all, it counts
      if (this.#graph.at(key)?.uid !== change.uid) return []
    }
    const now = change.kind === 'present' ? nodeOf(change.object) : undefined
    if (change.kind === 'present' && now === undefined) return []
    if (!this.#sightings.isNews(change)) return []
    const before = this.#graph.at(key)
    this.#graph.set(key, now)
    return this.#wanted(key, before, now)
  }

  plan(key: string): Plan<GcOutcome> | undefined {
    const node = this.#graph.at(key)
    if (node === undefined) return undefined
    if (this.#unlisted.size === 0) return planObject(node, this.#world)
    const names = [...this.#unlisted].map((kind) => this.#kinds.get(kind)?.kind)
    const message = `not listed yet: ${names.join(', ')}`
    return { outcome: { kind: 'unlisted', message }, effects: [] }
  }

  /** Whether the object waits for others: with ten thousand dependents, each of which would wake it. */
  isSummary(key: string): boolean {
    const node = this.#graph.at(key)
    return node !== undefined && node.role !== 'living'
  }

  listed(kind: { readonly apiVersion: string; readonly kind: string }): readonly string[] {
    if (!this.#unlisted.delete(kindKey(kind)) || this.#unlisted.size > 0) return []
    const nodes = [...this.#graph.nodes()].filter(isOfInterest)
    return nodes.sort(byAge).map((node) => node.key)
  }

  reset(): void {
    this.#graph.clear()
    this.#sightings.clear()
    if (this.#waitsForLists) for (const key of this.#kinds.keys()) this.#unlisted.add(key)
  }

  /** Whom a change concerns: the object, its dependents if it is another owner to them now, and its owners that wait for it. */
  #wanted(key: string, before: GraphNode | undefined, now: GraphNode | undefined): readonly string[] {
    const others = new Set<string>()
    if (before?.uid !== now?.uid || before?.role !== now?.role) {
      for (const uid of [before?.uid, now?.uid])
        if (uid !== undefined) for (const dependent of this.#graph.dependentsOf(uid)) others.add(dependent)
    }
    for (const { uid } of [...(before?.owners ?? []), ...(now?.owners ?? [])]) {
      const owner = this.#graph.withUid(uid)
      if (owner !== undefined && owner.role !== 'living') others.add(owner.key)
    }
    others.delete(key)
    const nodes = [...others].flatMap((other) => this.#graph.at(other) ?? [])
    const keys = nodes.sort(byAge).map((node) => node.key)
    return isOfInterest(before) || isOfInterest(now) ? [key, ...keys] : keys
  }
}

/** Whether there can be anything to do about an object: most have no owner, and nobody deletes them. */
function isOfInterest(node: GraphNode | undefined): boolean {
  return node !== undefined && (node.owners.length > 0 || node.role !== 'living')
}

function byAge(left: GraphNode, right: GraphNode): number {
  return compareText(bornAt(left.object), bornAt(right.object)) || compareText(left.key, right.key)
}

function bornAt(object: KubeObject): string {
  return object.metadata.creationTimestamp ?? ''
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** @throws IpamError `INVALID_ARGUMENT` */
function readKinds(options: GcOptions): ReadonlyMap<string, KindInfo> {
  const kinds: unknown = options?.kinds
  const refuse = (expected: string, got: string) => ipamError('INVALID_ARGUMENT', { argument: 'kinds', expected, got })
  if (!Array.isArray(kinds) || kinds.length === 0) throw refuse('at least one kind', String(kinds))
  const known = new Map<string, KindInfo>()
  for (const info of kinds as readonly KindInfo[]) {
    if (typeof info?.namespaced !== 'boolean')
      throw refuse('kinds that say whether they are namespaced', String(info?.kind))
    if (known.has(kindKey(info))) throw refuse('each kind once, in one version', info.kind)
    known.set(kindKey(info), info)
  }
  return known
}
