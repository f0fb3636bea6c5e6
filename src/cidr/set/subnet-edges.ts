import * as Address from '../nouns/address-core.js'
import * as Prefix from '../nouns/prefix-core.js'
import { fromRanges, type RangeSet } from './range-set.js'

/** How many addresses at either end of a subnet are not for hosts. */
export interface SubnetEdges {
  readonly first: number
  readonly last: number
}

/** Which addresses of a subnet are not handed out. The counts are whole numbers from 0 to 2^32. */
export interface ReserveRule {
  readonly v4: SubnetEdges
  readonly v6: SubnetEdges
  /**
   * What becomes of subnets of one or two addresses. `usable`: all of them are for hosts (RFC 3021
   * for IPv4 /31, RFC 6164 for IPv6 /127). `reserved`: the edges are kept back there too, and there
   * may be nothing left.
   */
  readonly pointToPoint: 'usable' | 'reserved'
}

/**
 * The addresses at the ends of some subnets that are not for hosts. Host bits of the prefixes do
 * not count. O(n log n).
 */
export function subnetEdges(prefixes: Iterable<Prefix.Prefix>, { v4, v6, pointToPoint }: ReserveRule): RangeSet {
  const ranges: { readonly first: Address.Address; readonly last: Address.Address }[] = []
  for (const prefix of prefixes) {
    const first = Prefix.first(prefix)
    const last = Prefix.last(prefix)
    const edges = first.family === 4 ? v4 : v6
    const isPointToPoint = prefix.length >= Address.bitsOf(first.family) - 1
    if (isPointToPoint && pointToPoint === 'usable') continue
    // edges that are wider than the subnet are all of it
    if (Prefix.size(prefix) <= edges.first + edges.last) {
      if (edges.first + edges.last > 0) ranges.push({ first, last })
      continue
    }
    if (edges.first > 0) ranges.push({ first, last: Address.add(first, edges.first - 1) })
    if (edges.last > 0) ranges.push({ first: Address.add(last, 1 - edges.last), last })
  }
  return fromRanges(ranges)
}
