import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import { check } from '../../errors/check.js'
import type { ClaimOutcome, UnreadableOutcome } from '../claims/outcome.js'
import { defineProvider, type Provider } from '../claims/planner.js'
import { definitionOf } from './definition.js'
import type { PoolLedger } from './ledger.js'
import { InClusterMemory } from './memory.js'
import { assertOptions, type FormerAddress, IN_CLUSTER_OPTIONS, type InClusterOptions } from './options.js'
import type { PoolOutcome } from './outcome.js'

export type InClusterOutcome = ClaimOutcome | PoolOutcome | UnreadableOutcome

/**
 * The in-cluster provider as a `Planner`: keys are `Kind namespace/name` of claims and pools.
 */
export interface InClusterPlanner extends Provider<InClusterPool, PoolLedger, PoolOutcome> {
  /**
   * With the option `sticky`: the former addresses of deleted claims, the oldest first. Store them,
   * and pass them in after a restart.
   */
  formerAddresses(): readonly FormerAddress[]
}

/**
 * The in-cluster provider of Cluster API: claims of `InClusterIPPool`, `GlobalInClusterIPPool` and
 * the two prefix pools. Its ledger is the IPAddress objects, as in the Go provider of that name.
 *
 * Only one process at a time may serve a pool: elect a leader if several run.
 *
 * @throws IpamError `INVALID_ARGUMENT` for invalid options
 */
export function inCluster(options: InClusterOptions = {}): InClusterPlanner {
  check('inCluster', 'options', options, IN_CLUSTER_OPTIONS)

  assertOptions(options)
  const memory = new InClusterMemory(options)
  const provider = defineProvider(definitionOf(options, memory))
  return Object.assign(provider, { formerAddresses: () => memory.formerAddresses() })
}
