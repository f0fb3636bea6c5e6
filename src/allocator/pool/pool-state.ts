import type { Family, RangeSet } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import { type Hold, type Owner, ownerId, type PoolCounts, type StrategyState } from '../request.js'
import { isInside, type SlotId, type Space } from '../slots/space.js'
import { Space4 } from '../slots/space4.js'
import { Space6 } from '../slots/space6.js'
import { MultiMap } from '../util/multi-map.js'
import { copyOfAddress } from '../util/own-values.js'
import { Cooldown, type ReleasedAddress } from './cooldown.js'
import { HoldsByOwner, inOrder } from './holds-by-owner.js'
import type { PoolPlan } from './pool-spec.js'
import { SlotMap } from './slot-map.js'
import { SlotPicker } from './slot-picker.js'

type Address = Address.Address

export const FAMILIES = [4, 6] as const
const NO_HOLDS: readonly Hold[] = /* @__PURE__ */ Object.freeze([])

/** The state of a pool without its plan. It does not depend on the calls that led to it. */
export interface PoolSnapshot {
  readonly nowMs: number
  /** By sequence. */
  readonly holds: readonly Hold[]
  /** In the order of their release. Their numbers say no more than this order. */
  readonly releases: readonly ReleasedAddress[]
  /** The state of the random numbers of each family; 0 with another strategy. */
  readonly draws: readonly number[]
  /** The address of each family after which next-fit continues. */
  readonly behind: readonly (Address | undefined)[]
}

/**
 * The holds and the released addresses of a pool, and the slots that are taken. A slot is taken
 * while its address has an owner, is in its cooldown, or is kept for a key. The rules of allocation
 * are in `Pool`.
 */
export class PoolState {
  #plan: PoolPlan
  #spaces: ReturnType<typeof spacesOf>
  #pickers: { readonly 4: SlotPicker; readonly 6: SlotPicker }
  readonly cooldown: Cooldown
  /** The holds by the slot of their address. */
  #holders = holdersOfFamilies()
  readonly #held = new HoldsByOwner<Hold>(byAddress)
  #inUse = 0
  #outOfRange = 0
  #order = 0
  #nowMs = 0
  #lastState: StrategyState = { v4: 0, v6: 0 }

  constructor(plan: PoolPlan) {
    this.#plan = plan
    this.#spaces = spacesOf(plan.available)
    this.#pickers = pickersFor(plan)
    this.cooldown = new Cooldown({
      keepsOrder: plan.strategy.kind === 'least-recently-released',
      isUsable: (address) => this.contains(address) && !this.#isPreallocated(address),
      isInBand: (address) => {
        const slotId = this.#slotIdOf(address)
        return typeof slotId === 'number' && this.#pickers[address.family].isInBand(slotId)
      },
    })
    this.#blockPreallocated()
  }

  get plan(): PoolPlan {
    return this.#plan
  }

