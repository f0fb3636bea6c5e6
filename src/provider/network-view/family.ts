import { Ledger } from '../../allocator/index.js'
import type { Family } from '../../cidr/index.js'
import { type Cover, frozenCover, frozenPrefix, PrefixMap } from '../../cidr/internal.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { ObjectRef } from '../../crd/meta/object.js'
import { compareText } from '../../plan/cached-objects.js'
import { PrefixUnion } from './union.js'
import type { ConflictParty, FamilyView, NetworkConflict, NetworkRange, NodeSubnet, RangePhase } from './view.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** How many conflicts a view lists at most. */
const MAX_CONFLICTS = 1000

/** A range of Pods as it is configured. */
export interface RangeSpec {
  readonly name: string
  readonly source: ObjectRef | undefined
  readonly prefix: Prefix
  /** Nodes get no subnets from it any more. */
  readonly isDeleted: boolean
}

/** A range, with the number of the subnets that it contains. */
interface CountedRange extends RangeSpec {
  users: number
}

/** A range that Pods may not use. */
export interface ReservedRange extends ConflictParty {
  readonly kind: 'service' | 'pool'
}

/** A party that must not overlap a reserved range. */
type ReservableParty = ConflictParty & { readonly kind: 'node' | 'range' }

/**
 * The view of one family, updated by deltas. Adding or removing a subnet costs O(length of its
 * prefix + ranges around it); for a range also the subnets inside it. Lists are made from the
 * changes when they are read.
 */
export class LiveFamilyView implements FamilyView {
  readonly family: Family
  /**
   * As canonical CIDR; `undefined`: all. A proposed range is known as an active one is, so nothing
   * else depends on it.
   */
  accepted: ReadonlySet<string> | undefined
  nodes = 0
  /** Which Node uses which subnet. No subnets are offered here, so its space is empty. */
  readonly #subnets = new Ledger({ space: RangeSet.empty })
  /** By id, as all maps here. */
  readonly #ranges = new PrefixMap<Map<string, CountedRange>>()
  readonly #reserved = new PrefixMap<Map<string, ReservedRange>>()
  readonly #known = new PrefixUnion()
  /** Ids of subnets that no range contains. */
  readonly #orphans = new Set<string>()
  /** Ids of subnets that overlap a reserved range. */
  readonly #clashes = new Set<string>()
  #conflicts: { readonly listed: readonly NetworkConflict[]; readonly hasMore: boolean } | undefined
  #summary: { readonly set: RangeSet; readonly max: number; readonly cover: Cover } | undefined

  constructor(family: Family) {
    this.family = family
  }

  get active(): readonly NetworkRange[] {
    return this.#inPhase('active')
  }

  get proposed(): readonly NetworkRange[] {
    return this.#inPhase('proposed')
  }

  get terminating(): readonly NetworkRange[] {
    return this.#inPhase('terminating')
  }

  get drained(): readonly NetworkRange[] {
    return this.#inPhase('drained')
  }

  get inUse(): readonly NodeSubnet[] {
    return this.#subnets.entries().map(({ prefix, holder }) => this.#subnetOf(holder.key, prefix))
  }

