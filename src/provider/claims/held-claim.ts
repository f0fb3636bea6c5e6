import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { hasFinalizer, isDeleting } from '../../crd/meta/object.js'
import { addFinalizer, type Effect, guard, type Plan } from '../../plan/index.js'
import { deletionOf, isOf } from './address-object.js'
import type { ClaimOutcome } from './outcome.js'
import type { Planning } from './planning.js'
import { areOrphansLeft } from './rules.js'

/**
 * The finalizers of the garbage collector. They say how an object is deleted, and not that anything
 * uses it.
 */
const COLLECTOR_FINALIZERS: readonly string[] = ['foregroundDeletion', 'orphan']

/**
 * What is to be done for a claim that is being deleted and whose address a consumer still uses:
 * `undefined` if no finalizer says so, or if the claim has never had an address of which a consumer
 * could know.
 *
 * The IPAddress is what keeps the address in use, so its finalizer is put back if it is missing,
 * and the IPAddress is made again if it was removed. A claim without the finalizer of the provider
 * ends without a last plan: the deletion of its IPAddress begins now, and whatever then looks after
 * orphans ends it. Where nothing does, because an external system keeps what no claim has, such a
 * claim is not held: its address is released while the claim is there.
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
  // if nothing else has been given its address since
  const isSame = next?.spec.address === former?.address && next?.spec.prefix === former?.prefix
  const again = isSame ? next : undefined
  const effects: Effect[] = []
  if (address !== undefined && !isDeleting(address)) {
    if (!isProtected) effects.push(guard(claim, 'the IPAddress of another claim of this name must stay'))
    if (!hasFinalizer(address, finalizers.address)) effects.push(addFinalizer(address, finalizers.address, IN_USE))
    if (!isProtected) effects.push(deletionOf(address))
  }
  if (again !== undefined)
    effects.push(guard(claim, 'only a claim that is held'), { kind: 'create', object: again, why: IN_USE })
  const text = (address ?? again)?.spec.address
  const has = `the claim has the finalizer${holders.length > 1 ? 's' : ''} ${holders.join(', ')}`
  const message = text === undefined ? `its IPAddress is gone, and ${has}` : `${text} stays in use while ${has}`
  return { outcome: { kind: 'held', finalizers: holders, message }, effects }
}

const IN_USE = 'the consumer of its claim still uses the address'
