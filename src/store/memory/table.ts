import type { StoredObject } from '../rules/draft.js'
import type { PagePlace } from '../rules/pages.js'
import { type Entry, OrderedMap } from './ordered-map.js'

/** The objects of one kind by namespace, then name. */
export class Table {
  readonly #namespaces = new OrderedMap<OrderedMap<StoredObject>>()

  get(namespace: string | undefined, name: string): StoredObject | undefined {
    return this.#namespaces.get(namespace ?? '')?.get(name)
  }

  set(object: StoredObject): void {
    const { namespace = '', name } = object.metadata
    const objects = this.#namespaces.get(namespace)
    if (objects !== undefined) {
      objects.set(name, object)
      return
    }
    const first = new OrderedMap<StoredObject>()
    first.set(name, object)
    this.#namespaces.set(namespace, first)
  }

  delete(namespace: string | undefined, name: string): void {
    const objects = this.#namespaces.get(namespace ?? '')
    objects?.delete(name)
    if (objects?.size === 0) this.#namespaces.delete(namespace ?? '')
  }

  /**
   * The objects of one namespace, or of all, in code-unit order of namespace and name.
   *
   * @param namespace `undefined` or empty: all of them
   * @param after the place that they come behind: it is found in O(log n)
   */
  *values(namespace: string | undefined, after: PagePlace | undefined): Generator<StoredObject, void> {
    for (const { key, value: objects } of this.#inScope(namespace, after)) {
      if (after === undefined || key > after.namespace) yield* objects.values()
      else if (key === after.namespace) yield* objects.values(behind(after.name))
    }
  }

  #inScope(namespace: string | undefined, after: PagePlace | undefined): Iterable<Entry<OrderedMap<StoredObject>>> {
    if (!namespace) return this.#namespaces.entries(after?.namespace)
    const objects = this.#namespaces.get(namespace)
    return objects === undefined ? [] : [{ key: namespace, value: objects }]
  }
}

/** The first text after another. */
function behind(text: string): string {
  return `${text}\0`
}