  get orphans(): readonly NodeSubnet[] {
    const entries = [...this.#orphans].map((id) => this.#subnets.get(id)!)
    return entries
      .sort((a, b) => Prefix.compare(a.prefix, b.prefix) || compareText(a.holder.key, b.holder.key))
      .map(({ prefix, holder }) => ({ node: holder.key, prefix, owners: [] }))
  }

  /** How many orphans there are. O(1). */
  get orphanCount(): number {
    return this.#orphans.size
  }

  get conflicts(): readonly NetworkConflict[] {
    this.#conflicts ??= this.#findConflicts()
    return this.#conflicts.listed
  }

  get hasMoreConflicts(): boolean {
    this.#conflicts ??= this.#findConflicts()
    return this.#conflicts.hasMore
  }

  get known(): RangeSet {
    return this.#known.set
  }

  summary(max: number): Cover {
    const set = this.known
    if (this.#summary?.set !== set || this.#summary.max !== max) {
      this.#summary = { set, max, cover: frozenCover(RangeSet.cover(set, { maxPrefixes: max })) }
    }
    return this.#summary.cover
  }

  addSubnet(node: string, prefix: Prefix): void {
    const id = idOf(node, prefix)
    this.#subnets.set(id, { prefix, reason: 'held', holder: { key: node } })
    const around = this.#rangesAround(prefix)
    for (const range of around) this.#count(range, 1)
    if (around.length === 0) this.#setOrphan(id, prefix, true)
    if (overlapsAny(this.#reserved, prefix)) this.#clashes.add(id)
    this.#noteConflicts(id, prefix)
  }

  removeSubnet(node: string, prefix: Prefix): void {
    const id = idOf(node, prefix)
    this.#noteConflicts(id, prefix)
    this.#subnets.delete(id)
    this.#clashes.delete(id)
    for (const range of this.#rangesAround(prefix)) this.#count(range, -1)
    this.#setOrphan(id, prefix, false)
  }

  addRange(id: string, spec: RangeSpec): void {
    const { prefix } = spec
    const range: CountedRange = { ...spec, users: 0 }
    listAt(this.#ranges, prefix).set(id, range)
    if (isKnown(range)) this.#known.add(prefix)
    for (const entry of this.#subnetsIn(prefix)) {
      this.#count(range, 1)
      this.#setOrphan(idOf(entry.holder.key, entry.prefix), entry.prefix, false)
    }
    this.#conflicts = undefined
  }

  removeRange(id: string, prefix: Prefix): void {
    const range = this.#ranges.get(prefix)?.get(id)
    if (range === undefined) return
    if (isKnown(range)) this.#known.remove(prefix)
    removeAt(this.#ranges, prefix, id)
    for (const entry of this.#subnetsIn(prefix)) {
      const isOrphan = this.#rangesAround(entry.prefix).length === 0
      if (isOrphan) this.#setOrphan(idOf(entry.holder.key, entry.prefix), entry.prefix, true)
    }
    this.#conflicts = undefined
  }

  addReserved(id: string, range: ReservedRange): void {
    listAt(this.#reserved, range.prefix).set(id, range)
    this.#noteClashes(range.prefix)
  }

  removeReserved(id: string, prefix: Prefix): void {
    removeAt(this.#reserved, prefix, id)
    this.#noteClashes(prefix)
  }

  #inPhase(phase: RangePhase): NetworkRange[] {
    const all = [...this.#ranges.values()].flatMap((ranges) => [...ranges.values()].sort(byName))
    return all
      .filter((range) => this.#phaseOf(range) === phase)
      .map(({ name, source, prefix, users }) => ({ name, source, prefix, phase, users }))
  }

  #phaseOf(range: CountedRange): RangePhase {
    if (range.isDeleted) return isKnown(range) ? 'terminating' : 'drained'
    return this.accepted?.has(Prefix.format(range.prefix)) === false ? 'proposed' : 'active'
  }

  #subnetOf(node: string, prefix: Prefix): NodeSubnet {
    return { node, prefix, owners: this.#rangesAround(prefix).map(({ name }) => name) }
  }

  /** The widest first, those of one prefix by name. */
  #rangesAround(prefix: Prefix): CountedRange[] {
    return this.#ranges.covering(prefix).flatMap(({ value }) => [...value.values()].sort(byName))
  }

  #subnetsIn(prefix: Prefix) {
    return this.#subnets.holders(prefix).filter((entry) => entry.prefix.length >= prefix.length)
  }

  /** A terminating range is known while it has users. */
  #count(range: CountedRange, change: 1 | -1): void {
    const wasKnown = isKnown(range)
    range.users += change
    if (isKnown(range) === wasKnown) return
    if (wasKnown) this.#known.remove(range.prefix)
    else this.#known.add(range.prefix)
    this.#conflicts = undefined
  }

  #setOrphan(id: string, prefix: Prefix, isOrphan: boolean): void {
    if (this.#orphans.has(id) === isOrphan) return
    if (isOrphan) {
      this.#orphans.add(id)
      this.#known.add(prefix)
    } else {
      this.#orphans.delete(id)
      this.#known.remove(prefix)
    }
  }

  /** Conflicts are computed again only when a subnet that is part of one is added or removed. */
  #noteConflicts(id: string, prefix: Prefix): void {
    if (this.#conflicts === undefined) return
    const others = this.#subnets.overlapping(prefix)
    others.next()
    if (this.#clashes.has(id) || others.next().done !== true) this.#conflicts = undefined
  }

  #noteClashes(reserved: Prefix): void {
    for (const { prefix, holder } of this.#subnets.holders(reserved)) {
      const id = idOf(holder.key, prefix)
      if (overlapsAny(this.#reserved, prefix)) this.#clashes.add(id)
      else this.#clashes.delete(id)
    }
    this.#conflicts = undefined
  }

  #findConflicts() {
    const listed: NetworkConflict[] = []
    for (const conflict of this.#eachConflict()) {
      if (listed.length === MAX_CONFLICTS) return { listed: Object.freeze(listed), hasMore: true }
      const [one, other] = conflict.between
      const between = Object.freeze([frozenParty(one), frozenParty(other)] as const)
      listed.push(Object.freeze({ ...conflict, between }))
    }
    return { listed: Object.freeze(listed), hasMore: false }
  }

  *#eachConflict(): IterableIterator<NetworkConflict> {
    for (const { prefix, holder } of this.#subnets.conflicts()) {
      for (const other of this.#subnets.holders(prefix)) {
        // each pair once, from the one with the lower name
        if (compareText(holder.key, other.holder.key) >= 0) continue
        const between = [nodeParty(holder.key, prefix), nodeParty(other.holder.key, other.prefix)] as const
        yield { kind: 'node-node', between }
      }
    }
    const clashes = [...this.#clashes].map((id) => this.#subnets.get(id)!)
    clashes.sort((a, b) => Prefix.compare(a.prefix, b.prefix) || compareText(a.holder.key, b.holder.key))
    for (const { prefix, holder } of clashes) yield* this.#withReserved(nodeParty(holder.key, prefix))
    for (const [prefix, ranges] of this.#ranges) {
      for (const range of [...ranges.values()].sort(byName)) {
        if (isKnown(range)) yield* this.#withReserved({ kind: 'range', name: range.name, prefix })
      }
    }
  }

  *#withReserved(party: ReservableParty): IterableIterator<NetworkConflict> {
    for (const { value } of overlapping(this.#reserved, party.prefix)) {
      for (const reserved of [...value.values()].sort(byName)) {
        yield { kind: `${party.kind}-${reserved.kind}`, between: [party, reserved] }
      }
    }
  }
}

/** A deleted range is known until its last use. */
function isKnown({ isDeleted, users }: CountedRange): boolean {
  return !isDeleted || users > 0
}

/** The name of a Node has no blank in it. */
function idOf(node: string, prefix: Prefix): string {
  return `${node} ${Prefix.format(prefix)}`
}

function frozenParty<P extends ConflictParty>(party: P): P {
  return Object.freeze({ ...party, prefix: frozenPrefix(party.prefix) })
}

function nodeParty(name: string, prefix: Prefix) {
  return { kind: 'node', name, prefix } as const
}

function listAt<T>(map: PrefixMap<Map<string, T>>, prefix: Prefix): Map<string, T> {
  const list = map.get(prefix) ?? new Map<string, T>()
  map.set(prefix, list)
  return list
}

function removeAt<T>(map: PrefixMap<Map<string, T>>, prefix: Prefix, id: string): void {
  const list = map.get(prefix)
  list?.delete(id)
  if (list?.size === 0) map.delete(prefix)
}

/** The entries around a prefix, the widest first, then those inside it. */
function overlapping<T>(map: PrefixMap<T>, prefix: Prefix) {
  const inside = map.coveredBy(prefix).filter((entry) => entry.prefix.length > prefix.length)
  return [...map.covering(prefix), ...inside]
}

function overlapsAny<T>(map: PrefixMap<T>, prefix: Prefix): boolean {
  return map.size > 0 && (map.longestMatch(prefix) !== undefined || map.coveredBy(prefix, { limit: 1 }).length > 0)
}

function byName(left: { readonly name: string }, right: { readonly name: string }): number {
  return compareText(left.name, right.name)
}
