import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { goQuote } from '../meta/field-error.js'
import type { IPPoolEntry } from './ip-pool.js'

type Address = Address.Address

// Addresses are read as Go's net.IP has them: IPv4 within IPv6 is IPv4, and there are no zones.

/** The largest number of addresses that the project counts to. */
const MAX_SIZE = 2n ** 63n - 1n

/** Whether a text is an address. An empty one says nothing. */
export function isAddressOrEmpty(text: string): boolean {
  return text === '' || Address.safeParse(text).ok
}

/**
 * What is wrong with the fields of an entry, in the words of the project. An entry without any is
 * not wrong.
 */
export function entryProblem({ start, end, subnet }: IPPoolEntry): string | undefined {
  const [first, last] = [readAddress(start), readAddress(end)]
  if (start !== undefined && first === undefined) return `invalid Start IP ${goQuote(start)}`
  if (end !== undefined && last === undefined) return `invalid End IP ${goQuote(end)}`
  if (subnet !== undefined && !Prefix.safeParse(subnet).ok) {
    return `invalid Subnet ${goQuote(subnet)}: invalid CIDR address: ${subnet}`
  }
  return first !== undefined && last !== undefined ? orderProblem(first, last) : undefined
}

/**
 * Why the addresses of an entry cannot be counted, so that none can be picked at random: it has no
 * end, or more of them than the project counts to. For an entry without {@link entryProblem}.
 */
export function sizeProblem({ start, end, subnet }: IPPoolEntry): string | undefined {
  if (start === undefined && subnet === undefined) return 'either Start or Subnet is required for ipAddress'
  if (end === undefined && subnet === undefined) return 'pool with Start requires End or Subnet to determine size'
  const prefix = subnet === undefined ? undefined : Prefix.parse(subnet)
  const first = readAddress(start) ?? Prefix.first(prefix as Prefix.Prefix)
  // an end without a start counts for nothing
  const last = (start === undefined ? undefined : readAddress(end)) ?? Prefix.last(prefix as Prefix.Prefix)
  const size = numberOf(last) - numberOf(first) + (start === undefined ? 0n : 1n)
  return orderProblem(first, last) ?? (size > MAX_SIZE ? 'pool size exceeds int range' : undefined)
}

/**
 * Whether one of the entries takes an address: each of the bounds that it has does. Entries that
 * cannot be read take none. As upstream, IPv6 lies behind all of IPv4, so that an entry with no
 * more than an IPv4 start takes any IPv6 address.
 *
 * Entries are read once: O(entries * log entries), and O(log entries) for an address.
 */
export function boundsOf(entries: readonly IPPoolEntry[]): (text: string) => boolean {
  const firsts: bigint[] = []
  const lasts: bigint[] = []
  const sorted = entries.flatMap((entry) => intervalOf(entry) ?? []).sort((a, b) => (a.first < b.first ? -1 : 1))
  for (const { first, last } of sorted) {
    const end = lasts.at(-1)
    if (end === undefined || first > end) {
      firsts.push(first)
      lasts.push(last)
    } else if (last > end) lasts[lasts.length - 1] = last
  }
  return (text) => {
    const address = readAddress(text)
    if (address === undefined) return false
    const place = placeOf(address)
    let [low, high] = [0, firsts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((firsts[middle] as bigint) <= place) low = middle + 1
      else high = middle
    }
    return low > 0 && place <= (lasts[low - 1] as bigint)
  }
}

/** The addresses that an entry takes, by their places; `undefined` if it takes none. */
function intervalOf({ start, end, subnet }: IPPoolEntry): { first: bigint; last: bigint } | undefined {
  if (start === undefined && end === undefined && subnet === undefined) return undefined
  const [from, to] = [readAddress(start), readAddress(end)]
  const prefix = subnet === undefined ? undefined : Prefix.safeParse(subnet)
  if ((start !== undefined && !from) || (end !== undefined && !to) || prefix?.ok === false) return undefined
  let first = from === undefined ? 0n : placeOf(from)
  let last = to === undefined ? LAST_PLACE : placeOf(to)
  if (prefix !== undefined) {
    const [low, high] = [placeOf(Prefix.first(prefix.value)), placeOf(Prefix.last(prefix.value))]
    if (low > first) first = low
    if (high < last) last = high
  }
  return first <= last ? { first, last } : undefined
}

const IPV4_COUNT = 2n ** 32n
const LAST_PLACE = IPV4_COUNT + 2n ** 128n - 1n

/** The place of an address in the order of all: IPv6 behind IPv4. */
function placeOf(address: Address): bigint {
  return Address.toBigInt(address) + (address.family === 4 ? 0n : IPV4_COUNT)
}

function orderProblem(first: Address, last: Address): string | undefined {
  if (numberOf(first) <= numberOf(last)) return undefined
  return `end IP ${Address.format(last)} is before start IP ${Address.format(first)}`
}

/**
 * An address as a number of 128 bits, IPv4 in its place within IPv6: so addresses of both families
 * have an order.
 */
function numberOf(address: Address): bigint {
  return Address.toBigInt(address.family === 4 ? Address.toMapped(address) : address)
}

function readAddress(text: string | undefined): Address | undefined {
  const address = text === undefined ? undefined : Address.safeParse(text)
  return address?.ok ? Address.unmap(address.value) : undefined
}
