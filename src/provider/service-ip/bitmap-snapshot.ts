import { isBytes } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Range from '../../cidr/nouns/range.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check, type KindOf } from '../../errors/check.js'
import { usableRange } from './ranges.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/**
 * The bitmap in which Kubernetes stored the addresses of Services before 1.35: a RangeAllocation
 * (core/v1), in etcd under `/registry/ranges/serviceips`. Obsolete: nothing writes one any more.
 */
export interface ServiceBitmap {
  /** The CIDR. */
  readonly range: string
  /** A number, highest byte first: bit n is the address n + 1 of the range. */
  readonly data: Uint8Array
}

const BITMAP: KindOf<ServiceBitmap> = {
  range: 'text',
  data: (data) => (isBytes(data) ? undefined : 'a Uint8Array'),
}

/** The content of a snapshot, or why it cannot be read. */
export type ServiceBitmapReading =
  | { readonly kind: 'read'; readonly prefix: Prefix; readonly inUse: RangeSet }
  /** `range` is not a CIDR, or `data` has a bit outside of it. */
  | { readonly kind: 'malformed'; readonly message: string }

/** The maximum number of addresses of an IPv6 range in a bitmap, with the network address. */
const MOST_V6 = 65_536n

/**
 * Reads an old snapshot. O(bits).
 *
 * @example
 * const read = readServiceBitmap({ range: '10.0.0.0/24', data: Uint8Array.of(0b101) })
 * read.kind === 'read' && RangeSet.format(read.inUse) // ['10.0.0.1-10.0.0.1', '10.0.0.3-10.0.0.3']
 */
export function readServiceBitmap(bitmap: ServiceBitmap): ServiceBitmapReading {
  check('readServiceBitmap', 'bitmap', bitmap, BITMAP)
  const { range, data } = bitmap

  const read = Prefix.safeParse(range)
  if (!read.ok) return { kind: 'malformed', message: `range ${JSON.stringify(range)} is not a CIDR` }
  const prefix = Prefix.masked(read.value)
  const usable = bitmapRange(prefix)
  const size = usable === undefined ? 0n : Range.size(usable)
  const first = Prefix.first(prefix)
  const ranges: Range.Range[] = []
  for (const [from, to] of runsOf(data)) {
    if (BigInt(to) >= size) {
      return { kind: 'malformed', message: `bit ${to} is set, and ${Prefix.format(prefix)} has ${size} addresses` }
    }
    ranges.push(Range.of(Address.add(first, from + 1), Address.add(first, to + 1)))
  }
  return { kind: 'read', prefix, inUse: RangeSet.fromRanges(ranges) }
}

/** The addresses of a range that a bitmap can have bits for. */
function bitmapRange(prefix: Prefix): Range.Range | undefined {
  const usable = usableRange(prefix)
  if (usable === undefined || prefix.address.family === 4 || Range.size(usable) < MOST_V6) return usable
  return Range.of(usable.first, Address.add(usable.first, MOST_V6 - 2n))
}

/** The runs of set bits, each from its first to its last bit. */
function* runsOf(data: Uint8Array): Iterable<readonly [number, number]> {
  let from = -1
  const bits = data.length * 8
  for (let bit = 0; bit <= bits; bit++) {
    const isSet = bit < bits && ((data[data.length - 1 - (bit >>> 3)]! >>> (bit & 7)) & 1) === 1
    if (isSet && from < 0) from = bit
    if (!isSet && from >= 0) {
      yield [from, bit - 1]
      from = -1
    }
  }
}
