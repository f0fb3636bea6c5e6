import type { Family } from '../../cidr/index.js'
import { assertPrefix, PrefixMap } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Sets from '../../cidr/nouns/range-set.js'
import { assertObject, assertObjects, assertString } from '../../errors/checks.js'
import { refuse } from '../../errors/refuse.js'
import { HoldsByOwner, inOrder } from '../pool/holds-by-owner.js'
import { assertOwner, MOST_COUNTED, type Owner, ownerId } from '../request.js'
import { assertWithin } from '../slots/slots.js'
import { type PrefixAllocatorSpec, type PrefixPlan, planOf } from './prefix-spec.js'
import { PrefixTree } from './prefix-tree.js'

type Address = Address.Address
type Prefix = Prefix.Prefix

/** What an owner asks for. */
export interface PrefixRequest {
  readonly owner: Owner
  /**
   * The length of the prefix. Default: that of a child, or of `prefix`, beside which it may say
   * nothing else.
   */
  readonly length?: number | undefined
  /** This prefix or none, host bits cleared. */
  readonly prefix?: Prefix | undefined
}

/** One owner's hold on a prefix. */
export interface PrefixHold {
  readonly prefix: Prefix
  readonly owner: Owner
  /**
   * Another number for each time that a prefix is given: a release that names it ends no later hold
   * of the same owner.
   */
  readonly sequence: number
}

/** What a call has changed: enough to persist it, or to take it back with `undo`. */
export interface PrefixDelta {
  readonly kind: 'allocate' | 'release'
  readonly holds: readonly PrefixHold[]
  /** For `undo` on the same allocator. */
  readonly memory: {
    readonly cursor: Address | undefined
    readonly sequence: number
    /** Of a release: who went on holding what overlaps it. */
    readonly others: readonly PrefixHold[]
  }
}

/** The answer to a request. Only `allocated` has changed anything. */
export type PrefixOutcome =
  | { readonly kind: 'allocated'; readonly prefix: Prefix; readonly delta: PrefixDelta }
  /** The owner holds this one of that length already; asking again gives the same. */
  | { readonly kind: 'already'; readonly prefix: Prefix }
  /** No prefix of the length is free. */
  | { readonly kind: 'exhausted' }
  /** Somebody holds the wanted prefix, a part of it, or one around it. */
  | { readonly kind: 'taken'; readonly prefix: Prefix; readonly by: Owner; readonly held: Prefix }
  /** Not all of the wanted prefix is in the space. */
  | { readonly kind: 'outOfPool'; readonly prefix: Prefix }
  /** The owner holds another prefix of that length. */
  | { readonly kind: 'refused'; readonly reason: 'OwnerHoldsAnother'; readonly prefix: Prefix }

/** What a release has done. Only `released` has changed anything. */
export type PrefixReleaseOutcome =
  | { readonly kind: 'released'; readonly delta: PrefixDelta }
  | { readonly kind: 'notHeld' }
  /** The owner holds the prefix, but has been given it anew since. */
  | { readonly kind: 'otherSequence'; readonly sequence: number }

/** Of children where nothing else is said. */
export interface PrefixCounts {
  /** Children that the allocator may hand out, in use or not. */
  readonly total: bigint
  /** Of those, without one that overlaps what is in use. */
  readonly free: bigint
  /** Prefixes in use, of whatever length. */
  readonly held: number
  /** Of those, not or no longer wholly in the space. */
  readonly outOfRange: number
}

/**
 * A prefix in use, and who holds it: more than one owner only where observed facts contradict each
 * other.
 */
export interface PrefixEntry {
  readonly prefix: Prefix
  readonly owners: readonly Owner[]
}

/**
 * Which prefix next? Carves prefixes, of one length or of many, from a space, each to one owner.
 *
 * Deterministic, synchronous, in memory; mutable, so one allocator belongs to one caller. What is
 * observed to be in use, also of other lengths, overlapping or beside the space, is recorded by
 * {@link occupy}, and nothing that it overlaps is handed out.
 *
 * O(length of a prefix), where nothing else is said; nothing of the size 2^n is ever built: a /64
 * of ::/0 costs what a /64 of a /48 costs.
 *
 * @throws IpamError `FAMILY_MISMATCH` for parents that are not of one family,
 *   `INVALID_PREFIX_LENGTH`; `INVALID_ARGUMENT` for an unknown strategy, and where neither parents
 *   nor `family` tell what the children are
 * @example
 * const allocator = new PrefixAllocator({ parents: RangeSet.parse(['fd00::/48']), childLength: 64 })
 * allocator.occupy(Prefix.parse('fd00::/64'), { uid: 'a' })
 * const outcome = allocator.allocate({ owner: { uid: 'b' }, length: 56 })
 * outcome.kind === 'allocated' && Prefix.format(outcome.prefix) // 'fd00:0:0:100::/56'
 * allocator.free(64) // 65279n
 */
