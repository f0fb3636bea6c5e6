import type { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { check, type KindOf } from '../../../errors/check.js'
import { INVALID_IPAM_CONFIG } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import type { Result } from '../../../errors/index.js'
import type { BlockNetwork } from './network.js'
import { NETWORK } from './network-kind.js'
import { ipPoolOfRange, rangePoolsOf } from './range-pool.js'

export interface PoolsOfOptions {
  /** Only Pods of this namespace get addresses. Default: those of all namespaces. */
  readonly namespace?: string | undefined
}

const OPTIONS: KindOf<PoolsOfOptions> = { namespace: 'text?' }

/**
 * The IPPools that a network needs, one for each range, as manifests. A network that names its
 * pools needs none beside them.
 *
 * - The name follows from the CIDR, the bounds, `network_name`, `node_slice_size` and
 *   `enable_overlapping_ranges`. Networks that have all of these in common share the pool
 * - An address is unique among all ranges of a `network_name`, and among all ranges without one.
 *   With `enable_overlapping_ranges: false` it is unique in its CIDR only. Ranges with
 *   `node_slice_size` are apart from those without, because blocks of a domain have one length
 * - `node_slice_size`: the block of a Node is its slice. A slice of more than 1,024 addresses
 *   consists of several blocks
 * - The pool does not give the gateway and the static addresses
 *
 * O(excludes x log excludes).
 *
 * @returns a failure for a network that was read with `use: 'release'` and has a range without a
 * pool
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const read = readBlockNetwork({ name: 'blue', ipam: { type: 'ipam-kit', range: '10.0.0.0/24' } })
 * const pools = poolsOf(read.value)
 * pools.ok && pools.value[0].metadata.name // 'whereabouts.10.0.0.0-24'
 */
export function poolsOf(
  network: BlockNetwork,
  options: PoolsOfOptions = {},
): Result<readonly IPPool[], 'INVALID_IPAM_CONFIG'> {
  check<unknown>('poolsOf', 'network', network, NETWORK)
  check('poolsOf', 'options', options, OPTIONS)

  if (network.pools.length > 0) return { ok: true, value: [] }
  const pools = rangePoolsOf(network.config)
  const issues = pools.flatMap(({ problem }, index) =>
    problem === undefined ? [] : [{ path: `ranges[${index}]`, message: problem }],
  )
  if (issues.length > 0) return failWith(INVALID_IPAM_CONFIG, { issues })
  const { namespace } = options
  return {
    ok: true,
    value: pools.map((pool) => ipPoolOfRange(pool, namespace === undefined ? undefined : [namespace])),
  }
}
