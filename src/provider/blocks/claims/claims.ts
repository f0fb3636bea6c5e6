import * as Address from '../../../cidr/nouns/address.js'
import type { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { check, type KindOf } from '../../../errors/check.js'
import type { Outcome } from '../../../plan/index.js'
import type { ProviderFinalizers } from '../../claims/definition.js'
import { AddressLedger } from '../../claims/index.js'
import type { BlockHolderQuery, ClaimRequest } from './definition.js'
import { type BlockProvider, defineBlockProvider } from './provider.js'

/** Annotation of a claim: the family that it requests from a pool with both, `4` or `6`. */
export const FAMILY_ANNOTATION = 'ipam-kit.dev/family'
/** Annotation of a claim: the address that it requests. */
export const ADDRESS_ANNOTATION = 'ipam-kit.dev/address'

export interface BlockClaimsOptions {
  /** Default: those of Cluster API's own library. */
  readonly finalizers?: Partial<ProviderFinalizers> | undefined
  /**
   * After how many seconds an IPAddress without a claim is removed: as in `defineProvider`.
   * {@link blocksSweep} then removes its row. Left out: never.
   */
  readonly sweepAfterSeconds?: number | undefined
  /**
   * Which finalizers on a claim that is being deleted keep its address in use: as in
   * `defineProvider`.
   */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
  /**
   * The labels of a namespace, for pools with a `namespaceSelector`; `undefined`: not known yet.
   * Left out: such pools serve no claims.
   */
  readonly namespaceLabels?: ((namespace: string) => { readonly [key: string]: string } | undefined) | undefined
}

const BLOCK_CLAIMS_OPTIONS: KindOf<BlockClaimsOptions> = {
  finalizers: 'object?',
  sweepAfterSeconds: 'number?',
  holdsAddress: 'function?',
  namespaceLabels: 'function?',
}

/**
 * Serves the claims of Cluster API (IPAddressClaim) from blocks: `spec.poolRef` names an IPPool of
 * ipam-kit.dev. Any number of processes may run it at once, and each serves every claim. No leader
 * is needed: a block gives an address once, and the IPAddress of a claim is created once.
 *
 * A claim has the same life as with every provider. Its address comes from blocks by the calls of
 * its plans: pass `tasks` to `taskCaller` of `ipam-kit/run`.
 */
export type BlockClaims = BlockProvider<IPPool, AddressLedger<IPPool>, PoolSeen>

/**
 * The outcome of a plan for a pool: this planner does nothing with pools, `blocksOperator` plans
 * them.
 */
export interface PoolSeen extends Outcome {
  readonly kind: 'ready'
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function blockClaims(options: BlockClaimsOptions = {}): BlockClaims {
  check('blockClaims', 'options', options, BLOCK_CLAIMS_OPTIONS)
  return defineBlockProvider<IPPool, AddressLedger<IPPool>, PoolSeen>({
    ...options,
    name: 'block-claims',
    pools: [IPPool],
    ledger: (holdings) => new AddressLedger<IPPool>(holdings),
    request: ({ claim, pool, families }) => requestOf(claim, pool.metadata.name, families),
    offer: ({ prefix, subnet, gateway }) => ({
      prefix: prefix.length === Address.bitsOf(prefix.address.family) ? (subnet ?? prefix).length : prefix.length,
      gateway: gateway && Address.format(gateway),
    }),
    heldBy,
    planPool: () => ({ outcome: { kind: 'ready', message: 'seen' }, effects: [] }),
  })
}

/**
 * The claim whose IPAddress has an address without a row, as after a restore without blocks. The
 * claim gets the row again.
 */
function heldBy({ prefix, claim, ledger }: BlockHolderQuery<AddressLedger<IPPool>>): string | undefined {
  const [namespace, name = ''] = claim.split('/')
  const address = Address.format(prefix.address)
  return ledger.othersHolding({ metadata: { namespace, name }, spec: { address } })[0]
}

function requestOf({ metadata }: IPAddressClaim, pool: string, families: readonly (4 | 6)[]): ClaimRequest {
  const wait = (message: string) => ({ kind: 'wait', reason: 'AllocationFailed', message }) as const
  const family = familyOf(metadata.annotations?.[FAMILY_ANNOTATION], pool, families)
  if (typeof family === 'string') return wait(family)
  const asked = metadata.annotations?.[ADDRESS_ANNOTATION]
  if (asked === undefined) return { kind: 'request', family }
  const address = Address.safeParse(asked)
  if (!address.ok) return wait(`${ADDRESS_ANNOTATION}: ${JSON.stringify(asked)} is not an address`)
  if (address.value.family !== family) return wait(`${ADDRESS_ANNOTATION}: ${asked} is not IPv${family}`)
  return { kind: 'request', family, address: address.value }
}

/** The family that a claim requests, or why it is not known. */
function familyOf(asked: string | undefined, pool: string, families: readonly (4 | 6)[]): 4 | 6 | string {
  if (asked !== undefined) {
    const family = families.find((each) => String(each) === asked)
    return family ?? `${FAMILY_ANNOTATION}: pool ${pool} has no family ${JSON.stringify(asked)}`
  }
  if (families.length === 1) return families[0] as 4 | 6
  return `pool ${pool} has ${families.length === 0 ? 'no' : 'both'} families: ${FAMILY_ANNOTATION} says which`
}
