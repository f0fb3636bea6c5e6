import type { Family } from '../../cidr/index.js'
import { assertAddress, assertFamily } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import {
  type AllocationDelta,
  type AllocationOutcome,
  type AllocationRequest,
  type AtTime,
  assertKey,
  assertOwner,
  type Hold,
  LOWEST_FREE_OPTIONS,
  type LowestFreeOptions,
  MOST_COUNTED,
  OCCUPY_OPTIONS,
  type Occupation,
  type OccupyOptions,
  type Owner,
  ownerId,
  type PoolCounts,
  type PoolEntry,
  RELEASE_OPTIONS,
  type Released,
  type ReleaseOptions,
  type ReleaseOutcome,
  type Want,
} from '../request.js'
import { assertWithin } from '../slots/slots.js'
import { copyOfAddress, copyOfHold, copyOfOwner } from '../util/own-values.js'
import { latestRun } from './kept-run.js'
import { heldAlready, refusalOf } from './pool-answers.js'
import type { PoolToStore } from './pool-codec.js'
import { type AddressPoolSpec, planOf } from './pool-spec.js'
import { FAMILIES, PoolState } from './pool-state.js'
import { assertDelta, takeBackAll, undoDelta } from './pool-undo.js'
import { allocated, assertWant, familiesOf, type Given, NONE, newHold, shapeOf } from './want.js'

/** A call without options has none to check. */
const NO_OPTIONS = {}

type Address = Address.Address
type RangeSet = RangeSet.RangeSet

/**
 * An {@link AddressPool} without `encode` and `decode`: programs that store no pool do not bundle
 * the codec.
 */
export class Pool {
  #state: PoolState
  #sequence = 0

  constructor(spec: AddressPoolSpec) {
    this.#state = new PoolState(planOf(spec))
  }

