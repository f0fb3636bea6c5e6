import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Range from '../../cidr/nouns/range.js'
import type { IPPoolSubnet } from './ip-pool.js'
import { MAX_SUBNET_TEXTS } from './names.js'

/**
 * Subnets that contain these ranges of one family, up to the limit of a list. All of them differ:
 * of two adjacent ranges only one has addresses on both sides of the middle of a subnet.
 *
 * @param ranges in their order, none next to another
 */
export function coveringSubnets(ranges: readonly Range.Range[]): readonly IPPoolSubnet[] {
  const subnets: IPPoolSubnet[] = []
  for (let at = 0; at < ranges.length; at += MAX_SUBNET_TEXTS) {
    const some = ranges.slice(at, at + MAX_SUBNET_TEXTS)
    const covering = around((some[0] as Range.Range).first, (some.at(-1) as Range.Range).last)
    subnets.push({ cidr: Prefix.format(covering), ranges: some.map((range) => Range.format(range)) })
  }
  return subnets
}

/** The longest prefix that has two addresses. */
function around(first: Address.Address, last: Address.Address): Prefix.Prefix {
  let length = Address.bitsOf(first.family)
  while (!Prefix.contains(Prefix.of(first, length), last)) length--
  return Prefix.masked(Prefix.of(first, length))
}
