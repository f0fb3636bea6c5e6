import type { Family, RangeSet } from '../cidr/index.js'
import * as Address from '../cidr/nouns/address.js'
import * as Prefix from '../cidr/nouns/prefix.js'
import * as Sets from '../cidr/nouns/range-set.js'
import { PrefixMap } from '../cidr/prefix-map.js'
import { ipamError } from '../errors/index.js'
import { MultiMap } from './multi-map.js'
import { PrefixTree } from './prefix-tree.js'
import { assertOwner, type Owner, ownerId } from './request.js'

type Address = Address.Address
type Prefix = Prefix.Prefix

export interface PrefixAllocatorSpec {
  /** The address space to carve, of one family. Overlapping and adjacent parts are one. */
  readonly parents: RangeSet
  /** Space that no child may touch: a child that overlaps it is lost as a whole. */
  readonly exclude?: RangeSet | undefined
  /** Prefix length of a child where a request names none: 0 to 32 or 0 to 128. */
  readonly childLength: number
  /**
   * `lowest`: the lowest free child. `next-fit`: the lowest behind the last one that was given, then from the first one on; releases do not move
   * it, so that a child that comes back is used last. Default `lowest`.
   */
  readonly strategy?: { readonly kind: 'lowest' | 'next-fit' } | undefined
}

/** What an owner asks for. */
export interface PrefixRequest {
  readonly owner: Owner
  /** The length of the prefix. Default: that of a child, or of `prefix`. */
  readonly length?: number | undefined
  /** This prefix or none, host bits cleared. */
  readonly prefix?: Prefix | undefined
}

/** One owner's hold on a prefix. */
export interface PrefixHold {
  readonly prefix: Prefix
  readonly owner: Owner
  /** Another number for each time that a prefix is given: a release that names it ends no later hold of the same owner. */
  readonly sequence: number
}

/** What a call has changed: enough to persist it, or to take it back with `undo`. */
export interface PrefixDelta {
  readonly kind: 'allocate' | 'release'
  readonly holds: readonly PrefixHold[]
  /** For `undo` on the same allocator. */
  readonly memory: { readonly cursor: Address | undefined; readonly sequence: number }
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

/** A prefix in use, and who holds it: more than one owner only where observed facts contradict each other. */
export interface PrefixEntry {
  readonly prefix: Prefix
  readonly owners: readonly Owner[]
}

/**
 * Which prefix next? Carves prefixes, of one length or of many, from a space, each to one owner.
 *
 * Deterministic, synchronous, in memory; mutable, so one allocator belongs to one caller. What is observed to be in use, also of other lengths,
 * overlapping or beside the space, is recorded by {@link occupy}, and nothing that it overlaps is handed out.
 *
 * O(length of a prefix), where nothing else is said; nothing of the size 2^n is ever built: a /64 of ::/0 costs what a /64 of a /48 costs.
 *
 * @throws IpamError `FAMILY_MISMATCH` if the parents are of both families, `INVALID_PREFIX_LENGTH`, `INVALID_ARGUMENT`
 * @example
 * const allocator = new PrefixAllocator({ parents: RangeSet.parse(['fd00::/48']), childLength: 64 })
 * allocator.occupy(Prefix.parse('fd00::/64'), { uid: 'a' })
 * const outcome = allocator.allocate({ owner: { uid: 'b' }, length: 56 })
 * outcome.kind === 'allocated' && Prefix.format(outcome.prefix) // 'fd00:0:0:100::/56'
 * allocator.free(64) // 65279n
 */
export class PrefixAllocator {
  readonly childLength: number
  readonly #isNextFit: boolean
  /** Parents without exclusions. */
  readonly #space: RangeSet
  readonly #tree: PrefixTree
  readonly #total: bigint
  /** Who holds a prefix. */
  readonly #holders = new PrefixMap<Map<string, PrefixHold>>()
  /** What an owner holds, by its uid. */
  readonly #held = new MultiMap<string, string, PrefixHold>(placeOf)
  /** Where next-fit goes on. */
  #cursor: Address | undefined
  #sequence = 0

