import type { Condition, ConditionUpdate } from '../../claim/conditions.js'
import { findCondition } from '../../claim/index.js'
import { READY_CONDITION } from '../../crd/cluster-api/names.js'
import type { ClaimSummary, ResolvedClaim } from './resolution.js'

/**
 * The condition of cluster-api-provider-vsphere. If all claims have the condition Ready, it
 * summarises them; else it counts claims that name an address.
 *
 * Source: controllers/vspherevm_ipaddress_reconciler.go.
 */
export function capvCondition({ counts, claims }: ClaimSummary): ConditionUpdate {
  const type = 'IPAddressClaimsFulfilled'
  const { total, missing, fulfilled } = counts
  const waits = (reason: string, message: string): ConditionUpdate => ({ type, status: 'False', reason, message })
  const conflicts = messagesOf(claims, isRealConflict)
  if (conflicts !== '') return waits('NotFulfilled', conflicts)
  const ready = claims.flatMap(({ desired, resolution }) => {
    const condition =
      resolution.kind === 'missing' ? undefined : findCondition(resolution.claim.status?.conditions, READY_CONDITION)
    return condition === undefined ? [] : [{ name: desired.name, condition }]
  })
  if (total > 0 && ready.length === total) return { type, ...summaryOf(ready) }
  if (fulfilled === total) return { type, status: 'True', reason: 'Fulfilled', message: '' }
  return missing > 0
    ? waits('IPAddressClaimsBeingCreated', `${missing}/${total} claims being created`)
    : waits('WaitingForIPAddress', `${total - fulfilled}/${total} claims being processed`)
}

/** The condition of machine-api-operator. Source: pkg/controller/vsphere. */
export function openshiftCondition({ counts }: ClaimSummary): ConditionUpdate {
  const type = 'IPAddressClaimed'
  const outstanding = counts.total - counts.fulfilled
  if (outstanding === 0) return { type, status: 'True', reason: type, message: 'All IP address claims are bound' }
  const message = `Waiting on ${outstanding} IP address claims to be bound`
  return { type, status: 'False', reason: 'WaitingForIPAddress', message }
}

/**
 * The condition of cluster-api-provider-proxmox for the whole machine, which continues once it has
 * its addresses. Source: internal/service/vmservice/ip.go.
 */
export function proxmoxCondition({ counts, claims }: ClaimSummary): ConditionUpdate {
  const message = messagesOf(claims, ({ resolution }) => resolution.kind !== 'bound')
  const reason =
    counts.bound === counts.total ? 'WaitingForBootstrapDataReconciliation' : 'WaitingForStaticIPAllocation'
  return { type: 'VirtualMachineProvisioned', status: 'False', reason, message }
}

/**
 * The condition of cluster-api-provider-openstack while it waits; it has none afterwards. Source of
 * the other reason: api/v1beta1/conditions_consts.go.
 */
export function capoCondition({ counts, claims }: ClaimSummary): ConditionUpdate | undefined {
  const { total, bound } = counts
  if (bound === total) return undefined
  const type = 'FloatingAddressFromPoolReady'
  const conflicts = messagesOf(claims, isRealConflict)
  if (conflicts !== '') return { type, status: 'False', reason: 'FloatingIPError', message: conflicts }
  const why = messagesOf(claims, ({ resolution }) => resolution.kind !== 'bound')
  return { type, status: 'False', reason: 'WaitingForIPAddress', message: `Waiting ${total - bound}/${total}: ${why}` }
}

/** Merges the conditions of many objects: errors first, then unknown ones, then the others. */
function summaryOf(
  ready: readonly { readonly name: string; readonly condition: Condition }[],
): Pick<Condition, 'status' | 'reason' | 'message'> {
  const withStatus = (status: Condition['status']) =>
    ready
      .filter(({ condition }) => condition.status === status)
      .map(({ name, condition }) => `${name}: ${[condition.reason, condition.message].filter(Boolean).join(': ')}`)
      .join('; ')
  const [issues, unknown] = [withStatus('False'), withStatus('Unknown')]
  if (issues !== '') return { status: 'False', reason: 'IssuesReported', message: issues }
  if (unknown !== '') return { status: 'Unknown', reason: 'UnknownReported', message: unknown }
  return { status: 'True', reason: 'InfoReported', message: '' }
}

/** Whether a claim is in conflict for another reason than a missing address. */
function isRealConflict({ resolution }: ResolvedClaim): boolean {
  return resolution.kind === 'conflict' && resolution.reason !== 'AddressMissing'
}

function messagesOf(claims: readonly ResolvedClaim[], isTold: (claim: ResolvedClaim) => boolean): string {
  return claims
    .filter(isTold)
    .map(({ resolution }) =>
      resolution.kind === 'conflict' ? `${resolution.reason}: ${resolution.message}` : resolution.message,
    )
    .join('; ')
}
