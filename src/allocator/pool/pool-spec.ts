import { frozenSet, type ReserveRule } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check, type KindOf, type Test } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { addressOf, isTexts, rangesOf } from '../ranges-given.js'
import { assertWithin } from '../slots/slots.js'
import type { Strategy } from '../strategy.js'
import { type ReserveRuleName, reservedAddresses } from './reserved.js'

type Address = Address.Address
type RangeSet = RangeSet.RangeSet

export interface AddressPoolSpec {
  /** The addresses of the pool, also as texts: `['10.0.0.0/24', 'fd00::/64']`. */
  readonly ranges: RangeSet | readonly string[]
  /**
   * Which addresses of the prefixes in `ranges` are not for hosts. Default for texts `ipv4-edges`:
   * the pool does not give out the network and the broadcast address of `10.0.0.0/24`. It gives out
   * all addresses of a /31, a /32, a range `first-last` and an IPv6 prefix. `none`: every address
   * is for hosts. A set does not record its prefixes: a pool of a set gives out all of its
   * addresses, and only `none` is allowed. For a set, `reservedAddresses` makes the value of
   * `reserved`.
   */
  readonly reserve?: ReserveRuleName | ReserveRule | undefined
  /** Addresses that the pool never gives out. */
  readonly exclude?: RangeSet | readonly string[] | undefined
  /** Addresses that are not for hosts, such as those of `reservedAddresses`. As `exclude`. */
  readonly reserved?: RangeSet | readonly string[] | undefined
  /**
   * The router, also as a text: `10.0.0.1`. The pool never gives it out. It may lie outside of the
   * ranges.
   */
  readonly gateway?: Address | string | undefined
  /** Which free address comes next. Default `lowest`. */
  readonly strategy?: Strategy | undefined
  /**
   * The number of the lowest addresses of a family that are given only on request, or when all
   * other addresses are in use. Default 0.
   */
  readonly staticBand?: number | undefined
  /**
   * How long a released address is kept from other owners, in seconds. A request with the sticky
   * key of the released hold gets it earlier. Default 0.
   */
  readonly cooldownSeconds?: number | undefined
  /**
   * How long a released address is kept for the sticky key of its hold, in seconds. Default 0: the
   * key gets it again only while it is free.
   */
  readonly holdSeconds?: number | undefined
  /**
   * Addresses that are reserved for a sticky key: at most one of each family for a key. A `Map`, or
   * a list that can be read twice. An address can be a text.
   */
  readonly preallocated?: Iterable<readonly [stickyKey: string, address: Address | string]> | undefined
}

/** A spec with its defaults and the values that follow from it. */
export interface PoolPlan {
  readonly ranges: RangeSet
  readonly available: RangeSet
  /** The number of addresses of the ranges that are not given out. */
  readonly reserved: bigint
  readonly strategy: Strategy
  readonly staticBand: number
  readonly cooldownMs: number
  readonly holdMs: number
  /** By sticky key: at most one of each family. */
  readonly preallocated: ReadonlyMap<string, readonly Address[]>
  /** The sticky key of an address that is preallocated. */
  readonly preallocatedTo: ReadonlyMap<number | string, string>
}

/** Stored pools name their strategy by its index here: new strategies are appended. */
export const STRATEGIES = ['lowest', 'next-fit', 'random', 'least-recently-released', 'hashed'] as const
const OF = 'AddressPool'
/** A hundred years: a larger value is in another unit by mistake. */
const MOST_SECONDS = 100 * 366 * 86_400

const seconds: Test<number | undefined> = (given) => {
  const isRight = given === undefined || (typeof given === 'number' && given >= 0 && given <= MOST_SECONDS)
  return isRight ? undefined : `seconds, 0 to ${MOST_SECONDS}`
}

const SPEC: KindOf<AddressPoolSpec> = {
  ranges: 'any',
  reserve: 'any?',
  exclude: 'any?',
  reserved: 'any?',
  gateway: 'any?',
  strategy: [
    'by?',
    'kind',
    {
      lowest: 'object',
      'next-fit': 'object',
      random: ['open', { seed: (seed) => (Number.isSafeInteger(seed) ? undefined : 'a whole number') }],
      'least-recently-released': 'object',
      hashed: 'object',
    },
  ],
  staticBand: 'number?',
  cooldownSeconds: ['is?', seconds],
  holdSeconds: ['is?', seconds],
  preallocated: 'iterable?',
}

