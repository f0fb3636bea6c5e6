import type * as z from 'zod'
import { check } from '../../errors/check.js'
import { type CrdModel, defineCrdModel, type VersionSpec } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import type { Condition } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { addressPool, addressPoolVersions, prefixPool, prefixPoolVersions } from './pool-versions.js'

/** A pool of single addresses in one namespace (ipam.cluster.x-k8s.io/v1alpha2). */
export interface InClusterIPPool extends KubeObject {
  readonly spec: InClusterIPPoolSpec
  readonly status?: InClusterPoolStatus | undefined
}

/** A pool of single addresses for claims of every namespace. */
export interface GlobalInClusterIPPool extends InClusterIPPool {}

/** A pool of prefixes of one length in one namespace. */
export interface InClusterPrefixPool extends KubeObject {
  readonly spec: InClusterPrefixPoolSpec
  readonly status?: InClusterPoolStatus | undefined
}

/** A pool of prefixes for claims of every namespace. */
export interface GlobalInClusterPrefixPool extends InClusterPrefixPool {}

/** Any pool that hands out single addresses. */
export type AddressPoolObject = InClusterIPPool | GlobalInClusterIPPool
/** Any pool that hands out prefixes. */
export type PrefixPoolObject = InClusterPrefixPool | GlobalInClusterPrefixPool
/** Any pool of the in-cluster provider. */
export type InClusterPool = AddressPoolObject | PrefixPoolObject

export interface InClusterIPPoolSpec {
  /** Addresses, ranges `first-last` and CIDRs, in any order. */
  readonly addresses: readonly string[]
  /** Length of the subnet that every address is in: 0 to 32 or 0 to 128. */
  readonly prefix: number
  /** Put on every address, and never handed out itself. Need not be in the pool. */
  readonly gateway?: string | undefined
  /** Hand out the first address of the subnet, and for IPv4 the last, as well. Default false. */
  readonly allocateReservedIPAddresses?: boolean | undefined
  /** Addresses, ranges and CIDRs never to hand out. */
  readonly excludedAddresses?: readonly string[] | undefined
  /**
   * How long an address stays in use after its claim was deleted, in seconds: 0 to 2^31 - 1.
   * Default 0.
   */
  readonly addressReuseGracePeriodSeconds?: number | undefined
}

export interface InClusterPrefixPoolSpec {
  /**
   * CIDRs of one family to carve prefixes from, without host bits. Upstream admits IPv6 only.
   * {@link admitInClusterPool} has an option for IPv4.
   */
  readonly prefixes: readonly string[]
  /**
   * Length of every prefix that is handed out: 1 to 32 or 1 to 128. 0 and absent mean 64, so it has
   * to be named for IPv4. Never changes.
   */
  readonly allocationPrefixLength?: number | undefined
  /** Put on every address. Not reserved. */
  readonly gateway?: string | undefined
  /** Addresses, ranges and CIDRs that no prefix may overlap. */
  readonly excludedPrefixes?: readonly string[] | undefined
  /**
   * How long a prefix stays in use after its claim was deleted, in seconds: 0 to 2^31 - 1. Default
   * 0.
   */
  readonly addressReuseGracePeriodSeconds?: number | undefined
}

export interface InClusterPoolStatus {
  readonly ipAddresses?: InClusterPoolCounts | undefined
  /**
   * Not in upstream's definitions: an API server drops them. {@link withPoolConditions} adds them
   * to a definition.
   */
  readonly conditions?: readonly Condition[] | undefined
}

/**
 * Numbers of addresses or prefixes. The maximum is the largest 64-bit integer that is an exact JSON
 * number.
 */
export interface InClusterPoolCounts {
  /** Addresses or prefixes that the pool can allocate, in use or not. */
  readonly total: number
  readonly free: number
  /** IPAddress objects of this pool, valid or not. */
  readonly used: number
  /** Addresses or prefixes in use that are not, or no longer, in the pool. */
  readonly outOfRange: number
}

// a reader reads conditions, whether the definition has them or not
const addressPoolSchema = /* @__PURE__ */ readerOf<InClusterIPPool>(addressPool)
const prefixPoolSchema = /* @__PURE__ */ readerOf<InClusterPrefixPool>(prefixPool)