  constructor(spec: PrefixAllocatorSpec) {
    const { parents, childLength, strategy = { kind: 'lowest' } } = spec
    if (strategy.kind !== 'lowest' && strategy.kind !== 'next-fit') {
      throw ipamError('INVALID_ARGUMENT', {
        argument: 'strategy.kind',
        expected: 'lowest or next-fit',
        got: String(strategy.kind),
      })
    }
    this.#isNextFit = strategy.kind === 'next-fit'
    this.#space = spec.exclude === undefined ? parents : Sets.subtract(parents, spec.exclude)
    this.#tree = new PrefixTree(this.#space, familyOf(parents))
    this.childLength = childLength
    this.#total = this.#tree.countFree(childLength)
  }

  get family(): Family {
    return this.#tree.family
  }

  /** How many children the allocator may hand out, in use or not. O(1). */
  get total(): bigint {
    return this.#total
  }

  /** How many prefixes of a length, by default children, nothing in use overlaps. */
  free(length: number = this.childLength): bigint {
    return this.#tree.countFree(length)
  }

  /**
   * Gives an owner a prefix. An owner that holds one of that length gets the same again.
   *
   * Whatever can not be given is said in the outcome.
   *
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid, `INVALID_PREFIX_LENGTH`
   */
  allocate(request: PrefixRequest): PrefixOutcome {
    const { owner } = request
    assertOwner(owner)
    const prefix = request.prefix && Prefix.masked(request.prefix)
    const length = prefix?.length ?? request.length ?? this.childLength
    const own = this.#holdsOf(owner).find((hold) => hold.prefix.length === length)?.prefix
    if (own !== undefined && (prefix === undefined || Prefix.equals(own, prefix)))
      return { kind: 'already', prefix: own }
    if (own !== undefined) return { kind: 'refused', reason: 'OwnerHoldsAnother', prefix: own }
    if (prefix !== undefined) return this.#refusalOf(prefix) ?? this.#give(prefix, owner)
    const next = this.next(length)
    return next === undefined ? { kind: 'exhausted' } : this.#give(next, owner)
  }

