import type { Family, RangeSet } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import { type Hold, type Owner, ownerId, type PoolCounts, type StrategyState } from '../request.js'
import { isInside, type SlotId, type Space } from '../slots/space.js'
import { Space4 } from '../slots/space4.js'
import { Space6 } from '../slots/space6.js'
import { MultiMap } from '../util/multi-map.js'
import { Cooldown, type ReleasedAddress } from './cooldown.js'
import { HoldsByOwner, inOrder } from './holds-by-owner.js'
import type { PoolPlan } from './pool-spec.js'
import { SlotMap } from './slot-map.js'
import { SlotPicker } from './slot-picker.js'

type Address = Address.Address

export const FAMILIES = [4, 6] as const
const NOBODY: readonly Hold[] = /* @__PURE__ */ Object.freeze([])

/** What books know beside the plan of the pool: the same, however it came about. */
export interface PoolSnapshot {
  readonly nowMs: number
  /** By sequence. */
  readonly holds: readonly Hold[]
  /** In the order of their release, which is all that their numbers tell. */
  readonly releases: readonly ReleasedAddress[]
  /** What random draws follow from, of each family; 0 with another strategy. */
  readonly draws: readonly number[]
  /** Behind which address next-fit goes on, of each family. */
  readonly behind: readonly (Address | undefined)[]
}

/**
 * The books of a pool: who holds what, what is released, and so which slots are taken. An address
 * is taken while somebody holds it, while it cools down, and while it is kept for a key. It knows
 * no rules about who may have what.
 */
export class PoolState {
  #plan: PoolPlan
  #spaces: ReturnType<typeof spacesOf>
  #pickers: { readonly 4: SlotPicker; readonly 6: SlotPicker }
  readonly cooldown: Cooldown
  /** Who holds an address, by the slot. */
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

  /** This very hold, if it goes on. */
  current({ address, owner, sequence }: Hold): Hold | undefined {
    const hold = this.holdOf(address, owner)
    return hold?.sequence === sequence ? hold : undefined
  }

