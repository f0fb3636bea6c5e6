import type { StoredObject } from '../rules/draft.js'
import { comparePlaces } from '../rules/pages.js'

/** The objects of one kind by namespace and name. Namespace and name are DNS names: no slash is in them. */
export class Table {
  readonly #rows = new Map<string, Row>()
  /** Every row of `#rows`, and removed ones that have not been swept out yet. */
  #ordered: Row[] = []
  #isOrdered = true

  get(namespace: string | undefined, name: string): StoredObject | undefined {
    return this.#rows.get(keyOf(namespace, name))?.object
  }

  set(object: StoredObject): void {
    const { namespace, name } = object.metadata
    const key = keyOf(namespace, name)
    const known = this.#rows.get(key)
    if (known !== undefined) {
      known.object = object
      return
    }
    const row = { namespace: namespace ?? '', name, object }
    const last = this.#ordered.at(-1)
    if (last !== undefined && comparePlaces(last, row) > 0) this.#isOrdered = false
    this.#rows.set(key, row)
    this.#ordered.push(row)
  }

  delete(namespace: string | undefined, name: string): void {
    const key = keyOf(namespace, name)
    const row = this.#rows.get(key)
    if (row === undefined) return
    row.object = undefined
    this.#rows.delete(key)
    // at most as many removed rows as others: a constant share of a deletion
    if (this.#ordered.length > 2 * this.#rows.size + 16) this.#sweep()
  }

  /** All objects, by namespace, then name, in code-unit order. O(n) if none was created out of order since the last time. */
  *values(): Generator<StoredObject, void> {
    if (this.#ordered.length > this.#rows.size) this.#sweep()
    if (!this.#isOrdered) {
      this.#ordered.sort(comparePlaces)
      this.#isOrdered = true
    }
    for (const { object } of this.#ordered) {
      if (object !== undefined) yield object
    }
  }

  #sweep(): void {
    this.#ordered = this.#ordered.filter((row) => row.object !== undefined)
  }
}

interface Row {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
  /** `undefined`: removed. */
  object: StoredObject | undefined
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`
}
