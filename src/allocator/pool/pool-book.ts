import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import { type Hold, type Owner, ownerId, type PoolCounts, type StrategyState } from '../request.js'
import { isInside, type Place, type Space } from '../slots/space.js'
import { createSpaces, type Spaces } from '../slots/spaces.js'
import { MultiMap } from '../util/multi-map.js'
import { type Rest, Resting } from './cooldown.js'
import { HoldsByOwner, inOrder } from './holds-by-owner.js'
import type { PoolPlan } from './pool-spec.js'
import { PlaceMap } from './slot-map.js'
import { Chooser } from './slot-picker.js'

type Address = Address.Address

export const FAMILIES = [4, 6] as const
const NOBODY: readonly Hold[] = /* @__PURE__ */ Object.freeze([])

/** What books know beside the plan of the pool: the same, however it came about. */
export interface BookState {
  readonly nowMs: number
  /** By sequence. */
  readonly holds: readonly Hold[]
  /** In the order of their release, which is all that their numbers tell. */
  readonly rests: readonly Rest[]
  /** What random draws follow from, of each family; 0 with another strategy. */
  readonly draws: readonly number[]
  /** Behind which address next-fit goes on, of each family. */
  readonly behind: readonly (Address | undefined)[]
}

/**
 * The books of a pool: who holds what, what is at rest, and so which slots are taken. An address is taken while somebody holds it, while it cools
 * down, and while it is kept for a key. It knows no rules about who may have what.
 */
export class PoolBook {
  #plan: PoolPlan
  #spaces: Spaces
  #choosers: { readonly 4: Chooser; readonly 6: Chooser }
  readonly resting: Resting
  /** Who holds an address, by its place. */
  #holders = holdersOfFamilies()
  readonly #held = new HoldsByOwner<Hold>(byAddress)
  #inUse = 0
  #outOfRange = 0
  #order = 0
  #nowMs = 0
  #lastState: StrategyState = { v4: 0, v6: 0 }

