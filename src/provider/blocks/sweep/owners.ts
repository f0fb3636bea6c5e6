import { groupOf, type KindInfo, kindKey, type ObjectRef } from '../../../crd/meta/object.js'
import type { Change } from '../../../plan/index.js'

/** The owners that are there, of some kinds. */
export class Owners {
  readonly #kinds: ReadonlyMap<string, KindInfo>
  readonly #uids = new Map<string, string>()

  constructor(kinds: readonly KindInfo[]) {
    this.#kinds = new Map(kinds.map((kind) => [rowKindOf(kind), kind]))
  }

  /** Takes a change of an owner in. @returns the uids of which something is new */
  observe(ref: ObjectRef, change: Change): readonly string[] {
    const key = ownerKey(ref)
    const before = this.#uids.get(key)
    const now = change.kind === 'present' ? (change.object.metadata.uid ?? '') : undefined
    if (now === undefined) this.#uids.delete(key)
    else this.#uids.set(key, now)
    return before === now ? [] : [before, now].filter((uid) => uid !== undefined)
  }

  /** The uid of an owner; `undefined`: it is not there. */
  uidOf(ref: ObjectRef): string | undefined {
    return this.#uids.get(ownerKey(ref))
  }

  /** The owner that a row or a handle names, if it is of one of the kinds. */
  refOf(named: { readonly owner: string; readonly kind?: string | undefined }): ObjectRef | undefined {
    const info = this.#kinds.get(named.kind ?? 'Pod')
    if (info === undefined) return undefined
    const { apiVersion, kind, namespaced } = info
    const slash = named.owner.indexOf('/')
    if (namespaced !== slash >= 0) return undefined
    const name = named.owner.slice(slash + 1)
    return slash < 0 ? { apiVersion, kind, name } : { apiVersion, kind, namespace: named.owner.slice(0, slash), name }
  }

  clear(): void {
    this.#uids.clear()
  }
}

/** A kind as rows name it. */
function rowKindOf({ apiVersion, kind }: KindInfo): string {
  const group = groupOf(apiVersion)
  return group === '' ? kind : `${kind}.${group}`
}

/** Names an object in all versions of its kind. */
export function ownerKey(ref: ObjectRef): string {
  return `${kindKey(ref)} ${ref.namespace ?? ''}/${ref.name}`
}
