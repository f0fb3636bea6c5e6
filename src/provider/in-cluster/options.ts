import type { Random } from '../../allocator/index.js'
import { refuse } from '../../errors/refuse.js'

/** Annotation of a claim: the address, or prefix, that it requests. */
export const REQUESTED_ADDRESS_ANNOTATION = 'ipam-kit.dev/address'
/** Annotation of a pool: a JSON object of addresses, or prefixes, by claim. */
export const PREALLOCATIONS_ANNOTATION = 'ipam-kit.dev/preallocations'

/** What the provider does beyond what upstream does. All of it is off unless it is asked for. */
export interface InClusterOptions {
  /**
   * Whether the status of pools gets the conditions `Ready` and `AddressesUnique`. Upstream's
   * definitions of pools do not have the field, and an API server drops it without a word: install
   * those of `withPoolConditions` first. Default false.
   */
  readonly poolConditions?: boolean | undefined
  /**
   * Claims may ask for an address, or prefix, by an annotation. They get it or nothing: if it is no
   * address, not of the pool, kept or in use, the claim says so (`AllocationFailed`), and is tried
   * again when an address of the pool goes. Looked at until the claim has an address.
   */
  readonly requestedAddress?: { readonly annotation?: string | undefined } | undefined
  /**
   * Addresses, or prefixes, that are kept for claims that may be created later: no other claim gets
   * them, they do not count as free, and the claim gets nothing else. Where a pool does not give
   * such an address, or it is in use already, the claim says so.
   */
  readonly preallocations?: Preallocations | undefined
  /**
   * A claim that is made again gets what the one before it had, if that is free; others get it only
   * when nothing else is. What is remembered is in memory alone: gone with the process, and when
   * the planner is reset. A host that wants it to last keeps `formerAddresses()` of the planner and
   * hands it in again.
   */
  readonly sticky?: Sticky | undefined
  /**
   * Gives one of the free addresses, each as likely as any other, instead of the lowest. Numbers
   * from 0 up to 1: `Math.random`, or a generator with a seed. An address that was just given back
   * is then rarely the next one to be given; a grace period makes sure of it.
   */
  readonly random?: Random | undefined
  /**
   * What to do about pools that have addresses in common. Pools of one namespace and all Global
   * pools can have; a namespaced pool never has with one of another namespace, which may well be
   * another network.
   *
   * - `ignore`: nothing, as upstream. The default
   * - `report`: the condition `AddressesUnique` of both says so, and an event
   * - `avoid`: also, nothing is given that is in use from another one. Every change of an address
   *   costs O(pools)
   */
  readonly overlaps?: 'ignore' | 'report' | 'avoid' | undefined
  /**
   * After how many seconds an IPAddress whose claim is gone is removed: 1 to 31,622,400. Its claim
   * was removed by force, or is not there yet, as in a restore: choose more time than the longest
   * restore takes. It is deleted only if no claim has that name, and neither it, nor its
   * pool, nor its Cluster is paused. The time begins when the provider first sees it so, and again
   * with each start. Left out: never.
   */
  readonly sweepAfterSeconds?: number | undefined
  /**
   * Whether a finalizer on a claim that is being deleted keeps its address in use. Left out: each
   * finalizer does that is neither the provider's nor the garbage collector's. `() => false`: none
   * does, and the address is given back at once, as upstream.
   */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
}

export interface Preallocations {
  /**
   * The annotation of a pool that has a JSON object of them, by claim as in `entries`. Default
   * {@link PREALLOCATIONS_ANNOTATION}.
   */
  readonly annotation?: string | undefined
  /**
   * Beside those of the annotations: addresses, or prefixes, by claim, by pool
   * (`InClusterIPPool default/pool`). A claim is a name, or `namespace/name`.
   */
  readonly entries?: { readonly [pool: string]: { readonly [claim: string]: string } } | undefined
}

export interface Sticky {
  /**
   * The annotation of a claim that says under which key, within its namespace, it comes again. Left
   * out, and for claims without it: the name of the claim.
   */
  readonly annotation?: string | undefined
  /** What `formerAddresses()` said before. */
  readonly formerAddresses?: readonly FormerAddress[] | undefined
  /**
   * How many are remembered, of each pool and key one, 1 to 1,000,000: the oldest are forgotten.
   * Default 10,000.
   */
  readonly limit?: number | undefined
}

/** What a claim had that is gone. */
export interface FormerAddress {
  /** `Kind namespace/name`. */
  readonly pool: string
  /** `namespace/name` of the claim, or `namespace#key`. */
  readonly key: string
  readonly address: string
  readonly prefix?: number | undefined
}

const MOST_SECONDS = 366 * 86_400
const MOST_REMEMBERED = 1_000_000
const OVERLAPS: readonly unknown[] = ['ignore', 'report', 'avoid']

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertOptions(options: InClusterOptions): void {
  const {
    poolConditions,
    requestedAddress,
    preallocations,
    sticky,
    random,
    overlaps,
    sweepAfterSeconds,
    holdsAddress,
  } = options
  if (poolConditions !== undefined && typeof poolConditions !== 'boolean')
    refuse('poolConditions', 'true or false', poolConditions)
  for (const [name, part] of Object.entries({ requestedAddress, preallocations, sticky })) {
    if (part === undefined) continue
    if (typeof part !== 'object' || part === null) refuse(name, 'an object', part)
    const { annotation } = part
    const isName = annotation === undefined || (typeof annotation === 'string' && annotation !== '')
    if (!isName) refuse(`${name}.annotation`, 'the name of an annotation', annotation)
  }
  for (const [name, part] of Object.entries({ random, holdsAddress })) {
    if (part !== undefined && typeof part !== 'function') refuse(name, 'a function', part)
  }
  if (overlaps !== undefined && !OVERLAPS.includes(overlaps)) refuse('overlaps', OVERLAPS.join(', '), overlaps)
  if (sweepAfterSeconds !== undefined && !isWithin(sweepAfterSeconds, MOST_SECONDS)) {
    refuse('sweepAfterSeconds', `seconds, 1 to ${MOST_SECONDS}`, sweepAfterSeconds)
  }
  const formers = sticky?.formerAddresses ?? []
  if (!Array.isArray(formers) || !formers.every(isFormer)) {
    refuse('sticky.formerAddresses', 'what formerAddresses() has said', formers)
  }
  for (const [pool, kept] of Object.entries(preallocations?.entries ?? {})) {
    const isKept = typeof kept === 'object' && kept !== null && Object.values(kept).every(isText)
    if (!isKept) refuse('preallocations.entries', 'texts by claim, by pool', pool)
  }
  const limit = sticky?.limit
  if (limit !== undefined && !(Number.isInteger(limit) && isWithin(limit, MOST_REMEMBERED))) {
    refuse('sticky.limit', `a whole number from 1 to ${MOST_REMEMBERED}`, limit)
  }
}

function isFormer(former: FormerAddress | undefined): boolean {
  return [former?.pool, former?.key, former?.address].every(isText)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isWithin(value: unknown, most: number): boolean {
  return typeof value === 'number' && value >= 1 && value <= most
}
