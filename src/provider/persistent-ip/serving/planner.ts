import { check } from '../../../errors/check.js'
import { definePlanner, type Planner, type PlannerWatches } from '../../../plan/index.js'
import { objectRecord } from './address-record.js'
import { PERSISTENT_IPS_OPTIONS, type PersistentIPsOptions } from './options.js'
import type { PersistentIPsOutcome } from './outcome.js'
import { type ServingState, servingDefinition } from './serving.js'

/**
 * Gives addresses to IPAMClaims and to Pods, in networks of OVN-Kubernetes of layer2 and localnet
 * with subnets, in place of the cluster manager of OVN-Kubernetes. Keys are
 * `IPAMClaim namespace/name` and `Pod namespace/name`. {@link claimPlan} and {@link podPlan}
 * decide.
 *
 * The objects are the only record: a claim holds the addresses of its status until it does not
 * exist, a Pod those of its annotation `k8s.ovn.org/pod-networks` until it has ended. The status of
 * a claim is written before its Pods. A claim and its Pods are one holder, and after the deletion
 * of the claim a Pod holds its addresses itself. A Pod that belongs to no owner of the claim is
 * refused. `entries()` lists the holders by network.
 *
 * Only one process at a time may run it. A plan costs O(Pods that name the claim + definitions of
 * the network).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * persistentIPs().watches.map(({ kind }) => kind) // ['NetworkAttachmentDefinition', 'IPAMClaim', 'Pod']
 */
export function persistentIPs(options: PersistentIPsOptions = {}): Planner<PersistentIPsOutcome> {
  check('persistentIPs', 'options', options, PERSISTENT_IPS_OPTIONS)
  const { planWith, ...definition } = servingDefinition(options)
  return definePlanner<PersistentIPsOutcome, PlannerWatches, ServingState>({
    ...definition,
    plan: (key, context, time) =>
      planWith(key, context, time, { open: objectRecord(context.holdings), checks: () => [] }),
  })
}
