import * as Address from '../../cidr/nouns/address.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { AllocationOutcome, AllocationRequest, Want } from '../request.js'
import { copyOfAddress, copyOfOwner } from '../util/own-values.js'
import type { PoolState } from './pool-state.js'
import { already, familiesOf, isOneOfEach, isRun } from './want.js'

type Address = Address.Address

/** The outcome for an owner that already holds addresses of the wanted family. */
export function heldAlready(
  state: PoolState,
  { owner, family }: AllocationRequest,
  want: Want,
): AllocationOutcome | undefined {
  const own = state.holdsOf(owner).map((hold) => hold.address)
  if (own.length === 0) return undefined
  const wanted = want.kind === 'address' ? [want.address] : want.kind === 'oneOf' ? want.addresses : undefined
  const keys = wanted && new Set(wanted.map(Address.key))
  const found = keys && own.find((address) => keys.has(Address.key(address)))
  if (found !== undefined) return already([found])
  const families = wanted === undefined ? familiesOf(family) : [...new Set(wanted.map((address) => address.family))]
  const candidates = own.filter((address) => families.includes(address.family))
  const first = candidates[0]
  if (first === undefined) return undefined
  if (want.kind === 'any') return already([first])
  if (want.kind === 'dualStack' && isOneOfEach(candidates)) return already(candidates)
  if ((want.kind === 'run' || want.kind === 'prefix') && isRun(candidates, want)) return already(candidates)
  return { kind: 'refused', reason: 'OwnerHoldsAnother', address: copyOfAddress(first) }
}

/** Why an address cannot be given, or `undefined` if it can. */
export function refusalOf(
  state: PoolState,
  address: Address,
  { stickyKey }: Pick<AllocationRequest, 'stickyKey'>,
): AllocationOutcome | undefined {
  const { plan, cooldown } = state
  if (!state.contains(address)) {
    const reason = RangeSet.contains(plan.ranges, address) ? 'Reserved' : 'Outside'
    return { kind: 'outOfPool', address, reason }
  }
  // first the reasons that do not end by themselves
  const own = stickyKey === undefined ? undefined : plan.preallocated.get(stickyKey)
  const other = own?.find((one) => one.family === address.family && !Address.equals(one, address))
  if (other !== undefined) return { kind: 'refused', reason: 'Preallocated', address: copyOfAddress(other) }
  const [by] = state.holdsOn(address)
  if (by !== undefined) return { kind: 'taken', address, by: copyOfOwner(by.owner) }
  const to = plan.preallocatedTo.get(Address.key(address))
  if (to !== undefined && to !== stickyKey) return { kind: 'refused', reason: 'PreallocatedForAnother', address }
  const released = cooldown.get(address)
  if (released === undefined || !cooldown.isInCooldown(address)) return undefined
  if (released.stickyKey !== undefined && released.stickyKey === stickyKey) return undefined
  return { kind: 'cooldown', address, freeAtMs: released.coolUntilMs }
}
