import type { Place } from '../claims/definition.js'

/** What was had, of which pool, and by whom. */
export interface FormerPlace {
  /** `Kind namespace/name`. */
  readonly pool: string
  readonly key: string
  readonly place: Place
}

/** What is remembered of addresses that have gone, the last one of each pool and key: as many as there is room for, the oldest forgotten first. */
export class FormerPlaces {
  readonly #limit: number
  readonly #forgets: (former: FormerPlace) => void
  readonly #places = new Map<string, FormerPlace>()

  /** @param forgets told of each that is remembered no more */
  constructor(limit: number, forgets: (former: FormerPlace) => void = () => {}) {
    this.#limit = limit
    this.#forgets = forgets
  }

  get(pool: string, key: string): Place | undefined {
    return this.#places.get(idOf({ pool, key }))?.place
  }

  set(former: FormerPlace): void {
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
  entries(): readonly FormerPlace[] {
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

function idOf({ pool, key }: Pick<FormerPlace, 'pool' | 'key'>): string {
  return `${pool}\n${key}`
}
