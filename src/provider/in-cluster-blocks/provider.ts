import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { type InClusterPool, isPrefixPool, poolModels } from '../../crd/in-cluster/pools.js'
import { formatRef, refOf } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import type { BlockHolderQuery, ClaimRequest } from '../blocks/claims/definition.js'
import { type BlockProvider, defineBlockProvider } from '../blocks/claims/provider.js'
import type { ProviderFinalizers } from '../claims/definition.js'
import { choose } from '../in-cluster/choice.js'
import { afterGrace, claimName } from '../in-cluster/definition.js'
import { PoolLedger } from '../in-cluster/ledger.js'
import {
  assertOptions,
  type InClusterOptions,
  PREALLOCATIONS_ANNOTATION,
  REQUESTED_ADDRESS_ANNOTATION,
} from '../in-cluster/options.js'
import type { PoolOutcome } from '../in-cluster/outcome.js'
import { planPool } from '../in-cluster/pool.js'
import { preallocationsOf } from '../in-cluster/preallocations.js'
import { ipPoolOf } from './as-ip-pool.js'

/** Extensions of the provider beyond upstream. All are off by default. */
export interface InClusterBlocksOptions
  extends Pick<
    InClusterOptions,
    'poolConditions' | 'requestedAddress' | 'preallocations' | 'sweepAfterSeconds' | 'holdsAddress'
  > {
  /** Default: those of Cluster API's own library. */
  readonly finalizers?: Partial<ProviderFinalizers> | undefined
}

const IN_CLUSTER_BLOCKS_OPTIONS: KindOf<InClusterBlocksOptions> = {
  poolConditions: 'flag?',
  requestedAddress: 'object?',
  preallocations: 'object?',
  sweepAfterSeconds: 'number?',
  holdsAddress: 'function?',
  finalizers: 'object?',
}

export type InClusterBlocks = BlockProvider<InClusterPool, PoolLedger, PoolOutcome>

/**
 * The in-cluster provider of Cluster API with blocks as its ledger: an address is a row of an
 * IPBlock before it is an IPAddress. So any number of processes may serve the same pools at once,
 * without a leader. Everything else is as with `inCluster` of `ipam-kit/provider/in-cluster`, which
 * is for one writer at a time.
 *
 * Pools need no change: their blocks are in a domain of their own, with the name of the pool.
 * Existing IPAddress objects, as those of the Go provider, keep their addresses: no other claim
 * gets them, and each gets its row with the next plan of its claim. Do not run a provider without
 * blocks at the same time.
 *
 * Its calls are tasks over blocks: pass `tasks` to `taskCaller` of `ipam-kit/run`. Also run
 * `blocksOperator`, which deletes empty blocks, and `blocksSweep` with IPAddressClaim among its
 * owners.
 *
 * @throws IpamError `INVALID_ARGUMENT` for invalid options
 *
 * @example
 * import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
 * import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
 * const planners = [inClusterBlocks(), blocksOperator(), blocksSweep({ owners: [IPAddressClaim.info] })]
 * planners.map(({ name }) => name) // ['in-cluster', 'blocks', 'blocks-sweep']
 */
export function inClusterBlocks(options: InClusterBlocksOptions = {}): InClusterBlocks {
  check('inClusterBlocks', 'options', options, IN_CLUSTER_BLOCKS_OPTIONS)

  assertOptions(options)
  const { poolConditions = false, preallocations, sweepAfterSeconds, holdsAddress, finalizers } = options
  const annotation = preallocations?.annotation ?? PREALLOCATIONS_ANNOTATION
  return defineBlockProvider<InClusterPool, PoolLedger, PoolOutcome>({
    name: 'in-cluster',
    pools: poolModels,
    poolAnnotations: preallocations === undefined ? [] : [annotation],
    finalizers,
    sweepAfterSeconds,
    holdsAddress,
    ledger: (holdings) =>
      new PoolLedger(holdings, preallocations && ((pool) => preallocationsOf(pool, preallocations))),
    ipPoolOf,
    request: (input) => requestOf(input, options),
    offer: ({ prefix }, pool) => {
      const { gateway } = pool.spec
      // a single address gets the length of its subnet in the pool
      const length = isPrefixPool(pool) ? prefix.length : pool.spec.prefix
      return { prefix: length, gateway: gateway === '' ? undefined : gateway }
    },
    heldBy,
    keepsOutOfRange: true,
    mayRelease: afterGrace,
    planPool: ({ pool, ledger, rows, nowMs }) =>
      planPool({ pool, ledger, rows, ...(poolConditions ? { conditionsAt: { nowMs } } : {}) }),
  })
}

type RequestInput = Parameters<
  Parameters<typeof defineBlockProvider<InClusterPool, PoolLedger, PoolOutcome>>[0]['request']
>[0]

/** The address that is kept for the claim, the one that it requests, or any. */
function requestOf(
  { claim, pool, ledger, families }: RequestInput,
  { requestedAddress }: InClusterBlocksOptions,
): ClaimRequest {
  const name = formatRef(refOf(pool))
  // a pool that can be used has a family, whatever it gives
  const family = families[0] as 4 | 6
  const annotation = requestedAddress && (requestedAddress.annotation ?? REQUESTED_ADDRESS_ANNOTATION)
  const requested = annotation === undefined ? undefined : claim.metadata.annotations?.[annotation]
  const preallocated = ledger.keptFor(claimName(claim))
  if (requested === undefined && preallocated === undefined) return { kind: 'request', family }
  const choice = choose(ledger, { claim: claimName(claim), pool: name, preferences: { preallocated, requested } })
  switch (choice.kind) {
    case 'offer':
      return { kind: 'request', family, address: choice.offer.address }
    case 'refused':
      return { kind: 'wait', reason: 'AllocationFailed', message: choice.message }
    case 'exhausted':
      return { kind: 'wait', reason: 'PoolExhausted', message: `no address available in ${name}` }
  }
}

/** The claim that holds a prefix by an IPAddress without a row, or by a preallocation. */
function heldBy({ prefix, claim, ledger }: BlockHolderQuery<PoolLedger>): string | undefined {
  const isAddress = prefix.length === Address.bitsOf(prefix.address.family)
  const answer = ledger.answerTo(isAddress ? Address.format(prefix.address) : Prefix.format(prefix), claim)
  return answer.kind === 'taken' ? answer.by : undefined
}