  constructor(plan: PoolPlan) {
    this.#plan = plan
    this.#spaces = createSpaces(plan.available)
    this.#choosers = choosersFor(plan)
    this.resting = new Resting({
      keepsOrder: plan.strategy.kind === 'least-recently-released',
      isUsable: (address) => this.contains(address) && !this.#isPreallocated(address),
      isInBand: (address) => {
        const place = this.#placeOf(address)
        return typeof place === 'number' && this.#choosers[address.family].isInBand(place)
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

  chooser(family: Family): Chooser {
    return this.#choosers[family]
  }

  contains(address: Address): boolean {
    return this.space(address.family).contains(address)
  }

  /** In the order in which they began. */
  holdsOn(address: Address): Hold[] {
    return holdsInOrder(this.#holders[address.family].get(this.#placeOf(address)))
  }

  holdOf(address: Address, owner: Pick<Owner, 'uid' | 'interface'>): Hold | undefined {
    return this.#holders[address.family].find(this.#placeOf(address), ownerId(owner))
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
   * Records a hold on an address of the pool that nobody holds. Returns what was remembered of the address, which is at rest no longer.
   *
   * @param isOnly whether the owner holds nothing else
   */
  give(hold: Hold, isOnly: boolean): Rest | undefined {
    const { address } = hold
    const place = this.#placeOf(address)
    const rest = this.resting.remove(address)
    this.#held.add(hold, isOnly)
    this.#holders[address.family].addFirst(place, hold)
    this.#countIn(address, place)
    return rest
  }

  /** Records a hold on any address, also a second one. Returns what was remembered of the address, which is at rest no longer. */
  begin(hold: Hold): Rest | undefined {
    const { address } = hold
    const place = this.#placeOf(address)
    const rest = this.resting.remove(address)
    if (this.#enter(hold, place)) this.#countIn(address, place)
    return rest
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
   * Records that holds are over that were taken. An address that nobody else holds is at rest for a while, or free.
   *
   * @returns the holds of others on their addresses
   */
  endAll(holds: readonly Hold[], nowMs: number): readonly Hold[] {
    const { coolDownMs, holdMs, strategy } = this.#plan
    let isAnyShared = false
    for (const hold of holds) {
      const { address, stickyKey } = hold
      const place = this.#placeOf(address)
      if (!this.#strikeHeld(hold, place)) {
        isAnyShared = true
        continue
      }
      this.#countOut(place)
      const coolMs = Math.max(coolDownMs, stickyKey === undefined ? 0 : holdMs)
      const isCooling = coolMs > 0
      // without a cool-down there is nothing that a clock could bring back
      const coolUntilMs = isCooling ? nowMs + coolMs : 0
      if (isCooling || strategy.kind === 'least-recently-released') {
        this.resting.add({ address, order: ++this.#order, coolUntilMs, stickyKey }, { isCooling })
      }
      this.#unblock(address, place)
    }
    return isAnyShared ? holds.flatMap(({ address }) => this.holdsOn(address)) : NOBODY
  }

  /** As if a hold had never been: the address is as it was before, at rest or never used. */
  takeBack(hold: Hold, rest: Rest | undefined): void {
    const { address } = hold
    const place = this.#placeOf(address)
    if (!this.#strike(hold, place)) return
    this.#countOut(place)
    if (rest === undefined) this.#remember(address, place, this.#isPreallocated(address))
    else {
      this.resting.add(rest, { isCooling: rest.coolUntilMs > this.#nowMs })
      // a delta from before a restart may bring back a number that is yet to come
      this.#order = Math.max(this.#order, rest.order)
    }
    this.#unblock(address, place)
  }

  /** Lets what has cooled down go, and where the clock was set back holds back again what has not by now. Returns the time. */
  advance(nowMs: number): number {
    if (nowMs < this.#nowMs) {
      let address = this.resting.coolsAgain(nowMs)
      for (; address !== undefined; address = this.resting.coolsAgain(nowMs)) {
        const place = this.#placeOf(address)
        if (isInside(place)) this.space(address.family).take(place)
      }
    }
    this.#nowMs = nowMs
    let address = this.resting.cooledDown(nowMs)
    for (; address !== undefined; address = this.resting.cooledDown(nowMs)) {
      this.#unblock(address, this.#placeOf(address))
    }
    return nowMs
  }

  /** What the strategy goes by, which an undo brings back. */
  get strategyState(): StrategyState {
    const { 4: four, 6: six } = this.#choosers
    const { v4, v6, moved } = this.#lastState
    const isSame = v4 === four.state && v6 === six.state && moved?.v4 === four.moved && moved?.v6 === six.moved
    // nothing changes it, and with most strategies nothing ever does
    if (!isSame) this.#lastState = stateOf(four, six)
    return this.#lastState
  }

  set strategyState({ v4, v6, moved }: StrategyState) {
    const { 4: four, 6: six } = this.#choosers
    four.state = v4
    four.moved = moved?.v4
    six.state = v6
    six.moved = moved?.v6
  }

  /** Other addresses under the same books. */
  resize(plan: PoolPlan): void {
    const before = this.#choosers
    const cursors = FAMILIES.map((family) => before[family].cursorIn(this.space(family)))
    this.#plan = plan
    this.#spaces = createSpaces(plan.available)
    this.#choosers = choosersFor(plan)
    for (const [i, family] of FAMILIES.entries()) {
      this.#choosers[family].state = before[family].state
      this.#choosers[family].moveCursor(this.space(family), cursors[i])
    }
    this.#inUse = 0
    this.#outOfRange = 0
    this.#blockPreallocated()
    // every address has another place now
    this.#holders = holdersOfFamilies()
    for (const hold of this.#held.values()) {
      const { address } = hold
      const place = this.#placeOf(address)
      if (this.#holders[address.family].add(place, hold)) this.#countIn(address, place)
    }
    for (const { address } of this.resting.all()) {
      const place = this.#placeOf(address)
      this.#remember(address, place, true)
      if (isInside(place) && this.resting.isCooling(address)) this.space(address.family).take(place)
    }
    this.resting.review()
  }

  /** Every address that somebody holds, once, in no order. */
  addresses(): Address[] {
    const found = new Map<number | string, Address>()
    for (const { address } of this.#held.values()) found.set(Address.key(address), address)
    return [...found.values()]
  }

  /** What a key had and is kept for it, as far as it is of the pool and for no other key, in the order of its release. */
  restingFor(stickyKey: string): readonly Address[] {
    const isForAnother = (address: Address) =>
      this.#isPreallocated(address) && this.#plan.preallocatedTo.get(Address.key(address)) !== stickyKey
    return this.resting
      .keptFor(stickyKey)
      .map((rest) => rest.address)
      .filter((address) => this.contains(address) && !isForAnother(address))
  }

  /** The lowest run of addresses that are free, or are among `kept`: addresses of the pool that have no holder. */
  freeRun(
    family: Family,
    [count, alignment]: readonly [count: number, alignment: number],
    kept: readonly Address[],
  ): readonly Address[] | undefined {
    const space = this.space(family)
    const places = kept.map((address) => space.placeOf(address))
    for (const place of places) space.release(place)
    const slot = space.freeRun(count, alignment)
    for (const place of places) space.take(place)
    return slot < 0 ? undefined : Array.from({ length: count }, (_, i) => space.addressAt(slot + i))
  }

  counts(): PoolCounts {
    const { v4, v6 } = this.#spaces
    const total = v4.total + v6.total
    const taken = v4.used + v6.used
    let preallocated = 0
    for (const addresses of this.#plan.preallocated.values()) {
      for (const address of addresses) {
        const place = this.#placeOf(address)
        const isIdle = !this.#holders[address.family].hasAny(place) && !this.resting.isCooling(address)
        if (isIdle && isInside(place)) preallocated++
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
  state(): BookState {
    const { coolDownMs, holdMs } = this.#plan
    const rests = this.resting.all()
    // without a cool-down no time means anything
    const isTimed = coolDownMs > 0 || holdMs > 0 || rests.some(({ coolUntilMs }) => coolUntilMs > 0)
    return {
      nowMs: isTimed ? this.#nowMs : 0,
      holds: holdsInOrder([...this.#held.values()]),
      rests,
      draws: FAMILIES.map((family) => (this.#plan.strategy.kind === 'random' ? this.#choosers[family].state : 0)),
      behind: FAMILIES.map((family) => this.#choosers[family].cursorIn(this.space(family))),
    }
  }

  /** Books of the same plan, in a state that others were in. */
  static restored(plan: PoolPlan, state: BookState): PoolBook {
    const book = new PoolBook(plan)
    book.#order = state.rests.length
    book.#nowMs = state.nowMs
    for (const hold of state.holds) book.begin(hold)
    for (const rest of state.rests) {
      const { address } = rest
      const place = book.#placeOf(address)
      const isCooling = rest.coolUntilMs > state.nowMs
      book.resting.add(rest, { isCooling })
      book.#remember(address, place, true)
      if (isCooling && isInside(place)) book.space(address.family).take(place)
    }
    for (const [i, family] of FAMILIES.entries()) {
      book.#choosers[family].state = state.draws[i]!
      book.#choosers[family].moveCursor(book.space(family), state.behind[i])
    }
    return book
  }

  #placeOf(address: Address): Place {
    return this.space(address.family).placeOf(address)
  }

  #isPreallocated(address: Address): boolean {
    const { preallocatedTo } = this.#plan
    return preallocatedTo.size > 0 && preallocatedTo.has(Address.key(address))
  }

  #countIn(address: Address, place: Place): void {
    if (!isInside(place)) {
      this.#outOfRange++
      return
    }
    this.#inUse++
    this.space(address.family).take(place)
    this.#remember(address, place, true)
  }

  #countOut(place: Place): void {
    if (isInside(place)) this.#inUse--
    else this.#outOfRange--
  }

  /** An address that nobody holds is free, unless there is still a reason why it is not. */
  #unblock(address: Address, place: Place): void {
    if (!isInside(place) || this.#isPreallocated(address) || this.resting.isCooling(address)) return
    this.space(address.family).release(place)
  }

  /** Takes an address out of what was never used, or puts it back. */
  #remember({ family }: Address, place: Place, isUsed: boolean): void {
    if (this.#plan.strategy.kind !== 'least-recently-released' || typeof place !== 'number' || place < 0) return
    this.#choosers[family].remember(this.space(family), place, isUsed)
  }

  #blockPreallocated(): void {
    for (const address of [...this.#plan.preallocated.values()].flat()) {
      const place = this.#placeOf(address)
      if (!isInside(place)) continue
      this.space(address.family).take(place)
      // not to be given as one that was never used
      this.#remember(address, place, true)
    }
  }

  /** Returns whether the address has no other hold. */
  #enter(hold: Hold, place: Place): boolean {
    this.#held.add(hold)
    return this.#holders[hold.address.family].add(place, hold)
  }

  /** Returns whether the address has no other hold. */
  #strike(hold: Hold, place: Place): boolean {
    this.#held.delete(hold)
    return this.#strikeHeld(hold, place)
  }

  #strikeHeld(hold: Hold, place: Place): boolean {
    return this.#holders[hold.address.family].delete(place, hold)
  }
}

function stateOf(four: Chooser, six: Chooser): StrategyState {
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
  const holders = () => new MultiMap<Place, string, Hold>(ownerOf, new PlaceMap())
  return { 4: holders(), 6: holders() }
}

function choosersFor({ strategy, staticBand }: PoolPlan) {
  return { 4: new Chooser(strategy, staticBand), 6: new Chooser(strategy, staticBand) }
}
