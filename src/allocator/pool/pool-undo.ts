import { assertAddress } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import { check, isObject } from '../../errors/check.js'
import { refuseIn } from '../../errors/refuse.js'
import {
  type Allocated,
  type AllocationDelta,
  assertOwner,
  type Hold,
  type Owner,
  ownerId,
  type Released,
} from '../request.js'
import { copyOfHold } from '../util/own-values.js'
import type { ReleasedAddress } from './cooldown.js'
import type { PoolState } from './pool-state.js'

/** @throws IpamError `INVALID_ARGUMENT` unless `delta` is the delta of an outcome */
export function assertDelta(of: string, delta: AllocationDelta): void {
  const expected = 'the delta of an outcome'
  if (!isObject(delta) || (delta.kind !== 'allocate' && delta.kind !== 'release'))
    refuseIn(of, 'delta', expected, delta)
  if (!isObject(delta.undo)) refuseIn(of, 'delta.undo', expected, delta.undo)
  const list = delta.kind === 'allocate' ? delta.undo.releases : delta.undo.others
  assertHolds(of, 'delta.holds', delta.holds)
  check(of, 'delta.undo', list, ['list', 'object'])
  for (const { address } of list) assertAddress(of, 'delta.undo', address)
}

function assertHolds(of: string, argument: string, holds: readonly Hold[]): void {
  check(of, argument, holds, ['list', 'object'])
  for (const { address, owner } of holds) {
    assertAddress(of, argument, address)
    assertOwner('AddressPool.undo', owner)
  }
}

/**
 * Takes back the change of a call. Returns false, and changes nothing, if a later call has changed
 * the same addresses.
 *
 * @param lastSequence the sequence of the last hold of the pool
 */
export function undoDelta(state: PoolState, delta: AllocationDelta, lastSequence: number): boolean {
  return delta.kind === 'allocate' ? undoAllocation(state, delta, lastSequence) : undoRelease(state, delta)
}

/** Undoes holds. `releases`: the records of the releases of their addresses before. */
export function takeBackAll(state: PoolState, holds: readonly Hold[], releases: readonly ReleasedAddress[]): void {
  const byKey = new Map(releases.map((released) => [Address.key(released.address), released]))
  for (const hold of holds) state.takeBack(hold, byKey.get(Address.key(hold.address)))
}

function undoAllocation(state: PoolState, { holds, undo }: Allocated, lastSequence: number): boolean {
  const current = currentOf(state, holds)
  if (current === undefined) return false
  // later changes of the strategy are not undone
  if (holds.at(-1)?.sequence === lastSequence) state.strategyState = undo.strategy
  takeBackAll(state, current, undo.releases)
  return true
}

/**
 * A release can be undone while the address has no new owner, and its former owner has no new
 * address.
 */
function undoRelease(state: PoolState, { holds, undo }: Released): boolean {
  const others = new Set(undo.others.map(nameOf))
  const wasThere = (one: Hold) => others.has(nameOf(one))
  const lastOf = lastNumbers(state)
  const isOpen = ({ address, owner }: Hold) =>
    state.holdsOn(address).every((one) => wasThere(one) && ownerId(one.owner) !== ownerId(owner)) &&
    lastOf(owner, address) <= undo.sequence
  if (!holds.every(isOpen)) return false
  for (const hold of holds) state.begin(copyOfHold(hold))
  return true
}

/**
 * The last sequence of an owner in a family; -1 if it holds no address. O(1) after the first call
 * for an owner.
 */
function lastNumbers(state: PoolState): (owner: Owner, address: Address.Address) => number {
  const known = new Map<string, { 4: number; 6: number }>()
  return (owner, { family }) => {
    const id = ownerId(owner)
    let last = known.get(id)
    if (last === undefined) {
      last = { 4: -1, 6: -1 }
      // in the order of their numbers
      for (const hold of state.holdsOf(owner)) last[hold.address.family] = hold.sequence
      known.set(id, last)
    }
    return last[family]
  }
}

/** A text that no other hold has. */
function nameOf({ address, owner, sequence }: Hold): string {
  return `${sequence} ${Address.key(address)} ${ownerId(owner)}`
}

/** The holds as the pool has them, or `undefined` if one of them has ended. */
function currentOf(state: PoolState, holds: readonly Hold[]): Hold[] | undefined {
  const current = holds.map((hold) => state.current(hold))
  return current.includes(undefined) ? undefined : (current as Hold[])
}
