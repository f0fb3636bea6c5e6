import { claimStatusPatch, type IPAMClaim, type IPAMClaimStatus } from '../../../crd/ipamclaims/index.js'
import { asObject } from '../../../crd/meta/json.js'
import type { Json, KubeObject } from '../../../crd/meta/object.js'
import { type Effect, patchIfFields, patchStatus } from '../../../plan/index.js'

/**
 * Writes the status of a claim. New addresses are written only where it still has none. Sent again
 * after a time-out, such a write tells its own outcome: the same write cannot come late, when the
 * addresses are given to another holder.
 *
 * @param stored the claim as the store has it
 */
export function writeStatus(claim: IPAMClaim, stored: KubeObject, status: IPAMClaimStatus, isNew: boolean): Effect {
  const patch = claimStatusPatch(status)
  if (!isNew) return patchStatus(claim, patch, 'its state has changed')
  const why = 'the claim gets its addresses'
  const members = Object.entries(asObject(patch.status) ?? {}).filter(([, value]) => value !== null)
  const before = asObject(stored.status) as { readonly [key: string]: Json } | undefined
  if (before === undefined) {
    const value = Object.fromEntries(members)
    const whole = patchIfFields(stored, { '/status': null }, [{ op: 'add', path: '/status', value }], why)
    return { ...whole, subresource: 'status' }
  }
  const fields = { '/status/ips': before.ips ?? null, '/status/conditions': before.conditions ?? null }
  const operations = members.map(([name, value]) => ({ op: 'add', path: `/status/${name}`, value }) as const)
  return { ...patchIfFields(stored, fields, operations, why), subresource: 'status' }
}
