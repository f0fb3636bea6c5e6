import type * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import type * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import type { InterfaceAddress } from '../../../crd/multinet/index.js'
import type { Effect, Holdings } from '../../../plan/index.js'
import type { NetworkDefinition } from '../network/definition.js'
import { hostOf } from './holds.js'

/** A claim, or an interface of a Pod, for which addresses of a network are planned. */
export interface AddressUser {
  readonly object: KubeObject
  /** {@link PodAttachment.key} of the interface. Left out: a claim. */
  readonly interface?: string | undefined
  readonly network: NetworkDefinition
  /** The keys of the planner whose objects may have the same addresses. */
  readonly own: ReadonlySet<string>
  /** Whether the holder of a key came later with an address of the user. Left out: none did. */
  readonly isLater?: ((key: string) => boolean) | undefined
  /** What the object has already. */
  readonly has: readonly InterfaceAddress[]
}

/** What has to be done before objects may have addresses. */
export interface RecordStep {
  readonly message: string
  /** Empty: there is nothing to do now. */
  readonly effects: readonly Effect[]
  readonly requeueAfterSeconds?: number | undefined
  /** Whether the network had no free address. The user is refused. */
  readonly isExhausted: boolean
}

/** The record of the addresses of a network, as a plan for one user reads it. */
export interface AddressRecord {
  /** Whether another user has the address. */
  isTaken(address: Address.Address): boolean
  /** An address of a set that the user may have; `undefined`: it has none yet. */
  next(within: RangeSet.RangeSet): Address.Address | undefined
  /**
   * What has to be done before the user may have these addresses, with those that `next` did not
   * find. Call it after the plan. `undefined`: nothing.
   */
  before(addresses: readonly Prefix.Prefix[]): RecordStep | undefined
}

/** Opens the record of a network for a user. */
export type OpenRecord = (user: AddressUser) => AddressRecord

/** The objects are the only record: an address is free when no object has it. */
export function objectRecord(holdings: Holdings): OpenRecord {
  return ({ network, own, isLater = () => false }) => {
    const ledger = holdings.ledger(network.name)
    return {
      isTaken: (address) =>
        ledger.holders(hostOf(address)).some(({ holder: { key } }) => !own.has(key) && !isLater(key)),
      next: (within) => ledger.next({ within })?.address,
      before: () => undefined,
    }
  }
}

/** The checks that a claim is as it was read, right before its Pods are written. */
export type ClaimChecks = (claim: IPAMClaim) => readonly Effect[]