  /**
   * The whole state of the pool.
   *
   * @internal
   */
  protected stored(): PoolToStore {
    const { plan } = this.#state
    return { plan, snapshot: this.#state.snapshot(), sequence: this.#sequence }
  }

  /**
   * Replaces the state by the state of a pool with the same spec.
   *
   * @internal
   */
  protected restore({ snapshot, sequence }: Omit<PoolToStore, 'plan'>): void {
    this.#state = PoolState.restored(this.#state.plan, snapshot)
    this.#sequence = sequence
  }

  /** The addresses that the pool can give out, in use or not. */
  get available(): RangeSet {
    return this.#state.plan.available
  }

  /**
   * Gives an owner the wanted addresses. An owner that holds them already gets the same again, also
   * if they are out of range. For `any`, every address of the wanted family counts.
   *
   * A refusal is an outcome with a reason. It changes nothing.
   *
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid, a count or a length that is
   * out of range, a time that is missing
   */
  allocate(request: AllocationRequest, options: AtTime = {}): AllocationOutcome {
    check('AddressPool.allocate', 'request', request, 'object')
    check('AddressPool.allocate', 'options', options, 'object')
    const { owner, want = { kind: 'any' } } = request
    assertOwner('AddressPool.allocate', owner)
    assertWant(want, request.family)
    assertKey('AddressPool.allocate', request.stickyKey)
    const nowMs = this.#advance(options)
    const holdsAnything = this.#state.holdsAnything(owner)
    const held = holdsAnything ? heldAlready(this.#state, request, want) : undefined
    if (held !== undefined) return held
    const before = this.#state.strategyState
    if (want.kind === 'any') {
      return this.#allocateOne(request, { before, isNewOwner: !holdsAnything }, nowMs)
    }
    const given: Given = { holds: [], releases: [], before, sequence: this.#sequence, isNewOwner: !holdsAnything }
    switch (want.kind) {
      case 'dualStack':
        return this.#allocateDualStack(request, given, nowMs)
      case 'address':
        return refusalOf(this.#state, want.address, request) ?? this.#give([want.address], request, given)
      case 'oneOf':
        return this.#allocateOneOf(want.addresses, request, given)
      default:
        return this.#allocateRun(want, request, given, nowMs)
    }
  }

  /**
   * The lowest free address, or `undefined`. With the strategy `lowest`, without a static band and
   * a cooldown, it is the next one. Changes nothing.
   */
  lowestFree(options: LowestFreeOptions = NO_OPTIONS): Address | undefined {
    if (options !== NO_OPTIONS) check('AddressPool.lowestFree', 'options', options, LOWEST_FREE_OPTIONS)
    const { from } = options
    if (from !== undefined) assertAddress('AddressPool.lowestFree', 'from', from)
    if (options.family !== undefined) assertFamily('AddressPool.lowestFree', options.family)
    const families = from !== undefined ? [from.family] : familiesOf(options.family)
    for (const family of families) {
      const lowest = this.#state.space(family).lowestFree(from)
      if (lowest !== undefined) return lowest
    }
    return undefined
  }

  /**
   * Records that an owner holds an address, also one with another owner or outside of the pool. A
   * program reads live objects back in this way after a restart. The order of calls does not
   * matter.
   *
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid
   */
  occupy(address: Address, owner: Owner, options: OccupyOptions = NO_OPTIONS): Occupation {
    assertAddress('AddressPool.occupy', 'address', address)
    assertOwner('AddressPool.occupy', owner)
    if (options !== NO_OPTIONS) check('AddressPool.occupy', 'options', options, OCCUPY_OPTIONS)
    assertKey('AddressPool.occupy', options.stickyKey)
    const inPool = this.#state.contains(address)
    const holds = this.#state.holdsOn(address)
    const others = holds.filter((hold) => ownerId(hold.owner) !== ownerId(owner)).map((hold) => copyOfOwner(hold.owner))
    const isNew = others.length === holds.length
    if (isNew) {
      const { sequence = this.#sequence + 1, stickyKey } = options
      assertWithin('Pool.occupy', 'sequence', sequence, 0, MOST_COUNTED)
      this.#sequence = Math.max(this.#sequence, sequence)
      this.#state.begin(newHold(address, owner, sequence, stickyKey))
    }
    if (!inPool) return { kind: 'outOfPool', others }
    return { kind: isNew ? 'occupied' : 'already', others }
  }

  /**
   * Ends the hold of one owner on an address. The address is free when it has no other owner and
   * its cooldown has ended.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a time that is missing, and an owner without a uid
   */
  release(
    address: Address,
    owner: Pick<Owner, 'uid' | 'interface'>,
    options: ReleaseOptions = NO_OPTIONS,
  ): ReleaseOutcome {
    assertAddress('AddressPool.release', 'address', address)
    if (options !== NO_OPTIONS) check('AddressPool.release', 'options', options, RELEASE_OPTIONS)
    assertOwner('AddressPool.release', owner)
    const nowMs = this.#advance(options)
    const hold = this.#state.holdOf(address, owner)
    if (hold === undefined) return { kind: 'notHeld' }
    const { sequence } = hold
    if (options.sequence !== undefined && options.sequence !== sequence) return { kind: 'otherSequence', sequence }
    return { kind: 'released', delta: this.#end(this.#state.takeHolds([hold]), nowMs) }
  }

  /** Ends all holds of an owner, for all its interfaces, in the order in which it got them. */
  releaseOwner(uid: string, options: AtTime = {}): Released {
    check('AddressPool.releaseOwner', 'uid', uid, 'text')
    check('AddressPool.releaseOwner', 'options', options, 'object')
    const nowMs = this.#advance(options)
    return this.#end(this.#state.takeHoldsOf(uid), nowMs)
  }

  /**
   * Takes back the change of a call. Returns false, and changes nothing, if a later call has
   * changed the same addresses.
   */
  undo(delta: AllocationDelta): boolean {
    assertDelta('AddressPool.undo', delta)
    const brought = delta.kind === 'release' ? delta.holds : []
    for (const { sequence } of brought) assertWithin('Pool.undo', 'sequence', sequence, 0, MOST_COUNTED)
    if (!undoDelta(this.#state, delta, this.#sequence)) return false
    // a delta from before a restart may have sequences above the last one
    for (const { sequence } of brought) this.#sequence = Math.max(this.#sequence, sequence)
    return true
  }

  /**
   * Changes the addresses of the pool and keeps all holds. A held address that is no longer in the
   * pool counts as out of range; if it is added again, it is in use. O(addresses in use).
   *
   * @throws IpamError `INVALID_ARGUMENT` for another strategy
   */
  resize(spec: AddressPoolSpec): void {
    const plan = planOf(spec)
    const { kind } = this.#state.plan.strategy
    if (plan.strategy.kind !== kind)
      refuse('Pool.resize', 'strategy.kind', `${kind}, as the pool was made with`, plan.strategy.kind)
    this.#state.resize(plan)
    // deltas have the state of the strategy for the former addresses
    this.#sequence++
  }

  /** Whether the pool can give out this address, in use or not. O(log n). */
  hasAddress(address: Address): boolean {
    assertAddress('AddressPool.hasAddress', 'address', address)
    return this.#state.contains(address)
  }

  /** The owners of an address; empty if it is free. */
  ownersOf(address: Address): Owner[] {
    assertAddress('AddressPool.ownersOf', 'address', address)
    return this.#state.holdsOn(address).map((hold) => copyOfOwner(hold.owner))
  }

  /** The holds on an address; empty if it is free. */
  holdsOf(address: Address): Hold[] {
    assertAddress('AddressPool.holdsOf', 'address', address)
    return this.#state.holdsOn(address).map(copyOfHold)
  }

  /**
   * The addresses that an owner holds, for all its interfaces, in the order in which it got them.
   */
  addressesOf(uid: string): Address[] {
    check('AddressPool.addressesOf', 'uid', uid, 'text')
    return this.#state.holdsOfUid(uid).map((hold) => copyOfAddress(hold.address))
  }

  /** Every address in use with its owners, in order. O(n log n). */
  entries(): PoolEntry[] {
    return this.#state
      .addresses()
      .sort(Address.compare)
      .map((address) => ({
        address: copyOfAddress(address),
        owners: this.ownersOf(address),
        holds: this.holdsOf(address),
      }))
  }

  /** The addresses in use, in and out of the pool, without their owners. O(n). */
  inUse(): RangeSet {
    return RangeSet.fromAddresses(this.#state.addresses())
  }

  /**
   * The released addresses in their cooldown or hold time, in and out of the pool. With `nowMs`, at
   * that time. O(n).
   */
  inCooldown(options: AtTime = {}): RangeSet {
    check('AddressPool.inCooldown', 'options', options, 'object')
    if (options.nowMs !== undefined) this.#advance(options)
    return RangeSet.fromAddresses(this.#state.cooldown.inCooldown())
  }

  /** Numbers of addresses. With `nowMs`, at that time. O(1 + preallocated addresses). */
  counts(options: AtTime = {}): PoolCounts {
    check('AddressPool.counts', 'options', options, 'object')
    if (options.nowMs !== undefined) this.#advance(options)
    return this.#state.counts()
  }

  /** Frees the addresses whose cooldown has ended. Returns the time. */
  #advance({ nowMs }: AtTime): number {
    if (nowMs === undefined) {
      const { cooldownMs, holdMs } = this.#state.plan
      if (cooldownMs === 0 && holdMs === 0 && !this.#state.cooldown.isAnyInCooldown) return 0
      refuse('Pool.#advance', 'nowMs', 'milliseconds since 1970: the pool has a cooldown or a hold time', 'undefined')
    }
    assertWithin('Pool.#advance', 'nowMs', nowMs, 0, MOST_COUNTED)
    return this.#state.advance(nowMs)
  }

  #allocateOneOf(addresses: readonly Address[], request: AllocationRequest, given: Given): AllocationOutcome {
    let first: AllocationOutcome | undefined
    for (const address of addresses) {
      const refusal = refusalOf(this.#state, address, request)
      if (refusal === undefined) return this.#give([address], request, given)
      first ??= refusal
    }
    return first ?? { kind: 'exhausted' }
  }

  /**
   * The address that is kept for the key of a request: the preallocated one, else the last released
   * one.
   */
  #keptFor(stickyKey: string, families: readonly Family[]): Address | undefined {
    const own = this.#state.plan.preallocated.get(stickyKey)
    for (const family of families) {
      const address = own?.find((one) => one.family === family)
      if (address !== undefined) return address
    }
    const releases = this.#state.releasedFor(stickyKey)
    for (const family of families) {
      const address = releases.findLast((one) => one.family === family)
      if (address !== undefined) return address
    }
    return undefined
  }

  /**
   * All addresses that are kept for the key of a request and can be given now, in the order of
   * their release. A preallocated address comes last.
   */
  #allKeptFor({ stickyKey }: AllocationRequest, family: Family): readonly Address[] {
    if (stickyKey === undefined) return NO_ADDRESSES
    const isWanted = (address: Address) => address.family === family
    const releases = this.#state.releasedFor(stickyKey).filter(isWanted)
    const own = this.#state.plan.preallocated.get(stickyKey)?.find(isWanted)
    if (own === undefined || refusalOf(this.#state, own, { stickyKey }) !== undefined) return releases
    return [...releases.filter((address) => !Address.equals(address, own)), own]
  }

  /** One address, of the first family that has one. */
  #allocateOne(
    request: AllocationRequest,
    { before, isNewOwner }: Pick<Given, 'before' | 'isNewOwner'>,
    nowMs: number,
  ): AllocationOutcome {
    const families = familiesOf(request.family)
    const found = this.#next(request, families)
    if (found === undefined) {
      this.#state.strategyState = before
      return this.#exhausted(families, nowMs)
    }
    if ('kind' in found) return found
    const hold = newHold(found, request.owner, ++this.#sequence, request.stickyKey)
    const released = this.#state.give(hold, isNewOwner)
    return allocated({ holds: [hold], releases: released === undefined ? NONE : [released], before })
  }

  /**
   * The address that is kept for the key of a request, or the reason why it cannot be given; else
   * the next address of the first family that has one.
   */
  #next(request: AllocationRequest, families: readonly Family[]): Address | AllocationOutcome | undefined {
    const { stickyKey } = request
    const kept = stickyKey === undefined ? undefined : this.#keptFor(stickyKey, families)
    if (kept !== undefined) return refusalOf(this.#state, kept, request) ?? kept
    for (const family of families) {
      const address = this.#choose(family, request)
      if (address !== undefined) return address
    }
    return undefined
  }

  #allocateDualStack(request: AllocationRequest, given: Given, nowMs: number): AllocationOutcome {
    for (const family of FAMILIES) {
      const found = this.#next(request, [family])
      if (found === undefined || 'kind' in found) {
        this.#takeBack(given)
        return found ?? this.#exhausted([family], nowMs)
      }
      this.#begin(found, request, given)
    }
    return allocated(given)
  }

  /**
   * A run of addresses that are kept for the key, else the lowest run of free and kept addresses.
   */
  #allocateRun(
    want: Extract<Want, { kind: 'run' | 'prefix' }>,
    request: AllocationRequest,
    given: Given,
    nowMs: number,
  ): AllocationOutcome {
    const families = familiesOf(request.family)
    const kept = families.map((family) => this.#allKeptFor(request, family))
    for (const [i, family] of families.entries()) {
      const run = latestRun(kept[i]!, shapeOf(want, family))
      if (run !== undefined) return this.#give(run, request, given)
    }
    for (const [i, family] of families.entries()) {
      const run = this.#state.freeRun(family, shapeOf(want, family), kept[i]!)
      if (run !== undefined) return this.#give(run, request, given)
    }
    return this.#exhausted(families, nowMs)
  }

  /** The next address by the strategy. */
  #choose(family: Family, { stickyKey, owner }: AllocationRequest): Address | undefined {
    const space = this.#state.space(family)
    const picker = this.#state.picker(family)
    const beyond = picker.nextBeyond(space)
    if (beyond !== undefined) return beyond
    for (const part of PARTS) {
      const slot = picker.next(space, stickyKey ?? owner.uid, part)
      if (slot >= 0) {
        picker.given(slot)
        return space.addressAt(slot)
      }
      const idle = this.#state.cooldown.longestIdle(family, part)
      if (idle !== undefined) return idle
    }
    return undefined
  }

  #give(addresses: readonly Address[], request: AllocationRequest, given: Given): AllocationOutcome {
    for (const address of addresses) this.#begin(address, request, given)
    return allocated(given)
  }

  #begin(address: Address, { owner, stickyKey }: AllocationRequest, to: Given): void {
    const hold = newHold(address, owner, ++this.#sequence, stickyKey)
    const released = this.#state.give(hold, to.isNewOwner && to.holds.length === 0)
    to.holds.push(hold)
    if (released !== undefined) to.releases.push(released)
  }

  /** Takes back an incomplete allocation. */
  #takeBack({ holds, releases, before, sequence }: Given): void {
    takeBackAll(this.#state, holds, releases)
    this.#state.strategyState = before
    // no caller has these holds yet
    this.#sequence = sequence
  }

  #exhausted(families: readonly Family[], nowMs: number): AllocationOutcome {
    const freeAtMs = this.#state.cooldown.nextMs(families)
    return freeAtMs === undefined || freeAtMs <= nowMs ? { kind: 'exhausted' } : { kind: 'exhausted', freeAtMs }
  }

  #end(holds: readonly Hold[], nowMs: number): Released {
    const others = this.#state.endAll(holds, nowMs)
    return { kind: 'release', holds, undo: { sequence: this.#sequence, others: others.map(copyOfHold) } }
  }
}

const NO_ADDRESSES: readonly Address[] = /* @__PURE__ */ Object.freeze([])

/** The static band comes last. */
const PARTS = [{ inBand: false }, { inBand: true }] as const
