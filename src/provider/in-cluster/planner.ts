import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import type { ClaimOutcome, UnreadableOutcome } from '../claims/outcome.js'
import { defineProvider, type Provider } from '../claims/planner.js'
import { definition } from './definition.js'
import type { PoolLedger } from './ledger.js'
import type { PoolOutcome } from './outcome.js'

export type InClusterOutcome = ClaimOutcome | PoolOutcome | UnreadableOutcome

/** The in-cluster provider as a {@link Planner}: keys are `Kind namespace/name` of claims and pools. */
export interface InClusterPlanner extends Provider<InClusterPool, PoolLedger, PoolOutcome> {}

/**
 * The in-cluster provider of Cluster API: claims of `InClusterIPPool`, `GlobalInClusterIPPool` and the two prefix pools, with IPAddress
 * objects as its ledger, as the Go provider of that name keeps them.
 *
 * One writer at a time may serve a pool: elect a leader where several processes run.
 */
export function inCluster(): InClusterPlanner {
  return defineProvider(definition)
}
