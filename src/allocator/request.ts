import type { Address, Family } from '../cidr/index.js'
import { ipamError } from '../errors/index.js'

/** Who holds an address. Two requests with the same uid are the same owner. */
export interface Owner {
  /** Identity: the uid of the Kubernetes object, or any text that is never used again for another owner. */
  readonly uid: string
  /** How people know the owner, such as `namespace/name`. Only repeated in answers. */
  readonly key?: string | undefined
}

/**
 * Guards against owners without a uid: two of them would be one owner, and would be given one address.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertOwner(owner: Owner): void {
  if (typeof owner?.uid !== 'string' || owner.uid === '') {
    throw ipamError('INVALID_ARGUMENT', {
      argument: 'owner.uid',
      expected: 'a text that is not empty',
      got: String(owner?.uid),
    })
  }
}

/** What an owner asks for. */
export interface AllocationRequest {
  readonly owner: Owner
  /** Only addresses of this family. Default: IPv4 before IPv6. */
  readonly family?: Family | undefined
  /** `any`: the lowest free address. `address`: this one or none. Default `any`. */
  readonly want?: { readonly kind: 'any' } | { readonly kind: 'address'; readonly address: Address } | undefined
}

/** What an allocation changed: enough to persist it, or to take it back with `undo`. */
export interface AllocationDelta {
  readonly kind: 'allocate'
  readonly address: Address
  readonly owner: Owner
}

/** The answer to a request. Only `allocated` has changed the pool. */
export type AllocationOutcome =
  | { readonly kind: 'allocated'; readonly address: Address; readonly delta: AllocationDelta }
  /** The owner holds this address already; asking again gives the same. */
  | { readonly kind: 'already'; readonly address: Address }
  /** No address of the wanted family is free. */
  | { readonly kind: 'exhausted' }
  /** The wanted address is held by somebody else. */
  | { readonly kind: 'taken'; readonly address: Address; readonly by: Owner }
  /** The wanted address is not one that this pool hands out. */
  | { readonly kind: 'outOfPool'; readonly address: Address }
  /** The owner holds another address than the one it now asks for. */
  | { readonly kind: 'refused'; readonly reason: 'OwnerHoldsAnother'; readonly address: Address }

/** What {@link AddressPool.occupy} found. The address is in use in every case. */
export interface Occupation {
  /** `outOfPool`: remembered and counted apart, never handed out. */
  readonly kind: 'occupied' | 'already' | 'outOfPool'
  /** Who else holds the same address: a duplicate that exists outside of this pool's control. */
  readonly others: readonly Owner[]
}

/** Distinct addresses, by what they are. `total = used + free`. */
export interface PoolCounts {
  /** Addresses that the pool may hand out, in use or not. */
  readonly total: bigint
  /** Of those, in use. */
  readonly used: bigint
  readonly free: bigint
  /** In use, but not or no longer an address of the pool. */
  readonly outOfRange: bigint
}
