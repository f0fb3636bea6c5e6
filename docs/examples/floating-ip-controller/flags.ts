import { FlagError, type FlagOptions, type FlagValues, isWhole, numberOf } from '../program/flags.js'

export const FLAGS = {
  'leader-elect': {
    type: 'boolean',
    default: true,
    about: 'one process works at a time: pools have one leader. Off: never run a second process',
  },
  controllers: {
    type: 'string',
    default: 'pools,servers',
    about: 'what it reconciles: `pools`, `servers`, or both with a comma between',
  },
  'call-seconds': {
    type: 'string',
    default: '60',
    about:
      'how long a call to OpenStack may take, 5 to 60. After a start, claims that need a new floating IP wait ' +
      'for open calls of the former leader',
  },
  'list-seconds': {
    type: 'string',
    default: '300',
    about:
      'after how many seconds the floating IPs of a pool are listed again, 30 to 86400. At most 60 while claims ' +
      'or a deletion wait',
  },
  'on-exhausted': {
    type: 'string',
    default: 'wait',
    about: '`fail`: a server whose pool has no address fails for good, and its claim is deleted',
  },
  'release-when': {
    type: 'string',
    default: 'detached',
    about: '`instanceGone`: a server that is being deleted gives its address back when its instance has no ports',
  },
  'cluster-identities': {
    type: 'boolean',
    default: false,
    about: '`identityRef` may name an OpenStackClusterIdentity. Its kind has to be installed',
  },
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
