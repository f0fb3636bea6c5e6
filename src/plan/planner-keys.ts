import { type NameRef, nameKey } from '../crd/meta/object.js'

/** The keys of a planner: `Kind namespace/name`, or `Kind name` for a cluster-scoped object. */
export interface PlannerKeys<K extends string> {
  format(kind: K, ref: NameRef | string): string
  /**
   * The kind in a key, and the name as the object cache takes it. `undefined`: no key of this
   * planner. O(kinds).
   */
  read(key: string): { readonly kind: K; readonly name: string } | undefined
}

/** The keys of a planner for objects of these kinds. No kind contains a blank. */
export function plannerKeys<K extends string>(...kinds: readonly K[]): PlannerKeys<K> {
  return {
    format: (kind, ref) => `${kind} ${nameKey(ref)}`,
    read(key) {
      const kind = kinds.find((each) => key.startsWith(each) && key[each.length] === ' ')
      return kind === undefined ? undefined : { kind, name: key.slice(kind.length + 1) }
    },
  }
}
