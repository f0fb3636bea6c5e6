import { assertAddress } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import { assertObjects, isObject } from '../../errors/checks.js'
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
import type { ReleasedAddress } from './cooldown.js'
import type { PoolBook } from './pool-book.js'

/** @throws IpamError `INVALID_ARGUMENT` unless `delta` is the delta of an outcome */
export function assertDelta(of: string, delta: AllocationDelta): void {
  const expected = 'the delta of an outcome'
  if (!isObject(delta) || (delta.kind !== 'allocate' && delta.kind !== 'release'))
    refuseIn(of, 'delta', expected, delta)
  if (!isObject(delta.memory)) refuseIn(of, 'delta.memory', expected, delta.memory)
  const list = delta.kind === 'allocate' ? delta.memory.releases : delta.memory.others
  assertHolds(of, 'delta.holds', delta.holds)
  assertObjects(of, 'delta.memory', list)
  for (const { address } of list) assertAddress(of, 'delta.memory', address)
}

function assertHolds(of: string, argument: string, holds: readonly Hold[]): void {
  assertObjects(of, argument, holds)
  for (const { address, owner } of holds) {
    assertAddress(of, argument, address)
    assertOwner(owner)
  }
}

/**
 * Takes back what a call has changed in the books of a pool. Returns false, and changes nothing, if
 * it has been changed again since.
 *
 * @param lastSequence the number of the last hold that the pool has begun
 */
export function undoDelta(book: PoolBook, delta: AllocationDelta, lastSequence: number): boolean {
  return delta.kind === 'allocate' ? undoAllocation(book, delta, lastSequence) : undoRelease(book, delta)
}

/** As if these holds had never been. `releases`: what was remembered of their addresses before. */
export function takeBackAll(book: PoolBook, holds: readonly Hold[], releases: readonly ReleasedAddress[]): void {
  const byKey = new Map(releases.map((released) => [Address.key(released.address), released]))
  for (const hold of holds) book.takeBack(hold, byKey.get(Address.key(hold.address)))
}

function undoAllocation(book: PoolBook, { holds, memory }: Allocated, lastSequence: number): boolean {
  const current = currentOf(book, holds)
  if (current === undefined) return false
  // what the strategy did after it is not undone with it
  if (holds.at(-1)?.sequence === lastSequence) book.strategyState = memory.strategy
  takeBackAll(book, current, memory.releases)
  return true
}

/**
 * A release can be undone while nobody holds the address who did not then, and its owner has been
 * given no other.
 */
function undoRelease(book: PoolBook, { holds, memory }: Released): boolean {
  const others = new Set(memory.others.map(nameOf))
  const wasThere = (one: Hold) => others.has(nameOf(one))
  const lastOf = lastNumbers(book)
  const isOpen = ({ address, owner }: Hold) =>
    book.holdsOn(address).every((one) => wasThere(one) && ownerId(one.owner) !== ownerId(owner)) &&
    lastOf(owner, address) <= memory.sequence
  if (!holds.every(isOpen)) return false
  for (const hold of holds) book.begin(hold)
  return true
}

/**
 * The last number that an owner has been given for an address of a family; -1: it has none. O(1),
 * but for the first look at an owner.
 */
function lastNumbers(book: PoolBook): (owner: Owner, address: Address.Address) => number {
  const known = new Map<string, { 4: number; 6: number }>()
  return (owner, { family }) => {
    const id = ownerId(owner)
    let last = known.get(id)
    if (last === undefined) {
      last = { 4: -1, 6: -1 }
      // in the order of their numbers
      for (const hold of book.holdsOf(owner)) last[hold.address.family] = hold.sequence
      known.set(id, last)
    }
    return last[family]
  }
}

/** A text that no other hold has. */
function nameOf({ address, owner, sequence }: Hold): string {
  return `${sequence} ${Address.key(address)} ${ownerId(owner)}`
}

/** The holds as the books have them, or `undefined` if one of them is over. */
function currentOf(book: PoolBook, holds: readonly Hold[]): Hold[] | undefined {
  const current = holds.map((hold) => book.current(hold))
  return current.includes(undefined) ? undefined : (current as Hold[])
}