  /**
   * Records a hold on an address of the pool that nobody holds. Returns what was remembered of the
   * address, which is no longer a released one.
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
   * Records a hold on any address, also a second one. Returns what was remembered of the address,
   * which is no longer a released one.
   */
  begin(hold: Hold): ReleasedAddress | undefined {
    const { address } = hold
    const slotId = this.#slotIdOf(address)
    const released = this.cooldown.remove(address)
    if (this.#enter(hold, slotId)) this.#countIn(address, slotId)
    return released
  }

  /** All that an owner holds, in the order in which it began: it is about to end. */
  takeHoldsOf(uid: string): Hold[] {
    return this.#held.deleteAll(uid)
  }

  /** Holds that are about to end. */
  takeHolds(holds: readonly Hold[]): readonly Hold[] {
    for (const hold of holds) this.#held.delete(hold)
    return holds
  }

  /**
   * Records that holds are over that were taken. An address that nobody else holds cools down
   * first, or is free.
   *
   * @returns the holds of others on their addresses
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
      const isCooling = coolMs > 0
      // without a cooldown there is nothing that a clock could bring back
      const coolUntilMs = isCooling ? nowMs + coolMs : 0
      if (isCooling || stickyKey !== undefined || strategy.kind === 'least-recently-released') {
        this.cooldown.add({ address, order: ++this.#order, coolUntilMs, stickyKey }, { isCooling })
      }
      this.#unblock(address, slotId)
    }
    return isAnyShared ? holds.flatMap(({ address }) => this.holdsOn(address)) : NOBODY
  }

  /** As if a hold had never been: the address is as it was before, released or never used. */
  takeBack(hold: Hold, released: ReleasedAddress | undefined): void {
    const { address } = hold
    const slotId = this.#slotIdOf(address)
    if (!this.#strike(hold, slotId)) return
    this.#countOut(slotId)
    if (released === undefined) this.#remember(address, slotId, this.#isPreallocated(address))
    else {
      this.cooldown.add(released, { isCooling: released.coolUntilMs > this.#nowMs })
      // a delta from before a restart may bring back a number that is yet to come
      this.#order = Math.max(this.#order, released.order)
    }
    this.#unblock(address, slotId)
  }

  /**
   * Lets what has cooled down go, and where the clock was set back holds back again what has not by
   * now. Returns the time.
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

  /** What the strategy goes by, which an undo brings back. */
  get strategyState(): StrategyState {
    const { 4: four, 6: six } = this.#pickers
    const { v4, v6, moved } = this.#lastState
    const isSame = v4 === four.state && v6 === six.state && moved?.v4 === four.moved && moved?.v6 === six.moved
    // nothing changes it, and with most strategies nothing ever does
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

  /** Other addresses under the same books. */
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
    // every address has another slot now
    this.#holders = holdersOfFamilies()
    for (const hold of this.#held.values()) {
      const { address } = hold
      const slotId = this.#slotIdOf(address)
      if (this.#holders[address.family].add(slotId, hold)) this.#countIn(address, slotId)
    }
    for (const { address } of this.cooldown.all()) {
      const slotId = this.#slotIdOf(address)
      this.#remember(address, slotId, true)
      if (isInside(slotId) && this.cooldown.isCooling(address)) this.space(address.family).take(slotId)
    }
    this.cooldown.review()
  }

  /** Every address that somebody holds, once, in no order. */
  addresses(): Address[] {
    const found = new Map<number | string, Address>()
    for (const { address } of this.#held.values()) found.set(Address.key(address), address)
    return [...found.values()]
  }

  /**
   * What a key had and has not been given again, as far as it is of the pool and for no other key,
   * in the order of its release.
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
   * The lowest run of addresses that are free, or are among `kept`: addresses of the pool that have
   * no holder.
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
        const isIdle = !this.#holders[address.family].hasAny(slotId) && !this.cooldown.isCooling(address)
        if (isIdle && isInside(slotId)) preallocated++
      }
    }
    return {
      total,
      used: BigInt(this.#inUse),
      cooling: BigInt(taken - this.#inUse - preallocated),
      preallocated: BigInt(preallocated),
      free: total - BigInt(taken),
      reserved: this.#plan.reserved,
      outOfRange: BigInt(this.#outOfRange),
    }
  }

  /** All that is not in the plan. */
  snapshot(): PoolSnapshot {
    const { cooldownMs, holdMs } = this.#plan
    const releases = this.cooldown.all()
    // without a cooldown no time means anything
    const isTimed = cooldownMs > 0 || holdMs > 0 || releases.some(({ coolUntilMs }) => coolUntilMs > 0)
    return {
      nowMs: isTimed ? this.#nowMs : 0,
      holds: holdsInOrder([...this.#held.values()]),
      releases,
      draws: FAMILIES.map((family) => (this.#plan.strategy.kind === 'random' ? this.#pickers[family].state : 0)),
      behind: FAMILIES.map((family) => this.#pickers[family].cursorIn(this.space(family))),
    }
  }

  /** Books of the same plan, in a state that others were in. */
  static restored(plan: PoolPlan, snapshot: PoolSnapshot): PoolState {
    const state = new PoolState(plan)
    state.#order = snapshot.releases.length
    state.#nowMs = snapshot.nowMs
    for (const hold of snapshot.holds) state.begin(hold)
    for (const released of snapshot.releases) {
      const { address } = released
      const slotId = state.#slotIdOf(address)
      const isCooling = released.coolUntilMs > snapshot.nowMs
      state.cooldown.add(released, { isCooling })
      state.#remember(address, slotId, true)
      if (isCooling && isInside(slotId)) state.space(address.family).take(slotId)
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

  /** Whether it is kept from other owners. */
  #isBlocked(address: Address): boolean {
    return this.#isPreallocated(address) || this.cooldown.isCooling(address)
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

  /** An address without a holder is free, unless it is kept. */
  #unblock(address: Address, slotId: SlotId): void {
    if (!isInside(slotId) || this.#isBlocked(address)) return
    this.space(address.family).release(slotId)
  }

  /** Takes an address out of what was never used, or puts it back. */
  #remember({ family }: Address, slotId: SlotId, isUsed: boolean): void {
    if (this.#plan.strategy.kind !== 'least-recently-released' || typeof slotId !== 'number' || slotId < 0) return
    this.#pickers[family].remember(this.space(family), slotId, isUsed)
  }

  #blockPreallocated(): void {
    for (const address of [...this.#plan.preallocated.values()].flat()) {
      const slotId = this.#slotIdOf(address)
      if (!isInside(slotId)) continue
      this.space(address.family).take(slotId)
      // not to be given as one that was never used
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
