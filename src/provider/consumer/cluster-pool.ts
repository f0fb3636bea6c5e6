import type { Family } from '../../cidr/index.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { InClusterIPPool } from '../../crd/in-cluster/pools.js'
import { KUBE, type KubeObject } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { MALFORMED_RANGE_SET_ENTRY } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { refuse } from '../../errors/refuse.js'

/** Annotation of a pool of Proxmox: the metric of the route to its gateway. */
const GATEWAY_METRIC_ANNOTATION = 'ipam.capmox.cluster.x-k8s.io/gateway-metric'
/** The older name of that annotation, which is read as well. */
const LEGACY_METRIC_ANNOTATION = 'metric'

/**
 * How long a released address of such a pool stays unused, in seconds: neighbour caches have to
 * expire.
 */
const REUSE_GRACE_SECONDS = 60

/** The addresses of one family in the spec of a cluster. */
export interface ClusterPoolSpec {
  readonly cluster: string
  readonly namespace: string
  /** Addresses, ranges and CIDRs of one family. */
  readonly addresses: readonly string[]
  readonly prefix: number
  readonly gateway?: string | undefined
  /** `null`: the metric was removed. */
  readonly metric?: number | null | undefined
}

/**
 * The name of the pool of a cluster for a family. O(1).
 */
function clusterPoolName(cluster: string, family: Family): string {
  return `${cluster}-v${family}-icip`
}

/**
 * The pool that cluster-api-provider-proxmox makes of the addresses in the spec of a cluster. O(n
 * log n) in addresses.
 *
 * Source: `CreateOrUpdateInClusterIPPool`, pkg/kubernetes/ipam.
 *
 * @throws IpamError `MALFORMED_RANGE_SET_ENTRY` for a text that is no address, range or CIDR;
 * `INVALID_ARGUMENT` for an empty list, or both families
 *
 * @example
 * clusterPool({ cluster: 'blue', namespace: 'default', addresses: ['10.0.0.0/24'], prefix: 24 }).metadata.name // 'blue-v4-icip'
 */
export function clusterPool(spec: ClusterPoolSpec): InClusterIPPool {
  check('clusterPool', 'spec', spec, [
    'open',
    { cluster: 'text', namespace: 'text', addresses: 'list', prefix: 'number' },
  ])

  const { cluster, namespace, addresses, prefix, gateway, metric } = spec
  const { apiVersion, kind } = InClusterIPPool.info
  const annotations = {
    ...(metric === undefined ? {} : { [GATEWAY_METRIC_ANNOTATION]: String(metric ?? '') }),
    ...(metric === undefined || metric === null ? {} : { [LEGACY_METRIC_ANNOTATION]: String(metric) }),
  }
  return {
    apiVersion,
    kind,
    metadata: {
      name: clusterPoolName(cluster, familyOf(addresses)),
      namespace,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      addresses,
      prefix,
      ...(gateway === undefined ? {} : { gateway }),
      addressReuseGracePeriodSeconds: REUSE_GRACE_SECONDS,
    },
  }
}

/**
 * The metric of the route to the gateway of a pool, from its annotations; `undefined` if they have
 * none. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for an annotation that is not a whole number from 0 to 2^31
 * - 1
 *
 * @example
 * const metadata = { name: 'p', annotations: { metric: '100' } }
 * gatewayMetricOf({ apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata }) // 100
 */
export function gatewayMetricOf(pool: KubeObject): number | undefined {
  check('gatewayMetricOf', 'pool', pool, KUBE)

  const { annotations } = pool.metadata
  for (const argument of [GATEWAY_METRIC_ANNOTATION, LEGACY_METRIC_ANNOTATION]) {
    const text = annotations?.[argument]
    if (text === undefined || text === '') continue
    const metric = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (metric <= 0x7fffffff) return metric
    refuse('clusterPool', argument, 'a whole number from 0 to 2^31 - 1', text)
  }
  return undefined
}

/** @throws IpamError `INVALID_ARGUMENT`, `MALFORMED_RANGE_SET_ENTRY` */
function familyOf(addresses: readonly string[]): Family {
  const read = RangeSet.safeParse(addresses)
  if (!read.ok) {
    const context = { ...read.failure.context, function: 'clusterPool', argument: 'addresses' }
    throw ipamError(MALFORMED_RANGE_SET_ENTRY, context)
  }
  const [family, other] = new Set(RangeSet.ranges(read.value).map(({ first }) => first.family))
  if (family !== undefined && other === undefined) return family
  refuse('clusterPool', 'addresses', 'addresses of one family', family === undefined ? 'none' : 'both families')
}
