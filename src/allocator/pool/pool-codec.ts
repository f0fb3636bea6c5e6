import type { Address } from '../../cidr/index.js'
import * as Addresses from '../../cidr/nouns/address.js'
import * as Sets from '../../cidr/nouns/range-set.js'
import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { isIpamError, type Result } from '../../errors/index.js'
import { type Hold, ownerId } from '../request.js'
import type { Strategy } from '../strategy.js'
import { StateReader, StateWriter, TWICE } from '../util/state-codec.js'
import type { ReleasedAddress } from './cooldown.js'
import { type AddressPoolSpec, type PoolPlan, planOf, STRATEGIES } from './pool-spec.js'
import { FAMILIES, type PoolSnapshot } from './pool-state.js'
import { newHold } from './want.js'

// The stored form of a pool: a version; the addresses that it gives out, and the others of its
// ranges, as sets; its options, with preallocated addresses in order; its last sequence and its
// time; the state of its strategy; its holds by sequence; its released addresses in the order of
// their release. A pool has one stored form: `decode` compares the bytes with those that `encode`
// would write.

const VERSION = 3
const WHAT = 'a pool of addresses'
/** The last time that a `Date` can have, in milliseconds since 1970. */
const LAST_MS = 8_640_000_000_000_000

export interface PoolToStore {
  readonly plan: PoolPlan
  readonly snapshot: PoolSnapshot
  readonly sequence: number
}

export interface StoredPool {
  readonly spec: AddressPoolSpec
  readonly snapshot: PoolSnapshot
  readonly sequence: number
}

export function encodePool({ plan, snapshot, sequence }: PoolToStore): Uint8Array {
  const to = new PoolWriter()
  to.byte(VERSION)
  to.set(plan.available)
  to.set(Sets.subtract(plan.ranges, plan.available))
  to.byte(STRATEGIES.indexOf(plan.strategy.kind))
  to.large(plan.staticBand)
  to.large(plan.cooldownMs)
  to.large(plan.holdMs)
  const preallocated = [...plan.preallocated].flatMap(([key, addresses]) => addresses.map((one) => [key, one] as const))
  preallocated.sort(([, left], [, right]) => Addresses.compare(left, right))
  to.number(preallocated.length)
  for (const [key, address] of preallocated) {
    to.text(key)
    to.address(address)
  }
  to.large(sequence)
  to.large(snapshot.nowMs)
  for (const draw of snapshot.draws) to.number(draw >>> 0)
  for (const address of snapshot.behind) to.optional(address, (one) => to.address(one))
  to.number(snapshot.holds.length)
  for (const hold of snapshot.holds) to.hold(hold)
  to.number(snapshot.releases.length)
  for (const released of snapshot.releases) to.released(released)
  return to.sealed()
}

export function decodePool(bytes: Uint8Array): Result<StoredPool, 'MALFORMED_BYTES'> {
  const from = new PoolReader(bytes, VERSION)
  const available = from.set()
  const kept = from.set()
  const strategyAt = from.position
  const kind = STRATEGIES[from.byte()]
  if (kind === undefined) from.refuse(strategyAt, 'an unknown strategy')
  const staticBand = from.large()
  const cooldownSeconds = from.large() / 1000
  const holdSeconds = from.large() / 1000
  const preallocated = from.list((): [string, Address] => [from.text(), from.address()])
  const sequence = from.counted()
  const nowMs = from.counted()
  const draws = FAMILIES.map(() => from.number() | 0)
  const behind = FAMILIES.map(() => from.optional(() => from.address()))
  const holds = from.list(() => from.hold(sequence))
  const releases = from.list((nth) => from.released(nth + 1))
  from.refuseTwins(holds, releases)
  if (from.rest().length > 0) from.refuse(from.position, 'more than a pool')
  if (from.problem !== undefined) return failWith(MALFORMED_BYTES, { what: WHAT, ...from.problem })
  // the state of the random numbers replaces the seed
  const strategy = (kind === 'random' ? { kind, seed: 0 } : { kind }) as Strategy
  const options = { strategy, staticBand, cooldownSeconds, holdSeconds, preallocated }
  const spec: AddressPoolSpec = { ranges: Sets.union(available, kept), exclude: kept, ...options }
  const problem = problemOf(spec)
  if (problem !== undefined) return failWith(MALFORMED_BYTES, { what: WHAT, position: strategyAt, problem })
  return { ok: true, value: { spec, snapshot: { nowMs, holds, releases, draws, behind }, sequence } }
}

/** The failure for bytes that can be read, but are not as `encode` writes the pool. */
export function notAsWritten(position: number): Result<never, 'MALFORMED_BYTES'> {
  return failWith(MALFORMED_BYTES, { what: WHAT, position, problem: 'not as a pool is written' })
}

/** The problem of a spec that the constructor refuses. */
function problemOf(spec: AddressPoolSpec): string | undefined {
  try {
    planOf(spec)
    return undefined
  } catch (error) {
    if (isIpamError(error)) return error.message
    throw error
  }
}

class PoolWriter extends StateWriter {
  hold({ address, owner, sequence, stickyKey }: Hold): void {
    this.address(address)
    this.owner(owner)
    this.optional(stickyKey, (text) => this.text(text))
    this.large(sequence)
  }

  released({ address, coolUntilMs, stickyKey }: ReleasedAddress): void {
    this.address(address)
    this.large(coolUntilMs)
    this.optional(stickyKey, (text) => this.text(text))
  }
}

class PoolReader extends StateReader {
  hold(last: number): Hold {
    const address = this.address()
    const owner = this.owner()
    const stickyKey = this.optional(() => this.text())
    return newHold(address, owner, this.sequence(last, 'the pool'), stickyKey)
  }

  /** A released address: the higher the order, the later it was released. */
  released(order: number): ReleasedAddress {
    const address = this.address()
    const at = this.position
    const coolUntilMs = this.large()
    if (coolUntilMs > LAST_MS) this.refuse(at, 'a time beyond the last one')
    return { address, order, coolUntilMs, stickyKey: this.optional(() => this.text()) }
  }

  /** An address is released once, and only while it has no owner. An owner holds it once. */
  refuseTwins(holds: readonly Hold[], releases: readonly ReleasedAddress[]): void {
    const first = new Map<number | string, Hold | ReleasedAddress>(
      releases.map((released) => [Addresses.key(released.address), released]),
    )
    if (first.size < releases.length) this.refuse(this.position, TWICE)
    const owners = new Map<number | string, Set<string>>()
    for (const hold of holds) {
      const key = Addresses.key(hold.address)
      const before = first.get(key)
      if (before === undefined) {
        first.set(key, hold)
        continue
      }
      const all = owners.get(key) ?? new Set('owner' in before ? [ownerId(before.owner)] : [])
      if (!('owner' in before) || all.has(ownerId(hold.owner))) this.refuse(this.position, TWICE)
      owners.set(key, all.add(ownerId(hold.owner)))
    }
  }
}
