import type { Ledger, LedgerHolder } from '../../allocator/index.js'
import type { Family } from '../../cidr/index.js'
import { assertAddress } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Range from '../../cidr/nouns/range.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check, type KindOf } from '../../errors/check.js'
import { bandsOf, canHold, familyName, hostPrefix, type ServiceRange } from './ranges.js'

type Address = Address.Address
type Range = Range.Range

/**
 * The result of a search for an address. Only the creation of an IPAddress with its name gives the
 * address: `free` says which one to try.
 */
export type ServiceChoice =
  | { readonly kind: 'free'; readonly address: Address; readonly range: ServiceRange }
  | ServiceRefusal

/** Why there is no address. */
export interface ServiceRefusal {
  /**
   * | kind | upstream's error | why |
   * |---|---|---|
   * | `full` | ErrFull | every address of the ready ranges is in use |
   * | `allocated` | ErrAllocated | the named address is in use |
   * | `notInRange` | ErrNotInRange | the named address is the network or broadcast address of its range |
   * | `notReady` | ErrNotReady | there are ranges, and none of them is ready |
   * | `mismatchedNetwork` | ErrMismatchedNetwork | no range has the address, or the family |
   */
  readonly kind: 'full' | 'allocated' | 'notInRange' | 'notReady' | 'mismatchedNetwork'
  /** One sentence without a full stop. */
  readonly message: string
}

/** A search for any address of a family. */
export interface NextAddressQuery {
  readonly family: Family
  /**
   * Where in the upper band the search begins, from 0 up to but without 1. Different values for
   * each writer make conflicts rare.
   */
  readonly start: number
}

const QUERY: KindOf<NextAddressQuery> = {
  family: ['one', { 4: 1, 6: 1 }],
  start: (start) => (typeof start === 'number' && start >= 0 && start < 1 ? undefined : 'a number from 0 up to 1'),
}

/**
 * The next address for a Service that names none. The ready ranges are searched in their order: in
 * each the upper band from `start` on and around, then the lower band from its beginning. Changes
 * nothing. O(ranges x length of an address).
 *
 * Source: KEP-3070, and `allocateNextService` of Kubernetes 1.36, which tries ranges in any order.
 *
 * @param ledger the addresses in use, over the usable addresses of the ranges
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function nextServiceAddress(
  ranges: readonly ServiceRange[],
  ledger: Pick<Ledger, 'next'>,
  options: NextAddressQuery,
): ServiceChoice {
  check('nextServiceAddress', 'ranges', ranges, ['list', 'object'])
  check('nextServiceAddress', 'ledger', ledger, ['open', { next: 'function' }])
  check('nextServiceAddress', 'options', options, QUERY)
  const { family, start } = options

  const ofFamily = ranges.filter(({ prefix }) => prefix.address.family === family)
  const ready = ofFamily.filter(({ isReady }) => isReady)
  for (const range of ready) {
    const { upper, lower } = bandsOf(range.prefix)
    for (const band of [upper, lower]) {
      const from = band && placeIn(band, band === upper ? start : 0)
      const found = band && ledger.next({ from, order: 'around', within: RangeSet.fromRanges([band]) })
      if (found !== undefined) return { kind: 'free', address: found.address, range }
    }
  }
  const name = familyName(family)
  if (ofFamily.length === 0) return { kind: 'mismatchedNetwork', message: `no ServiceCIDR has an ${name} range` }
  const kind = ready.length > 0 ? 'full' : 'notReady'
  const listed = listOf(ready.length > 0 ? ready : ofFamily)
  return kind === 'full'
    ? { kind, message: `no free ${name} address in ${listed}` }
    : { kind, message: `no ServiceCIDR with an ${name} range is ready (${listed})` }
}

/**
 * Whether a Service can have the address that it names: anywhere in a ready range. Changes nothing.
 * O(ranges + length of an address).
 *
 * One answer differs from upstream: for an address in ranges of which none is ready it is
 * `notReady`, where `MetaAllocator` returns ErrMismatchedNetwork.
 */
export function namedServiceAddress(
  ranges: readonly ServiceRange[],
  ledger: Pick<Ledger<LedgerHolder>, 'blockers'>,
  address: Address,
): ServiceChoice {
  check('namedServiceAddress', 'ranges', ranges, ['list', 'object'])
  check('namedServiceAddress', 'ledger', ledger, ['open', { blockers: 'function' }])
  assertAddress('namedServiceAddress', 'address', address)

  const text = Address.format(address)
  const around = ranges.filter(({ prefix }) => Prefix.contains(prefix, address))
  if (around.length === 0) return { kind: 'mismatchedNetwork', message: `${text} is in no range of a ServiceCIDR` }
  const holding = around.filter(({ prefix }) => canHold(prefix)(address))
  if (holding.length === 0) {
    return { kind: 'notInRange', message: `${text} is the network or broadcast address of ${listOf(around)}` }
  }
  const range = holding.find(({ isReady }) => isReady)
  if (range === undefined) {
    return { kind: 'notReady', message: `${text} is in ${listOf(holding)}, which is not ready` }
  }
  const [blocker] = ledger.blockers(hostPrefix(address))
  if (blocker !== undefined) return { kind: 'allocated', message: `${text} is in use by ${blocker.holder.key}` }
  return { kind: 'free', address, range }
}

function listOf(ranges: readonly ServiceRange[]): string {
  return ranges.map(({ prefix }) => Prefix.format(prefix)).join(', ')
}

/** The address at a fraction of a range. */
function placeIn(range: Range, fraction: number): Address {
  const at = (BigInt(Math.floor(fraction * 2 ** 52)) * Range.size(range)) >> 52n
  return Address.add(range.first, at)
}
