import { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { now } from 'ipam-kit/node'
import { modelWatch, type Outcome, type Planner, type Watch } from 'ipam-kit/plan'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import {
  persistentClaims,
  persistentIPs,
  type ReviewRule,
  vmPodRule,
  workloadClaims,
  workloadPodRule,
} from 'ipam-kit/provider/persistent-ip'
import { persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { taskCaller } from 'ipam-kit/run'
import { FlagError, type FlagOptions, type FlagValues, isWhole, numberOf, type Settings } from '../program/flags.js'
import type { Work } from '../program/program.js'

/** Flags of the program that makes claims. */
export const CLAIM_FLAGS = {
  enabled: {
    type: 'boolean',
    default: true,
    about: 'makes claims, and names them in Pods. Off: existing claims are released as before',
  },
  kubevirt: {
    type: 'boolean',
    default: true,
    about: 'makes the claims of virtual machines. Pass `--no-kubevirt` in a cluster without KubeVirt',
  },
  owners: {
    type: 'string',
    default: '',
    about: 'further kinds that can own claims, with commas between: `GROUP/VERSION/PLURAL/KIND`',
  },
  unplugged: {
    type: 'string',
    default: 'keep',
    about: '`delete`: the claim of an interface that is unplugged is deleted',
  },
  'missed-mutations': {
    type: 'string',
    default: 'ignore',
    about: '`report`: a Pod of a machine that the webhook has not seen is reported',
  },
  grace: {
    type: 'string',
    default: '5',
    about: 'for how many seconds the owner of a claim has to be missing, 0 to 86400',
  },
  webhook: { type: 'string', default: '8443', about: 'the port of the webhook. 0: it is not served' },
  certificates: {
    type: 'string',
    default: '/certificates',
    about: 'the folder with `tls.crt` and `tls.key` of the webhook. They are read again every 10 seconds',
  },
  'failure-policy': {
    type: 'string',
    default: 'Ignore',
    about: 'what the webhook answers when the machine of a Pod is not known, or a look-up fails: `Ignore` or `Fail`',
  },
} as const satisfies FlagOptions

export interface ClaimWork {
  readonly planners: readonly Planner<Outcome>[]
  /** The kinds of keys of the planners. */
  readonly keyKinds: readonly string[]
  /** Left out: it is not served. */
  readonly webhook: WebhookWork | undefined
}

export interface WebhookWork {
  readonly port: number
  /** With tls.crt and tls.key. */
  readonly folder: string
  readonly rules: readonly ReviewRule[]
  /** The objects that the rules look up. */
  readonly watches: readonly Watch<KubeObject>[]
}

/**
 * What the flags of the program that makes claims ask for.
 *
 * @throws FlagError
 */
export function claimWorkOf(values: FlagValues<typeof CLAIM_FLAGS>): ClaimWork {
  const { enabled, kubevirt, certificates: folder = '' } = values
  const graceSeconds = numberOf(values, 'grace', 'seconds, 0 to 86400', (n) => isWhole(n, 0, 86_400))
  const port = numberOf(values, 'webhook', 'a port from 1 to 65535, or 0 for none', (n) => isWhole(n, 0, 65_535))
  const unplugged = oneOf(values, 'unplugged', ['keep', 'delete'])
  const missedMutations = oneOf(values, 'missed-mutations', ['ignore', 'report'])
  const failurePolicy = oneOf(values, 'failure-policy', ['Ignore', 'Fail'])
  const kinds = ownerKinds(values.owners ?? '')
  const planners: readonly Planner<Outcome>[] = [
    ...(kubevirt ? [persistentClaims({ enabled, unplugged, missedMutations, graceSeconds })] : []),
    ...(kinds.length > 0 ? [workloadClaims({ kinds, enabled, graceSeconds })] : []),
  ]
  if (planners.length === 0) throw new FlagError('--no-kubevirt without --owners leaves nothing to do')
  const keyKinds = [...(kubevirt ? ['VirtualMachine'] : []), ...(kinds.length > 0 ? ['IPAMClaim'] : [])]
  const rules = [
    ...(kubevirt ? [vmPodRule({ enabled, failurePolicy })] : []),
    ...(kinds.length > 0 ? [workloadPodRule({ enabled, failurePolicy })] : []),
  ]
  const models = kubevirt ? [VirtualMachineInstance, NetworkAttachmentDefinition] : [NetworkAttachmentDefinition]
  const watches = enabled ? models.map((model) => modelWatch<KubeObject>(model)) : []
  return { planners, keyKinds, webhook: port > 0 ? { port, folder, rules, watches } : undefined }
}

function ownerKinds(text: string): readonly KindInfo[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [group = '', version = '', plural = '', kind = '', ...more] = each.split('/')
      if (more.length > 0 || [group, version, plural, kind].includes('')) {
        throw new FlagError(
          `--owners (${each}) must be GROUP/VERSION/PLURAL/KIND, such as apps/v1/statefulsets/StatefulSet`,
        )
      }
      return { apiVersion: `${group}/${version}`, kind, plural, namespaced: true, statusSubresource: true }
    })
}