/** Label of a definition: `clusterctl move` takes its objects along, with all that they own. */
const MOVE_HIERARCHY_LABEL = 'clusterctl.cluster.x-k8s.io/move-hierarchy'

/** In v1alpha2, which is stored, and v1alpha1. */
export const InClusterIPPool: CrdModel<InClusterIPPool> = defineCrdModel({
  ...definition('InClusterIPPool', 'inclusterippools', 'Namespaced'),
  schema: addressPoolSchema,
  versions: addressPoolVersions('Namespaced'),
})

/** In v1alpha2, which is stored, and v1alpha1. */
export const GlobalInClusterIPPool: CrdModel<GlobalInClusterIPPool> = defineCrdModel({
  ...definition('GlobalInClusterIPPool', 'globalinclusterippools', 'Cluster'),
  schema: addressPoolSchema,
  versions: addressPoolVersions('Cluster'),
})

export const InClusterPrefixPool: CrdModel<InClusterPrefixPool> = defineCrdModel({
  ...definition('InClusterPrefixPool', 'inclusterprefixpools', 'Namespaced'),
  schema: prefixPoolSchema,
  versions: prefixPoolVersions(),
})

export const GlobalInClusterPrefixPool: CrdModel<GlobalInClusterPrefixPool> = defineCrdModel({
  ...definition('GlobalInClusterPrefixPool', 'globalinclusterprefixpools', 'Cluster'),
  schema: prefixPoolSchema,
  versions: prefixPoolVersions(),
})

/** The models of the four pool kinds. */
export const poolModels: readonly CrdModel<InClusterPool>[] = [
  InClusterIPPool,
  GlobalInClusterIPPool,
  InClusterPrefixPool,
  GlobalInClusterPrefixPool,
]

/**
 * The same kind with `status.conditions` in all of its versions, and a column that shows Ready: for
 * `crdManifest`, where the provider is to write them. Upstream's definitions have no such
 * field. Objects are read and converted as before.
 *
 * @example
 * import { crdManifest } from 'ipam-kit/crd/manifest'
 * const { spec } = crdManifest(withPoolConditions(InClusterIPPool))
 * spec.versions.map(({ additionalPrinterColumns }) => additionalPrinterColumns?.at(-1)?.name) // ['Ready', 'Ready']
 */
export function withPoolConditions<T extends InClusterPool>(model: CrdModel<T>): CrdModel<T> {
  check('withPoolConditions', 'model', model, [
    'open',
    { info: 'object', names: 'object', versions: ['list', 'object'] },
  ])

  const { kind, plural, namespaced } = model.info
  const scope = namespaced ? 'Namespaced' : 'Cluster'
  const options = { hasConditions: true }
  const parts: { readonly schema: z.ZodType<InClusterPool>; readonly versions: readonly VersionSpec[] } =
    isPrefixPoolKind(kind)
      ? { schema: prefixPoolSchema, versions: prefixPoolVersions(options) }
      : { schema: addressPoolSchema, versions: addressPoolVersions(scope, options) }
  return defineCrdModel({ ...definition(kind, plural, scope), ...parts }) as CrdModel<InClusterPool> as CrdModel<T>
}

/** Whether a pool hands out prefixes rather than single addresses. */
export function isPrefixPool(pool: InClusterPool): pool is PrefixPoolObject {
  check('isPrefixPool', 'pool', pool, ['open', { spec: 'object', metadata: 'object' }])

  return isPrefixPoolKind(pool.kind)
}

/** Whether pools of this kind hand out prefixes. */
export function isPrefixPoolKind(kind: string): boolean {
  return kind === InClusterPrefixPool.info.kind || kind === GlobalInClusterPrefixPool.info.kind
}

function definition(kind: string, plural: string, scope: 'Namespaced' | 'Cluster') {
  return {
    info: { apiVersion: API_VERSION, kind, plural, namespaced: scope === 'Namespaced', statusSubresource: true },
    categories: ['cluster-api'],
    labels: { [MOVE_HIERARCHY_LABEL]: '' },
  }
}
