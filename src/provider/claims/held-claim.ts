import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { hasFinalizer, isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { addFinalizer, type Effect, guard, type Plan } from '../../plan/index.js'
import { deletionOf, fulfils, isControlledBy } from './address-object.js'
import type { Found, Planning } from './claim.js'
import type { AddressAndPrefix, ClaimLedger } from './definition.js'
import type { ClaimOutcome } from './outcome.js'
import type { ClaimRules } from './rules.js'

/** The finalizers of the garbage collector. They say how an object is deleted, and not that anything uses it. */
const COLLECTOR_FINALIZERS: readonly string[] = ['foregroundDeletion', 'orphan']

/**
 * What is to be done for a claim that is being deleted and whose address a consumer still uses: `undefined` if no finalizer says so, or if the claim has never
 * had an address of which a consumer could know.
 *
 * The IPAddress is what keeps the address in use, so its finalizer is put back if it is missing, and the IPAddress is made again if it was removed. A claim without
 * the finalizer of the provider ends without a last plan: the deletion of its IPAddress begins now, and whatever then looks after orphans ends it. Where nothing does,
 * because an external system keeps what no claim has, such a claim is not held: its address is released while the claim is there.
 *
 * @param findAddress what the provider would give to the claim now
 */
export function planHeld<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input }: Planning<P, L, O>,
  findAddress: () => Found,
): Plan<ClaimOutcome> | undefined {
  const { claim } = input
  const areOrphansLeft = rules.external !== undefined && rules.external.orphans !== 'swept'
  if (areOrphansLeft && !hasFinalizer(claim, rules.finalizers.claim)) return undefined
  const finalizers = holdingFinalizers(claim, rules)
  const address = input.address && isOf(input.address, claim, rules) ? input.address : undefined
  if (finalizers.length === 0 || (address === undefined && claim.status?.addressRef === undefined)) return undefined
  const again = input.address === undefined ? formerAddress(input.former, findAddress) : undefined
  const text = (address ?? again)?.spec.address
  const holders = `the claim has the finalizer${finalizers.length > 1 ? 's' : ''} ${finalizers.join(', ')}`
  const message = text === undefined ? `its IPAddress is gone, and ${holders}` : `${text} stays in use while ${holders}`
  const effects: Effect[] = []
  if (address !== undefined) effects.push(...protection(address, claim, rules))
  if (again !== undefined)
    effects.push(guard(claim, 'only a claim that is held'), { kind: 'create', object: again, why: IN_USE })
  return { outcome: { kind: 'held', finalizers, message }, effects }
}

const IN_USE = 'the consumer of its claim still uses the address'

/** Whether an IPAddress of the name of a claim is what the claim has. */
export function isOf<P extends KubeObject, L extends ClaimLedger<P>, O>(
  address: IPAddress,
  claim: IPAddressClaim,
  rules: ClaimRules<P, L, O>,
): boolean {
  return fulfils(address, claim, rules) || isControlledBy(address, claim)
}

/** The finalizers on a claim that say that its address is in use. */
function holdingFinalizers<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { metadata }: IPAddressClaim,
  { finalizers, holdsAddress = () => true }: ClaimRules<P, L, O>,
): readonly string[] {
  return (metadata.finalizers ?? []).filter(
    (each) => each !== finalizers.claim && !COLLECTOR_FINALIZERS.includes(each) && holdsAddress(each),
  )
}

/** What the IPAddress lacks to outlast the claim. */
function protection<P extends KubeObject, L extends ClaimLedger<P>, O>(
  address: IPAddress,
  claim: IPAddressClaim,
  { finalizers }: ClaimRules<P, L, O>,
): readonly Effect[] {
  if (isDeleting(address)) return []
  const isProtected = hasFinalizer(address, finalizers.address)
  const added = isProtected ? [] : [addFinalizer(address, finalizers.address, IN_USE)]
  if (hasFinalizer(claim, finalizers.claim)) return added
  return [guard(claim, 'the IPAddress of another claim of this name must stay'), ...added, deletionOf(address)]
}

/** The IPAddress that the claim had, if nothing else has been given its address since. */
function formerAddress(former: AddressAndPrefix | undefined, findAddress: () => Found): IPAddress | undefined {
  const found = former === undefined ? undefined : findAddress()
  if (former === undefined || found?.kind !== 'found') return undefined
  const { address, prefix } = found.address.spec
  return address === former.address && prefix === former.prefix ? found.address : undefined
}
