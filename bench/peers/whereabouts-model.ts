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
    for (let value = this.#first; value <= this.#last; value++) {
      const address = textOf(value)
      if (reserved.has(address)) continue
      this.#reservations.push({ address, podRef, ifName })
      return address
    }
    return undefined
  }

  release(podRef: string, ifName: string): void {
    const at = this.#reservations.findIndex((known) => known.podRef === podRef && known.ifName === ifName)
    if (at >= 0) this.#reservations.splice(at, 1)
  }
}

function textOf(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
}
