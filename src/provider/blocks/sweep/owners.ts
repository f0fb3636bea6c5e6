import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { labelProblem, subdomainProblem } from '../../../crd/meta/names.js'
import { groupOf, type KindInfo, type KubeObject, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import type { AnyWatch } from '../../../plan/cached-objects.js'
import type { AbsentEffect } from '../../../plan/effect.js'
import { type CachedObjects, type Delta, proofOfAbsence } from '../../../plan/index.js'

/**
 * Annotation of the mirror of a static Pod: the uid of the static Pod, which differs from that of
 * the mirror.
 */
const MIRROR = 'kubernetes.io/config.mirror'

/** An owner: the uids by which rows may name it, its own first. */
interface Owner {
  readonly ref: ObjectRef
  readonly uids: readonly string[]
}

/**
 * How a kind of owners is watched. Of a Pod only the names are kept; claims share the cache of
 * their provider.
 */
export function ownerWatch(kind: KindInfo): AnyWatch<Owner> {
  const parse = (object: KubeObject) =>
    ({ ok: true, value: { ref: refOf(object), uids: uidsOf(kind, object) } }) as const
  return IPAddressClaim.is(kind) ? { ...kind, parse } : { ...kind, keep: namesOf, parse }
}

function namesOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
  const mirror = metadata.annotations?.[MIRROR]
  const annotations = mirror === undefined ? undefined : { [MIRROR]: mirror }
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion, creationTimestamp, annotations } }
}

/** The uids of an owner that a change adds or removes. */
export function changedUids({ before, now }: Delta<Owner>): readonly string[] {
  const [had, has] = [before, now].map((entry) => (entry?.ok === true ? entry.value.uids : []))
  return [...had!.filter((uid) => !has!.includes(uid)), ...has!.filter((uid) => !had!.includes(uid))]
}

/** The existing owners of some kinds. */
export class Owners {
  /** By the kind, as rows name it. */
  readonly #kinds: ReadonlyMap<string, { readonly kind: KindInfo; readonly objects: CachedObjects<Owner> }>

  constructor(kinds: readonly { readonly kind: KindInfo; readonly objects: CachedObjects<Owner> }[]) {
    this.#kinds = new Map(kinds.map((each) => [rowKindOf(each.kind), each]))
  }

  /** The uid of an owner; `undefined`: it does not exist. */
  uidOf(ref: ObjectRef): string | undefined {
    return this.#uidsOf(ref)[0]
  }

  /**
   * Whether an owner exists under this uid. A container runtime knows a static Pod by another uid
   * than the API does.
   */
  isThere(ref: ObjectRef, uid: string): boolean {
    return this.#uidsOf(ref).includes(uid)
  }

  /** The owner that a row or a handle names, if it is of one of the kinds and has a valid name. */
  refOf(named: { readonly owner: string; readonly kind?: string | undefined }): ObjectRef | undefined {
    const info = this.#kinds.get(named.kind ?? 'Pod')?.kind
    if (info === undefined) return undefined
    const { apiVersion, kind, namespaced } = info
    const slash = named.owner.indexOf('/')
    if (namespaced !== slash >= 0) return undefined
    const name = named.owner.slice(slash + 1)
    // any writer may have written the row: a store cannot be asked for an invalid name
    if (subdomainProblem(name) !== undefined) return undefined
    if (slash < 0) return { apiVersion, kind, name }
    const namespace = named.owner.slice(0, slash)
    return labelProblem(namespace) === undefined ? { apiVersion, kind, namespace, name } : undefined
  }

  #uidsOf(ref: ObjectRef): readonly string[] {
    return this.#kinds.get(rowKindOf(ref))?.objects.get(ref)?.uids ?? []
  }
}

/** Effects that fail if the owner exists under this uid. */
export function ownerAbsent(ref: ObjectRef, uid: string, why: string): readonly AbsentEffect[] {
  return proofOfAbsence({ ref, uid, uidAnnotation: isPod(ref) ? MIRROR : undefined }, why)
}

function uidsOf(kind: KindInfo, { metadata }: KubeObject): readonly string[] {
  const mirrored = isPod(kind) ? metadata.annotations?.[MIRROR] : undefined
  return [metadata.uid ?? '', ...(mirrored === undefined ? [] : [mirrored])]
}

function isPod({ apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Pod' && groupOf(apiVersion) === ''
}

/** A kind as rows name it. */
function rowKindOf({ apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>): string {
  const group = groupOf(apiVersion)
  return group === '' ? kind : `${kind}.${group}`
}