  /** The prefix that {@link allocate} would give next, or `undefined`. Changes nothing. */
  next(length: number = this.childLength): Prefix | undefined {
    if (this.#cursor === undefined) return this.#tree.nextFree(length)
    return this.#tree.nextFreeAround(length, this.#cursor)
  }

  /** The lowest prefix of a length that nothing in use overlaps, or `undefined`. Changes nothing. */
  lowestFree(length: number = this.childLength): Prefix | undefined {
    return this.#tree.nextFree(length)
  }

  /** Whether this is a child that the allocator may hand out, in use or not. */
  isAllocatable(prefix: Prefix): boolean {
    return prefix.length === this.childLength && Sets.contains(this.#space, prefix)
  }

  /**
   * Records that an owner holds a prefix, of whatever length and also outside of the space: how live objects are read back after a restart. The
   * order of calls does not matter. One of the other family is not recorded.
   *
   * @returns who else holds something that it overlaps
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid
   */
  occupy(prefix: Prefix, owner: Owner): readonly PrefixHold[] {
    assertOwner(owner)
    if (prefix.address.family !== this.family) return []
    const masked = Prefix.masked(prefix)
    const others = this.#overlapping(masked).filter((hold) => ownerId(hold.owner) !== ownerId(owner))
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
    const hold = this.#holders.get(prefix)?.get(ownerId(owner))
    if (hold === undefined) return { kind: 'notHeld' }
    const { sequence } = hold
    if (options.sequence !== undefined && options.sequence !== sequence) return { kind: 'otherSequence', sequence }
    return { kind: 'released', delta: this.#endAll([hold]) }
  }

  /** Ends all holds of an owner, for whichever interface, in the order in which it got them. */
  releaseOwner(uid: string): PrefixDelta {
    return this.#endAll(this.holdsOf(uid))
  }

  /** Takes back what a call has changed. Returns false, and changes nothing, if it has been changed again since. */
  undo({ kind, holds, memory }: PrefixDelta): boolean {
    if (kind === 'allocate') {
      if (!holds.every((hold) => this.#isCurrent(hold))) return false
      if (holds.at(-1)?.sequence === this.#sequence) this.#cursor = memory.cursor
      for (const hold of holds) this.#end(hold)
      return true
    }
    // nobody may have been given any of it since
    const isOpen = ({ prefix, owner }: PrefixHold) =>
      this.#holders.get(prefix)?.has(ownerId(owner)) !== true &&
      this.#overlapping(prefix).every((other) => other.sequence <= memory.sequence)
    if (!holds.every(isOpen)) return false
    for (const hold of holds) this.#begin(hold)
    return true
  }

  /** What an owner holds, for whichever interface, in the order in which it got it. */
  holdsOf(uid: string): PrefixHold[] {
    return this.#held.get(uid).sort((a, b) => a.sequence - b.sequence)
  }

  /** The owners of exactly this prefix; none if nobody holds it. */
  ownersOf(prefix: Prefix): Owner[] {
    return ownersIn(this.#holders.get(prefix))
  }

  /** Every prefix in use with its owners, in order, wide before narrow. O(n). */
  entries(): PrefixEntry[] {
    return Array.from(this.#holders, ([prefix, holds]) => ({ prefix, owners: ownersIn(holds) }))
  }

  /** What is free, as the fewest prefixes, in order. O(n). */
  freePrefixes(): Prefix[] {
    return this.#tree.freePrefixes()
  }

  /** Why a prefix can not be given, or `undefined` if it can. */
  #refusalOf(prefix: Prefix): PrefixOutcome | undefined {
    if (prefix.address.family !== this.family || !Sets.contains(this.#space, prefix))
      return { kind: 'outOfPool', prefix }
    const [first] = this.#overlapping(prefix)
    return first && { kind: 'taken', prefix, by: first.owner, held: first.prefix }
  }

  #give(prefix: Prefix, owner: Owner): PrefixOutcome {
    const memory = { cursor: this.#cursor, sequence: this.#sequence }
    const hold: PrefixHold = { prefix, owner, sequence: ++this.#sequence }
    this.#begin(hold)
    // behind the last address there is the first one
    if (this.#isNextFit) this.#cursor = Address.next(Prefix.last(prefix))
    return { kind: 'allocated', prefix, delta: { kind: 'allocate', holds: [hold], memory } }
  }

  #begin(hold: PrefixHold): void {
    const holds = this.#holders.get(hold.prefix)
    if (holds === undefined) {
      this.#holders.set(hold.prefix, new Map([[ownerId(hold.owner), hold]]))
      this.#tree.occupy(hold.prefix)
    } else holds.set(ownerId(hold.owner), hold)
    this.#held.add(hold.owner.uid, hold)
  }

  #end(hold: PrefixHold): void {
    const holds = this.#holders.get(hold.prefix)!
    holds.delete(ownerId(hold.owner))
    if (holds.size === 0) {
      this.#holders.delete(hold.prefix)
      this.#tree.release(hold.prefix)
    }
    this.#held.delete(hold.owner.uid, placeOf(hold))
  }

  #endAll(holds: readonly PrefixHold[]): PrefixDelta {
    for (const hold of holds) this.#end(hold)
    return { kind: 'release', holds, memory: { cursor: this.#cursor, sequence: this.#sequence } }
  }

  #holdsOf(owner: Owner): PrefixHold[] {
    return this.holdsOf(owner.uid).filter((hold) => hold.owner.interface === owner.interface)
  }

  #isCurrent({ prefix, owner, sequence }: PrefixHold): boolean {
    return this.#holders.get(prefix)?.get(ownerId(owner))?.sequence === sequence
  }

  /** The holds on a prefix, on what is around it, and on what is in it: the widest first. */
  #overlapping(prefix: Prefix): PrefixHold[] {
    const around = this.#holders.covering(prefix)
    const inside = this.#holders.coveredBy(prefix).filter((entry) => entry.prefix.length > prefix.length)
    return [...around, ...inside].flatMap((entry) => inOrder(entry.value))
  }
}

/** The family of parents that are of one. */
function familyOf(parents: RangeSet): Family | undefined {
  const lowest = Sets.first(parents)
  if (lowest?.family !== 4 || parents.v6.firsts.length === 0) return lowest?.family
  const highest = Sets.first({ v4: Sets.empty.v4, v6: parents.v6 }) as Address
  throw ipamError('FAMILY_MISMATCH', { left: Address.format(lowest), right: Address.format(highest) })
}

function ownersIn(holds: ReadonlyMap<string, PrefixHold> | undefined): Owner[] {
  return holds === undefined ? [] : inOrder(holds).map((hold) => hold.owner)
}

/** By their numbers: what an undo has brought back comes where it was. */
function inOrder(holds: ReadonlyMap<string, PrefixHold>): PrefixHold[] {
  return [...holds.values()].sort((a, b) => a.sequence - b.sequence)
}

/** Tells apart what one uid holds. */
function placeOf({ prefix, owner }: PrefixHold): string {
  return `${Prefix.format(prefix)}\n${owner.interface ?? ''}`
}
