import type { AddressAndPrefix } from '../claims/definition.js'

/** What was had, of which pool, and by whom. */
export interface StickyAddress {
  /** `Kind namespace/name`. */
  readonly pool: string
  readonly key: string
  readonly place: AddressAndPrefix
}

/** What is remembered of addresses that have gone, the last one of each pool and key: as many as there is room for, the oldest forgotten first. */
export class StickyAddresses {
  readonly #limit: number
  readonly #forgets: (former: StickyAddress) => void
  readonly #places = new Map<string, StickyAddress>()

  /** @param forgets told of each that is remembered no more */
  constructor(limit: number, forgets: (former: StickyAddress) => void = () => {}) {
    this.#limit = limit
    this.#forgets = forgets
  }

  get(pool: string, key: string): AddressAndPrefix | undefined {
    return this.#places.get(idOf({ pool, key }))?.place
  }

  set(former: StickyAddress): void {
    const id = idOf(former)
    this.#delete(id)
    this.#places.set(id, former)
    if (this.#places.size <= this.#limit) return
    for (const oldest of this.#places.keys()) {
      this.#delete(oldest)
      return
    }
  }

  /** The oldest first. */
  entries(): readonly StickyAddress[] {
    return [...this.#places.values()]
  }

  clear(): void {
    this.#places.clear()
  }

  #delete(id: string): void {
    const former = this.#places.get(id)
    if (former === undefined) return
    this.#places.delete(id)
    this.#forgets(former)
  }
}

function idOf({ pool, key }: Pick<StickyAddress, 'pool' | 'key'>): string {
  return `${pool}\n${key}`
}