export class PrefixAllocator {
  #plan: PrefixPlan
  #tree: PrefixTree
  #total: bigint
  /** Who holds a prefix. */
  readonly #holders = new PrefixMap<Map<string, PrefixHold>>()
  readonly #held = new HoldsByOwner<PrefixHold>(byPrefix)
  /** Where next-fit goes on. */
  #cursor: Address | undefined
  #sequence = 0
  #outOfRange = 0

  constructor(spec: PrefixAllocatorSpec) {
    this.#plan = planOf(spec)
    this.#tree = treeOf(this.#plan)
    this.#total = this.#tree.countFree(this.#plan.childLength)
  }

  get family(): Family {
    return this.#plan.family
  }

  get childLength(): number {
    return this.#plan.childLength
  }

  /** How many children the allocator may hand out, in use or not. O(1). */
  get total(): bigint {
    return this.#total
  }

  /** O(length of a child). */
  counts(): PrefixCounts {
    return { total: this.#total, free: this.free(), held: this.#holders.size, outOfRange: this.#outOfRange }
  }

  /** How many prefixes of a length, by default children, nothing in use overlaps. */
  free(length: number = this.childLength): bigint {
    return this.#tree.countFree(length)
  }

  /**
   * Gives an owner a prefix. An owner that holds one of that length gets the same again.
   *
   * Whatever cannot be given is said in the outcome.
   *
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid, `INVALID_PREFIX_LENGTH`
   */
  allocate(request: PrefixRequest): PrefixOutcome {
    assertObject('PrefixAllocator.allocate', 'request', request)
    if (request.prefix !== undefined) assertPrefix('PrefixAllocator.allocate', 'request.prefix', request.prefix)
    const { owner } = request
    assertOwner(owner)
    const prefix = request.prefix && Prefix.masked(request.prefix)
    const length = prefix?.length ?? request.length ?? this.childLength
    if (request.length !== undefined && request.length !== length) {
      refuse('length', `${length}, as of the prefix`, request.length)
    }
    const family = prefix?.address.family ?? this.family
    const isWanted = (one: Prefix) => one.length === length && one.address.family === family
    const own = this.#held.of(owner).find((hold) => isWanted(hold.prefix))?.prefix
    if (own !== undefined && (prefix === undefined || Prefix.equals(own, prefix)))
      return { kind: 'already', prefix: own }
    if (own !== undefined) return { kind: 'refused', reason: 'OwnerHoldsAnother', prefix: own }
    if (prefix !== undefined) return this.#refusalOf(prefix) ?? this.#give(prefix, owner, this.#cursor)
    const next = this.next(length)
    if (next === undefined) return { kind: 'exhausted' }
    // behind the last address there is the first one
    return this.#give(next, owner, this.#plan.isNextFit ? Address.next(Prefix.last(next)) : undefined)
  }

  /** The prefix that {@link allocate} would give next, or `undefined`. Changes nothing. */
  next(length: number = this.childLength): Prefix | undefined {
    if (this.#cursor === undefined) return this.#tree.nextFree(length)
    return this.#tree.nextFreeAround(length, this.#cursor)
  }

  /**
   * The lowest prefix of a length that nothing in use overlaps, or `undefined`. Changes nothing.
   */
  lowestFree(length: number = this.childLength): Prefix | undefined {
    return this.#tree.nextFree(length)
  }

  /** Whether this is a child that the allocator may hand out, in use or not. */
  isAllocatable(prefix: Prefix): boolean {
    assertPrefix('PrefixAllocator.isAllocatable', 'prefix', prefix)
    return prefix.length === this.childLength && this.#isInside(prefix)
  }

  /**
   * Changes the space, and what children are, under live holds. What falls outside stays known as
   * out of range; what comes back inside is in use again. O(prefixes in use).
   *
   * @throws IpamError as the constructor does, and `INVALID_ARGUMENT` for another strategy
   */
  resize(spec: PrefixAllocatorSpec): void {
    const plan = planOf(spec)
    if (plan.isNextFit !== this.#plan.isNextFit) {
      const [expected, got] = [this.#plan, plan].map(({ isNextFit }) => (isNextFit ? 'next-fit' : 'lowest'))
      refuse('strategy.kind', `${expected}, as the allocator was made with`, got!)
    }
    const tree = treeOf(plan)
    this.#total = tree.countFree(plan.childLength)
    this.#plan = plan
    this.#tree = tree
    this.#outOfRange = 0
    for (const [prefix] of this.#holders) this.#countIn(prefix)
    if (this.#cursor?.family !== plan.family) this.#cursor = undefined
    // what an undo remembers of the cursor belongs to the space before
    this.#sequence++
  }

  /**
   * Records that an owner holds a prefix, of whatever length and also outside of the space: how
   * live objects are read back after a restart. The order of calls does not matter.
   *
   * @returns who else holds something that it overlaps
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid
   */
  occupy(prefix: Prefix, owner: Owner): readonly PrefixHold[] {
    assertPrefix('PrefixAllocator.occupy', 'prefix', prefix)
    assertOwner(owner)
    const masked = Prefix.masked(prefix)
    const others = this.overlapping(masked).filter((hold) => ownerId(hold.owner) !== ownerId(owner))
    if (this.#holders.get(masked)?.has(ownerId(owner)) !== true) {
      this.#begin({ prefix: masked, owner, sequence: ++this.#sequence })
    }
    return others
  }

  /** Ends one owner's hold on exactly this prefix. */
  release(
    prefix: Prefix,
    owner: Pick<Owner, 'uid' | 'interface'>,
    options: { readonly sequence?: number | undefined } = {},
  ): PrefixReleaseOutcome {
    assertPrefix('PrefixAllocator.release', 'prefix', prefix)
    assertObject('PrefixAllocator.release', 'options', options)
    assertOwner(owner)
    const hold = this.#holders.get(prefix)?.get(ownerId(owner))
    if (hold === undefined) return { kind: 'notHeld' }
    const { sequence } = hold
    if (options.sequence !== undefined && options.sequence !== sequence) return { kind: 'otherSequence', sequence }
    return { kind: 'released', delta: this.#endAll([hold]) }
  }

  /** Ends all holds of an owner, for whichever interface, in the order in which it got them. */
  releaseOwner(uid: string): PrefixDelta {
    assertString('PrefixAllocator.releaseOwner', 'uid', uid)
    return this.#endAll(this.#held.ofUid(uid))
  }

  /**
   * Takes back what a call has changed. Returns false, and changes nothing, if it has been changed
   * again since.
   */
  undo(delta: PrefixDelta): boolean {
    assertDelta(delta)
    const { kind, holds, memory } = delta
    if (kind === 'allocate') {
      if (!holds.every((hold) => this.#isCurrent(hold))) return false
      if (holds.at(-1)?.sequence === this.#sequence) this.#cursor = memory.cursor
      for (const hold of holds) this.#end(hold)
      return true
    }
    for (const { sequence } of holds) assertWithin('sequence', sequence, 0, MOST_COUNTED)
    // nobody may hold any of it who did not then, and the owner may not have been given another one
    const others = new Set(memory.others.map(nameOf))
    const later = this.#lengthsSince(memory.sequence, holds)
    const isOpen = ({ prefix, owner }: PrefixHold) =>
      this.#holders.get(prefix)?.has(ownerId(owner)) !== true &&
      this.overlapping(prefix).every((one) => others.has(nameOf(one))) &&
      later.get(ownerId(owner))?.has(prefix.length) !== true
    if (!holds.every(isOpen)) return false
    for (const hold of holds) {
      this.#begin(hold)
      // a delta from before a restart may bring back numbers that are yet to come
      this.#sequence = Math.max(this.#sequence, hold.sequence)
    }
    return true
  }

  /** What an owner holds, for whichever interface, in the order in which it got it. */
  holdsOf(uid: string): PrefixHold[] {
    assertString('PrefixAllocator.holdsOf', 'uid', uid)
    return this.#held.ofUid(uid)
  }

  /** The owners of exactly this prefix; none if nobody holds it. */
  ownersOf(prefix: Prefix): Owner[] {
    assertPrefix('PrefixAllocator.ownersOf', 'prefix', prefix)
    return ownersIn(this.#holders.get(prefix))
  }

  /**
   * The holds on a prefix, on what is around it, the widest first, and on what is in it, in order.
   * O(log n + holds).
   */
  overlapping(prefix: Prefix): PrefixHold[] {
    assertPrefix('PrefixAllocator.overlapping', 'prefix', prefix)
    const masked = Prefix.masked(prefix)
    const around = this.#holders.covering(masked)
    const inside = this.#holders.coveredBy(masked).filter((entry) => entry.prefix.length > masked.length)
    return [...around, ...inside].flatMap((entry) => inOrder([...entry.value.values()], byPrefix))
  }

  /** Every prefix in use with its owners, in order, wide before narrow. O(n). */
  entries(): PrefixEntry[] {
    return Array.from(this.#holders, ([prefix, holds]) => ({ prefix, owners: ownersIn(holds) }))
  }

  /** What is free, as the fewest prefixes, in order. O(n). */
  freePrefixes(): Prefix[] {
    return this.#tree.freePrefixes()
  }

  /** Why a prefix cannot be given, or `undefined` if it can. */
  #refusalOf(prefix: Prefix): PrefixOutcome | undefined {
    if (!this.#isInside(prefix)) return { kind: 'outOfPool', prefix }
    const [entry] = this.#holders.covering(prefix).concat(this.#holders.coveredBy(prefix, { limit: 1 }))
    const [first] = entry === undefined ? [] : inOrder([...entry.value.values()], byPrefix)
    return first && { kind: 'taken', prefix, by: first.owner, held: first.prefix }
  }

  #give(prefix: Prefix, owner: Owner, cursor: Address | undefined): PrefixOutcome {
    const memory = { cursor: this.#cursor, sequence: this.#sequence, others: [] }
    const hold: PrefixHold = { prefix, owner, sequence: ++this.#sequence }
    this.#begin(hold)
    this.#cursor = cursor
    return { kind: 'allocated', prefix, delta: { kind: 'allocate', holds: [hold], memory } }
  }

  #begin(hold: PrefixHold): void {
    const holds = this.#holders.get(hold.prefix)
    if (holds === undefined) {
      this.#holders.set(hold.prefix, new Map([[ownerId(hold.owner), hold]]))
      this.#countIn(hold.prefix)
    } else holds.set(ownerId(hold.owner), hold)
    this.#held.add(hold)
  }

  #end({ prefix, owner }: PrefixHold): void {
    const holds = this.#holders.get(prefix)!
    // what a delta brings may be a copy
    const hold = holds.get(ownerId(owner))!
    holds.delete(ownerId(owner))
    if (holds.size === 0) {
      this.#holders.delete(prefix)
      if (prefix.address.family === this.family) this.#tree.release(prefix)
      if (!this.#isInside(prefix)) this.#outOfRange--
    }
    this.#held.delete(hold)
  }

  /** A prefix is in use from now on. */
  #countIn(prefix: Prefix): void {
    if (prefix.address.family === this.family) this.#tree.occupy(prefix)
    if (!this.#isInside(prefix)) this.#outOfRange++
  }

  #isInside(prefix: Prefix): boolean {
    return prefix.address.family === this.family && Sets.contains(this.#plan.space, prefix)
  }

  #endAll(holds: readonly PrefixHold[]): PrefixDelta {
    for (const hold of holds) this.#end(hold)
    const others = holds.flatMap(({ prefix }) => this.overlapping(prefix))
    return { kind: 'release', holds, memory: { cursor: this.#cursor, sequence: this.#sequence, others } }
  }

  /**
   * The lengths of the prefixes that the owners of some holds have been given after a number, by
   * owner.
   */
  #lengthsSince(sequence: number, holds: readonly PrefixHold[]): ReadonlyMap<string, ReadonlySet<number>> {
    const owners = new Map(holds.map(({ owner }) => [ownerId(owner), owner]))
    const lengthsOf = (owner: Owner) => {
      const later = this.#held.of(owner).filter((hold) => hold.sequence > sequence)
      return new Set(later.map(({ prefix }) => prefix.length))
    }
    return new Map(Array.from(owners, ([id, owner]) => [id, lengthsOf(owner)]))
  }

  #isCurrent({ prefix, owner, sequence }: PrefixHold): boolean {
    return this.#holders.get(prefix)?.get(ownerId(owner))?.sequence === sequence
  }
}

function treeOf({ space, family, childLength }: PrefixPlan): PrefixTree {
  return new PrefixTree(space, { family, childLength })
}

/** A text that no other hold has. */
function nameOf({ prefix, owner, sequence }: PrefixHold): string {
  return `${sequence} ${Prefix.format(prefix)} ${ownerId(owner)}`
}

function byPrefix(left: PrefixHold, right: PrefixHold): number {
  return Prefix.compare(left.prefix, right.prefix)
}

function ownersIn(holds: ReadonlyMap<string, PrefixHold> | undefined): Owner[] {
  return holds === undefined ? [] : inOrder([...holds.values()], byPrefix).map((hold) => hold.owner)
}

/** @throws IpamError `INVALID_ARGUMENT` unless `delta` is the delta of an outcome */
function assertDelta(delta: PrefixDelta): void {
  const of = 'PrefixAllocator.undo'
  assertObject(of, 'delta', delta)
  if (delta.kind !== 'allocate' && delta.kind !== 'release') refuse('delta.kind', 'allocate or release', delta.kind)
  assertObject(of, 'delta.memory', delta.memory)
  for (const holds of [delta.holds, delta.memory.others]) {
    assertObjects(of, 'delta.holds', holds)
    for (const { prefix, owner } of holds) {
      assertPrefix(of, 'delta.holds[].prefix', prefix)
      assertOwner(owner)
    }
  }
}
