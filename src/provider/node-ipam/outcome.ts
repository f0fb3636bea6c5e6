import type { Prefix } from '../../cidr/index.js'
import type { SubnetChoice } from './subnets.js'

/** The outcome of a plan. */
export type NodeIPAMOutcome = NodeOutcome | RangeOutcome | ServiceOutcome

/**
 * The outcome of a plan for a Node.
 *
 * - `assigned`: it gets subnets
 * - `ready`: it has valid subnets
 * - `waiting`: no range has free subnets for it (`CIDRNotAvailable`)
 * - `notOwned`: a subnet of it is in no range (`CIDRNotOwned`)
 * - `conflict`: a subnet of it overlaps one of another Node or a service range, or its fields
 *   contradict each other (`CIDRConflict`)
 * - `deleting`: it is being deleted, and gets none
 * - `failed`: the store has refused the patch (`CIDRAssignmentFailed`)
 * - `unreadable`: it cannot be parsed; the readable part of its `podCIDRs` is in use
 */
export type NodeOutcome =
  | { readonly kind: 'assigned'; readonly message: string; readonly node: string; readonly choice: SubnetChoice }
  | {
      readonly kind: 'notOwned' | 'conflict'
      readonly message: string
      /** The problems of all subnets, one for each Event. With both kinds it is a `conflict`. */
      readonly problems: readonly SubnetProblem[]
    }
  | { readonly kind: 'ready' | 'waiting' | 'deleting' | 'failed' | 'unreadable'; readonly message: string }

/**
 * A problem with subnets that a Node has. They are not changed: a Node keeps its subnets for its
 * life.
 */
export interface SubnetProblem {
  readonly reason: 'CIDRNotOwned' | 'CIDRConflict'
  readonly message: string
  /** The subnet in no range, or that overlaps. Empty if the fields contradict each other. */
  readonly subnets: readonly Prefix[]
  /** What its Event is sent for, once while it lasts: also when there are more Nodes or fewer. */
  readonly cause: string
}

/**
 * The outcome of a plan for a ClusterCIDR.
 *
 * - `active`: it gives subnets
 * - `blocked`: it is being deleted, and Nodes have subnets of it
 * - `released`: it is being deleted, and no Node has a subnet of it
 * - `invalid`: it gives no subnets, because its spec is invalid (`InvalidClusterCIDR`)
 * - `failed`: the store has refused a write of it, such as its finalizer: it gives no subnets until
 *   the write is done, and Nodes get subnets of other ranges (`WriteRefused`)
 */
export interface RangeOutcome {
  readonly kind: 'active' | 'blocked' | 'released' | 'invalid' | 'failed'
  readonly message: string
  /** With `blocked`: the Nodes, in the order of their subnets. */
  readonly nodes?: readonly string[] | undefined
}

/**
 * The outcome of a plan for a ServiceCIDR: `invalid` if a range of it cannot be read
 * (`InvalidServiceCIDR`). No Node gets a subnet of the other ranges.
 */
export interface ServiceOutcome {
  readonly kind: 'excluded' | 'invalid'
  readonly message: string
}

/** Reasons of the Events, all of type Warning. The first two are upstream's. */
export type NodeIPAMEventReason =
  | 'CIDRNotAvailable'
  | 'CIDRAssignmentFailed'
  | 'CIDRNotOwned'
  | 'CIDRConflict'
  | 'InvalidClusterCIDR'
  | 'InvalidServiceCIDR'
  | 'WriteRefused'