  space(family: Family): Space {
    return (family === 4 ? this.#spaces.v4 : this.#spaces.v6) as Space
  }

  picker(family: Family): SlotPicker {
    return this.#pickers[family]
  }

  contains(address: Address): boolean {
    return this.space(address.family).contains(address)
  }

  /** In the order in which they began. */
  holdsOn(address: Address): Hold[] {
    return holdsInOrder(this.#holders[address.family].get(this.#slotIdOf(address)))
  }

  holdOf(address: Address, owner: Pick<Owner, 'uid' | 'interface'>): Hold | undefined {
    return this.#holders[address.family].find(this.#slotIdOf(address), ownerId(owner))
  }

  /** In the order in which they began, of all interfaces. */
  holdsOfUid(uid: string): Hold[] {
    return this.#held.ofUid(uid)
  }

  holdsAnything(owner: Pick<Owner, 'uid' | 'interface'>): boolean {
    return this.#held.hasAny(owner)
  }

  holdsOf(owner: Pick<Owner, 'uid' | 'interface'>): Hold[] {
    return this.#held.of(owner)
  }

  /** The hold with the same sequence, if it has not ended. */
  current({ address, owner, sequence }: Hold): Hold | undefined {
    const hold = this.holdOf(address, owner)
    return hold?.sequence === sequence ? hold : undefined
  }

  /**
   * Records a hold on an address of the pool that has no owner. Returns the record of its release,
   * which is removed.
   *
   * @param isOnly whether the owner holds nothing else
   */
  give(hold: Hold, isOnly: boolean): ReleasedAddress | undefined {
    const { address } = hold
    const slotId = this.#slotIdOf(address)
    const released = this.cooldown.remove(address)
    this.#held.add(hold, isOnly)
    this.#holders[address.family].addFirst(slotId, hold)
    this.#countIn(address, slotId)
    return released
  }

  /**
   * Records a hold on any address, also a second one. Returns the record of its release, which is
   * removed.
   */
  begin(hold: Hold): ReleasedAddress | undefined {
    const { address } = hold
    const slotId = this.#slotIdOf(address)
    const released = this.cooldown.remove(address)
    if (this.#enter(hold, slotId)) this.#countIn(address, slotId)
    return released
  }

  /**
   * Removes all holds of an owner from its list, for {@link endAll}. In the order in which they
   * began.
   */
  takeHoldsOf(uid: string): Hold[] {
    return this.#held.deleteAll(uid)
  }

  /** Removes holds from the lists of their owners, for {@link endAll}. */
  takeHolds(holds: readonly Hold[]): readonly Hold[] {
    for (const hold of holds) this.#held.delete(hold)
    return holds
  }

  /**
   * Ends holds that {@link takeHolds} has removed. An address without another owner begins its
   * cooldown, or is free.
   *
   * @returns the holds of other owners on the same addresses
   */
  endAll(holds: readonly Hold[], nowMs: number): readonly Hold[] {
    const { cooldownMs, holdMs, strategy } = this.#plan
    let isAnyShared = false
    for (const hold of holds) {
      const { address, stickyKey } = hold
      const slotId = this.#slotIdOf(address)
      if (!this.#strikeHeld(hold, slotId)) {
        isAnyShared = true
        continue
      }
      this.#countOut(slotId)
      const coolMs = Math.max(cooldownMs, stickyKey === undefined ? 0 : holdMs)
      const isInCooldown = coolMs > 0
      // without a cooldown, a clock that steps back changes nothing
      const coolUntilMs = isInCooldown ? nowMs + coolMs : 0
      if (isInCooldown || stickyKey !== undefined || strategy.kind === 'least-recently-released') {
        const released = { address: copyOfAddress(address), order: ++this.#order, coolUntilMs, stickyKey }
        this.cooldown.add(released, { isInCooldown })
      }
      this.#unblock(address, slotId)
    }
    return isAnyShared ? holds.flatMap(({ address }) => this.holdsOn(address)) : NO_HOLDS
  }

  /** Undoes a hold: the address is as before, released or never used. */
  takeBack(hold: Hold, released: ReleasedAddress | undefined): void {
    const { address } = hold
    const slotId = this.#slotIdOf(address)
    if (!this.#strike(hold, slotId)) return
    this.#countOut(slotId)
    if (released === undefined) this.#remember(address, slotId, this.#isPreallocated(address))
    else {
      const own = { ...released, address: copyOfAddress(address) }
      this.cooldown.add(own, { isInCooldown: released.coolUntilMs > this.#nowMs })
      // a delta from before a restart may have a number above the last one
      this.#order = Math.max(this.#order, released.order)
    }
    this.#unblock(address, slotId)
  }

  /**
   * Frees the addresses whose cooldown has ended. If the clock has stepped back, cooldowns that
   * have not ended at the new time begin again. Returns the time.
   */
  advance(nowMs: number): number {
    if (nowMs < this.#nowMs) {
      let address = this.cooldown.coolsAgain(nowMs)
      for (; address !== undefined; address = this.cooldown.coolsAgain(nowMs)) {
        const slotId = this.#slotIdOf(address)
        if (isInside(slotId)) this.space(address.family).take(slotId)
      }
    }
    this.#nowMs = nowMs
    let address = this.cooldown.cooledDown(nowMs)
    for (; address !== undefined; address = this.cooldown.cooledDown(nowMs)) {
      this.#unblock(address, this.#slotIdOf(address))
    }
    return nowMs
  }

  /** The state of the strategy, which an undo restores. */
  get strategyState(): StrategyState {
    const { 4: four, 6: six } = this.#pickers
    const { v4, v6, moved } = this.#lastState
    const isSame = v4 === four.state && v6 === six.state && moved?.v4 === four.moved && moved?.v6 === six.moved
    // the object is immutable, and most strategies have no state
    if (!isSame) this.#lastState = stateOf(four, six)
    return this.#lastState
  }

  set strategyState({ v4, v6, moved }: StrategyState) {
    const { 4: four, 6: six } = this.#pickers
    four.state = v4
    four.moved = moved?.v4
    six.state = v6
    six.moved = moved?.v6
  }

  /** Changes the addresses, and keeps the holds. */
  resize(plan: PoolPlan): void {
    const before = this.#pickers
    const cursors = FAMILIES.map((family) => before[family].cursorIn(this.space(family)))
    this.#plan = plan
    this.#spaces = spacesOf(plan.available)
    this.#pickers = pickersFor(plan)
    for (const [i, family] of FAMILIES.entries()) {
      this.#pickers[family].state = before[family].state
      this.#pickers[family].moveCursor(this.space(family), cursors[i])
    }
    this.#inUse = 0
    this.#outOfRange = 0
    this.#blockPreallocated()
    // the slots of all addresses have changed
    this.#holders = holdersOfFamilies()
    for (const hold of this.#held.values()) {
      const { address } = hold
      const slotId = this.#slotIdOf(address)
      if (this.#holders[address.family].add(slotId, hold)) this.#countIn(address, slotId)
    }
    for (const { address } of this.cooldown.all()) {
      const slotId = this.#slotIdOf(address)
      this.#remember(address, slotId, true)
      if (isInside(slotId) && this.cooldown.isInCooldown(address)) this.space(address.family).take(slotId)
    }
    this.cooldown.review()
  }

  /** Every address with an owner, once, in no order. */
  addresses(): Address[] {
    const found = new Map<number | string, Address>()
    for (const { address } of this.#held.values()) found.set(Address.key(address), address)
    return [...found.values()]
  }

  /**
   * The released addresses of a key, in the order of their release: those that are in the pool, and
   * not preallocated for another key.
   */
  releasedFor(stickyKey: string): readonly Address[] {
    const isForAnother = (address: Address) =>
      this.#isPreallocated(address) && this.#plan.preallocatedTo.get(Address.key(address)) !== stickyKey
    return this.cooldown
      .keptFor(stickyKey)
      .map((released) => released.address)
      .filter((address) => this.contains(address) && !isForAnother(address))
  }

  /**
   * The lowest run of addresses that are free or among `kept`. Those are addresses of the pool
   * without an owner.
   */
  freeRun(
    family: Family,
    [count, alignment]: readonly [count: number, alignment: number],
    kept: readonly Address[],
  ): readonly Address[] | undefined {
    const space = this.space(family)
    const slotIds = kept.filter((address) => this.#isBlocked(address)).map((address) => space.slotIdOf(address))
    for (const slotId of slotIds) space.release(slotId)
    const slot = space.freeRun(count, alignment)
    for (const slotId of slotIds) space.take(slotId)
    return slot < 0 ? undefined : Array.from({ length: count }, (_, i) => space.addressAt(slot + i))
  }

  counts(): PoolCounts {
    const { v4, v6 } = this.#spaces
    const total = v4.total + v6.total
    const taken = v4.used + v6.used
    let preallocated = 0
    for (const addresses of this.#plan.preallocated.values()) {
      for (const address of addresses) {
        const slotId = this.#slotIdOf(address)
        const isIdle = !this.#holders[address.family].hasAny(slotId) && !this.cooldown.isInCooldown(address)
        if (isIdle && isInside(slotId)) preallocated++
      }
    }
    return {
      total,
      used: BigInt(this.#inUse),
      cooldown: BigInt(taken - this.#inUse - preallocated),
      preallocated: BigInt(preallocated),
      free: total - BigInt(taken),
      reserved: this.#plan.reserved,
      outOfRange: BigInt(this.#outOfRange),
    }
  }

  /** The state without the plan. */
  snapshot(): PoolSnapshot {
    const { cooldownMs, holdMs } = this.#plan
    const releases = this.cooldown.all()
    // without a cooldown, the time has no effect
    const isTimed = cooldownMs > 0 || holdMs > 0 || releases.some(({ coolUntilMs }) => coolUntilMs > 0)
    return {
      nowMs: isTimed ? this.#nowMs : 0,
      holds: holdsInOrder([...this.#held.values()]),
      releases,
      draws: FAMILIES.map((family) => (this.#plan.strategy.kind === 'random' ? this.#pickers[family].state : 0)),
      behind: FAMILIES.map((family) => this.#pickers[family].cursorIn(this.space(family))),
    }
  }

  /** The state of a pool from its plan and a snapshot. */
  static restored(plan: PoolPlan, snapshot: PoolSnapshot): PoolState {
    const state = new PoolState(plan)
    state.#order = snapshot.releases.length
    state.#nowMs = snapshot.nowMs
    for (const hold of snapshot.holds) state.begin(hold)
    for (const released of snapshot.releases) {
      const { address } = released
      const slotId = state.#slotIdOf(address)
      const isInCooldown = released.coolUntilMs > snapshot.nowMs
      state.cooldown.add(released, { isInCooldown })
      state.#remember(address, slotId, true)
      if (isInCooldown && isInside(slotId)) state.space(address.family).take(slotId)
    }
    for (const [i, family] of FAMILIES.entries()) {
      state.#pickers[family].state = snapshot.draws[i]!
      state.#pickers[family].moveCursor(state.space(family), snapshot.behind[i])
    }
    return state
  }

  #slotIdOf(address: Address): SlotId {
    return this.space(address.family).slotIdOf(address)
  }

  /** Whether an address is kept from other owners. */
  #isBlocked(address: Address): boolean {
    return this.#isPreallocated(address) || this.cooldown.isInCooldown(address)
  }

  #isPreallocated(address: Address): boolean {
    const { preallocatedTo } = this.#plan
    return preallocatedTo.size > 0 && preallocatedTo.has(Address.key(address))
  }

  #countIn(address: Address, slotId: SlotId): void {
    if (!isInside(slotId)) {
      this.#outOfRange++
      return
    }
    this.#inUse++
    this.space(address.family).take(slotId)
    this.#remember(address, slotId, true)
  }

  #countOut(slotId: SlotId): void {
    if (isInside(slotId)) this.#inUse--
    else this.#outOfRange--
  }

  /** Frees an address without an owner, unless it is kept. */
  #unblock(address: Address, slotId: SlotId): void {
    if (!isInside(slotId) || this.#isBlocked(address)) return
    this.space(address.family).release(slotId)
  }

  /** Marks an address as used, or as never used. */
  #remember({ family }: Address, slotId: SlotId, isUsed: boolean): void {
    if (this.#plan.strategy.kind !== 'least-recently-released' || typeof slotId !== 'number' || slotId < 0) return
    this.#pickers[family].remember(this.space(family), slotId, isUsed)
  }

  #blockPreallocated(): void {
    for (const address of [...this.#plan.preallocated.values()].flat()) {
      const slotId = this.#slotIdOf(address)
      if (!isInside(slotId)) continue
      this.space(address.family).take(slotId)
      // least-recently-released does not give it as an unused one
      this.#remember(address, slotId, true)
    }
  }

  /** Returns whether the address has no other hold. */
  #enter(hold: Hold, slotId: SlotId): boolean {
    this.#held.add(hold)
    return this.#holders[hold.address.family].add(slotId, hold)
  }

  /** Returns whether the address has no other hold. */
  #strike(hold: Hold, slotId: SlotId): boolean {
    this.#held.delete(hold)
    return this.#strikeHeld(hold, slotId)
  }

  #strikeHeld(hold: Hold, slotId: SlotId): boolean {
    return this.#holders[hold.address.family].delete(slotId, hold)
  }
}

function stateOf(four: SlotPicker, six: SlotPicker): StrategyState {
  const state = { v4: four.state, v6: six.state }
  return four.moved === undefined && six.moved === undefined
    ? state
    : { ...state, moved: { v4: four.moved, v6: six.moved } }
}

/** In the order in which they began. */
function holdsInOrder(holds: Hold[]): Hold[] {
  return inOrder(holds, byAddress)
}

function byAddress(left: Hold, right: Hold): number {
  return Address.compare(left.address, right.address)
}

function holdersOfFamilies() {
  const ownerOf = (hold: Hold) => ownerId(hold.owner)
  const holders = () => new MultiMap<SlotId, string, Hold>(ownerOf, new SlotMap())
  return { 4: holders(), 6: holders() }
}

function pickersFor({ strategy, staticBand }: PoolPlan) {
  return { 4: new SlotPicker(strategy, staticBand), 6: new SlotPicker(strategy, staticBand) }
}

function spacesOf(ranges: RangeSet) {
  return { v4: new Space4(ranges), v6: new Space6(ranges) }
}
