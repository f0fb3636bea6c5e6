import * as Address from '../../cidr/nouns/address.js'
import { Deadlines } from '../util/deadlines.js'
import { MultiMap } from '../util/multi-map.js'
import { ReusableMap } from '../util/reusable-map.js'

type Address = Address.Address
type Key = number | string

/** How many addresses that have cooled down are remembered for their keys. */
const MOST_REMEMBERED = 65_536

/** An address that was released and has not been given again since. */
export interface ReleasedAddress {
  readonly address: Address
  /** The higher, the later it was released. */
  readonly order: number
  /** Until then only a request with its key gets it. */
  readonly coolUntilMs: number
  readonly stickyKey?: string | undefined
}

interface CooldownOptions {
  /** Whether the order of releases counts. */
  readonly keepsOrder: boolean
  /** Whether the strategy may give an address once it has cooled down. */
  readonly isUsable: (address: Address) => boolean
  /** Whether it may give the address only when there is no other one. */
  readonly isInBand: (address: Address) => boolean
}

/**
 * The addresses that were released and have not been given again since: those that cool down, and
 * those that have done so.
 */
export class Cooldown {
  readonly #releases = new ReusableMap<Key, ReleasedAddress>()
  readonly #cooling = { 4: new Deadlines<ReleasedAddress>(), 6: new Deadlines<ReleasedAddress>() } as const
  /**
   * Those that have cooled down, the last one first: they cool again when the clock is set back.
   */
  readonly #warm = new Deadlines<ReleasedAddress>()
  /** By the order in which they were released: those above the static band, and those in it. */
  readonly #cooled = { 4: new Deadlines<ReleasedAddress>(), 6: new Deadlines<ReleasedAddress>() } as const
  readonly #cooledInBand = { 4: new Deadlines<ReleasedAddress>(), 6: new Deadlines<ReleasedAddress>() } as const
  readonly #byStickyKey = new MultiMap<string, Key, ReleasedAddress>((released) => Address.key(released.address))
  /** Those that have cooled down and had a key, the oldest first. */
  readonly #remembered = new Set<ReleasedAddress>()
  readonly #keepsOrder: boolean
  readonly #isUsable: (address: Address) => boolean
  readonly #isInBand: (address: Address) => boolean

  constructor({ keepsOrder, isUsable, isInBand }: CooldownOptions) {
    this.#keepsOrder = keepsOrder
    this.#isUsable = isUsable
    this.#isInBand = isInBand
  }

  /** Whether anything cools down. */
  get isAnyCooling(): boolean {
    return this.#releases.size > 0 && this.#cooling[4].size + this.#cooling[6].size > 0
  }

  get(address: Address): ReleasedAddress | undefined {
    return this.#releases.size === 0 ? undefined : this.#releases.get(Address.key(address))
  }

  isCooling(address: Address): boolean {
    const released = this.get(address)
    return released !== undefined && this.#cooling[address.family].has(released)
  }

  /**
   * What a key had and has not been given again, cooling or not, in the order in which it was
   * released.
   */
  keptFor(stickyKey: string): ReleasedAddress[] {
    return this.#byStickyKey.get(stickyKey).sort((a, b) => a.order - b.order)
  }

  /** When the next address of these families has cooled down. */
  nextMs(families: readonly (4 | 6)[]): number | undefined {
    const known = families.map((family) => this.#cooling[family].earliestMs()).filter((ms) => ms !== undefined)
    return known.length === 0 ? undefined : Math.min(...known)
  }

  /**
   * The address of a family that was released first of those that have cooled down, in or above the
   * static band.
   */
  longestIdle(family: 4 | 6, { inBand }: { readonly inBand: boolean }): Address | undefined {
    return (inBand ? this.#cooledInBand : this.#cooled)[family].earliest()?.address
  }

  /** Adds a released address. One that cools down has to be added before its time has come. */
  add(released: ReleasedAddress, { isCooling }: { readonly isCooling: boolean }): void {
    const { address, stickyKey } = released
    this.#releases.add(Address.key(address), released)
    if (stickyKey !== undefined) this.#byStickyKey.add(stickyKey, released)
    if (isCooling) {
      this.#cooling[address.family].add(released, released.coolUntilMs)
      return
    }
    if (released.coolUntilMs > 0) this.#warm.add(released, -released.coolUntilMs)
    this.#addCooled(released)
    if (stickyKey !== undefined) this.#rememberFor(released)
  }

  /** An address is in use again, or known as such. Returns what was remembered of it. */
  remove(address: Address): ReleasedAddress | undefined {
    const released = this.get(address)
    if (released === undefined) return undefined
    this.#forget(released)
    this.#cooling[address.family].remove(released)
    this.#warm.remove(released)
    this.#removeCooled(released)
    return released
  }

  /** An address that has cooled down by now, one after the other. */
  cooledDown(nowMs: number): Address | undefined {
    const released = this.#cooling[4].due(nowMs) ?? this.#cooling[6].due(nowMs)
    if (released === undefined) return undefined
    this.#forget(released)
    this.add(released, { isCooling: false })
    return released.address
  }

  /**
   * An address that had cooled down and has not by a clock that was set back, one after the other.
   */
  coolsAgain(nowMs: number): Address | undefined {
    const released = this.#warm.due(-nowMs - 1)
    if (released === undefined) return undefined
    this.#forget(released)
    this.#removeCooled(released)
    this.add(released, { isCooling: true })
    return released.address
  }

  /** What is usable has changed. */
  review(): void {
    for (const released of this.#releases.values()) {
      if (this.#cooling[released.address.family].has(released)) continue
      this.#removeCooled(released)
      this.#addCooled(released)
    }
  }

  /** Those that cool down, in no order. */
  cooling(): Address[] {
    return [...this.#releases.values()]
      .filter((released) => this.#cooling[released.address.family].has(released))
      .map((released) => released.address)
  }

  /** All of them, in the order in which they were released. */
  all(): ReleasedAddress[] {
    return [...this.#releases.values()].sort((a, b) => a.order - b.order || Address.compare(a.address, b.address))
  }

  #rememberFor(released: ReleasedAddress): void {
    this.#remembered.add(released)
    if (this.#remembered.size <= MOST_REMEMBERED) return
    const [oldest] = this.#remembered
    if (oldest !== undefined) this.remove(oldest.address)
  }

  #addCooled(released: ReleasedAddress): void {
    const { address, order } = released
    if (!this.#keepsOrder || !this.#isUsable(address)) return
    const cooled = this.#isInBand(address) ? this.#cooledInBand : this.#cooled
    cooled[address.family].add(released, order)
  }

  #removeCooled(released: ReleasedAddress): void {
    const { family } = released.address
    this.#cooled[family].remove(released)
    this.#cooledInBand[family].remove(released)
  }

  #forget(released: ReleasedAddress): void {
    this.#releases.remove(Address.key(released.address))
    this.#remembered.delete(released)
    if (released.stickyKey !== undefined) this.#byStickyKey.delete(released.stickyKey, released)
  }
}
