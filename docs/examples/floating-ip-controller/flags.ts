import { FlagError, type FlagOptions, type FlagValues, isWhole, numberOf } from '../program/flags.js'

export const FLAGS = {
  /** Pools have one leader. Off: no other process may run. */
  'leader-elect': { type: 'boolean', default: true },
  /** Which of pools and servers it looks after. */
  controllers: { type: 'string', default: 'pools,servers' },
  /**
   * How long a call to OpenStack may take. After a start pools wait so long for open calls.
   */
  'call-seconds': { type: 'string', default: '60' },
  /** After how long the floating IPs of a pool are listed again. */
  'list-seconds': { type: 'string', default: '300' },
  /** What becomes of a server whose pool has no address: wait, or fail. */
  'on-exhausted': { type: 'string', default: 'wait' },
  /** When a server that is deleted gives its address back: detached, or instanceGone. */
  'release-when': { type: 'string', default: 'detached' },
  /** Whether identityRef may name an OpenStackClusterIdentity: its kind has to be installed. */
  'cluster-identities': { type: 'boolean', default: false },
} as const satisfies FlagOptions

/** What {@link FLAGS} say. */
export interface FloatingIPOptions {
  readonly controllers: readonly string[]
  readonly callSeconds: number
  readonly listSeconds: number
  readonly onExhausted: 'wait' | 'fail'
  readonly releaseWhen: 'detached' | 'instanceGone'
  readonly clusterIdentities: boolean
}

/** @throws FlagError */
export function optionsOf(values: FlagValues<typeof FLAGS>): FloatingIPOptions {
  const controllers = (values.controllers ?? '').split(',').map((text) => text.trim())
  if (controllers.some((name) => name !== 'pools' && name !== 'servers')) {
    throw new FlagError(`--controllers (${values.controllers}) is pools, servers, or both with a comma between`)
  }
  return {
    controllers,
    callSeconds: numberOf(values, 'call-seconds', 'whole seconds, 5 to 60', (n) => isWhole(n, 5, 60)),
    listSeconds: numberOf(values, 'list-seconds', 'whole seconds, 30 to 86400', (n) => isWhole(n, 30, 86_400)),
    onExhausted: oneOf(values, 'on-exhausted', ['wait', 'fail']),
    releaseWhen: oneOf(values, 'release-when', ['detached', 'instanceGone']),
    clusterIdentities: values['cluster-identities'] === true,
  }
}

function oneOf<N extends 'on-exhausted' | 'release-when', T extends string>(
  values: FlagValues<typeof FLAGS>,
  name: N,
  words: readonly T[],
): T {
  const found = words.find((word) => word === values[name])
  if (found === undefined) throw new FlagError(`--${name} (${values[name]}) is ${words.join(' or ')}`)
  return found
}
