import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { hasFinalizer, isDeleting } from '../../crd/meta/object.js'
import { addFinalizer, type Effect, guard, type Plan } from '../../plan/index.js'
import { deletionOf, isOf } from './address-object.js'
import type { ClaimOutcome } from './outcome.js'
import type { Planning } from './planning.js'
import { areOrphansLeft } from './rules.js'

/**
 * The finalizers of the garbage collector. They say how an object is deleted, not that it is used.
 */
const COLLECTOR_FINALIZERS: readonly string[] = ['foregroundDeletion', 'orphan']

/**
 * The plan for a claim that is being deleted while a consumer still uses its address. `undefined`
 * if no finalizer says so, or if the claim never had an address that a consumer could read.
 *
 * The IPAddress keeps the address in use. Its finalizer is added again if it is missing, and the
 * IPAddress is created again if it was deleted.
 *
 * A claim without the finalizer of the provider ends without a last plan. So the deletion of its
 * IPAddress begins now, and the sweep of orphans completes it. Without such a sweep, because an
 * external system keeps addresses without a claim, the claim is not held: its address is released
 * while the claim exists.
 *
 * @param offered the IPAddress that the provider would give to the claim now
 */
export function planHeld(
  { rules, input }: Planning,
  offered: () => IPAddress | undefined,
): Plan<ClaimOutcome> | undefined {
  const { claim, former } = input
  const { finalizers, holdsAddress = () => true } = rules
  const isProtected = hasFinalizer(claim, finalizers.claim)
  if (areOrphansLeft(rules) && !isProtected) return undefined
  const holders = (claim.metadata.finalizers ?? []).filter(
    (each) => each !== finalizers.claim && !COLLECTOR_FINALIZERS.includes(each) && holdsAddress(each),
  )
  const address = input.address && isOf(input.address, claim, rules) ? input.address : undefined
  if (holders.length === 0 || (address === undefined && claim.status?.addressRef === undefined)) return undefined
  const next = input.address === undefined && former !== undefined ? offered() : undefined
  // unless another claim has got its address since
  const isSame = next?.spec.address === former?.address && next?.spec.prefix === former?.prefix
  const again = isSame ? next : undefined
  const effects: Effect[] = []
  if (address !== undefined && !isDeleting(address)) {
    if (!isProtected) effects.push(guard(claim, 'an IPAddress of a newer claim of this name must stay'))
    if (!hasFinalizer(address, finalizers.address)) effects.push(addFinalizer(address, finalizers.address, IN_USE))
    if (!isProtected) effects.push(deletionOf(address))
  }
  if (again !== undefined)
    effects.push(guard(claim, 'the claim is still held'), { kind: 'create', object: again, why: IN_USE })
  const text = (address ?? again)?.spec.address
  const has = `the claim has the finalizer${holders.length > 1 ? 's' : ''} ${holders.join(', ')}`
  const message = text === undefined ? `its IPAddress is gone, and ${has}` : `${text} stays in use while ${has}`
  return { outcome: { kind: 'held', finalizers: holders, message }, effects }
}

const IN_USE = 'the consumer of its claim still uses the address'
