import type { Family } from '../../cidr/index.js'
import { assertBytes, assertPrefix, isBytes, notBytes, PrefixMap } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Sets from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { refuseIn } from '../../errors/refuse.js'
import { HoldsByOwner, inOrder } from '../pool/holds-by-owner.js'
import { assertOwner, MOST_COUNTED, type Owner, ownerId } from '../request.js'
import { assertWithin } from '../slots/slots.js'
import { copyOfAddress, copyOfOwner, copyOfPrefix, copyOfPrefixHold } from '../util/own-values.js'
import { firstDifference } from '../util/state-codec.js'
import { decodePrefixes, encodePrefixes, notAsWritten } from './prefix-codec.js'
import type {
  PrefixCounts,
  PrefixDelta,
  PrefixHold,
  PrefixOutcome,
  PrefixReleaseOutcome,
  PrefixRequest,
} from './prefix-request.js'
import { type PrefixAllocatorSpec, type PrefixPlan, planOf } from './prefix-spec.js'
import { PrefixTree } from './prefix-tree.js'

type Address = Address.Address
type Prefix = Prefix.Prefix

/**
 * Allocates prefixes of one length, or of several, from an address space, each to one owner.
 *
 * Deterministic, synchronous, in memory. It is mutable, so one allocator belongs to one caller.
 * {@link occupy} records prefixes that are observed in use, also of other lengths, overlapping, or
 * outside of the space. No allocated prefix overlaps one of them.
 *
 * Methods are O(length of a prefix), unless they say otherwise. The cost does not depend on the
 * size of the space: a /64 of ::/0 costs the same as a /64 of a /48.
 *
 * @throws IpamError `FAMILY_MISMATCH` for ranges of two families; `INVALID_PREFIX_LENGTH`;
 * `MALFORMED_RANGE_SET_ENTRY` for a text that is not a range; `INVALID_ARGUMENT` for an unknown
 * strategy, and for empty ranges without `family`
 * @example
 * const allocator = new PrefixAllocator({ ranges: ['fd00::/48'], childLength: 64 })
 * allocator.occupy(Prefix.parse('fd00::/64'), { uid: 'a' })
 * const outcome = allocator.allocate({ owner: { uid: 'b' }, length: 56 })
 * outcome.kind === 'allocated' && Prefix.format(outcome.prefix) // 'fd00:0:0:100::/56'
 * allocator.free(64) // 65279n
 */
export class PrefixAllocator {
  #plan: PrefixPlan
  #tree: PrefixTree
  #total: bigint
  /** The holds on a prefix, by owner. */
  readonly #holders = new PrefixMap<Map<string, PrefixHold>>()
  readonly #held = new HoldsByOwner<PrefixHold>(byPrefix)
  /** The address at which next-fit continues. */
  #cursor: Address | undefined
  #sequence = 0
  #outOfRange = 0

  constructor(spec: PrefixAllocatorSpec) {
    this.#plan = planOf(spec)
    this.#tree = treeOf(this.#plan)
    this.#total = this.#tree.countFree(this.#plan.childLength)
  }

