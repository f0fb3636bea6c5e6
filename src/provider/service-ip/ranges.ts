import { reservedAddresses } from '../../allocator/index.js'
import { staticBandOf } from '../../allocator/internal.js'
import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Range from '../../cidr/nouns/range.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { findCondition } from '../../claim/index.js'
import { formatFieldError } from '../../crd/meta/field-error.js'
import { isDeleting } from '../../crd/meta/object.js'
import { serviceCIDRErrors } from '../../crd/networking/admission.js'
import { READY } from '../../crd/networking/names.js'
import type { ServiceCIDR } from '../../crd/networking/service-cidr.js'
import { check } from '../../errors/check.js'
import { quote } from '../../errors/quote.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

/** One range of Service addresses: a CIDR, of one ServiceCIDR or of several. */
export interface ServiceRange {
  readonly prefix: Prefix
  /** Whether Services get new addresses of it: one of its objects is ready. */
  readonly isReady: boolean
  /** The objects that have this CIDR, in the order in which they were given. */
  readonly objects: readonly ServiceCIDR[]
}

/** The widest prefix of an IPv6 range, as in Kubernetes. */
const SHORTEST_V6 = 64

/** What of a ServiceCIDR is read, for `check`. */
const SERVICE_CIDR = ['open', { metadata: 'object', spec: ['open', { cidrs: ['list', 'text'] }] }] as const

/**
 * The ranges of some ServiceCIDRs, in their order: one for each distinct prefix, ready if any of
 * its objects is. A CIDR that cannot be read has none, as for a kube-apiserver. O(n).
 */
export function serviceRanges(objects: Iterable<ServiceCIDR>): readonly ServiceRange[] {
  check('serviceRanges', 'objects', objects, 'iterable')

  const ranges = new Map<string, ServiceRange>()
  for (const object of objects) {
    check('serviceRanges', 'objects[]', object, SERVICE_CIDR)
    for (const prefix of readCIDRs(object).prefixes) {
      const text = Prefix.format(prefix)
      const known = ranges.get(text)
      if (known?.objects.at(-1) === object) continue
      ranges.set(text, {
        prefix,
        isReady: known?.isReady === true || isReadyObject(object),
        objects: [...(known?.objects ?? []), object],
      })
    }
  }
  return [...ranges.values()]
}

/**
 * Why a ServiceCIDR gives no addresses: none of its CIDRs can be read, or they are IPv6 ranges of
 * more than 2^64 addresses. `undefined`: it gives those of the others.
 */
export function serviceCIDRProblem(object: ServiceCIDR): string | undefined {
  check('serviceCIDRProblem', 'object', object, SERVICE_CIDR)

  const { prefixes, problems } = readCIDRs(object)
  return prefixes.length > 0 ? undefined : problems[0]
}

/**
 * The CIDRs of a ServiceCIDR that Services get addresses of, host bits cleared, and a sentence for
 * each of the others.
 *
 * Source: `MetaAllocator.syncAllocators` of Kubernetes, which reads old forms as well, and skips a
 * CIDR that it cannot read.
 */
export function readCIDRs(object: ServiceCIDR): {
  readonly prefixes: readonly Prefix[]
  readonly problems: readonly string[]
} {
  const { cidrs } = object.spec
  const prefixes: Prefix[] = []
  const problems: string[] = cidrs.length === 0 ? serviceCIDRErrors(object).map(formatFieldError) : []
  cidrs.forEach((text, index) => {
    const prefix = readCIDR(text)
    if (prefix === undefined) problems.push(`spec.cidrs[${index}]: ${quote(text)} is not a CIDR`)
    else if (prefix.address.family === 4 || prefix.length >= SHORTEST_V6) prefixes.push(prefix)
    else problems.push(`${Prefix.format(prefix)} is wider than /${SHORTEST_V6}, the widest IPv6 range for Services`)
  })
  return { prefixes, problems }
}

function readCIDR(text: string): Prefix | undefined {
  const read = Prefix.safeParse(text, { profile: 'k8s-legacy-read' })
  return read.ok ? Prefix.masked(read.value) : undefined
}

/** The CIDRs of a ServiceCIDR that can be read, host bits cleared. */
export function prefixesOf({ spec: { cidrs } }: ServiceCIDR): readonly Prefix[] {
  return cidrs.flatMap((text) => readCIDR(text) ?? [])
}

/**
 * Whether Services get addresses of a ServiceCIDR. One without the condition counts as ready, so
 * that allocation does not depend on a controller; one that is being deleted never does.
 */
export function isReadyObject(object: ServiceCIDR): boolean {
  return !isDeleting(object) && (findCondition(object.status?.conditions, READY)?.status ?? 'True') === 'True'
}

/**
 * The addresses of a range that Services can have: without the network address, and for IPv4
 * without the broadcast address. `undefined`: none, as in a /31, /32 or /128.
 */
export function usableRange(prefix: Prefix): Range | undefined {
  const all = RangeSet.fromPrefixes([prefix])
  for (const range of RangeSet.ranges(RangeSet.subtract(all, reservedAddresses([prefix], 'service')))) return range
  return undefined
}

/**
 * Tells whether a range can hold an address: whether a Service can have it, ready or not. The
 * choice, the repair and the end of a ServiceCIDR all ask this function.
 *
 * Source: `PrefixContainsIP` of Kubernetes 1.36.
 */
export function canHold(prefix: Prefix): (address: Address) => boolean {
  const usable = usableRange(prefix)
  return (address) => usable !== undefined && Range.contains(usable, address)
}

/**
 * The addresses that Services can have of any of these ranges: a range may use the network address
 * of another one inside it.
 */
export function usableAddresses(ranges: Iterable<ServiceRange>): RangeSet {
  check('usableAddresses', 'ranges', ranges, 'iterable')

  const list = [...ranges]
  check('usableAddresses', 'ranges', list, ['list', 'object'])
  return RangeSet.fromRanges(list.flatMap(({ prefix }) => usableRange(prefix) ?? []))
}

/** The two bands of a range (KEP-3070). Named addresses may be of both. */
export interface ServiceBands {
  /** Used first for requests without an address. */
  readonly upper: Range | undefined
  /** Used when the upper band is full. */
  readonly lower: Range | undefined
}

/**
 * The bands of a range: the lower one has {@link staticBandOf} addresses.
 *
 *     192.168.1.0/25   |0|1 .. 16|17 ............ 126|127|
 *                        lower    upper
 */
export function bandsOf(prefix: Prefix): ServiceBands {
  const usable = usableRange(prefix)
  if (usable === undefined) return { upper: undefined, lower: undefined }
  const band = staticBandOf(Number(Prefix.size(prefix)))
  if (band === 0) return { upper: usable, lower: undefined }
  const first = Address.add(usable.first, band)
  return {
    upper: Range.of(first, usable.last),
    lower: Range.of(usable.first, Address.add(usable.first, band - 1)),
  }
}

/** `IPv4` or `IPv6`. */
export function familyName(family: Family): 'IPv4' | 'IPv6' {
  return family === 4 ? 'IPv4' : 'IPv6'
}

/** An address as a prefix of its full length. */
export function hostPrefix(address: Address): Prefix {
  return Prefix.of(address, Address.bitsOf(address.family))
}

/** The address of a {@link hostPrefix}, in canonical form. */
export function addressText({ address }: Prefix): string {
  return Address.format(address)
}
