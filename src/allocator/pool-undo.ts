import * as Address from '../cidr/nouns/address.js'
import type { PoolBook } from './pool-book.js'
import { type Allocated, type AllocationDelta, type Hold, ownerId, type Released } from './request.js'
import type { Rest } from './resting.js'

/**
 * Takes back what a call has changed in the books of a pool. Returns false, and changes nothing, if it has been changed again since.
 *
 * @param lastSequence the number of the last hold that the pool has begun
 */
export function undoDelta(book: PoolBook, delta: AllocationDelta, lastSequence: number): boolean {
  switch (delta.kind) {
    case 'allocate':
      return undoAllocation(book, delta, lastSequence)
    case 'release':
      return undoRelease(book, delta)
    case 'handOver':
      return undoHandOver(book, delta)
  }
}

/** What was remembered of the address of a hold before. */
export function restOf({ address }: Hold, rests: readonly Rest[]): Rest | undefined {
  return rests.find((rest) => Address.equals(rest.address, address))
}

function undoAllocation(book: PoolBook, { holds, memory }: Allocated, lastSequence: number): boolean {
  const current = currentOf(book, holds)
  if (current === undefined) return false
  // what the strategy did after it is not undone with it
  if (holds.at(-1)?.sequence === lastSequence) book.strategyState = memory.strategy
  for (const hold of current) book.takeBack(hold, restOf(hold, memory.rests))
  return true
}

/** A release can be undone while nobody has been given the address since. */
function undoRelease(book: PoolBook, { holds, memory }: Released): boolean {
  const isOpen = ({ address, owner }: Hold) =>
    book.holdsOn(address).every((other) => other.sequence <= memory.sequence && ownerId(other.owner) !== ownerId(owner))
  if (!holds.every(isOpen)) return false
  for (const hold of holds) book.begin(hold)
  return true
}

function undoHandOver(book: PoolBook, { from, holds }: Extract<AllocationDelta, { kind: 'handOver' }>): boolean {
  const current = currentOf(book, holds)
  if (current === undefined) return false
  for (const [i, hold] of current.entries()) book.replace(hold, from[i]!)
  return true
}

/** The holds as the books have them, or `undefined` if one of them is over. */
function currentOf(book: PoolBook, holds: readonly Hold[]): Hold[] | undefined {
  const current = holds.map((hold) => book.current(hold))
  return current.includes(undefined) ? undefined : (current as Hold[])
}
