import { SUBDOMAIN_PATTERN } from '../../../crd/meta/dns-names.js'
import { groupOf, type KindInfo, type KubeObject, kindKey, type ObjectRef } from '../../../crd/meta/object.js'
import type { AbsentEffect, Change } from '../../../plan/index.js'

/** The uid of a static Pod, on its mirror in the API, which has one of its own. */
const MIRROR = 'kubernetes.io/config.mirror'

const NAME = /* @__PURE__ */ new RegExp(SUBDOMAIN_PATTERN, 'u')
const MAX_NAME_LENGTH = 253
const MAX_NAMESPACE_LENGTH = 63

/** The owners that are there, of some kinds. */
export class Owners {
  readonly #kinds: ReadonlyMap<string, KindInfo>
  /** Under which uids each is there: first its own. */
  readonly #uids = new Map<string, readonly string[]>()

  constructor(kinds: readonly KindInfo[]) {
    this.#kinds = new Map(kinds.map((kind) => [rowKindOf(kind), kind]))
  }

  /** Takes a change of an owner in. @returns the uids of which something is new */
  observe(ref: ObjectRef, change: Change): readonly string[] {
    const key = ownerKey(ref)
    const before = this.#uids.get(key) ?? []
    const now = change.kind === 'present' ? uidsOf(ref, change.object) : []
    if (now.length === 0) this.#uids.delete(key)
    else this.#uids.set(key, now)
    return [...before.filter((uid) => !now.includes(uid)), ...now.filter((uid) => !before.includes(uid))]
  }

  /** The uid of an owner; `undefined`: it is not there. */
  uidOf(ref: ObjectRef): string | undefined {
    return this.#uids.get(ownerKey(ref))?.[0]
  }

  /** Whether an owner is there under this uid: a container runtime knows a static Pod by another one than the API does. */
  isThere(ref: ObjectRef, uid: string): boolean {
    return this.#uids.get(ownerKey(ref))?.includes(uid) === true
  }

  /** The owner that a row or a handle names, if it is of one of the kinds and an object can have its name. */
  refOf(named: { readonly owner: string; readonly kind?: string | undefined }): ObjectRef | undefined {
    const info = this.#kinds.get(named.kind ?? 'Pod')
    if (info === undefined) return undefined
    const { apiVersion, kind, namespaced } = info
    const slash = named.owner.indexOf('/')
    if (namespaced !== slash >= 0) return undefined
    const name = named.owner.slice(slash + 1)
    // whoever writes rows may write anything: nobody can be asked whether such an object is there
    if (name.length > MAX_NAME_LENGTH || !NAME.test(name)) return undefined
    if (slash < 0) return { apiVersion, kind, name }
    const namespace = named.owner.slice(0, slash)
    return isNamespace(namespace) ? { apiVersion, kind, namespace, name } : undefined
  }

  clear(): void {
    this.#uids.clear()
  }
}

/** Goes on only if an owner is not there under this uid. */
export function ownerAbsent(ref: ObjectRef, uid: string, why: string): AbsentEffect {
  return { kind: 'absent', ref, uid, ...(isPod(ref) ? { uidAnnotation: MIRROR } : {}), why }
}

function uidsOf(ref: ObjectRef, { metadata }: KubeObject): readonly string[] {
  const mirrored = isPod(ref) ? metadata.annotations?.[MIRROR] : undefined
  return [metadata.uid ?? '', ...(mirrored === undefined ? [] : [mirrored])]
}

function isPod({ apiVersion, kind }: ObjectRef): boolean {
  return kind === 'Pod' && groupOf(apiVersion) === ''
}

/** A namespace is a DNS label. */
function isNamespace(text: string): boolean {
  return text.length <= MAX_NAMESPACE_LENGTH && !text.includes('.') && NAME.test(text)
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
