import { reservedAddresses } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'

/** A range of a pool of Harvester, as its fields have it. Empty is left out. */
export interface HarvesterRange {
  readonly subnet: string
  readonly rangeStart?: string | undefined
  readonly rangeEnd?: string | undefined
  readonly gateway?: string | undefined
}

export interface ReadRange {
  readonly range: Range
  /** Never handed out. */
  readonly gateway: Address | undefined
}

/**
 * A range that is read, or what is wrong with it. What is not written is the subnet without its
 * ends, and the first address of that as gateway; start and end may be the wrong way round.
 */
export function readRange(texts: HarvesterRange): ReadRange | string {
  const subnet = Prefix.safeParse(texts.subnet)
  if (!subnet.ok) return `invalid range ${JSON.stringify(texts.subnet)}`
  const all = Prefix.masked(subnet.value)
  const single = Prefix.equals(all, Prefix.of(all.address, Address.bitsOf(all.address.family)))
  const lowest = single ? subnet.value.address : Address.next(Prefix.first(all))
  const highest = single || all.address.family === 6 ? Prefix.last(all) : Address.previous(Prefix.last(all))
  const start = addressIn(all, texts.rangeStart)
  if (typeof start === 'string') return `invalid range start ${texts.rangeStart}: ${start}`
  const end = addressIn(all, texts.rangeEnd)
  if (typeof end === 'string') return `invalid range end ${texts.rangeEnd}: ${end}`
  const gateway = addressIn(all, texts.gateway)
  if (typeof gateway === 'string') return `invalid gateway ${texts.gateway}: ${gateway}`
  const [first, last] = [start ?? lowest, end ?? highest]
  if (first === undefined || last === undefined) return `no addresses in ${texts.subnet}`
  const isInOrder = Address.compare(first, last) <= 0
  return {
    range: isInOrder ? Range.of(first, last) : Range.of(last, first),
    gateway: gateway ?? (single ? undefined : lowest),
  }
}

/**
 * An address of a subnet, not one of its ends; what is wrong with the text; or `undefined` if there
 * is none.
 */
function addressIn(subnet: Prefix, text: string | undefined): Address | string | undefined {
  if (text === undefined || text === '') return undefined
  const address = Address.safeParse(text)
  if (!address.ok) return `invalid IP ${text}`
  if (!Prefix.contains(subnet, address.value)) return `IP ${text} is out of subnet ${Prefix.format(subnet)}`
  const ends = reservedAddresses([subnet], {
    v4: { first: 1, last: 1 },
    v6: { first: 1, last: 1 },
    pointToPoint: 'reserved',
  })
  if (!RangeSet.contains(ends, address.value)) return address.value
  const isFirst = Address.equals(address.value, Prefix.first(subnet))
  return `IP ${text} is the ${isFirst ? 'network' : 'broadcast'} address`
}
