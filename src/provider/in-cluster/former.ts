import type { Place } from '../claims/definition.js'

/** What was had, and of which pool. */
export interface FormerPlace {
  /** `Kind namespace/name`. */
  readonly pool: string
  readonly place: Place
}

/** What is remembered of addresses that have gone, by whoever had them: as many as there is room for, the oldest forgotten first. */
export class FormerPlaces {
  readonly #limit: number
  readonly #forgets: (key: string, former: FormerPlace) => void
  readonly #places = new Map<string, FormerPlace>()

  /** @param forgets told of each that is remembered no more */
  constructor(limit: number, forgets: (key: string, former: FormerPlace) => void = () => {}) {
    this.#limit = limit
    this.#forgets = forgets
  }

  get(key: string): FormerPlace | undefined {
    return this.#places.get(key)
  }

  set(key: string, former: FormerPlace): void {
    this.delete(key)
    this.#places.set(key, former)
    if (this.#places.size <= this.#limit) return
    for (const oldest of this.#places.keys()) {
      this.delete(oldest)
      return
    }
  }

  delete(key: string): void {
    const former = this.#places.get(key)
    if (former === undefined) return
    this.#places.delete(key)
    this.#forgets(key, former)
  }

  /** The oldest first. */
  entries(): readonly (readonly [string, FormerPlace])[] {
    return [...this.#places]
  }

  clear(): void {
    this.#places.clear()
  }
}
