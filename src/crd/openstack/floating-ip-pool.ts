import { INVALID_ARGUMENT } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import { type KubeObject, labelOf } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import type { Condition } from '../meta/schema.js'
import { ADOPT_BY_TAG_ANNOTATION, API_VERSION_V1ALPHA1, MIN_FREE_ANNOTATION, POOL_KIND } from './names.js'
import { pool, poolVersions } from './pool-versions.js'
import type { IdentityReference } from './references.js'

/**
 * A pool of floating IPs of OpenStack (infrastructure.cluster.x-k8s.io/v1alpha1 of
 * cluster-api-provider-openstack).
 *
 * The model reads every object that an API server stores with upstream's definition of the kind,
 * valid or not: `admitOpenStackFloatingIPPool` returns its errors.
 */
export interface OpenStackFloatingIPPool extends KubeObject {
  readonly spec: OpenStackFloatingIPPoolSpec
  readonly status?: OpenStackFloatingIPPoolStatus | undefined
}

export interface OpenStackFloatingIPPoolSpec {
  /** Floating IPs that exist already. They are used before others, and never deleted. */
  readonly preAllocatedFloatingIPs?: readonly string[] | undefined
  /** Maximum number of addresses of the pool. 0: none is created. Default: no limit. */
  readonly maxIPs?: number | undefined
  readonly identityRef: IdentityReference
  /** The external network. Default: the only external network of the cloud. */
  readonly floatingIPNetwork?: NetworkParameter | undefined
  /** How a floating IP that the pool has created is handled when its claim is released. */
  readonly reclaimPolicy: 'Retain' | 'Delete'
}

/** A network by its id or by a filter: exactly one of them. */
export interface NetworkParameter {
  readonly id?: string | undefined
  readonly filter?: NetworkFilter | undefined
}

/** A network by its name, project and tags. Absent fields match any network. */
export interface NetworkFilter {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly projectID?: string | undefined
  /** The network has all of these tags. */
  readonly tags?: readonly string[] | undefined
  /** The network has one of these tags. */
  readonly tagsAny?: readonly string[] | undefined
  /** The network does not have all of these tags. */
  readonly notTags?: readonly string[] | undefined
  /** The network has none of these tags. */
  readonly notTagsAny?: readonly string[] | undefined
}

export interface OpenStackFloatingIPPoolStatus {
  /** Addresses that claims have. */
  readonly claimedIPs?: readonly string[] | undefined
  /** Addresses that no claim has, in any order. */
  readonly availableIPs?: readonly string[] | undefined
  /** Addresses that the cloud does not know. */
  readonly failedIPs?: readonly string[] | undefined
  readonly floatingIPNetwork?:
    | { readonly id: string; readonly name: string; readonly tags?: readonly string[] | undefined }
    | undefined
  readonly conditions?: readonly Condition[] | undefined
}

export const OpenStackFloatingIPPool: CrdModel<OpenStackFloatingIPPool> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION_V1ALPHA1,
    kind: POOL_KIND,
    plural: 'openstackfloatingippools',
    namespaced: true,
    statusSubresource: true,
  },
  schema: readerOf(pool),
  categories: [],
  versions: poolVersions(),
})

/** Whether a network is named by its id or by a filter, and not by both. */
export function namesOne({ id, filter }: NetworkParameter): boolean {
  return (id === undefined) !== (filter === undefined)
}

/** The value of an annotation of a pool, or why it cannot be parsed. */
export type AnnotationResult<T> = Result<T, 'INVALID_ARGUMENT'>

/** The largest number that {@link MIN_FREE_ANNOTATION} can have. */
const MAX_MIN_FREE = 100_000

/**
 * How many free addresses of a pool are created in advance: its annotation `ipam-kit.dev/min-free`,
 * 0 without one. O(1).
 *
 * @returns the failure `INVALID_ARGUMENT` for a text that is no whole number from 0 to 100,000
 */
export function minFreeOf(pool: Pick<KubeObject, 'metadata'>): AnnotationResult<number> {
  const text = labelOf(pool.metadata.annotations, MIN_FREE_ANNOTATION)
  if (text === undefined) return ok(0)
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  return value <= MAX_MIN_FREE
    ? ok(value)
    : unreadable(MIN_FREE_ANNOTATION, `a whole number from 0 to ${MAX_MIN_FREE}`, text)
}

/**
 * Whether floating IPs that have only the tag of a pool belong to it: its annotation
 * `ipam-kit.dev/adopt-by-tag`, false without one. O(1).
 *
 * @returns the failure `INVALID_ARGUMENT` for a text other than `true` and `false`
 */
export function adoptByTagOf(pool: Pick<KubeObject, 'metadata'>): AnnotationResult<boolean> {
  const text = labelOf(pool.metadata.annotations, ADOPT_BY_TAG_ANNOTATION)
  if (text === undefined || text === 'false') return ok(false)
  return text === 'true' ? ok(true) : unreadable(ADOPT_BY_TAG_ANNOTATION, 'true or false', text)
}

function unreadable(annotation: string, expected: string, got: unknown) {
  return failWith(INVALID_ARGUMENT, { argument: `metadata.annotations[${annotation}]`, expected, got: String(got) })
}
