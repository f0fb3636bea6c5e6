import type { KindOf } from '../../../errors/check.js'

export interface PersistentIPsOptions {
  /**
   * Whether addresses are given. False: definitions of networks are not watched, claims hold what
   * they have until they are deleted, and nothing is written. Default true.
   */
  readonly enabled?: boolean | undefined
  /** What a new Pod gets of a claim that is being deleted. Default `refuse`; upstream serves it. */
  readonly terminatingClaim?: 'refuse' | 'serve' | undefined
  /**
   * Whether a Pod can ask for addresses and a MAC address of its primary network. Default false.
   */
  readonly staticRequests?: boolean | undefined
  /** The namespace of the definition of the default network. Default `ovn-kubernetes`. */
  readonly defaultNetworkNamespace?: string | undefined
  /**
   * The names of the networks that reach over several clusters. In a live migration from another
   * cluster, the target Pod then gets the address of its claim while the source runs. In other
   * networks it gets it when the machine runs in the target. Default none.
   */
  readonly stretched?: readonly string[] | undefined
}

export const PERSISTENT_IPS_OPTIONS: KindOf<PersistentIPsOptions> = {
  enabled: 'flag?',
  terminatingClaim: ['one?', { refuse: 1, serve: 1 }],
  staticRequests: 'flag?',
  defaultNetworkNamespace: 'text?',
  stretched: ['list?', 'text'],
}
