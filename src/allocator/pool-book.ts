import type { Family } from '../cidr/index.js'
import * as Address from '../cidr/nouns/address.js'
import { Chooser } from './chooser.js'
import { Deadlines } from './deadlines.js'
import { MultiMap } from './multi-map.js'
import type { PoolPlan } from './pool-spec.js'
import { type Hold, type Owner, ownerId, type PoolCounts } from './request.js'
import { type Rest, Resting } from './resting.js'
import type { Space } from './space.js'
import { createSpaces, type Spaces } from './spaces.js'

type Address = Address.Address

export const FAMILIES = [4, 6] as const

/** What books know beside the plan of the pool. */
export interface BookState {
  readonly order: number
  readonly nowMs: number
  /** By sequence. */
  readonly holds: readonly Hold[]
  /** By order. */
  readonly rests: readonly Rest[]
  /** What random draws follow from, of each family. */
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
  readonly expiring = new Deadlines<Hold>()
  /** Who holds an address, by its key. */
  readonly #holders = new MultiMap<number | string, string, Hold>((hold) => ownerId(hold.owner))
  /** What an owner holds, by its uid. */
  readonly #held = new MultiMap<string, number | string, Hold>(placeOf)
  #inUse = 0
  #outOfRange = 0
  #order = 0
  #nowMs = 0