  /**
   * An allocator as compact bytes, with a version and a checksum: its space, options, owners, and
   * the state of its strategy. Two allocators with the same state have the same bytes. O(n log n).
   *
   * @example
   * const allocator = new PrefixAllocator({ ranges: ['fd00::/48'], childLength: 64 })
   * allocator.allocate({ owner: { uid: 'a' } })
   * PrefixAllocator.decode(PrefixAllocator.encode(allocator)).counts().held // 1
   */
  static encode(allocator: PrefixAllocator): Uint8Array {
    if (!(allocator instanceof PrefixAllocator)) {
      refuseIn('PrefixAllocator.encode', 'allocator', 'a PrefixAllocator', allocator)
    }
    const holds = allocator.entries().flatMap((entry) => entry.holds)
    const [plan, cursor, sequence] = [allocator.#plan, allocator.#cursor, allocator.#sequence]
    return encodePrefixes({ plan, cursor, sequence, holds: inOrder(holds, byPrefix) })
  }

  /**
   * The allocator that {@link encode} stored. It behaves as the stored one. O(n log n).
   *
   * @throws IpamError `MALFORMED_BYTES` for bytes that `encode` does not write: another version, a
   * wrong checksum, an inconsistent allocator; `INVALID_ARGUMENT` for a value that is not a
   * Uint8Array
   */
  static decode(bytes: Uint8Array): PrefixAllocator {
    assertBytes('PrefixAllocator.decode', bytes)
    return unwrap(PrefixAllocator.safeDecode(bytes))
  }

  /** As {@link decode}, with the failure as a value. */
  static safeDecode(bytes: Uint8Array): Result<PrefixAllocator, 'MALFORMED_BYTES'> {
    if (!isBytes(bytes)) return failWith(MALFORMED_BYTES, notBytes('an allocator of prefixes', bytes))
    const stored = decodePrefixes(bytes)
    if (!stored.ok) return stored
    const { spec, cursor, sequence, holds } = stored.value
    const allocator = new PrefixAllocator(spec)
    for (const hold of holds) allocator.#begin(hold)
    allocator.#cursor = cursor
    allocator.#sequence = sequence
    const position = firstDifference(bytes, PrefixAllocator.encode(allocator))
    return position < 0 ? { ok: true, value: allocator } : notAsWritten(position)
  }

  get family(): Family {
    return this.#plan.family
  }

  get childLength(): number {
    return this.#plan.childLength
  }

  /** The number of children that the allocator can give out, in use or not. O(1). */
  get total(): bigint {
    return this.#total
  }

  /** Numbers of children and of prefixes in use. O(length of a child). */
  counts(): PrefixCounts {
    return { total: this.#total, free: this.free(), held: this.#holders.size, outOfRange: this.#outOfRange }
  }

  /**
   * The number of free prefixes of a length, by default of children: those that overlap no prefix
   * in use.
   */
  free(length: number = this.childLength): bigint {
    return this.#tree.countFree(length)
  }

  /**
   * Gives an owner a prefix. An owner that holds one of this length gets the same again.
   *
   * A refusal is an outcome with a reason. It changes nothing.
   *
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid, `INVALID_PREFIX_LENGTH`
   */
  allocate(request: PrefixRequest): PrefixOutcome {
    check('PrefixAllocator.allocate', 'request', request, 'object')
    if (request.prefix !== undefined) assertPrefix('PrefixAllocator.allocate', 'request.prefix', request.prefix)
    const { owner } = request
    assertOwner('PrefixAllocator.allocate', owner)
    const prefix = request.prefix && Prefix.masked(request.prefix)
    const length = prefix?.length ?? request.length ?? this.childLength
    if (request.length !== undefined && request.length !== length) {
      refuseIn('PrefixAllocator.allocate', 'length', `${length}, as of the prefix`, request.length)
    }
    const family = prefix?.address.family ?? this.family
    const isWanted = (one: Prefix) => one.length === length && one.address.family === family
    const own = this.#held.of(owner).find((hold) => isWanted(hold.prefix))?.prefix
    if (own !== undefined && (prefix === undefined || Prefix.equals(own, prefix)))
      return { kind: 'already', prefix: copyOfPrefix(own) }
    if (own !== undefined) return { kind: 'refused', reason: 'OwnerHoldsAnother', prefix: copyOfPrefix(own) }
    if (prefix !== undefined) return this.#refusalOf(prefix) ?? this.#give(prefix, owner, this.#cursor)
    const next = this.next(length)
    if (next === undefined) return { kind: 'exhausted' }
    // after the last address, it continues with the first one
    return this.#give(next, owner, this.#plan.isNextFit ? Address.next(Prefix.last(next)) : undefined)
  }

  /** The prefix that {@link allocate} gives next, or `undefined`. Changes nothing. */
  next(length: number = this.childLength): Prefix | undefined {
    if (this.#cursor === undefined) return this.#tree.nextFree(length)
    return this.#tree.nextFreeAround(length, this.#cursor)
  }

  /**
   * The lowest free prefix of a length, or `undefined`. Changes nothing.
   */
  lowestFree(length: number = this.childLength): Prefix | undefined {
    return this.#tree.nextFree(length)
  }

  /** Whether this is a child that the allocator can give out, in use or not. */
  isAllocatable(prefix: Prefix): boolean {
    assertPrefix('PrefixAllocator.isAllocatable', 'prefix', prefix)
    return prefix.length === this.childLength && this.#isInside(prefix)
  }

  /**
   * Changes the space and the length of children, and keeps all holds. A held prefix that is no
   * longer in the space counts as out of range; if it is added again, it is in use. O(prefixes in
   * use).
   *
   * @throws IpamError as the constructor does, and `INVALID_ARGUMENT` for another strategy
   */
  resize(spec: PrefixAllocatorSpec): void {
    const plan = planOf(spec)
    if (plan.isNextFit !== this.#plan.isNextFit) {
      const [expected, got] = [this.#plan, plan].map(({ isNextFit }) => (isNextFit ? 'next-fit' : 'lowest'))
      refuseIn('PrefixAllocator.resize', 'strategy.kind', `${expected}, as the allocator was made with`, got!)
    }
    const tree = treeOf(plan)
    this.#total = tree.countFree(plan.childLength)
    this.#plan = plan
    this.#tree = tree
    this.#outOfRange = 0
    for (const [prefix] of this.#holders) this.#countIn(prefix)
    if (this.#cursor?.family !== plan.family) this.#cursor = undefined
    // deltas have the cursor in the former space
    this.#sequence++
  }

  /**
   * Records that an owner holds a prefix, of any length, also outside of the space. A program reads
   * live objects back in this way after a restart. The order of calls does not matter.
   *
   * @returns the holds of other owners that overlap it
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid
   */
  occupy(prefix: Prefix, owner: Owner): readonly PrefixHold[] {
    assertPrefix('PrefixAllocator.occupy', 'prefix', prefix)
    assertOwner('PrefixAllocator.occupy', owner)
    const masked = Prefix.masked(prefix)
    const others = this.overlapping(masked).filter((hold) => ownerId(hold.owner) !== ownerId(owner))
    if (this.#holders.get(masked)?.has(ownerId(owner)) !== true) {
      this.#begin({ prefix: masked, owner, sequence: ++this.#sequence })
    }
    return others
  }

  /** Ends the hold of one owner on exactly this prefix. */
  release(
    prefix: Prefix,
    owner: Pick<Owner, 'uid' | 'interface'>,
    options: { readonly sequence?: number | undefined } = {},
  ): PrefixReleaseOutcome {
    assertPrefix('PrefixAllocator.release', 'prefix', prefix)
    check('PrefixAllocator.release', 'options', options, 'object')
    assertOwner('PrefixAllocator.release', owner)
    const hold = this.#holders.get(prefix)?.get(ownerId(owner))
    if (hold === undefined) return { kind: 'notHeld' }
    const { sequence } = hold
    if (options.sequence !== undefined && options.sequence !== sequence) return { kind: 'otherSequence', sequence }
    return { kind: 'released', delta: this.#endAll([hold]) }
  }

  /** Ends all holds of an owner, for all its interfaces, in the order in which it got them. */
  releaseOwner(uid: string): PrefixDelta {
    check('PrefixAllocator.releaseOwner', 'uid', uid, 'text')
    return this.#endAll(this.#held.ofUid(uid))
  }

  /**
   * Takes back the change of a call. Returns false, and changes nothing, if a later call has
   * changed the same prefixes.
   */
  undo(delta: PrefixDelta): boolean {
    assertDelta(delta)
    const { kind, holds, undo } = delta
    for (const { sequence } of holds) assertWithin('PrefixAllocator.undo', 'sequence', sequence, 0, MOST_COUNTED)
    if (kind === 'allocate') {
      if (!holds.every((hold) => this.#isCurrent(hold))) return false
      if (holds.at(-1)?.sequence === this.#sequence) this.#cursor = undo.cursor && copyOfAddress(undo.cursor)
      for (const hold of holds) this.#end(hold)
      return true
    }
    // no new hold may overlap the prefixes, and their owners may not have a new prefix
    const others = new Set(undo.others.map(nameOf))
    const later = this.#lengthsSince(undo.sequence, holds)
    const isOpen = ({ prefix, owner }: PrefixHold) =>
      this.#holders.get(prefix)?.has(ownerId(owner)) !== true &&
      this.#overlapping(prefix).every((one) => others.has(nameOf(one))) &&
      later.get(ownerId(owner))?.has(prefix.length) !== true
    if (!holds.every(isOpen)) return false
    for (const hold of holds) {
      this.#begin(copyOfPrefixHold(hold))
      // a delta from before a restart may have sequences above the last one
      this.#sequence = Math.max(this.#sequence, hold.sequence)
    }
    return true
  }

  /** The owners of exactly this prefix. */
  ownersOf(prefix: Prefix): Owner[] {
    assertPrefix('PrefixAllocator.ownersOf', 'prefix', prefix)
    return holdsIn(this.#holders.get(prefix)).map((hold) => copyOfOwner(hold.owner))
  }

  /** The holds on exactly this prefix, in the order in which they began. */
  holdsOf(prefix: Prefix): PrefixHold[] {
    assertPrefix('PrefixAllocator.holdsOf', 'prefix', prefix)
    return holdsIn(this.#holders.get(prefix)).map(copyOfPrefixHold)
  }

  /**
   * The prefixes that an owner holds, for all its interfaces, in the order in which it got them.
   */
  prefixesOf(uid: string): Prefix[] {
    check('PrefixAllocator.prefixesOf', 'uid', uid, 'text')
    return this.#held.ofUid(uid).map((hold) => copyOfPrefix(hold.prefix))
  }

  /**
   * The holds that overlap a prefix: on prefixes around it, the widest first, then on it, then on
   * prefixes in it, in order. O(log n + holds).
   */
  overlapping(prefix: Prefix): PrefixHold[] {
    assertPrefix('PrefixAllocator.overlapping', 'prefix', prefix)
    return this.#overlapping(prefix).map(copyOfPrefixHold)
  }

  #overlapping(prefix: Prefix): PrefixHold[] {
    const masked = Prefix.masked(prefix)
    const around = this.#holders.covering(masked)
    const inside = this.#holders.coveredBy(masked).filter((entry) => entry.prefix.length > masked.length)
    return [...around, ...inside].flatMap((entry) => inOrder([...entry.value.values()], byPrefix))
  }

  /**
   * Every prefix in use with its owners, in order, wide before narrow. There is more than one owner
   * only if observed objects contradict each other. O(n).
   */
  entries(): { readonly prefix: Prefix; readonly owners: readonly Owner[]; readonly holds: readonly PrefixHold[] }[] {
    return Array.from(this.#holders, ([prefix, held]) => {
      const holds = holdsIn(held).map(copyOfPrefixHold)
      return { prefix, owners: holds.map((hold) => hold.owner), holds }
    })
  }

  /** The free space as the fewest prefixes, in order. O(n). */
  freePrefixes(): Prefix[] {
    return this.#tree.freePrefixes()
  }

  /** Why a prefix cannot be given, or `undefined` if it can. */
  #refusalOf(prefix: Prefix): PrefixOutcome | undefined {
    if (!this.#isInside(prefix)) return { kind: 'outOfPool', prefix }
    const [entry] = this.#holders.covering(prefix).concat(this.#holders.coveredBy(prefix, { limit: 1 }))
    const [first] = entry === undefined ? [] : inOrder([...entry.value.values()], byPrefix)
    return first && { kind: 'taken', prefix, by: copyOfOwner(first.owner), held: copyOfPrefix(first.prefix) }
  }

  #give(prefix: Prefix, owner: Owner, cursor: Address | undefined): PrefixOutcome {
    const undo = { cursor: this.#cursor && copyOfAddress(this.#cursor), sequence: this.#sequence, others: [] }
    const hold: PrefixHold = { prefix, owner, sequence: ++this.#sequence }
    this.#begin(hold)
    this.#cursor = cursor
    const given = copyOfPrefixHold(hold)
    return { kind: 'allocated', prefix: given.prefix, delta: { kind: 'allocate', holds: [given], undo } }
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
    // the hold of a delta may be a copy
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
    return {
      kind: 'release',
      holds,
      undo: { cursor: this.#cursor && copyOfAddress(this.#cursor), sequence: this.#sequence, others },
    }
  }

  /**
   * The lengths of the prefixes that the owners of some holds got after a sequence, by owner.
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

function holdsIn(holds: ReadonlyMap<string, PrefixHold> | undefined): PrefixHold[] {
  return holds === undefined ? [] : inOrder([...holds.values()], byPrefix)
}

/** @throws IpamError `INVALID_ARGUMENT` unless `delta` is the delta of an outcome */
function assertDelta(delta: PrefixDelta): void {
  const of = 'PrefixAllocator.undo'
  check(of, 'delta', delta, 'object')
  if (delta.kind !== 'allocate' && delta.kind !== 'release')
    refuseIn('assertDelta', 'delta.kind', 'allocate or release', delta.kind)
  check(of, 'delta.undo', delta.undo, 'object')
  for (const holds of [delta.holds, delta.undo.others]) {
    check(of, 'delta.holds', holds, ['list', 'object'])
    for (const { prefix, owner } of holds) {
      assertPrefix(of, 'delta.holds[].prefix', prefix)
      assertOwner('PrefixAllocator.undo', owner)
    }
  }
}
