import type { Outcome } from '../../plan/index.js'
import type { ConflictReason } from '../consumer/resolution.js'
import type { ConsumerState } from '../consumer/table.js'

/**
 * The outcome of a plan for a server.
 *
 * - `none`: it requests no floating IP, and has none
 * - `paused`: it or its Cluster is paused: nothing is done
 * - `creating`: its claim is being created
 * - `waiting`: its claim has no address yet
 * - `terminating`: its claim is being deleted
 * - `bound`: its claim has an address, and it has no instance yet
 * - `attaching`: the cloud is asked about its address, or to attach it
 * - `attached`: its instance has the address
 * - `conflict`: its claim cannot be used, or its floating IP is attached elsewhere. Neither is
 *   changed
 * - `error`: the cloud does not know the floating IP, has no port for it, or has refused a call
 * - `failed`: the pool had no address, and the policy is `fail`. It gets none any more
 * - `detaching`: its claim is about to be released, and the cloud is asked to detach the address
 *   first
 * - `holding`: its claim is about to be released, and its instance may still use the address
 * - `released`: its claim is released when the effects are done
 * - `unreadable`: it, its claim or its Cluster cannot be parsed
 */
export interface FloatingServerOutcome extends Outcome {
  readonly kind:
    | 'none'
    | 'paused'
    | 'creating'
    | 'waiting'
    | 'terminating'
    | 'bound'
    | 'attaching'
    | 'attached'
    | 'conflict'
    | 'error'
    | 'failed'
    | 'detaching'
    | 'holding'
    | 'released'
    | 'unreadable'
  /** The address of its claim, in the text form of the IPAddress. */
  readonly address?: string | undefined
  /** With `conflict`: the reason. */
  readonly conflict?: ConflictReason | 'AttachedElsewhere' | undefined
  /** The state of its claim, for a server that exists and names a pool. */
  readonly state?: ConsumerState | undefined
}
