import { check, type KindOf } from '../../errors/check.js'
import { refuseIn } from '../../errors/refuse.js'

/** A JSON value as Kubernetes stores it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** An owner of an object. The garbage collector and `clusterctl move` follow these references. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean | undefined
  readonly blockOwnerDeletion?: boolean | undefined
}

/**
 * The metadata that this library reads or writes; other fields are kept as they are. Timestamps are
 * RFC 3339 text.
 */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  /** Opaque: compare for equality only. */
  readonly resourceVersion?: string | undefined
  readonly generation?: number | undefined
  readonly creationTimestamp?: string | undefined
  readonly deletionTimestamp?: string | undefined
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly annotations?: { readonly [key: string]: string } | undefined
  readonly finalizers?: readonly string[] | undefined
  readonly ownerReferences?: readonly OwnerReference[] | undefined
}

/** Any Kubernetes object: what a store keeps and an effect creates. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec?: unknown
  readonly status?: unknown
}

/** What a check of an argument holds of metadata. */
export const META: KindOf<ObjectMeta> = [
  'open',
  {
    name: 'text',
    namespace: 'text?',
    uid: 'text?',
    deletionTimestamp: 'text?',
    labels: 'object?',
    annotations: 'object?',
    finalizers: ['list?', 'text'],
    ownerReferences: ['list?', 'object'],
  },
]

/** What a check of an argument holds of an object of any kind. */
export const KUBE: KindOf<KubeObject> = ['open', { apiVersion: 'text', kind: 'text', metadata: META }]

/** As {@link KUBE}, for functions that run for each object of a list or a sort. */
export const HAS_META = ['open', { metadata: 'object' }] as const

/** Names one object. `namespace` is left out for cluster-scoped kinds. */
export interface ObjectRef {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** What names an object within its kind. */
export type NameRef = Pick<ObjectRef, 'name' | 'namespace'>

export const REF: KindOf<ObjectRef> = ['open', { apiVersion: 'text', kind: 'text', namespace: 'text?', name: 'text' }]

/** The facts of a kind that a store and a CRD need. */
export interface KindInfo {
  readonly apiVersion: string
  readonly kind: string
  /** Plural resource name, as in the URL. */
  readonly plural: string
  readonly namespaced: boolean
  /**
   * Whether status is a subresource: a write of it changes no other field and not the generation.
   */
  readonly statusSubresource: boolean
  /**
   * Fields that field selectors of a list or a watch can name, as dotted paths:
   * `spec.poolRef.name`.
   */
  readonly selectableFields?: readonly string[] | undefined
}

/**
 * How the dependents of a deleted object are handled, as `propagationPolicy` of Kubernetes.
 * `Background`: the object is removed at once, and the garbage collector deletes the dependents.
 * `Foreground`: the finalizer `foregroundDeletion` keeps the object until they are deleted.
 * `Orphan`: the finalizer `orphan` keeps it until they no longer refer to it.
 */
export type Propagation = 'Background' | 'Foreground' | 'Orphan'

/** A requirement for one label. */
export interface LabelSelectorRequirement {
  readonly key: string
  /** `NotIn` also holds for an object without the label. */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  /** At least one for `In` and `NotIn`, none for the others. */
  readonly values?: readonly string[] | undefined
}

/** The facts of a kind, which its model has as well. */
export function infoOf(kind: KindInfo | { readonly info: KindInfo }): KindInfo {
  return 'info' in kind ? kind.info : kind
}

/** The reference to an object. */
export function refOf(object: KubeObject): ObjectRef {
  check('refOf', 'object', object, HAS_META)

  const { name, namespace } = object.metadata
  return namespace === undefined
    ? { apiVersion: object.apiVersion, kind: object.kind, name }
    : { apiVersion: object.apiVersion, kind: object.kind, namespace, name }
}

/** The API group of an apiVersion: `''` for the core group. */
export function groupOf(apiVersion: string): string {
  check('groupOf', 'apiVersion', apiVersion, 'text')

  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/** The version of an apiVersion: `v1` of `v1`, `v1beta2` of `ipam.cluster.x-k8s.io/v1beta2`. */
export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1)
}

/**
 * Names a kind in all its versions: `group/Kind`, and `/Kind` in the core group. No stored kind has
 * a slash in it: a name with one is not found.
 */
export function kindKey({ apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>): string {
  return `${groupOf(apiVersion)}/${kind}`
}

/** Names an object within its kind: `namespace/name`, or `name` for a cluster-scoped object. */
export function nameKey(ref: NameRef | string): string {
  if (typeof ref === 'string') return ref
  const { namespace, name } = ref
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** Reads what {@link nameKey} writes. */
export function readNameKey(key: string): NameRef {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Names an object in all versions of its kind. */
export function objectKey(ref: ObjectRef): string {
  return `${groupOf(ref.apiVersion)} ${formatRef(ref)}`
}

/**
 * `Kind namespace/name`, or `Kind name` for a cluster-scoped object: the name of an object in
 * messages.
 */
export function formatRef(ref: Omit<ObjectRef, 'apiVersion'>): string {
  if (typeof ref?.kind !== 'string' || typeof ref.name !== 'string') {
    refuseIn('formatRef', 'ref', 'an object with kind and name', ref)
  }

  return `${ref.kind} ${nameKey(ref)}`
}

/** Whether an object is being deleted: it has a deletionTimestamp, and only finalizers keep it. */
export function isDeleting(object: { readonly metadata: ObjectMeta }): boolean {
  check('isDeleting', 'object', object, HAS_META)

  return object.metadata.deletionTimestamp !== undefined
}

/** Whether the object has this finalizer. */
export function hasFinalizer(object: { readonly metadata: ObjectMeta }, finalizer: string): boolean {
  check('hasFinalizer', 'object', object, HAS_META)
  check('hasFinalizer', 'finalizer', finalizer, 'text')

  const { finalizers } = object.metadata
  return Array.isArray(finalizers) && finalizers.includes(finalizer)
}

/** Whether a label, or its absence, meets a requirement. */
export function meetsRequirement(
  { operator, values = [] }: LabelSelectorRequirement,
  label: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label)
    case 'NotIn':
      return label === undefined || !values.includes(label)
    case 'Exists':
      return label !== undefined
    case 'DoesNotExist':
      return label === undefined
  }
}

/** A label by its name. Members of `Object.prototype` are not labels. */
export function labelOf(labels: { readonly [key: string]: string } | undefined, key: string): string | undefined {
  return typeof labels === 'object' && labels !== null && Object.hasOwn(labels, key) ? labels[key] : undefined
}
