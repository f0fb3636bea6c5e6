/** What whereabouts keeps of an address in a pool. */
interface Reservation {
  readonly address: string
  readonly podRef: string
  readonly ifName: string
}

/**
 * A model of how whereabouts assigns an address: look for the pod among all reservations, make a
 * set of the texts of all of them, then walk from the first address to the first that is not in it.
 * Without its ranges, exclusions, logging, lock and storage: an estimate on the fast side.
 */
export class WhereaboutsModel {
  readonly #reservations: Reservation[] = []
  readonly #first: number
  readonly #last: number

  constructor(first: number, last: number) {
    this.#first = first
    this.#last = last
  }

  allocate(podRef: string, ifName: string): string | undefined {
    const held = this.#reservations.find((known) => known.podRef === podRef && known.ifName === ifName)
    if (held !== undefined) return held.address
    const reserved = new Set(this.#reservations.map((known) => known.address))
    const address = lowestFreeText(reserved, { first: this.#first, last: this.#last })
    if (address !== undefined) this.#reservations.push({ address, podRef, ifName })
    return address
  }

  release(podRef: string, ifName: string): void {
    const at = this.#reservations.findIndex((known) => known.podRef === podRef && known.ifName === ifName)
    if (at >= 0) this.#reservations.splice(at, 1)
  }
}

/**
 * The walk of upstream: a set of the texts of all reservations, then each address from the first
 * one on, formatted and looked up.
 */
export function lowestFreeText(
  reserved: ReadonlySet<string>,
  { first, last }: { readonly first: number; readonly last: number },
): string | undefined {
  for (let value = first; value <= last; value++) {
    const address = textOf(value)
    if (!reserved.has(address)) return address
  }
  return undefined
}

/** The text of an IPv4 address. */
export function textOf(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
}