  constructor(plan: PoolPlan) {
    this.#plan = plan
    this.#spaces = createSpaces(plan.available)
    this.#choosers = choosersFor(plan)
    this.resting = new Resting({
      keepsOrder: plan.strategy.kind === 'least-recently-released',
      isUsable: (address) => this.contains(address) && !this.#plan.preallocatedTo.has(Address.key(address)),
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
    return inOrder(this.#holders.get(Address.key(address)))
  }

  holdOf(address: Address, owner: Pick<Owner, 'uid' | 'interface'>): Hold | undefined {
    return this.#holders.find(Address.key(address), ownerId(owner))
  }

  /** In the order in which they began, of all interfaces. */
  holdsOfUid(uid: string): Hold[] {
    return inOrder(this.#held.get(uid))
  }

  holdsAnything(uid: string): boolean {
    return this.#held.hasAny(uid)
  }

  holdsOf(owner: Pick<Owner, 'uid' | 'interface'>): Hold[] {
    return this.holdsOfUid(owner.uid).filter((hold) => hold.owner.interface === owner.interface)
  }

  allHolds(): IterableIterator<Hold> {
    return this.#held.values()
  }

  /** Whether this very hold goes on. */
  isCurrent({ address, owner, sequence }: Hold): boolean {
    return this.holdOf(address, owner)?.sequence === sequence
  }

  /** Records a hold. Returns what was remembered of the address, which is at rest no longer. */
  begin(hold: Hold): Rest | undefined {
    const { address } = hold
    const isFirst = !this.#holders.hasAny(Address.key(address))
    const rest = this.resting.remove(address)
    this.#enter(hold)
    if (isFirst) this.#countIn(address)
    return rest
  }

  /** Records that a hold is over. Returns whether nobody else holds the address. */
  end(hold: Hold): boolean {
    this.#strike(hold)
    if (this.#holders.hasAny(Address.key(hold.address))) return false
    if (this.contains(hold.address)) this.#inUse--
    else this.#outOfRange--
    return true
  }

  /** An address is in nobody's hands any more, and at rest for a while. */
  layDown(hold: Hold, nowMs: number): void {
    const { coolDownMs, holdMs } = this.#plan
    const { address, stickyKey } = hold
    const coolUntilMs = nowMs + Math.max(coolDownMs, stickyKey === undefined ? 0 : holdMs)
    const isCooling = coolUntilMs > nowMs
    if (isCooling || this.#plan.strategy.kind === 'least-recently-released') {
      this.resting.add({ address, order: ++this.#order, coolUntilMs, stickyKey }, { isCooling })
    }
    this.unblock(address)
  }

  /** An address is in nobody's hands any more, and as it was before: at rest, or never used. */
  layBack(address: Address, rest: Rest | undefined): void {
    if (rest === undefined) this.remember(address, this.#plan.preallocatedTo.has(Address.key(address)))
    else this.resting.add(rest, { isCooling: rest.coolUntilMs > this.#nowMs })
    this.unblock(address)
  }

  /** Records a hold in the place of another one on the same address. */
  replace(hold: Hold, by: Hold): void {
    this.#strike(hold)
    this.#enter(by)
  }

  /** Makes an address free unless there is still a reason why it is not. */
  unblock(address: Address): void {
    if (this.contains(address) && !this.#isTaken(address)) this.space(address.family).release(address)
  }

  /** Lets what has cooled down go. */
  advance(nowMs: number): void {
    this.#nowMs = nowMs
    let address = this.resting.cooledDown(nowMs)
    for (; address !== undefined; address = this.resting.cooledDown(nowMs)) this.unblock(address)
  }

  /** Takes an address out of what was never used, or puts it back. */
  remember(address: Address, isUsed: boolean): void {
    if (this.#plan.strategy.kind !== 'least-recently-released') return
    const space = this.space(address.family)
    if (!space.contains(address)) return
    this.#choosers[address.family].remember(space, space.slotFrom(address), isUsed)
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
    for (const address of this.addresses()) this.#countIn(address)
    for (const { address } of this.resting.all()) {
      this.remember(address, true)
      if (this.contains(address) && this.resting.isCooling(address)) this.space(address.family).take(address)
    }
    this.resting.review()
  }

  /** Every address that somebody holds, once, in no order. */
  addresses(): Address[] {
    const found = new Map<number | string, Address>()
    for (const { address } of this.#held.values()) found.set(Address.key(address), address)
    return [...found.values()]
  }

  counts(): PoolCounts {
    const { v4, v6 } = this.#spaces
    const total = v4.total + v6.total
    const taken = v4.used + v6.used
    let preallocated = 0
    for (const addresses of this.#plan.preallocated.values()) {
      for (const address of addresses) {
        const isIdle = !this.#holders.hasAny(Address.key(address)) && !this.resting.isCooling(address)
        if (isIdle && this.contains(address)) preallocated++
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
    return {
      order: this.#order,
      nowMs: this.#nowMs,
      holds: inOrder([...this.#held.values()]),
      rests: this.resting.all(),
      draws: FAMILIES.map((family) => this.#choosers[family].state),
      behind: FAMILIES.map((family) => this.#choosers[family].cursorIn(this.space(family))),
    }
  }

  /** Books of the same plan, in a state that others were in. */
  static restored(plan: PoolPlan, state: BookState): PoolBook {
    const book = new PoolBook(plan)
    book.#order = state.order
    book.#nowMs = state.nowMs
    for (const hold of state.holds) book.begin(hold)
    for (const rest of state.rests) {
      book.resting.add(rest, { isCooling: rest.coolUntilMs > state.nowMs })
      book.remember(rest.address, true)
      if (book.contains(rest.address) && book.#isTaken(rest.address)) book.space(rest.address.family).take(rest.address)
    }
    for (const [i, family] of FAMILIES.entries()) {
      book.#choosers[family].state = state.draws[i]!
      book.#choosers[family].moveCursor(book.space(family), state.behind[i])
    }
    return book
  }

  #isTaken(address: Address): boolean {
    const key = Address.key(address)
    return this.#holders.hasAny(key) || this.#plan.preallocatedTo.has(key) || this.resting.isCooling(address)
  }

  #countIn(address: Address): void {
    if (!this.contains(address)) {
      this.#outOfRange++
      return
    }
    this.#inUse++
    this.space(address.family).take(address)
    this.remember(address, true)
  }

  #blockPreallocated(): void {
    for (const address of [...this.#plan.preallocated.values()].flat()) {
      if (!this.contains(address)) continue
      this.space(address.family).take(address)
      // not to be given as one that was never used
      this.remember(address, true)
    }
  }

  #enter(hold: Hold): void {
    this.#holders.add(Address.key(hold.address), hold)
    this.#held.add(hold.owner.uid, hold)
    if (hold.expiresAtMs !== undefined) this.expiring.add(hold, hold.expiresAtMs)
  }

  #strike(hold: Hold): void {
    this.#holders.delete(Address.key(hold.address), ownerId(hold.owner))
    this.#held.delete(hold.owner.uid, placeOf(hold))
    if (hold.expiresAtMs !== undefined) this.expiring.remove(hold)
  }
}

/** By their numbers: what an undo has brought back comes where it was. */
function inOrder(holds: Hold[]): Hold[] {
  return holds.length > 1 ? holds.sort((a, b) => a.sequence - b.sequence) : holds
}

/** Tells apart what one uid holds. */
function placeOf({ address, owner }: Hold): number | string {
  const key = Address.key(address)
  return owner.interface === undefined ? key : `${key}\n${owner.interface}`
}

function choosersFor({ strategy, staticBand }: PoolPlan) {
  return { 4: new Chooser(strategy, staticBand), 6: new Chooser(strategy, staticBand) }
}
