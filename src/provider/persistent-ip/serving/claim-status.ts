import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { setCondition } from '../../../claim/index.js'
import { claimAddresses, type IPAMClaim, type IPAMClaimStatus } from '../../../crd/ipamclaims/index.js'
import { check } from '../../../errors/check.js'
import type { ClaimPlan } from './claim-plan.js'

/**
 * The addresses that a claim holds while it exists, also while it is being deleted. Each text of
 * its status counts alone: one that is no address holds nothing, and the others hold theirs.
 * O(addresses).
 *
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * const claim = { metadata: { name: 'vm1.net' }, status: { ips: ['10.0.0.7/24', 'x'] } }
 * heldByClaim(claim).map(Prefix.format) // ['10.0.0.7/32']
 */
export function heldByClaim(claim: Pick<IPAMClaim, 'metadata' | 'status'>): readonly Prefix.Prefix[] {
  check<unknown>('heldByClaim', 'claim', claim, CLAIM)
  const { metadata, status } = claim
  return (status?.ips ?? []).flatMap((text) => {
    const read = claimAddresses({ metadata, status: { ips: [text] } })
    return read.ok ? read.value.map(({ address }) => Prefix.of(address, Address.bitsOf(address.family))) : []
  })
}

const STATUS = [
  'open?',
  { ips: ['list', 'text'], ownerPod: ['open?', { name: 'text?' }], conditions: 'list?' },
] as const
const CLAIM = ['open', { metadata: ['open', { name: 'text' }], status: STATUS }] as const
const PLAN = ['open', { addresses: 'list', isNew: 'flag', condition: 'object?', user: 'text?' }] as const

/**
 * The status of a claim after its plan; `undefined`: nothing changes. Addresses that it has stay as
 * they are written. Without a Pod that is served, the Pod that it names stays.
 *
 * @param now RFC 3339 text
 */
export function claimStatus(
  claim: Pick<IPAMClaim, 'status'>,
  plan: ClaimPlan,
  now: string,
): IPAMClaimStatus | undefined {
  check<unknown>('claimStatus', 'claim', claim, ['open', { status: STATUS }])
  check<unknown>('claimStatus', 'plan', plan, PLAN)
  check('claimStatus', 'now', now, 'text')
  const { addresses, isNew, condition } = plan
  const { ips: before = [], ownerPod, conditions } = claim.status ?? {}
  const ips = isNew ? addresses.map(Prefix.format) : before
  const user = plan.user ?? ownerPod?.name
  const said = condition === undefined ? conditions : setCondition(conditions, condition, now)
  if (!isNew && user === ownerPod?.name && said === conditions) return undefined
  return {
    ips,
    ...(user !== undefined && { ownerPod: { name: user } }),
    ...(said !== undefined && { conditions: said }),
  }
}
