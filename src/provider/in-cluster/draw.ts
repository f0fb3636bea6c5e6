import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { ipamError } from '../../errors/index.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** Numbers from 0 up to, and without, 1, each as likely as any other: `Math.random`, or a generator with a seed. */
export type Random = () => number

/** What is known of a space that one is drawn from. */
export interface Drawn<T> {
  readonly free: bigint
  readonly total: bigint
  readonly isFree: (candidate: T) => boolean
  /** All that is in use. Only asked for where little is free. */
  readonly inUse: () => RangeSet
  readonly random: Random
}

/** Where at least one in so many is free, guessing finds one soon. */
const SPARSE = 16n
const GUESSES = 64
const WORD_BITS = 32n

/** One of the free addresses, each as likely as any other. O(log n) while a sixteenth is free, else O(addresses in use). */
export function randomAddress(available: RangeSet, drawn: Drawn<Address>): Address | undefined {
  const pick = (set: RangeSet) => (index: bigint) => RangeSet.at(set, index)
  return draw({ count: drawn.total, at: pick(available) }, drawn, () => {
    const free = RangeSet.subtract(available, drawn.inUse())
    return { count: RangeSet.size(free), at: pick(free) }
  })
}

/** One of the free prefixes of a length, each as likely as any other. Cost as of an address. */
export function randomPrefix(available: RangeSet, length: number, drawn: Drawn<Prefix>): Prefix | undefined {
  return draw(children(available, length), drawn, () => children(RangeSet.subtract(available, drawn.inUse()), length))
}

interface Choices<T> {
  readonly count: bigint
  readonly at: (index: bigint) => T
}

function draw<T>(all: Choices<T>, { free, isFree, random }: Drawn<T>, freeOnes: () => Choices<T>): T | undefined {
  if (free === 0n || all.count === 0n) return undefined
  for (let guess = 0; free * SPARSE >= all.count && guess < GUESSES; guess++) {
    const candidate = all.at(below(all.count, random))
    if (isFree(candidate)) return candidate
  }
  const left = freeOnes()
  return left.count === 0n ? undefined : left.at(below(left.count, random))
}

/** The prefixes of a length that lie wholly in a set, in order. */
function children(set: RangeSet, length: number): Choices<Prefix> {
  const runs: { readonly family: Family; readonly first: bigint; readonly count: bigint; readonly before: bigint }[] =
    []
  let count = 0n
  for (const { first, last } of RangeSet.ranges(set)) {
    const { family } = first
    const size = 1n << BigInt(Address.bitsOf(family) - length)
    const begin = ((Address.toBigInt(first) + size - 1n) / size) * size
    const inside = (Address.toBigInt(last) + 1n - begin) / size
    if (begin > Address.toBigInt(last) || inside <= 0n) continue
    runs.push({ family, first: begin / size, count: inside, before: count })
    count += inside
  }
  return {
    count,
    at: (index) => {
      const run = runs.findLast(({ before }) => before <= index)!
      const size = 1n << BigInt(Address.bitsOf(run.family) - length)
      return Prefix.of(Address.fromBigInt(run.family, (run.first + index - run.before) * size), length)
    },
  }
}

/**
 * A whole number from 0 to `count - 1`. 32 bits of each draw count, and 32 more than the number needs are drawn: no number is more likely than
 * another by more than 1 in 2^32.
 *
 * @throws IpamError `INVALID_ARGUMENT` if a draw is not from 0 up to 1
 */
function below(count: bigint, random: Random): bigint {
  let [bits, value] = [0n, 0n]
  while (bits < WORD_BITS || 1n << (bits - WORD_BITS) < count) {
    const drawn = random()
    if (!(drawn >= 0 && drawn < 1)) {
      throw ipamError('INVALID_ARGUMENT', {
        argument: 'random',
        expected: 'numbers from 0 up to 1',
        got: String(drawn),
      })
    }
    value = (value << WORD_BITS) | BigInt(Math.floor(drawn * 2 ** 32))
    bits += WORD_BITS
  }
  return (value * count) >> bits
}
