/** The outcome of a plan of {@link blockNetworks}. */
export type BlockNetworkOutcome = NetworkPoolOutcome | NetworkDefinitionOutcome

/**
 * The outcome of a plan for an IPPool.
 *
 * - `made`, `changed`: it is created, or follows its definitions
 * - `ready`: it is as its definitions say
 * - `unmanaged`: it was made by hand, and is not changed (`UnmanagedPool` if it differs)
 * - `retired`: no definition has its range any more. It is disabled until it has no rows
 * - `kept`: no definition has its range, but one definition cannot be read
 * - `deleted`: no definition has its range, and it has no rows
 * - `deleting`: it is being deleted, and is created again when it is gone
 * - `conflict`: it cannot be what its definitions say (`InvalidPool`)
 * - `unreadable`: it cannot be parsed, and is not changed (`UnreadablePool`)
 * - `failed`: the store has refused a write (`WriteRefused`)
 */
export interface NetworkPoolOutcome {
  readonly kind:
    | 'made'
    | 'changed'
    | 'ready'
    | 'unmanaged'
    | 'retired'
    | 'kept'
    | 'deleted'
    | 'deleting'
    | 'conflict'
    | 'unreadable'
    | 'failed'
  readonly message: string
}

/**
 * The outcome of a plan for a NetworkAttachmentDefinition.
 *
 * - `served`: each range has its pool
 * - `shared`: a pool of it does not give all that it gives: another definition of the pool has
 *   other excludes, another gateway or other static addresses (`SharedPool`)
 * - `overlaps`: a range overlaps one of another domain of its network: an address may be given
 *   twice (`OverlappingDomains`)
 * - `ignored`: it has another IPAM type
 * - `invalid`: its configuration cannot be read (`InvalidNetwork`)
 */
export interface NetworkDefinitionOutcome {
  readonly kind: 'served' | 'shared' | 'overlaps' | 'ignored' | 'invalid'
  readonly message: string
}

/** Reasons of the Events, all of type Warning and about the definition. */
export type BlockNetworkEventReason =
  | 'InvalidNetwork'
  | 'SharedPool'
  | 'OverlappingDomains'
  | 'UnmanagedPool'
  | 'InvalidPool'
  | 'UnreadablePool'
  | 'WriteRefused'