/** Flags of the program that gives addresses. */
export const ADDRESS_FLAGS = {
  enabled: {
    type: 'boolean',
    default: true,
    about: 'gives addresses. Off: nothing is written, and claims hold what they have',
  },
  'terminating-claims': {
    type: 'string',
    default: 'refuse',
    about: '`serve`: a new Pod gets the addresses of a claim that is being deleted',
  },
  'static-requests': {
    type: 'boolean',
    default: false,
    about: 'a Pod can ask for addresses of its primary network',
  },
  'default-network-namespace': {
    type: 'string',
    default: 'ovn-kubernetes',
    about: 'the namespace of the definition of the default network',
  },
  stretched: { type: 'string', default: '', about: 'the networks of several clusters, with commas between' },
  ledger: {
    type: 'string',
    default: 'objects',
    about:
      '`blocks`: an address is a row of a block, and all processes work at once, without a leader. Needs the ' +
      'definitions of blocks; not with `--leader-elect`',
  },
  'sweep-after': {
    type: 'string',
    default: '120',
    about: 'with blocks: a row without its claim is removed after this many seconds, 0 to 86400',
  },
  'empty-after': {
    type: 'string',
    default: '60',
    about: 'with blocks: an empty block is deleted after this many seconds, 0 to 86400',
  },
} as const satisfies FlagOptions

/**
 * What the flags of the program that gives addresses ask for. With blocks any number of processes
 * works, and none leads.
 *
 * @throws FlagError
 */
export function addressWorkOf(
  values: FlagValues<typeof ADDRESS_FLAGS>,
  { elects }: Pick<Settings, 'elects'>,
): Pick<Work, 'planners' | 'controller'> {
  const { enabled, 'static-requests': staticRequests, 'default-network-namespace': namespace = '' } = values
  if (namespace === '') throw new FlagError('--default-network-namespace () must be the name of a namespace')
  const terminatingClaim = oneOf(values, 'terminating-claims', ['refuse', 'serve'])
  const networks = (values.stretched ?? '').split(',').map((each) => each.trim())
  const stretched = networks.filter((each) => each !== '')
  const options = { enabled, terminatingClaim, staticRequests, defaultNetworkNamespace: namespace, stretched }
  const graceSeconds = numberOf(values, 'sweep-after', 'seconds, 0 to 86400', (n) => isWhole(n, 0, 86_400))
  const emptySeconds = numberOf(values, 'empty-after', 'seconds, 0 to 86400', (n) => isWhole(n, 0, 86_400))
  if (oneOf(values, 'ledger', ['objects', 'blocks']) === 'objects') return { planners: [persistentIPs(options)] }
  if (elects) throw new FlagError('--ledger blocks needs no leader: leave --leader-elect out')
  const blocks = persistentIPsOnBlocks({ ...options, graceSeconds })
  return {
    planners: [blocks, blocksOperator({ emptySeconds })],
    controller: ({ store, canWrite, identity }) => ({
      external: taskCaller({ store, tasks: blocks.tasks, now, canWrite }),
      identity,
    }),
  }
}

function oneOf<N extends string, V extends string>(
  values: { readonly [name in N]?: string | undefined },
  name: N,
  allowed: readonly V[],
): V {
  const found = allowed.find((each) => each === values[name])
  if (found === undefined) throw new FlagError(`--${name} (${values[name]}) must be ${allowed.join(' or ')}`)
  return found
}
