import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { checkPool } from '../../crd/in-cluster/check-pool.js'
import { type InClusterPool, isPrefixPool, poolModels } from '../../crd/in-cluster/pools.js'
import { effectivePrefixLength, readAddressSpace, readPrefixSpace } from '../../crd/in-cluster/space.js'
import { isName } from '../../crd/ipam-kit/block-name.js'
import { coveringSubnets } from '../../crd/ipam-kit/covering-subnets.js'
import { gridOf } from '../../crd/ipam-kit/grid.js'
import type { IPPool, IPPoolSubnet } from '../../crd/ipam-kit/ip-pool.js'
import { API_VERSION } from '../../crd/ipam-kit/names.js'

type RangeSet = RangeSet.RangeSet

/**
 * A pool of the in-cluster provider as blocks know it: an IPPool with the same addresses, in a
 * domain of its own, as two pools of this provider may overlap. Such an IPPool is never stored.
 * Blocks have 256 addresses or prefixes.
 *
 * A pool whose spec cannot be used gives nothing: its `spec.subnets` is empty. The same applies to
 * a pool with more than 65,536 ranges, or with a range that begins or ends in IPv4 within IPv6
 * (`::ffff:10.0.0.1`), which an IPPool cannot have.
 *
 * @example
 * import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
 * const pool = InClusterIPPool.parse({
 *   apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
 *   kind: 'InClusterIPPool',
 *   metadata: { name: 'lab', namespace: 'default', uid: 'u' },
 *   spec: { addresses: ['10.0.0.0/24'], prefix: 24, gateway: '10.0.0.1' },
 * })
 * const { metadata, spec } = ipPoolOf(pool)
 * metadata.name // 'inclusterippools.default.lab'
 * spec.subnets // [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.2-10.0.0.254'] }]
 */
export function ipPoolOf(pool: InClusterPool): IPPool {
  checkPool('ipPoolOf', 'pool', pool)

  const { uid, resourceVersion, generation, deletionTimestamp } = pool.metadata
  const name = nameInBlocks(pool)
  const { available, first, unitLength } = whatOf(pool)
  const family = first?.family ?? 4
  const bits = Address.bitsOf(family)
  const grid = gridOf(family, { allocationPrefixLength: unitLength ?? bits })
  const field = family === 4 ? 'ipv4' : 'ipv6'
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name, uid, resourceVersion, generation, deletionTimestamp },
    spec: {
      domain: name,
      subnets: first === undefined ? [] : subnetsOf(available, first),
      [field]: grid,
      // the ranges do not contain the subnet edges that are not given
      skipEdges: 'never',
      order: 'lowest',
      reuseAfterSeconds: 0,
      priority: 0,
      disabled: false,
    },
    status: { domainUID: uid ?? name, [field]: grid },
  }
}

/**
 * The name of a pool and its domain in blocks. A name that is too long is replaced by one that
 * begins with the uid, which no other pool can have.
 */
function nameInBlocks({ kind, metadata }: InClusterPool): string {
  const plural = poolModels.find(({ info }) => info.kind === kind)?.info.plural ?? kind.toLowerCase()
  const { namespace, name, uid } = metadata
  const full = [plural, namespace, name].filter((part) => part !== undefined).join('.')
  return isName(full) || uid === undefined ? full : `uid-${uid}.${plural}`
}

interface Given {
  readonly available: RangeSet
  /** An address of the space of the pool; `undefined` if the spec cannot be used. */
  readonly first: Address.Address | undefined
  /** The length of its prefixes. */
  readonly unitLength: number | undefined
}

const NOTHING: Given = { available: RangeSet.empty, first: undefined, unitLength: undefined }

function whatOf(pool: InClusterPool): Given {
  if (!isPrefixPool(pool)) {
    const { space, isUnsafe } = readAddressSpace(pool.spec)
    if (space === undefined || isUnsafe) return NOTHING
    const { available, addresses } = space
    return { available, first: RangeSet.first(addresses), unitLength: undefined }
  }
  const { space, isUnsafe } = readPrefixSpace(pool.spec)
  if (space === undefined || isUnsafe) return NOTHING
  const { available, parents } = space
  return { available, first: RangeSet.first(parents), unitLength: effectivePrefixLength(pool.spec) }
}

function subnetsOf(available: RangeSet, first: Address.Address): readonly IPPoolSubnet[] {
  const ranges = [...RangeSet.ranges(available)]
  if (ranges.length > 0) return coveringSubnets(ranges)
  const cidr = Prefix.format(Prefix.of(first, Address.bitsOf(first.family)))
  return [{ cidr, exclude: [cidr] }]
}