/**
 * @throws IpamError `MALFORMED_RANGE_SET_ENTRY` for a text that is not a range; `MALFORMED_ADDRESS`
 *   for a text that is not an address; `INVALID_ARGUMENT` for ranges that are neither a set nor
 *   texts, an unknown strategy, a seed that is not a whole number, seconds or a band below 0, and
 *   an address that is preallocated twice
 */
export function planOf(spec: AddressPoolSpec): PoolPlan {
  check(OF, 'spec', spec, SPEC)
  const { strategy = { kind: 'lowest' }, staticBand = 0, cooldownSeconds = 0, holdSeconds = 0 } = spec
  assertWithin(OF, 'staticBand', staticBand, 0, 2 ** 52)
  const { ranges, available } = addressesOf(spec)
  const { preallocated, preallocatedTo } = preallocatedIn(spec)
  return {
    ranges,
    available: frozenSet(available),
    reserved: RangeSet.size(ranges) - RangeSet.size(available),
    strategy,
    staticBand,
    cooldownMs: Math.round(cooldownSeconds * 1000),
    holdMs: Math.round(holdSeconds * 1000),
    preallocated,
    preallocatedTo,
  }
}

/** The addresses of a pool, and those of them that it gives out. */
function addressesOf({ ranges, reserve, exclude, reserved, gateway }: AddressPoolSpec) {
  const set = rangesOf(OF, 'ranges', ranges)
  const kept = [
    edgesOf(ranges, reserve),
    exclude === undefined ? RangeSet.empty : rangesOf(OF, 'exclude', exclude),
    reserved === undefined ? RangeSet.empty : rangesOf(OF, 'reserved', reserved),
    gateway === undefined ? RangeSet.empty : RangeSet.fromAddresses([addressOf(OF, 'gateway', gateway)]),
  ]
  return { ranges: set, available: kept.reduce((left, one) => RangeSet.subtract(left, one), set) }
}

/** The addresses of prefixes, given as texts, that are not for hosts. */
function edgesOf(ranges: AddressPoolSpec['ranges'], reserve: AddressPoolSpec['reserve']): RangeSet {
  if (isTexts(ranges)) {
    const prefixes = ranges.filter((text) => !text.includes('-') && text.includes('/'))
    return reservedAddresses(
      prefixes.map((text) => Prefix.parse(text)),
      reserve ?? 'ipv4-edges',
    )
  }
  if (reserve !== undefined && reserve !== 'none') {
    refuse(OF, 'reserve', 'none with a set, which does not record the prefixes that it was made of', reserve)
  }
  return RangeSet.empty
}

function preallocatedIn(spec: AddressPoolSpec): Pick<PoolPlan, 'preallocated' | 'preallocatedTo'> {
  if (isReadOnce(spec.preallocated))
    refuse(OF, 'preallocated', 'a Map, or a list that can be read twice', 'an iterator')
  const preallocated = new Map<string, Address[]>()
  const preallocatedTo = new Map<number | string, string>()
  for (const pair of spec.preallocated ?? []) {
    if (!Array.isArray(pair)) refuse(OF, 'preallocated', 'pairs of a sticky key and an address', pair)
    const [stickyKey, given] = pair as readonly [string, Address | string]
    check(OF, 'preallocated[][0]', stickyKey, 'text')
    const address = addressOf(OF, `preallocated[${stickyKey}]`, given)
    const own = preallocated.get(stickyKey) ?? []
    const other = preallocatedTo.get(Address.key(address))
    if (other !== undefined || own.some(({ family }) => family === address.family)) {
      const text = Address.format(address)
      const what =
        other === undefined ? `${text} as another one for ${stickyKey}` : `${text} for ${other} and ${stickyKey}`
      refuse(OF, 'preallocated', 'one address of a family for a key, and one key for an address', what)
    }
    preallocated.set(stickyKey, [...own, address])
    preallocatedTo.set(Address.key(address), stickyKey)
  }
  return { preallocated, preallocatedTo }
}

function isReadOnce(things: Iterable<unknown> = []): boolean {
  const iterator: unknown = things[Symbol.iterator]()
  return iterator === things
}
