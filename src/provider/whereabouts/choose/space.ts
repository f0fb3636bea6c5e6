import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as Range from '../../../cidr/nouns/range.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { check, type KindOf } from '../../../errors/check.js'
import type { WhereaboutsRange } from '../config/types.js'

type Address = Address.Address
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

/** A check of an argument that is a range of a configuration. */
export const RANGE: KindOf<WhereaboutsRange> = [
  'open',
  {
    prefix: ['open', { address: 'object', length: 'number' }],
    start: 'object?',
    end: 'object?',
    exclude: ['list', 'text'],
  },
]

/**
 * The first and the last address of a range that are given; `undefined`: none, as in a /31, /32,
 * /127 or /128. O(1).
 *
 * - The first and the last address of the CIDR are not given, for IPv6 neither.
 * - `start` counts only among the others.
 * - `end` counts only between the start and the last one of them. It is inclusive.
 *
 * Source: `GetIPRange` of whereabouts 0.9.4.
 */
export function allocatableRange(range: Pick<WhereaboutsRange, 'prefix' | 'start' | 'end'>): Range | undefined {
  check('allocatableRange', 'range', range, ['open', { prefix: 'object', start: 'object?', end: 'object?' }])

  const interior = Prefix.interior(range.prefix)
  if (interior === undefined) return undefined
  const first = within(interior, range.start) ?? interior.first
  const last = within(Range.of(first, interior.last), range.end) ?? interior.last
  return Range.of(first, last)
}

function within(range: Range, bound: Address | undefined): Address | undefined {
  const isIn = bound?.family === range.first.family && Range.contains(range, bound)
  return isIn ? bound : undefined
}

/** Addresses that an exclude names, of one family. */
export interface Excluded {
  readonly family: 4 | 6
  readonly addresses: Range
}

/**
 * The addresses that an exclude names; `undefined`: it is none of these. O(1).
 *
 * - a CIDR: all of its subnet, whatever its host bits
 * - an address
 * - `first-last`: an extension of this project, which upstream refuses
 */
export function excludedAddresses(text: string): Excluded | undefined {
  check('excludedAddresses', 'text', text, 'text')

  const profile = 'k8s-legacy-read'
  const subnet = Prefix.safeParse(text, { profile })
  if (subnet.ok) return excluded(Range.fromPrefix(Prefix.masked(subnet.value)))
  const address = Address.safeParse(text, { profile })
  if (address.ok) return excluded(Range.of(address.value, address.value))
  const range = Range.safeParse(text)
  return range.ok ? excluded(range.value) : undefined
}

function excluded(addresses: Range): Excluded {
  return { family: addresses.first.family, addresses }
}

/** The addresses of a range that may be given, or why there are none. */
export type RangeSpace =
  | {
      readonly kind: 'space'
      readonly range: Range
      /** Without the excludes and the addresses that are kept back. */
      readonly addresses: RangeSet
      readonly isEmpty: boolean
    }
  | { readonly kind: 'tooSmall' }
  | { readonly kind: 'badExclude'; readonly exclude: string }

/**
 * The addresses of a range that may be given. O(excludes x log excludes).
 *
 * @param keptBack addresses of gateways, which upstream gives to Pods
 */
export function rangeSpace(range: WhereaboutsRange, keptBack: Iterable<Address> = []): RangeSpace {
  check('rangeSpace', 'range', range, RANGE)
  check('rangeSpace', 'keptBack', keptBack, 'iterable')

  const bounds = allocatableRange(range)
  if (bounds === undefined) return { kind: 'tooSmall' }
  const without = withoutOf(range, keptBack)
  if (typeof without === 'string') return { kind: 'badExclude', exclude: without }
  const addresses = RangeSet.subtract(RangeSet.fromRanges([bounds]), without)
  return { kind: 'space', range: bounds, addresses, isEmpty: RangeSet.isEmpty(addresses) }
}

/** What a range does not give, or the exclude that cannot be read. */
export function withoutOf({ exclude }: WhereaboutsRange, keptBack: Iterable<Address>): RangeSet | string {
  const without = RangeSet.builder()
  for (const text of exclude) {
    const set = excludedAddresses(text)
    if (set === undefined) return text
    without.add(set.addresses)
  }
  for (const address of keptBack) without.add(address)
  return without.build()
}
