import type { Family } from '../../cidr/index.js'
import {
  assertAddress,
  assertFamily,
  assertPrefix,
  assertSet,
  frozenPrefix,
  frozenSet,
  PrefixMap,
} from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { PrefixTree } from '../prefixes/prefix-tree.js'
import { Deadlines } from '../util/deadlines.js'
import { MultiMap } from '../util/multi-map.js'
import type {
  HoldReason,
  LedgerCounts,
  LedgerEntry,
  LedgerHolder,
  LedgerOptions,
  LedgerQuery,
  LedgerSpec,
  LedgerUsage,
} from './entry.js'
import { randomUnit, type Units, unitsOf } from './random.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** The free space of one family. */
interface FreeSpace {
  readonly family: Family
  /** The length of a unit. */
  readonly length: number
  /** All units, in use or not. */
  readonly units: Units
  /** Without the extents of all entries. */
  readonly open: PrefixTree
  /** Without the extents of the entries that count as in use. */
  readonly counted: PrefixTree
}

/** The reasons whose units count as free. */
const UNCOUNTED: ReadonlySet<HoldReason> = /* @__PURE__ */ new Set<HoldReason>(['pending', 'former'])

const OPTIONS = { onConflict: 'function?' } as const

/**
 * The holders of the extents of a space, each with a reason: see {@link HoldReason}. An extent is a
 * prefix; an address is a /32 or a /128. A caller records what it observes, also duplicates,
 * overlapping extents and extents outside of the space. The ledger offers free units of one length.
 *
 * Deterministic, synchronous, in memory. It is mutable, so one ledger belongs to one caller. The
 * caller chooses the id of an entry. An id has one extent.
 *
 * Methods are O(length of a prefix + entries of the result), unless they say otherwise. Memory:
 * about 300 bytes for each entry, without its holder.
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH` for units that a family of the space does not have
 * @example
 * const ledger = new Ledger({ space: RangeSet.parse(['10.0.0.8-10.0.0.11']) })
 * ledger.set('node-a', { prefix: Prefix.parse('10.0.0.8/32'), reason: 'held', holder: { key: 'node-a' } })
 * const next = ledger.next()
 * next && Prefix.format(next) // '10.0.0.9/32'
 * ledger.counts().free // 3n
 */
export class Ledger<H extends LedgerHolder = LedgerHolder> {
  #space: RangeSet = RangeSet.empty
  #free: readonly FreeSpace[] = []
  readonly #entries = new Map<string, LedgerEntry<H>>()
  /** The entries of exactly one extent. */
  readonly #extents = new PrefixMap<Several<LedgerEntry<H>>>()
  readonly #byExtent: MultiMap<Prefix, LedgerEntry<H>, LedgerEntry<H>>
  /** Kept and former entries by the key of their holder, in the order in which they were set. */
  readonly #own = new MultiMap<string, LedgerEntry<H>, LedgerEntry<H>>((entry) => entry)
  /** The oldest first. */
  readonly #former = new Set<LedgerEntry<H>>()
  /** The id of each `cooldown` entry that has an end. */
  readonly #inCooldown = new Map<LedgerEntry<H>, string>()
  readonly #expiring = new Deadlines<LedgerEntry<H>>()
  /** Held entries that overlap one of another holder. */
  readonly #conflicts = new Set<LedgerEntry<H>>()
  readonly #onConflict: LedgerOptions<H>['onConflict']
  /** The number of distinct extents that are held. */
  readonly #used = { 4: 0, 6: 0 }
  readonly #counts = { held: 0, pending: 0, kept: 0, cooldown: 0, former: 0, foreign: 0, outOfRange: 0 }

