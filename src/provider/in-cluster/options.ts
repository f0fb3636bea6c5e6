import type { KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'

/** Annotation of a claim: the address or prefix that it requests. */
export const REQUESTED_ADDRESS_ANNOTATION = 'ipam-kit.dev/address'
/** Annotation of a pool: a JSON object of addresses or prefixes, by claim. */
export const PREALLOCATIONS_ANNOTATION = 'ipam-kit.dev/preallocations'

/** Extensions of the provider beyond upstream. All are off by default. */
export interface InClusterOptions {
  /**
   * Whether the status of pools gets the conditions `Ready` and `AddressesUnique`. Upstream's CRDs
   * do not have the field, and an API server drops it silently: install those of
   * `withPoolConditions` first. Default false.
   */
  readonly poolConditions?: boolean | undefined
  /**
   * Claims may request an address or prefix by an annotation. They get it or nothing. If it is
   * invalid, not of the pool, kept or in use, the claim says so (`AllocationFailed`), and is tried
   * again when an address of the pool is released. The annotation is read until the claim has an
   * address.
   */
  readonly requestedAddress?: { readonly annotation?: string | undefined } | undefined
  /**
   * Addresses or prefixes that are kept for future claims. No other claim gets them, they do not
   * count as free, and the claim gets nothing else. If a pool does not have such an address, or it
   * is in use already, the claim says so.
   */
  readonly preallocations?: Preallocations | undefined
  /**
   * A claim that is created again gets the address of the earlier one, if it is free; other claims
   * get it only when no other address is free. Former addresses are in memory alone: lost with the
   * process, and when the planner is reset. To keep them, store `formerAddresses()` of the planner
   * and pass them in again.
   */
  readonly sticky?: Sticky | undefined
  /**
   * Gives a random free address with equal probability instead of the lowest. It is drawn from the
   * seed and the uid of the claim, so that a claim that is planned again gets the same one while
   * the same addresses are free. An address that was just released is then rarely the next one; a
   * grace period makes sure of it.
   */
  readonly random?: { readonly seed: number } | undefined
  /**
   * How to treat pools that have addresses in common. Pools of one namespace and all Global pools
   * can overlap. Namespaced pools of different namespaces never do, because they may be in
   * different networks.
   *
   * - `ignore`: nothing, as upstream. The default
   * - `report`: the condition `AddressesUnique` of both pools says so, and an event
   * - `avoid`: as `report`, and no address is given that another pool has in use. A change of an
   *   address costs O(pools that have it)
   */
  readonly overlaps?: 'ignore' | 'report' | 'avoid' | undefined
  /**
   * After how many seconds an IPAddress without a claim is deleted: 1 to 31,622,400. Its claim was
   * deleted by force, or is not restored yet: choose more time than the longest restore takes. It
   * is deleted only if no claim has that name, and neither it, nor its pool, nor its Cluster is
   * paused. The time begins when the provider first sees it so, and again with each start. Left
   * out: never.
   */
  readonly sweepAfterSeconds?: number | undefined
  /**
   * Whether a finalizer on a claim that is being deleted keeps its address in use. Left out: each
   * finalizer does, except those of the provider and of the garbage collector. `() => false`: none
   * does, and the address is released at once, as upstream.
   */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
}

export const IN_CLUSTER_OPTIONS: KindOf<InClusterOptions> = {
  poolConditions: 'flag?',
  requestedAddress: 'object?',
  preallocations: 'object?',
  sticky: 'object?',
  random: ['options?', { seed: 'number' }],
  overlaps: ['one?', { ignore: 1, report: 1, avoid: 1 }],
  sweepAfterSeconds: 'number?',
  holdsAddress: 'function?',
}

export interface Preallocations {
  /**
   * The annotation of a pool with a JSON object of them, by claim as in `entries`. Default
   * {@link PREALLOCATIONS_ANNOTATION}.
   */
  readonly annotation?: string | undefined
  /**
   * In addition to the annotations: addresses or prefixes, by claim, by pool
   * (`InClusterIPPool default/pool`). A claim is a name, or `namespace/name`.
   */
  readonly entries?: { readonly [pool: string]: { readonly [claim: string]: string } } | undefined
}

export interface Sticky {
  /**
   * The annotation of a claim with the key, within its namespace, by which a returning claim is
   * recognised. Left out, and for claims without it: the name of the claim.
   */
  readonly annotation?: string | undefined
  /** The former addresses from `formerAddresses()` of an earlier process. */
  readonly formerAddresses?: readonly FormerAddress[] | undefined
  /**
   * How many addresses are remembered, one of each pool and key, 1 to 1,000,000: the oldest are
   * forgotten. Default 10,000.
   */
  readonly limit?: number | undefined
}

/** The address of a claim that does not exist any more. */
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
    refuse('inCluster', 'poolConditions', 'true or false', poolConditions)
  for (const [name, part] of Object.entries({ requestedAddress, preallocations, sticky })) {
    if (part === undefined) continue
    if (typeof part !== 'object' || part === null) refuse('inCluster', name, 'an object', part)
    const { annotation } = part
    const isName = annotation === undefined || (typeof annotation === 'string' && annotation !== '')
    if (!isName) refuse('inCluster', `${name}.annotation`, 'the name of an annotation', annotation)
  }
  if (random !== undefined && !Number.isFinite(random.seed)) refuse('inCluster', 'random.seed', 'a number', random.seed)
  if (holdsAddress !== undefined && typeof holdsAddress !== 'function') {
    refuse('inCluster', 'holdsAddress', 'a function', holdsAddress)
  }
  if (overlaps !== undefined && !OVERLAPS.includes(overlaps))
    refuse('inCluster', 'overlaps', OVERLAPS.join(', '), overlaps)
  if (sweepAfterSeconds !== undefined && !isWithin(sweepAfterSeconds, MOST_SECONDS)) {
    refuse('inCluster', 'sweepAfterSeconds', `seconds, 1 to ${MOST_SECONDS}`, sweepAfterSeconds)
  }
  const formers = sticky?.formerAddresses ?? []
  if (!Array.isArray(formers) || !formers.every(isFormer)) {
    refuse('inCluster', 'sticky.formerAddresses', 'what formerAddresses() has said', formers)
  }
  for (const [pool, kept] of Object.entries(preallocations?.entries ?? {})) {
    const isKept = typeof kept === 'object' && kept !== null && Object.values(kept).every(isText)
    if (!isKept) refuse('inCluster', 'preallocations.entries', 'texts by claim, by pool', pool)
  }
  const limit = sticky?.limit
  if (limit !== undefined && !(Number.isInteger(limit) && isWithin(limit, MOST_REMEMBERED))) {
    refuse('inCluster', 'sticky.limit', `a whole number from 1 to ${MOST_REMEMBERED}`, limit)
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
