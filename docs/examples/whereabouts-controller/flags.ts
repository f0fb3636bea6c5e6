import { Pod } from 'ipam-kit/crd/core'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { whereaboutsNodeSlices, whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { blockNetworks } from 'ipam-kit/provider/whereabouts-blocks'
import { FlagError, type FlagOptions, type FlagValues, isWhole, numberOf } from '../program/flags.js'

export const FLAGS = {
  sweep: { type: 'boolean', default: true, about: 'frees the rows and reservations of Pods that do not exist' },
  'node-slices': {
    type: 'boolean',
    default: true,
    about: 'gives each Node a slice of each range with `node_slice_size`',
  },
  'pool-namespace': {
    type: 'string',
    about: 'the namespace of pools and reservations. Left out: WHEREABOUTS_NAMESPACE, else kube-system',
  },
  'all-namespaces': { type: 'boolean', default: false, about: 'the sweep reads the pools of all namespaces' },
  grace: {
    type: 'string',
    default: '900',
    about: 'for how many seconds a Pod that runs may report other addresses, 0 to 86400',
  },
  'completed-pods': {
    type: 'string',
    default: 'keep',
    about: '`free`: a Pod that has ended loses its addresses',
  },
  'evicted-pods': {
    type: 'string',
    default: 'keep',
    about: '`free`: a Pod that the taint manager evicts loses its addresses',
  },
  claims: { type: 'boolean', default: true, about: 'whether the cluster has IPAMClaims' },
  'create-reservations': {
    type: 'boolean',
    default: false,
    about: 'creates the reservation that a row lacks',
  },
  blocks: {
    type: 'boolean',
    default: false,
    about: 'makes the pools of networks of the type ipam-kit, and removes rows of Pods that do not exist',
  },
  namespaced: {
    type: 'boolean',
    default: false,
    about: 'with `--blocks`: a pool serves only Pods of the namespaces of its definitions',
  },
  'sweep-after': {
    type: 'string',
    default: '900',
    about: 'with `--blocks`: a row without its Pod is removed after this many seconds, 1 to 86400',
  },
  'empty-after': {
    type: 'string',
    default: '60',
    about: 'with `--blocks`: an empty block that is not needed is deleted after this many seconds, 0 to 86400',
  },
} as const satisfies FlagOptions

/**
 * The planners that the flags ask for.
 *
 * @throws FlagError
 */
export function plannersOf(
  values: FlagValues<typeof FLAGS>,
  env: { readonly [name: string]: string | undefined },
): readonly Planner<Outcome>[] {
  const poolNamespace = values['pool-namespace'] || env.WHEREABOUTS_NAMESPACE || 'kube-system'
  const sweep = () =>
    whereaboutsSweep({
      namespace: values['all-namespaces'] === true ? undefined : poolNamespace,
      graceSeconds: numberOf(values, 'grace', 'seconds, 0 to 86400', (n) => isWhole(n, 0, 86_400)),
      completedPods: keepOrFree(values, 'completed-pods'),
      evictedPods: keepOrFree(values, 'evicted-pods'),
      claims: values.claims === true,
      createReservations: values['create-reservations'] === true,
    })
  const blocks = () => {
    const seconds = (name: 'sweep-after' | 'empty-after', least: number) =>
      numberOf(values, name, `seconds, ${least} to 86400`, (n) => isWhole(n, least, 86_400))
    return [
      blockNetworks({ namespaced: values.namespaced === true }),
      blocksOperator({ emptySeconds: seconds('empty-after', 0) }),
      blocksSweep({ owners: [Pod.info], graceSeconds: seconds('sweep-after', 1) }),
    ]
  }
  const planners = [
    ...(values.sweep === true ? [sweep()] : []),
    ...(values['node-slices'] === true ? [whereaboutsNodeSlices({ namespace: poolNamespace })] : []),
    ...(values.blocks === true ? blocks() : []),
  ]
  if (planners.length === 0) throw new FlagError('--no-sweep and --no-node-slices without --blocks leave nothing to do')
  return planners
}

function keepOrFree<N extends string>(values: { readonly [name in N]?: string | undefined }, name: N): 'keep' | 'free' {
  const value: string = values[name] ?? ''
  if (value === 'keep' || value === 'free') return value
  throw new FlagError(`--${name} (${value}) is keep or free`)
}
