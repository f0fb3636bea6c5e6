import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { modelWatch, type PlannerContext, type Watch } from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import type { BlockDefinition, NetworkDefinition } from './definition.js'

export const KEYS = plannerKeys('IPPool', 'NetworkAttachmentDefinition')

/** What {@link blockNetworks} watches. */
export type BlockNetworkWatches = {
  readonly definitions: Watch<BlockDefinition>
  readonly pools: Watch<IPPool>
}

export interface BlockNetworkState {
  /** Whether a pool serves only the namespaces of its definitions. */
  readonly isNamespaced: boolean
}

export type BlockNetworkContext = PlannerContext<BlockNetworkWatches, BlockNetworkState>

export const poolWatch: Watch<IPPool> = modelWatch(IPPool)

/** The definitions of an IPPool, the oldest first. */
export function usersOf(pool: string, { cache }: BlockNetworkContext): readonly NetworkDefinition[] {
  return cache.definitions.by('pool', pool) as readonly NetworkDefinition[]
}
