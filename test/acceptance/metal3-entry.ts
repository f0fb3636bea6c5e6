import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'

/** The addresses of an entry of a pool of metal3, as its fields have them. */
export interface EntryTexts {
  readonly start?: string | null | undefined
  readonly end?: string | null | undefined
  readonly subnet?: string | null | undefined
}

/** What is written in an entry. */
interface Entry {
  readonly start?: Address | undefined
  readonly end?: Address | undefined
  readonly subnet?: Prefix | undefined
}

/**
 * An entry that is read, or what is wrong with it. One that says nothing is not wrong in itself.
 */
export function readEntry(texts: EntryTexts): Entry | string {
  const start = readAddress(texts.start)
  if (start === null) return `invalid Start IP ${JSON.stringify(texts.start)}`
  const end = readAddress(texts.end)
  if (end === null) return `invalid End IP ${JSON.stringify(texts.end)}`
  const subnet = isGiven(texts.subnet) ? Prefix.safeParse(texts.subnet) : undefined
  if (subnet?.ok === false) return `invalid Subnet ${JSON.stringify(texts.subnet)}: ${subnet.failure.context.problem}`
  if (start !== undefined && end !== undefined) {
    if (start.family !== end.family) return `end IP ${texts.end} is of another family than start IP ${texts.start}`
    if (Address.compare(start, end) > 0) return `end IP ${texts.end} is before start IP ${texts.start}`
  }
  return { start, end, subnet: subnet?.value }
}

/**
 * The addresses that an entry gives, or why it has none:
 *
 *     start, end          start ... end
 *     start, subnet       start ... last of the subnet
 *     start               start ... last of the family
 *     subnet              behind the address that is written in it ... last of the subnet
 */
export function addressesOf({ start, end, subnet }: Entry): RangeSet | string {
  if (start === undefined && subnet === undefined) return 'either Start or Subnet is required for ipAddress'
  if (start !== undefined && subnet !== undefined && !Prefix.contains(subnet, start)) return 'IP address out of bounds'
  const first = start ?? (subnet && Address.next(subnet.address))
  if (first === undefined) return RangeSet.empty
  const upwards = { first, last: Prefix.last(Prefix.of(first, 0)) }
  const bounds = [subnet && RangeSet.fromPrefixes([subnet]), end && upTo(end)]
  return bounds.reduce<RangeSet>(
    (set, bound) => (bound === undefined ? set : RangeSet.intersect(set, bound)),
    RangeSet.fromRanges([upwards]),
  )
}

/** An address as Go's net.IP has it, to which IPv4-mapped IPv6 is IPv4; `null` if it is none. */
export function readAddress(text: string | null | undefined): Address | null | undefined {
  if (!isGiven(text)) return undefined
  const address = Address.safeParse(text)
  return address.ok ? Address.unmap(address.value) : null
}

function isGiven(text: string | null | undefined): text is string {
  return text !== undefined && text !== null
}

function upTo(last: Address): RangeSet {
  return RangeSet.fromRanges([{ first: Prefix.first(Prefix.of(last, 0)), last }])
}
