import { assertKube, assertString } from '../../errors/checks.js'
import { refuseIn } from '../../errors/refuse.js'

/** A JSON value as Kubernetes stores it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** Who an object belongs to. The garbage collector and `clusterctl move` follow these. */
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

/** Names one object. `namespace` is left out for cluster-scoped kinds. */
export interface ObjectRef {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** What a store and a CRD need to know of a kind. */
export interface KindInfo {
  readonly apiVersion: string
  readonly kind: string
  /** Plural resource name, as in the URL. */
  readonly plural: string
  readonly namespaced: boolean
  /**
   * Whether status is a subresource: written apart from the rest, and without raising the
   * generation.
   */
  readonly statusSubresource: boolean
  /**
   * Fields that a list or watch can be asked for by their value, as dotted paths:
   * `spec.poolRef.name`.
   */
  readonly selectableFields?: readonly string[] | undefined
}

/**
 * What becomes of the dependents of an object that is deleted: the word for it in Kubernetes.
 * `Background` removes the object and leaves them to the collector, `Foreground` holds it by the
 * finalizer `foregroundDeletion` until they are gone, `Orphan` by `orphan` until they no longer
 * refer to it.
 */
export type Propagation = 'Background' | 'Foreground' | 'Orphan'

/** What is asked of one label. */
export interface LabelSelectorRequirement {
  readonly key: string
  /** `NotIn` also holds for an object without the label. */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  /** At least one for `In` and `NotIn`, none for the others. */
  readonly values?: readonly string[] | undefined
}

/** The reference to an object. */
export function refOf(object: KubeObject): ObjectRef {
  assertKube('refOf', 'object', object)

  const { name, namespace } = object.metadata
  return namespace === undefined
    ? { apiVersion: object.apiVersion, kind: object.kind, name }
    : { apiVersion: object.apiVersion, kind: object.kind, namespace, name }
}

/** The API group of an apiVersion: `''` for the core group. */
export function groupOf(apiVersion: string): string {
  assertString('groupOf', 'apiVersion', apiVersion)

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

/** Names an object in all versions of its kind. */
export function objectKey(ref: ObjectRef): string {
  return `${groupOf(ref.apiVersion)} ${formatRef(ref)}`
}

/**
 * `Kind namespace/name`, or `Kind name` for a cluster-scoped object: how people are told about it.
 */
export function formatRef(ref: Omit<ObjectRef, 'apiVersion'>): string {
  if (typeof ref?.kind !== 'string' || typeof ref.name !== 'string') {
    refuseIn('formatRef', 'ref', 'an object with kind and name', ref)
  }

  return `${ref.kind} ${ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`}`
}

/** Whether an object is on its way out: it has a deletionTimestamp and only finalizers hold it. */
export function isDeleting(object: { readonly metadata: ObjectMeta }): boolean {
  assertKube('isDeleting', 'object', object)

  return object.metadata.deletionTimestamp !== undefined
}

/** Whether the object has this finalizer. */
export function hasFinalizer(object: { readonly metadata: ObjectMeta }, finalizer: string): boolean {
  assertKube('hasFinalizer', 'object', object)
  assertString('hasFinalizer', 'finalizer', finalizer)

  const { finalizers } = object.metadata
  return Array.isArray(finalizers) && finalizers.includes(finalizer)
}

/** Whether a label, or that there is none, is what a requirement asks for. */
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

/** A label of that name, and nothing that an object has by nature. */
export function labelOf(labels: { readonly [key: string]: string } | undefined, key: string): string | undefined {
  return typeof labels === 'object' && labels !== null && Object.hasOwn(labels, key) ? labels[key] : undefined
}
