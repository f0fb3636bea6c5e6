import { Ledger } from '../../../allocator/index.js'
import { RangeSet } from '../../../cidr/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { type Delta, definePlanner, type Parsed, type Planner } from '../../../plan/index.js'
import {
  type BlockNetworkContext,
  type BlockNetworkState,
  type BlockNetworkWatches,
  KEYS,
  poolWatch,
  usersOf,
} from './context.js'
import { type BlockDefinition, definitionWatch } from './definition.js'
import type { BlockNetworkOutcome } from './outcome.js'
import { planDefinition } from './plan-definition.js'
import { planPool } from './plan-pool.js'

export interface BlockNetworksOptions {
  /**
   * Whether a pool gives addresses only to Pods of the namespaces of its definitions. Default
   * false.
   */
  readonly namespaced?: boolean | undefined
}

const OPTIONS: KindOf<BlockNetworksOptions> = { namespaced: 'flag?' }

/** A planner with the keys `IPPool name` and `NetworkAttachmentDefinition namespace/name`. */
export type BlockNetworksPlanner = Planner<BlockNetworkOutcome>

/**
 * Keeps the IPPools of all NetworkAttachmentDefinitions whose IPAM type is `ipam-kit`, as `poolsOf`
 * makes them. The plugin only reads pools.
 *
 * - It follows changes of the excludes, the gateway and the static addresses. Other members of a
 *   pool, such as `reserved` and `sticky`, stay as they are.
 * - Definitions of one range share its pool. It gives only what each of them gives, and an Event
 *   about each says so.
 * - A changed range is another pool. The old one is disabled, and deleted when the operator has
 *   counted no rows in it.
 * - It changes and deletes only pools that it has made: those with its annotation.
 * - Definitions of other IPAM types are ignored, and those that cannot be read are reported. Either
 *   stops no other. While one of this type cannot be read, no pool is retired.
 *
 * `blocksOperator` takes the pools into their domains. Several processes may run it at once: they
 * write the same.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blockNetworks(options: BlockNetworksOptions = {}): BlockNetworksPlanner {
  check('blockNetworks', 'options', options, OPTIONS)

  return definePlanner<BlockNetworkOutcome, BlockNetworkWatches, BlockNetworkState>({
    name: 'block-networks',
    watches: { definitions: definitionWatch, pools: poolWatch },
    state: () => ({ isNamespaced: options.namespaced === true }),
    // pools hold nothing. With a ledger, which stays empty, the Events of plans that are carried
    // out are noted
    holds: {},
    ledger: () => new Ledger({ space: RangeSet.parse([]) }),
    wakes: {
      definitions: wakesOfDefinition,
      pools: ({ ref, now }, { sent }) => {
        const key = KEYS.format('IPPool', ref)
        if (now === undefined) sent.forget(key)
        return [key]
      },
    },
    plan(key, context) {
      const { kind, name = '' } = KEYS.read(key) ?? {}
      if (kind === 'IPPool') return planPool(name, context)
      return kind === 'NetworkAttachmentDefinition' ? planDefinition(name, context) : undefined
    },
    refused(key, { code, message }, context) {
      const { kind, name = '' } = KEYS.read(key) ?? {}
      const [oldest] = kind === 'IPPool' ? usersOf(name, context) : []
      const outcome = { kind: 'failed', message } as const
      if (oldest === undefined) return { outcome, effects: [] }
      const cause = { reason: 'WriteRefused', message, cause: code } as const
      return { outcome, effects: context.sent.newEvents(key, oldest.object, [cause]) }
    },
  })
}

/**
 * Wakes the definition, its pools before and now, and the definitions that share or overlap them.
 * O(definitions of the network).
 */
function wakesOfDefinition(
  { ref, before, now }: Delta<BlockDefinition>,
  context: BlockNetworkContext,
): readonly string[] {
  const { cache, sent } = context
  const key = KEYS.format('NetworkAttachmentDefinition', ref)
  if (now === undefined) sent.forget(key)
  const keys = new Set([key])
  const wakeDefinitions = (definitions: readonly BlockDefinition[]) => {
    for (const { object } of definitions) keys.add(KEYS.format('NetworkAttachmentDefinition', object.metadata))
  }
  for (const facts of [factsOf(before), factsOf(now)]) {
    if (facts?.kind !== 'network') continue
    for (const { name, network } of facts.pools) {
      keys.add(KEYS.format('IPPool', name))
      wakeDefinitions(cache.definitions.by('network', network))
    }
  }
  // pools may be kept for a definition that could not be read
  const isRead = factsOf(before)?.kind === 'invalid' && factsOf(now)?.kind !== 'invalid'
  if (isRead) for (const name of cache.pools.names()) keys.add(KEYS.format('IPPool', name))
  return [...keys]
}

function factsOf(entry: Parsed<BlockDefinition> | undefined): BlockDefinition | undefined {
  return entry?.ok === true ? entry.value : undefined
}
