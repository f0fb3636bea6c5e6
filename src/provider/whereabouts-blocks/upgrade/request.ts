import { check, type Kind } from '../../../errors/check.js'
import type { WhereaboutsConfig } from '../../whereabouts/config/types.js'
import { CONFIG } from '../../whereabouts/tasks/request.js'

/** The pool of whereabouts that a task of an upgrade is for. */
export interface UpgradeRequest {
  /** Its name. */
  readonly pool: string
  /** The namespace of the objects of whereabouts. Empty or left out: `kube-system`. */
  readonly namespace?: string | undefined
  /**
   * The networks of all definitions with the IPAM type `whereabouts`, and of those whose pools are
   * upgraded and that have the type `ipam-kit` already: the `config` of `readBlockNetwork`.
   */
  readonly networks: readonly WhereaboutsConfig[]
  /**
   * The `holderIdentity` under which the upgrade holds the Lease of upstream. The same for all
   * tasks of an upgrade. Empty or left out: `ipam-kit-upgrade`.
   */
  readonly leaseHolder?: string | undefined
}

const REQUEST: Kind = ['open', { pool: 'text', namespace: 'text?', networks: ['list', CONFIG], leaseHolder: 'text?' }]

/** @throws IpamError `INVALID_ARGUMENT` */
export function checkRequest(of: string, request: UpgradeRequest): void {
  check<unknown>(of, 'request', request, REQUEST)
}
