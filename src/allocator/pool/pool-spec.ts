import * as Address from '../../cidr/nouns/address.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { refuse } from '../../errors/refuse.js'
import { assertWithin } from '../slots/slots.js'
import type { Strategy } from '../strategy.js'

type Address = Address.Address
type RangeSet = RangeSet.RangeSet

export interface AddressPoolSpec {
  /** The addresses of the pool. */
  readonly ranges: RangeSet
  /** Addresses never to hand out. */
  readonly exclude?: RangeSet | undefined
  /** Addresses that are not for hosts, such as `reservedAddresses` finds. As `exclude`. */
  readonly reserved?: RangeSet | undefined
  /** Never handed out, in the ranges or not. */
  readonly gateway?: Address | undefined
  /** Which free address comes next. Default `lowest`. */
  readonly strategy?: Strategy | undefined
  /**
   * How many of the lowest addresses of a family are given only when all others are, or on request.
   * Default 0.
   */
  readonly staticBand?: number | undefined
  /**
   * For how long a released address is given to nobody but who comes with the sticky key that it
   * was held with. Default 0.
   */
  readonly coolDownSeconds?: number | undefined
  /** For how long an address that was held with a sticky key is given to nobody else. Default 0. */
  readonly holdSeconds?: number | undefined
  /**
   * Addresses by sticky key, given to nobody else: at most one of each family for a key. A `Map`,
   * or a list that can be read twice.
   */
  readonly preallocated?: Iterable<readonly [stickyKey: string, address: Address]> | undefined
}

/** A spec with all that it leaves out, and what follows from it. */
export interface PoolPlan {
  readonly ranges: RangeSet
  readonly available: RangeSet
  /** How many addresses of the ranges are not handed out. */
  readonly reserved: bigint
  readonly strategy: Strategy
  readonly staticBand: number
  readonly coolDownMs: number
  readonly holdMs: number
  /** By sticky key: at most one of each family. */
  readonly preallocated: ReadonlyMap<string, readonly Address[]>
  /** The sticky key of an address that is preallocated. */
  readonly preallocatedTo: ReadonlyMap<number | string, string>
}

/** What a pool is stored with is the place of its strategy here: new ones come last. */
export const STRATEGIES = ['lowest', 'next-fit', 'random', 'least-recently-released', 'hashed'] as const
/** A hundred years: more is a mistake about the unit. */
const MOST_SECONDS = 100 * 366 * 86_400

/**
 * @throws IpamError `INVALID_ARGUMENT` for an unknown strategy, a seed that is not a whole number,
 *   seconds or a band below 0, and an address that is preallocated twice
 */
export function planOf(spec: AddressPoolSpec): PoolPlan {
  const { strategy = { kind: 'lowest' }, staticBand = 0, coolDownSeconds = 0, holdSeconds = 0 } = spec
  if (!STRATEGIES.includes(strategy.kind)) {
    refuse('strategy.kind', `one of ${STRATEGIES.join(', ')}`, String(strategy.kind))
  }
  if (strategy.kind === 'random' && !Number.isSafeInteger(strategy.seed)) {
    refuse('strategy.seed', 'a whole number', String(strategy.seed))
  }
  assertWithin('staticBand', staticBand, 0, 2 ** 52)
  for (const [name, seconds] of Object.entries({ coolDownSeconds, holdSeconds })) {
    if (!(seconds >= 0 && seconds <= MOST_SECONDS)) refuse(name, `seconds, 0 to ${MOST_SECONDS}`, String(seconds))
  }
  const kept = [spec.exclude, spec.reserved, spec.gateway && RangeSet.fromAddresses([spec.gateway])]
  const available = kept.reduce<RangeSet>(
    (left, set) => (set === undefined ? left : RangeSet.subtract(left, set)),
    spec.ranges,
  )
  if (isReadOnce(spec.preallocated)) refuse('preallocated', 'a Map, or a list that can be read twice', 'an iterator')
  const preallocated = new Map<string, Address[]>()
  const preallocatedTo = new Map<number | string, string>()
  for (const [stickyKey, address] of spec.preallocated ?? []) {
    const own = preallocated.get(stickyKey) ?? []
    const other = preallocatedTo.get(Address.key(address))
    if (other !== undefined || own.some(({ family }) => family === address.family)) {
      const text = Address.format(address)
      const what =
        other === undefined ? `${text} as another one for ${stickyKey}` : `${text} for ${other} and ${stickyKey}`
      refuse('preallocated', 'one address of a family for a key, and one key for an address', what)
    }
    preallocated.set(stickyKey, [...own, address])
    preallocatedTo.set(Address.key(address), stickyKey)
  }
  return {
    ranges: spec.ranges,
    available,
    reserved: RangeSet.size(spec.ranges) - RangeSet.size(available),
    strategy,
    staticBand,
    coolDownMs: Math.round(coolDownSeconds * 1000),
    holdMs: Math.round(holdSeconds * 1000),
    preallocated,
    preallocatedTo,
  }
}

function isReadOnce(things: Iterable<unknown> = []): boolean {
  const iterator: unknown = things[Symbol.iterator]()
  return iterator === things
}
