import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { refuse } from '../../errors/refuse.js'
import type { Random } from './entry.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** Units in order: how many there are, and each of them by its index. */
export interface Units {
  readonly count: bigint
  readonly at: (index: bigint) => Prefix
}

/**
 * The units of a length that lie wholly in the part of a set that is of one family, in order.
 * O(ranges); `at` as well.
 */
export function unitsOf(set: RangeSet, family: Family, length: number): Units {
  const runs: { readonly first: bigint; readonly before: bigint }[] = []
  const size = 1n << BigInt(Address.bitsOf(family) - length)
  let count = 0n
  for (const { first, last } of RangeSet.ranges(set)) {
    if (first.family !== family) continue
    const index = (Address.toBigInt(first) + size - 1n) / size
    const inside = (Address.toBigInt(last) + 1n) / size - index
    if (inside <= 0n) continue
    runs.push({ first: index, before: count })
    count += inside
  }
  const at = (index: bigint) => {
    const { first, before } = runs.findLast((run) => run.before <= index)!
    return Prefix.of(Address.fromBigInt(family, (first + index - before) * size), length)
  }
  return { count, at }
}

/** While at least one unit in this many is free, guesses find one soon. */
const SPARSE = 16n
const GUESSES = 64
const WORD_BITS = 32n

/**
 * One of the free units, each with the same probability: guesses while a sixteenth of them is free,
 * otherwise one of `freeUnits`.
 *
 * @param free how many of `all` are free
 */
export function randomUnit(
  all: Units,
  free: bigint,
  random: Random,
  isFree: (unit: Prefix) => boolean,
  freeUnits: () => Units,
): Prefix | undefined {
  if (free === 0n || all.count === 0n) return undefined
  for (let guess = 0; free * SPARSE >= all.count && guess < GUESSES; guess++) {
    const unit = all.at(below(all.count, random))
    if (isFree(unit)) return unit
  }
  const left = freeUnits()
  return left.count === 0n ? undefined : left.at(below(left.count, random))
}

/**
 * A whole number from 0 to `count - 1`. 32 bits of each random number count, and 32 more than the
 * result needs are drawn: no result is more probable than another by more than 1 in 2^32.
 *
 * @throws IpamError `INVALID_ARGUMENT` if a random number is not from 0 up to 1
 */
function below(count: bigint, random: Random): bigint {
  let [bits, value] = [0n, 0n]
  while (bits < WORD_BITS || 1n << (bits - WORD_BITS) < count) {
    const drawn = random()
    if (!(drawn >= 0 && drawn < 1)) refuse('Ledger.next', 'query.random', 'numbers from 0 up to 1', drawn)
    value = (value << WORD_BITS) | BigInt(Math.floor(drawn * 2 ** 32))
    bits += WORD_BITS
  }
  return (value * count) >> bits
}