  constructor(spec: LedgerSpec, options: LedgerOptions<H> = {}) {
    check<unknown>('Ledger', 'options', options, OPTIONS)
    this.#onConflict = options.onConflict
    const extents = this.#extents
    this.#byExtent = new MultiMap((entry) => entry, {
      get: (prefix) => extents.get(prefix),
      add: (prefix, value) => extents.set(prefix, value),
      replace: (prefix, value) => extents.set(prefix, value),
      remove: (prefix) => extents.delete(prefix),
      values: () => extents.values(),
    })
    this.setSpace(spec)
  }

  /** The space of the ledger, in use or not. */
  get space(): RangeSet {
    return this.#space
  }

  /**
   * Replaces the space and the length of a unit. All entries stay, also those outside of the new
   * space. O(ranges + entries).
   */
  setSpace(spec: LedgerSpec): void {
    check('Ledger', 'spec', spec, 'object')
    const { space, length } = spec
    assertSet('Ledger', 'space', space)
    this.#free = FAMILIES.flatMap((family) => freeSpaceOf(space, family, length))
    this.#space = frozenSet(space)
    this.#counts.outOfRange = 0
    for (const [prefix, value] of this.#extents) {
      const entries = [...each(value)]
      for (const entry of entries) this.#occupy(entry)
      if (entries.some(isHeld) && !RangeSet.contains(space, prefix)) this.#counts.outOfRange++
    }
  }

  /** The entry of an id. */
  get(id: string): LedgerEntry<H> | undefined {
    check('Ledger.get', 'id', id, 'text')
    return this.#entries.get(id)
  }

  /**
   * Records a copy of an entry and of its holder. It replaces an entry with the same id. Methods
   * that return entries return this copy, which is frozen. A holder that is frozen is not copied.
   */
  set(id: string, entry: LedgerEntry<H>): void {
    check('Ledger.set', 'id', id, 'text')
    check<LedgerEntry>('Ledger.set', 'entry', entry, ENTRY)
    assertPrefix('Ledger.set', 'entry.prefix', entry.prefix)
    const { reason, sinceMs, untilMs } = entry
    const prefix = frozenPrefix(Prefix.masked(entry.prefix))
    // what `get` and `entries` return is this record
    const holder = Object.isFrozen(entry.holder) ? entry.holder : Object.freeze({ ...entry.holder })
    const own: LedgerEntry<H> = Object.freeze({ prefix, reason, holder, sinceMs, untilMs })
    this.delete(id)
    if (reason === 'held' && this.#meetOthers(own)) this.#countExtent(prefix, 1)
    this.#entries.set(id, own)
    this.#byExtent.add(prefix, own)
    this.#occupy(own)
    this.#counts[reason]++
    if (reason === 'kept' || reason === 'former') this.#own.add(own.holder.key, own)
    if (reason === 'former') this.#former.add(own)
    if (reason === 'cooldown' && untilMs !== undefined) {
      this.#inCooldown.set(own, id)
      this.#expiring.add(own, untilMs)
    }
  }

  /** Removes the entry of an id. Returns false if it does not exist. */
  delete(id: string): boolean {
    check('Ledger.delete', 'id', id, 'text')
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    const { prefix, reason, holder } = entry
    this.#entries.delete(id)
    this.#byExtent.delete(prefix, entry)
    for (const tree of this.#treesOf(entry)) tree.release(prefix)
    this.#counts[reason]--
    if (reason === 'held' && this.#heldAt(prefix).length === 0) this.#countExtent(prefix, -1)
    if (reason === 'kept' || reason === 'former') this.#own.delete(holder.key, entry)
    this.#former.delete(entry)
    if (this.#inCooldown.delete(entry)) this.#expiring.remove(entry)
    if (this.#conflicts.delete(entry)) this.#leaveOthers(entry)
    return true
  }

  /** Removes and returns the entries whose cooldown has ended at a time, the earliest first. */
  expire(nowMs: number): LedgerEntry<H>[] {
    check('Ledger.expire', 'nowMs', nowMs, 'number')
    const ended: LedgerEntry<H>[] = []
    for (let due = this.#expiring.due(nowMs); due !== undefined; due = this.#expiring.due(nowMs)) {
      this.delete(this.#inCooldown.get(due)!)
      ended.push(due)
    }
    return ended
  }

  /**
   * When the next cooldown ends, in milliseconds since 1970; `undefined` if no entry has an end.
   */
  nextExpiryMs(): number | undefined {
    return this.#expiring.earliestMs()
  }

  /** All entries, by extent as in a {@link PrefixMap}, then by the key of their holder. O(n). */
  entries(): LedgerEntry<H>[] {
    return Array.from(this.#extents.values(), inOrder).flat()
  }

  /**
   * The entries that overlap an extent: those of extents around it, the widest first, then its own,
   * then those of extents in it. In the order of {@link entries}.
   */
  holders(extent: Prefix): LedgerEntry<H>[] {
    assertPrefix('Ledger.holders', 'extent', extent)
    const found: LedgerEntry<H>[] = []
    for (const value of this.#around(extent)) for (const entry of inOrder(value)) found.push(entry)
    return found
  }

  /**
   * The entries of {@link holders} one by one, for a look at the first few. Those of one extent are
   * in the order in which they were set. O(length of a prefix + entries that are read).
   */
  overlapping(extent: Prefix): IterableIterator<LedgerEntry<H>> {
    assertPrefix('Ledger.overlapping', 'extent', extent)
    return this.#each(extent)
  }

  *#each(extent: Prefix): IterableIterator<LedgerEntry<H>> {
    for (const value of this.#around(extent)) yield* each(value)
  }

  /** The entries of each extent that overlaps this one, in the order of {@link holders}. */
  *#around(extent: Prefix): IterableIterator<Several<LedgerEntry<H>>> {
    const { length, address } = extent
    for (const { value } of this.#extents.covering(extent)) yield value
    if (length === Address.bitsOf(address.family)) return
    let known = 0
    // the first few are often enough
    for (let limit = 8; ; limit *= 8) {
      const inside = this.#extents.coveredBy(extent, { limit })
      for (const { prefix, value } of inside.slice(known)) if (prefix.length > length) yield value
      if (inside.length < limit) return
      known = inside.length
    }
  }

  /**
   * The entries that make an extent not free for a holder: all that overlap it, except `former`
   * entries and those kept for this holder.
   */
  blockers(extent: Prefix, options: Pick<LedgerQuery, 'for'> = {}): LedgerEntry<H>[] {
    assertPrefix('Ledger.blockers', 'extent', extent)
    check('Ledger.blockers', 'options', options, 'object')
    return this.holders(extent).filter(({ prefix, reason, holder }) => {
      if (reason === 'former' || (reason === 'kept' && holder.key === options.for)) return false
      // entries outside of the space keep no unit
      return (reason !== 'kept' && reason !== 'foreign') || RangeSet.overlaps(this.#space, prefix)
    })
  }

  /**
   * The held entries that overlap a held entry of another holder, in the order of {@link entries}.
   * O(k log k) for k of them.
   */
  conflicts(): LedgerEntry<H>[] {
    return [...this.#conflicts].sort((a, b) => Prefix.compare(a.prefix, b.prefix) || byKey(a, b))
  }

  /**
   * The unit that is offered next; `undefined` if no unit is free. Changes nothing. `within` adds
   * O(its ranges). `random` is O(n) while less than a sixteenth is free.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a random number that is not from 0 up to 1, and for a
   * `length` that is longer than that of a unit
   */
  next(query: LedgerQuery = {}): Prefix | undefined {
    assertQuery(query)
    const own = query.for === undefined ? undefined : this.#nextOwn(query.for, query)
    if (own !== undefined) return own
    for (const free of this.#freeOf(query)) {
      const found = query.random === undefined ? firstFree(free, query) : this.#randomFree(free, query)
      if (found !== undefined) return found
    }
    return this.#firstIn(this.#former, query)
  }

  /** O(length of a unit). */
  counts(): LedgerCounts {
    let [total, free] = [0n, 0n]
    for (const { units, counted, length } of this.#free) {
      total += units.count
      free += counted.countFree(length)
    }
    return { ...this.#counts, total, free }
  }

  /**
   * How much is in use, of each family of the space or of a held extent, IPv4 first. O(length of a
   * unit).
   */
  usage(): readonly LedgerUsage[] {
    return FAMILIES.flatMap((family): readonly LedgerUsage[] => {
      const free = this.#free.find((each) => each.family === family)
      const used = BigInt(this.#used[family])
      if (free === undefined) return used === 0n ? [] : [{ family, total: undefined, free: undefined, used }]
      return [{ family, total: free.units.count, free: free.counted.countFree(free.length), used }]
    })
  }

  /** A unit that is kept for a holder, else its last one. */
  #nextOwn(key: string, query: LedgerQuery): Prefix | undefined {
    const own = this.#own.get(key)
    const kept = own.filter(({ reason }) => reason === 'kept')
    const former = own.filter(({ reason }) => reason === 'former').reverse()
    return this.#firstIn([...kept, ...former], query)
  }

  /** The lowest unit of the first of some extents that has one which nothing blocks. */
  #firstIn(entries: Iterable<LedgerEntry<H>>, query: LedgerQuery): Prefix | undefined {
    for (const { prefix } of entries) {
      const free = this.#freeOf(query).find(({ family }) => family === prefix.address.family)
      const found = free && this.#lowestIn(prefix, free, query)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** O(entries in the extent + ranges of the space). */
  #lowestIn(extent: Prefix, { family, length }: FreeSpace, query: LedgerQuery): Prefix | undefined {
    const first = Prefix.masked(Prefix.of(extent.address, length))
    let left = RangeSet.fromPrefixes([extent.length < length ? extent : first])
    for (const set of [this.#space, query.within]) if (set !== undefined) left = RangeSet.intersect(left, set)
    for (;;) {
      const units = unitsOf(left, family, length)
      if (units.count === 0n) return undefined
      const unit = units.at(0n)
      const [blocker] = this.blockers(unit, query)
      if (blocker === undefined) return unit
      left = RangeSet.subtract(left, RangeSet.fromPrefixes([blocker.prefix]))
    }
  }

  #randomFree({ family, length, units, open }: FreeSpace, query: LedgerQuery): Prefix | undefined {
    const { within, random } = query
    const isWhole = within === undefined && query.length === undefined
    const all = isWhole ? units : unitsOf(RangeSet.intersect(this.#space, within ?? this.#space), family, length)
    const freeUnits = () => {
      const free = RangeSet.fromPrefixes(open.freePrefixes())
      return unitsOf(within === undefined ? free : RangeSet.intersect(free, within), family, length)
    }
    return randomUnit(all, open.countFree(length), random!, (unit) => open.isFree(unit), freeUnits)
  }

  #freeOf({ family, from, length }: LedgerQuery): readonly FreeSpace[] {
    const wanted = from?.family ?? family
    const found = wanted === undefined ? this.#free : this.#free.filter((free) => free.family === wanted)
    return length === undefined ? found : found.map((free) => ({ ...free, length: assertWider(length, free.length) }))
  }

  #occupy(entry: LedgerEntry<H>): void {
    for (const tree of this.#treesOf(entry)) tree.occupy(entry.prefix)
  }

  #treesOf({ prefix, reason }: LedgerEntry<H>): readonly PrefixTree[] {
    const free = this.#free.find(({ family }) => family === prefix.address.family)
    if (free === undefined) return []
    return UNCOUNTED.has(reason) ? [free.open] : [free.open, free.counted]
  }

  /** Counts an extent whose first held entry is recorded, or whose last one is not any more. */
  #countExtent(prefix: Prefix, by: 1 | -1): void {
    this.#used[prefix.address.family] += by
    if (!RangeSet.contains(this.#space, prefix)) this.#counts.outOfRange += by
  }

  /** A held entry of exactly this extent, and one of another holder. */
  #heldAt(prefix: Prefix): readonly LedgerEntry<H>[] {
    const value = this.#extents.get(prefix)
    return value === undefined ? [] : twoHeld(value)
  }

  /**
   * Updates the conflicts before an entry is recorded. Either all held entries of an extent are in
   * conflict, or none. O(extents that overlap it).
   *
   * @returns whether the entry is the first held one of its extent
   */
  #meetOthers(entry: LedgerEntry<H>): boolean {
    const [same, other] = this.#heldAt(entry.prefix)
    // what overlaps the extent is in conflict with one of two holders of it, or with its only one
    if (other !== undefined || same?.holder.key === entry.holder.key) {
      this.#setConflicts(entry, this.#conflicts.has(same as LedgerEntry<H>))
      return false
    }
    const others = [...this.#around(entry.prefix)].filter((value) => hasOther(value, entry))
    for (const value of others) this.#setConflicts(value, true)
    if (others.length > 0) this.#setConflicts(entry, true)
    return same === undefined
  }

  /** Updates the conflicts after an entry was removed. O(extents that overlap it). */
  #leaveOthers({ prefix, holder }: LedgerEntry<H>): void {
    const [first, second] = this.#heldAt(prefix)
    // what is in conflict with the entry is so with another one that has its extent
    if (second !== undefined || first?.holder.key === holder.key) return
    for (const value of [...this.#around(prefix)]) {
      const [one] = twoHeld(value)
      if (one !== undefined && this.#conflicts.has(one) && !this.#isShared(one)) this.#setConflicts(value, false)
    }
  }

  /** Whether an entry of another holder overlaps a held one. */
  #isShared(entry: LedgerEntry<H>): boolean {
    for (const value of this.#around(entry.prefix)) if (hasOther(value, entry)) return true
    return false
  }

  /** Sets whether the held entries of an extent are in conflict. */
  #setConflicts(value: Several<LedgerEntry<H>>, isConflict: boolean): void {
    for (const entry of [...each(value)].filter(isHeld)) {
      if (this.#conflicts.has(entry) === isConflict) continue
      if (isConflict) this.#conflicts.add(entry)
      else this.#conflicts.delete(entry)
      this.#onConflict?.(entry)
    }
  }
}

const ENTRY = [
  'open',
  {
    reason: ['one', { held: 1, pending: 1, kept: 1, cooldown: 1, former: 1, foreign: 1 }],
    holder: ['open', { key: 'text' }],
    untilMs: 'number?',
  },
] as const

function assertQuery(query: LedgerQuery): void {
  const of = 'Ledger.next'
  check(of, 'query', query, 'object')
  const { family, from, within, random } = query
  if (family !== undefined) assertFamily(of, family)
  if (from !== undefined) assertAddress(of, 'query.from', from)
  if (within !== undefined) assertSet(of, 'query.within', within)
  if (random !== undefined) check(of, 'query.random', random, 'function')
}

/** One entry, or several, as a {@link MultiMap} has them. */
type Several<T> = T | Map<T, T>

const FAMILIES = [4, 6] as const

function freeSpaceOf(space: RangeSet, family: Family, length: number = Address.bitsOf(family)): FreeSpace[] {
  const part: RangeSet =
    family === 4 ? { v4: space.v4, v6: RangeSet.empty.v6 } : { v4: RangeSet.empty.v4, v6: space.v6 }
  if (RangeSet.isEmpty(part)) return []
  const [open, counted] = [0, 1].map(() => new PrefixTree(part, { childLength: length }))
  return [{ family, length, units: unitsOf(part, family, length), open: open!, counted: counted! }]
}

/** The lowest free unit from an address on, or of a set. */
function firstFree({ family, length, open }: FreeSpace, { from, order, within }: LedgerQuery): Prefix | undefined {
  const first = within === undefined ? open.nextFree(length, from) : firstWithin(open, family, length, within, from)
  if (first !== undefined || from === undefined || order !== 'around') return first
  return firstFree({ family, length, open } as FreeSpace, { within })
}

function firstWithin(open: PrefixTree, family: Family, length: number, within: RangeSet, from: Address | undefined) {
  for (const { first, last } of RangeSet.ranges(within)) {
    if (first.family !== family || (from !== undefined && Address.compare(last, from) < 0)) continue
    const start = from !== undefined && Address.compare(from, first) > 0 ? from : first
    const found = open.nextFree(length, start)
    if (found === undefined) return undefined
    if (Address.compare(Prefix.last(found), last) <= 0) return found
  }
  return undefined
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertWider(length: number, unit: number): number {
  if (Number.isInteger(length) && length >= 0 && length <= unit) return length
  return refuse('Ledger.next', 'length', `a whole number from 0 to ${unit}, the length of a unit`, length)
}

function isHeld({ reason }: LedgerEntry): boolean {
  return reason === 'held'
}

function each<T extends object>(value: Several<T>): Iterable<T> {
  return value instanceof Map ? value.values() : [value]
}

/** The first held entry of an extent, and the first of another holder. */
function twoHeld<H extends LedgerHolder>(value: Several<LedgerEntry<H>>): readonly LedgerEntry<H>[] {
  const held: LedgerEntry<H>[] = []
  for (const entry of each(value)) {
    if (isHeld(entry) && held[0]?.holder.key !== entry.holder.key) held.push(entry)
    if (held.length === 2) break
  }
  return held
}

/** Whether a held entry of an extent has another holder than this one. */
function hasOther<H extends LedgerHolder>(value: Several<LedgerEntry<H>>, { holder }: LedgerEntry<H>): boolean {
  return twoHeld(value).some((one) => one.holder.key !== holder.key)
}

function inOrder<H extends LedgerHolder>(value: Several<LedgerEntry<H>>): LedgerEntry<H>[] {
  return value instanceof Map ? [...value.values()].sort(byKey) : [value]
}

function byKey({ holder: { key: left } }: LedgerEntry, { holder: { key: right } }: LedgerEntry): number {
  return left < right ? -1 : left > right ? 1 : 0
}
