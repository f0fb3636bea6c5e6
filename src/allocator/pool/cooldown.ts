import * as Address from '../../cidr/nouns/address.js'
import { Deadlines } from '../util/deadlines.js'
import { MultiMap } from '../util/multi-map.js'
import { ReusableMap } from '../util/reusable-map.js'

type Address = Address.Address
type Key = number | string

/** An address that was released and has not been given again since. */
export interface Rest {
  readonly address: Address
  /** The higher, the later it was released. */
  readonly order: number
  /** Until then nobody gets it but who asks with its key. */
  readonly coolUntilMs: number
  readonly stickyKey?: string | undefined
}

interface RestingOptions {
  readonly keepsOrder: boolean
  readonly isUsable: (address: Address) => boolean
  readonly isInBand: (address: Address) => boolean
}

/** The addresses that were released and have not been given again since: those that cool down, and those that have done so. */
export class Resting {
  readonly #rests = new ReusableMap<Key, Rest>()
  readonly #cooling = { 4: new Deadlines<Rest>(), 6: new Deadlines<Rest>() } as const
  /** Those that have cooled down, the last one first: they cool again when the clock is set back. */
  readonly #warm = new Deadlines<Rest>()
  /** By the order in which they were released: those above the static band, and those in it. */
  readonly #cooled = { 4: new Deadlines<Rest>(), 6: new Deadlines<Rest>() } as const
  readonly #cooledInBand = { 4: new Deadlines<Rest>(), 6: new Deadlines<Rest>() } as const
  readonly #byStickyKey = new MultiMap<string, Key, Rest>((rest) => Address.key(rest.address))
  readonly #keepsOrder: boolean
  readonly #isUsable: (address: Address) => boolean
  readonly #isInBand: (address: Address) => boolean

  /**
   * @param keepsOrder whether the order of releases counts
   * @param isUsable whether the strategy may give an address once it has cooled down
   * @param isInBand whether it may only when there is no other one
   */
  constructor({ keepsOrder, isUsable, isInBand }: RestingOptions) {
    this.#keepsOrder = keepsOrder
    this.#isUsable = isUsable
    this.#isInBand = isInBand
  }

  /** Whether anything cools down. */
  get isAnyCooling(): boolean {
    return this.#rests.size > 0 && this.#cooling[4].size + this.#cooling[6].size > 0
  }

  get(address: Address): Rest | undefined {
    return this.#rests.size === 0 ? undefined : this.#rests.get(Address.key(address))
  }

  isCooling(address: Address): boolean {
    const rest = this.get(address)
    return rest !== undefined && this.#cooling[address.family].has(rest)
  }

  /** What is kept for a key, in the order in which it was released. */
  keptFor(stickyKey: string): Rest[] {
    return this.#byStickyKey.get(stickyKey).sort((a, b) => a.order - b.order)
  }

  /** When the next address of these families has cooled down. */
  nextMs(families: readonly (4 | 6)[]): number | undefined {
    const known = families.map((family) => this.#cooling[family].earliestMs()).filter((ms) => ms !== undefined)
    return known.length === 0 ? undefined : Math.min(...known)
  }

  /** The address of a family that was released first of those that have cooled down, in or above the static band. */
  longestIdle(family: 4 | 6, { inBand }: { readonly inBand: boolean }): Address | undefined {
    return (inBand ? this.#cooledInBand : this.#cooled)[family].earliest()?.address
  }

  /** An address is at rest from now on. One that cools down has to be added before its time has come. */
  add(rest: Rest, { isCooling }: { readonly isCooling: boolean }): void {
    const { family } = rest.address
    if (isCooling) {
      this.#cooling[family].add(rest, rest.coolUntilMs)
      if (rest.stickyKey !== undefined) this.#byStickyKey.add(rest.stickyKey, rest)
    } else {
      if (rest.coolUntilMs > 0) this.#warm.add(rest, -rest.coolUntilMs)
      this.#addCooled(rest)
    }
    this.#rests.add(Address.key(rest.address), rest)
  }

  /** An address is in use again, or known as such. Returns what was remembered of it. */
  remove(address: Address): Rest | undefined {
    const rest = this.get(address)
    if (rest === undefined) return undefined
    this.#forget(rest)
    this.#cooling[address.family].remove(rest)
    this.#warm.remove(rest)
    this.#removeCooled(rest)
    return rest
  }

  /** An address that has cooled down by now, one after the other. */
  cooledDown(nowMs: number): Address | undefined {
    const rest = this.#cooling[4].due(nowMs) ?? this.#cooling[6].due(nowMs)
    if (rest === undefined) return undefined
    this.#forget(rest)
    this.add(rest, { isCooling: false })
    return rest.address
  }

  /** An address that had cooled down and has not by a clock that was set back, one after the other. */
  coolsAgain(nowMs: number): Address | undefined {
    const rest = this.#warm.due(-nowMs - 1)
    if (rest === undefined) return undefined
    this.#forget(rest)
    this.#removeCooled(rest)
    this.add(rest, { isCooling: true })
    return rest.address
  }

  /** What is usable has changed. */
  review(): void {
    for (const rest of this.#rests.values()) {
      if (this.#cooling[rest.address.family].has(rest)) continue
      this.#removeCooled(rest)
      this.#addCooled(rest)
    }
  }

  /** Those that cool down, in no order. */
  cooling(): Address[] {
    return [...this.#rests.values()]
      .filter((rest) => this.#cooling[rest.address.family].has(rest))
      .map((rest) => rest.address)
  }

  /** All of them, in the order in which they were released. */
  all(): Rest[] {
    return [...this.#rests.values()].sort((a, b) => a.order - b.order || Address.compare(a.address, b.address))
  }

  #addCooled(rest: Rest): void {
    const { address, order } = rest
    if (!this.#keepsOrder || !this.#isUsable(address)) return
    const cooled = this.#isInBand(address) ? this.#cooledInBand : this.#cooled
    cooled[address.family].add(rest, order)
  }

  #removeCooled(rest: Rest): void {
    const { family } = rest.address
    this.#cooled[family].remove(rest)
    this.#cooledInBand[family].remove(rest)
  }

  #forget(rest: Rest): void {
    this.#rests.remove(Address.key(rest.address))
    if (rest.stickyKey !== undefined) this.#byStickyKey.delete(rest.stickyKey, rest)
  }
}
