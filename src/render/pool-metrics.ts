import { check } from '../errors/check.js'
import type { PoolUsage } from '../plan/holdings.js'
import type { Metric, MetricSample } from './prometheus.js'

/** The part of a planner that is read. */
export interface UsageReporter {
  usage?(): readonly PoolUsage[]
}

/**
 * How much of each pool is in use, for `prometheusText` or `registerMetrics`. The label `pool` is
 * the name of the pool, and `family` is `IPv4` or `IPv6`.
 *
 * | metric | what |
 * |---|---|
 * | `ipam_pool_total` | addresses, prefixes or subnets that the pool gives, in use or not |
 * | `ipam_pool_used` | those in use, each once, also those outside of the pool |
 * | `ipam_pool_free` | those that the pool can give now |
 *
 * | planner | pool | without a total |
 * |---|---|---|
 * | `inCluster`, `inClusterBlocks`, own providers | `InClusterIPPool default/lab` | a pool that is invalid or being deleted |
 * | `floatingIPPools`, `externalPools` | the same; the total is what the last list of the cloud had | before the first list |
 * | `blocksOperator` | `IPPool blue`, in units of its domain | a pool that is not accepted or is being deleted |
 * | `nodeIPAM` | `ClusterCIDR a`, in subnets | a range that is being deleted |
 * | `serviceIPs` | `services`: all ServiceCIDRs | |
 * | `persistentIPs` | the name of the network | a network without a range |
 * | `whereaboutsSweep` | `IPPool kube-system/10.0.0.0-16` | all: configurations say what is given |
 *
 * A pool without a total has no `ipam_pool_free` either. Kept addresses and those in a cooldown are
 * neither used nor free. If two planners report one pool, the one that knows its total counts.
 *
 * O(pools), as counts are kept. Some planners read more: `nodeIPAM` the subnets in use, O(n log n).
 * `floatingIPPools` and `externalPools` read the free addresses, and `whereaboutsSweep` its rows,
 * O(n).
 *
 * @param planners the planners of a running controller. A planner without `usage` reports nothing
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * import { create } from 'ipam-kit/store'
 * import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
 * import { inCluster } from 'ipam-kit/provider/in-cluster'
 * import { runUntilQuiet } from 'ipam-kit/run'
 * import { memoryStore } from 'ipam-kit/store/memory'
 *
 * const store = memoryStore({ now: Date.now })
 * const metadata = { namespace: 'default', name: 'lab' }
 * await create(store, InClusterIPPool, { metadata, spec: { addresses: ['10.0.0.8-10.0.0.11'], prefix: 24 } })
 * const planner = inCluster()
 * await runUntilQuiet(store, [planner], { now: Date.now })
 * prometheusText(poolMetrics([planner])).split('\n')[2]
 * // 'ipam_pool_total{pool="InClusterIPPool default/lab",family="IPv4"} 4'
 */
export function poolMetrics(planners: Iterable<UsageReporter>): readonly Metric[] {
  check<unknown>('poolMetrics', 'planners', planners, ['iterable', ['open', { usage: 'function?' }]])
  const usages = new Map<string, PoolUsage>()
  for (const planner of planners) {
    for (const usage of planner.usage?.() ?? []) {
      const key = `${usage.pool}\n${usage.family}`
      const known = usages.get(key)
      if (known === undefined || (known.total === undefined && usage.total !== undefined)) usages.set(key, usage)
    }
  }
  const sorted = [...usages].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, usage]) => usage)
  const of = (figure: 'total' | 'used' | 'free') => sorted.flatMap((usage) => samplesOf(usage, figure))
  return [
    gauge('ipam_pool_total', 'Addresses, prefixes or subnets that a pool gives, in use or not', of('total')),
    gauge('ipam_pool_used', 'Addresses, prefixes or subnets of a pool in use', of('used')),
    gauge('ipam_pool_free', 'Addresses, prefixes or subnets that a pool can give now', of('free')),
  ]
}

function samplesOf(usage: PoolUsage, figure: 'total' | 'used' | 'free'): readonly MetricSample[] {
  const { pool, family, [figure]: value } = usage
  return value === undefined ? [] : [{ labels: { pool, family: `IPv${family}` }, value }]
}

function gauge(name: string, help: string, samples: readonly MetricSample[]): Metric {
  return { type: 'gauge', name, help, samples }
}
