import * as Address from '../../cidr/nouns/address.js'
import { Deadlines } from '../util/deadlines.js'
import { MultiMap } from '../util/multi-map.js'
import { ReusableMap } from '../util/reusable-map.js'

type Address = Address.Address
type Key = number | string

/** The maximum number of addresses that are remembered for their keys after their cooldown. */
const MOST_REMEMBERED = 65_536

/** A released address that was not given out again. */
export interface ReleasedAddress {
  readonly address: Address
  /** A higher number means a later release. */
  readonly order: number
  /** Before this time, only a request with its key gets it. */
  readonly coolUntilMs: number
  readonly stickyKey?: string | undefined
}

interface CooldownOptions {
  /** Whether the strategy needs the order of releases. */
  readonly keepsOrder: boolean
  /** Whether the strategy may give an address after its cooldown. */
  readonly isUsable: (address: Address) => boolean
  /** Whether the strategy gives the address only if no other address is free. */
  readonly isInBand: (address: Address) => boolean
}

/**
 * The released addresses that were not given out again, during and after their cooldown.
 */
export class Cooldown {
  readonly #releases = new ReusableMap<Key, ReleasedAddress>()
  readonly #inCooldown = { 4: new Deadlines<ReleasedAddress>(), 6: new Deadlines<ReleasedAddress>() } as const
  /**
   * Addresses after their cooldown, the latest end first: if the clock steps back, their cooldown
   * begins again.
   */
  readonly #warm = new Deadlines<ReleasedAddress>()
  /**
   * Addresses after their cooldown, by the order of their release: above the static band, and in
   * it.
   */
  readonly #cooled = { 4: new Deadlines<ReleasedAddress>(), 6: new Deadlines<ReleasedAddress>() } as const
  readonly #cooledInBand = { 4: new Deadlines<ReleasedAddress>(), 6: new Deadlines<ReleasedAddress>() } as const
  readonly #byStickyKey = new MultiMap<string, Key, ReleasedAddress>((released) => Address.key(released.address))
  /** Addresses with a key after their cooldown, the oldest first. */
  readonly #remembered = new Set<ReleasedAddress>()
  readonly #keepsOrder: boolean
  readonly #isUsable: (address: Address) => boolean
  readonly #isInBand: (address: Address) => boolean

  constructor({ keepsOrder, isUsable, isInBand }: CooldownOptions) {
    this.#keepsOrder = keepsOrder
    this.#isUsable = isUsable
    this.#isInBand = isInBand
  }

  /** Whether an address is in its cooldown. */
  get isAnyInCooldown(): boolean {
    return this.#releases.size > 0 && this.#inCooldown[4].size + this.#inCooldown[6].size > 0
  }

  get(address: Address): ReleasedAddress | undefined {
    return this.#releases.size === 0 ? undefined : this.#releases.get(Address.key(address))
  }

  isInCooldown(address: Address): boolean {
    const released = this.get(address)
    return released !== undefined && this.#inCooldown[address.family].has(released)
  }

  /**
   * The released addresses of a key, during and after their cooldown, in the order of their
   * release.
   */
  keptFor(stickyKey: string): ReleasedAddress[] {
    return this.#byStickyKey.get(stickyKey).sort((a, b) => a.order - b.order)
  }

  /** When the next cooldown in these families ends. */
  nextMs(families: readonly (4 | 6)[]): number | undefined {
    const known = families.map((family) => this.#inCooldown[family].earliestMs()).filter((ms) => ms !== undefined)
    return known.length === 0 ? undefined : Math.min(...known)
  }

  /**
   * The address of a family that was released first, of those after their cooldown, in or above the
   * static band.
   */
  longestIdle(family: 4 | 6, { inBand }: { readonly inBand: boolean }): Address | undefined {
    return (inBand ? this.#cooledInBand : this.#cooled)[family].earliest()?.address
  }

  /** Adds a released address. With `isInCooldown`, its cooldown must not have ended yet. */
  add(released: ReleasedAddress, { isInCooldown }: { readonly isInCooldown: boolean }): void {
    const { address, stickyKey } = released
    this.#releases.add(Address.key(address), released)
    if (stickyKey !== undefined) this.#byStickyKey.add(stickyKey, released)
    if (isInCooldown) {
      this.#inCooldown[address.family].add(released, released.coolUntilMs)
      return
    }
    if (released.coolUntilMs > 0) this.#warm.add(released, -released.coolUntilMs)
    this.#addCooled(released)
    if (stickyKey !== undefined) this.#rememberFor(released)
  }

  /** Removes an address that is in use again. Returns the record of its release. */
  remove(address: Address): ReleasedAddress | undefined {
    const released = this.get(address)
    if (released === undefined) return undefined
    this.#forget(released)
    this.#inCooldown[address.family].remove(released)
    this.#warm.remove(released)
    this.#removeCooled(released)
    return released
  }

  /** The next address whose cooldown has ended at this time. */
  cooledDown(nowMs: number): Address | undefined {
    const released = this.#inCooldown[4].due(nowMs) ?? this.#inCooldown[6].due(nowMs)
    if (released === undefined) return undefined
    this.#forget(released)
    this.add(released, { isInCooldown: false })
    return released.address
  }

  /**
   * The next address whose cooldown begins again, because the clock has stepped back.
   */
  coolsAgain(nowMs: number): Address | undefined {
    const released = this.#warm.due(-nowMs - 1)
    if (released === undefined) return undefined
    this.#forget(released)
    this.#removeCooled(released)
    this.add(released, { isInCooldown: true })
    return released.address
  }

  /** Updates the lists after a change of the usable addresses. */
  review(): void {
    for (const released of this.#releases.values()) {
      if (this.#inCooldown[released.address.family].has(released)) continue
      this.#removeCooled(released)
      this.#addCooled(released)
    }
  }

  /** The addresses in their cooldown, in no order. */
  inCooldown(): Address[] {
    return [...this.#releases.values()]
      .filter((released) => this.#inCooldown[released.address.family].has(released))
      .map((released) => released.address)
  }

  /** All released addresses, in the order of their release. */
  all(): ReleasedAddress[] {
    return [...this.#releases.values()].sort((a, b) => a.order - b.order || Address.compare(a.address, b.address))
  }

  #rememberFor(released: ReleasedAddress): void {
    this.#remembered.add(released)
    if (this.#remembered.size <= MOST_REMEMBERED) return
    const [oldest] = this.#remembered
    if (oldest === undefined) return
    this.remove(oldest.address)
    // the strategy still needs to know when it was released
    if (this.#keepsOrder) this.add({ ...oldest, stickyKey: undefined }, { isInCooldown: false })
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
