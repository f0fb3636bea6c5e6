import type { AllocationOutcome } from 'ipam-kit/allocator'
import { Address, type Family, type RangeSet } from 'ipam-kit/cidr'
import { ModelPool } from './model-pool.js'

/**
 * What an `AddressPool` has to do beyond a {@link ModelPool}: who asked for what, in which order,
 * and a pool that changes under its holders. Addresses are texts, every question is a loop over all
 * holds.
 */
export class ModelOwners {
  #pool: ModelPool
  /** In the order in which they began. */
  #holds: { readonly address: string; readonly uid: string }[] = []

  constructor(ranges: RangeSet, exclude: RangeSet) {
    this.#pool = new ModelPool(ranges, exclude)
  }

  resize(ranges: RangeSet, exclude: RangeSet): void {
    this.#pool = new ModelPool(ranges, exclude)
    for (const { address, uid } of this.#holds) this.#pool.occupy(address, uid)
  }

  get addresses(): readonly string[] {
    return this.#pool.addresses
  }

  ownersOf(address: string): string[] {
    return this.#holds.filter((hold) => hold.address === address).map((hold) => hold.uid)
  }

  addressesOf(uid: string): string[] {
    return this.#holds.filter((hold) => hold.uid === uid).map((hold) => hold.address)
  }

  lowestFree(family?: Family): string | undefined {
    return this.#pool.lowestFree(family)
  }

  lowestFreeFrom(from: Address): string | undefined {
    return this.addresses.find((text) => {
      const address = Address.parse(text)
      return address.family === from.family && Address.compare(address, from) >= 0 && this.ownersOf(text).length === 0
    })
  }

  allocate(uid: string, family?: Family): Told {
    const held = this.addressesOf(uid).find((address) => family === undefined || familyOf(address) === family)
    if (held !== undefined) return { kind: 'already', address: held }
    const address = this.lowestFree(family)
    if (address === undefined) return { kind: 'exhausted' }
    this.#hold(address, uid)
    return { kind: 'allocated', address }
  }

  claim(uid: string, address: string): Told {
    const owners = this.ownersOf(address)
    if (owners.includes(uid)) return { kind: 'already', address }
    const another = this.addressesOf(uid).find((held) => familyOf(held) === familyOf(address))
    if (another !== undefined) return { kind: 'refused', address: another }
    if (!this.addresses.includes(address)) return { kind: 'outOfPool', address }
    if (owners.length > 0) return { kind: 'taken', address, by: owners[0] as string }
    this.#hold(address, uid)
    return { kind: 'allocated', address }
  }

  occupy(uid: string, address: string): { kind: string; others: string[] } {
    const owners = this.ownersOf(address)
    const inPool = this.addresses.includes(address)
    if (!owners.includes(uid)) this.#hold(address, uid)
    const kind = owners.includes(uid) ? 'already' : 'occupied'
    return { kind: inPool ? kind : 'outOfPool', others: owners.filter((owner) => owner !== uid) }
  }

  release(uid: string, address: string): boolean {
    this.#holds = this.#holds.filter((hold) => hold.address !== address || hold.uid !== uid)
    return this.#pool.release(address, uid)
  }

  releaseOwner(uid: string): string[] {
    const held = this.addressesOf(uid)
    for (const address of held) this.release(uid, address)
    return held
  }

  counts() {
    return this.#pool.counts()
  }

  entries(): { address: string; owners: string[] }[] {
    const addresses = [...new Set(this.#holds.map((hold) => hold.address))].map((text) => Address.parse(text))
    return addresses
      .sort(Address.compare)
      .map(Address.format)
      .map((address) => ({ address, owners: this.ownersOf(address) }))
  }

  #hold(address: string, uid: string): void {
    this.#holds.push({ address, uid })
    this.#pool.occupy(address, uid)
  }
}

/** An outcome, in texts. */
export interface Told {
  readonly kind: AllocationOutcome['kind']
  readonly address?: string
  readonly by?: string
}

export function tell(outcome: AllocationOutcome): Told {
  const { kind } = outcome
  if (kind === 'exhausted') return { kind }
  const address = Address.format(outcome.address)
  return kind === 'taken' ? { kind, address, by: outcome.by.uid } : { kind, address }
}

function familyOf(text: string): Family {
  return text.includes(':') ? 6 : 4
}
