import { ByteReader, ByteWriter } from '../../bytes/varints.js'
import type { Address, RangeSet } from '../../cidr/index.js'
import { readSet, writeSet } from '../../cidr/internal.js'
import * as Addresses from '../../cidr/nouns/address.js'
import * as Sets from '../../cidr/nouns/range-set.js'
import { fail, isIpamError, type Result } from '../../errors/index.js'
import { type Hold, isName, MOST_COUNTED, type Owner, ownerId } from '../request.js'
import type { Strategy } from '../strategy.js'
import type { ReleasedAddress } from './cooldown.js'
import { type BookState, FAMILIES } from './pool-book.js'
import { type AddressPoolSpec, type PoolPlan, planOf, STRATEGIES } from './pool-spec.js'
import { newHold } from './want.js'

// The stored form of a pool: a version; its addresses, and those of its ranges that it does not
// hand out, as sets; its options, with what is preallocated by address; its last sequence and its
// time; what its strategy goes by; its holds by sequence; what is released, in the order of
// release. Numbers are varints, those of up to 53 bits in two halves. A text is the place of the
// same text before it, or 0 and its characters. A checksum comes last. A pool has one form: whoever
// reads one compares it with what it would write.

const VERSION = 3
const WHAT = 'a pool of addresses'
const HALF = 2 ** 32
const TWICE = 'what can be there once is there twice'
/** The last time that a `Date` can have, in milliseconds since 1970. */
const LAST_MS = 8_640_000_000_000_000

export interface PoolToStore {
  readonly plan: PoolPlan
  readonly state: BookState
  readonly sequence: number
}

export interface StoredPool {
  readonly spec: AddressPoolSpec
  readonly state: BookState
  readonly sequence: number
}

export function encodePool({ plan, state, sequence }: PoolToStore): Uint8Array {
  const to = new PoolWriter()
  to.byte(VERSION)
  to.set(plan.available)
  to.set(Sets.subtract(plan.ranges, plan.available))
  to.byte(STRATEGIES.indexOf(plan.strategy.kind))
  to.large(plan.staticBand)
  to.large(plan.coolDownMs)
  to.large(plan.holdMs)
  const preallocated = [...plan.preallocated].flatMap(([key, addresses]) => addresses.map((one) => [key, one] as const))
  preallocated.sort(([, left], [, right]) => Addresses.compare(left, right))
  to.number(preallocated.length)
  for (const [key, address] of preallocated) {
    to.text(key)
    to.address(address)
  }
  to.large(sequence)
  to.large(state.nowMs)
  for (const draw of state.draws) to.number(draw >>> 0)
  for (const address of state.behind) to.optional(address, (one) => to.address(one))
  to.number(state.holds.length)
  for (const hold of state.holds) to.hold(hold)
  to.number(state.releases.length)
  for (const released of state.releases) to.released(released)
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
  const coolDownSeconds = from.large() / 1000
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
  if (from.problem !== undefined) return fail('MALFORMED_BYTES', { what: WHAT, ...from.problem })
  // the seed is where the draws have come to
  const strategy = (kind === 'random' ? { kind, seed: 0 } : { kind }) as Strategy
  const options = { strategy, staticBand, coolDownSeconds, holdSeconds, preallocated }
  const spec: AddressPoolSpec = { ranges: Sets.union(available, kept), exclude: kept, ...options }
  const problem = problemOf(spec)
  if (problem !== undefined) return fail('MALFORMED_BYTES', { what: WHAT, position: strategyAt, problem })
  return { ok: true, value: { spec, state: { nowMs, holds, releases, draws, behind }, sequence } }
}

/** Bytes that are read as a pool which is written in another way. */
export function notAsWritten(position: number): Result<never, 'MALFORMED_BYTES'> {
  return fail('MALFORMED_BYTES', { what: WHAT, position, problem: 'not as a pool is written' })
}

/** What no pool can be made of. */
function problemOf(spec: AddressPoolSpec): string | undefined {
  try {
    planOf(spec)
    return undefined
  } catch (error) {
    if (isIpamError(error)) return error.message
    throw error
  }
}

class PoolWriter extends ByteWriter {
  readonly #texts = new Map<string, number>()

  /** A whole number from 0 to 2^53 - 1. */
  large(value: number): void {
    this.number(value % HALF)
    this.number(Math.floor(value / HALF))
  }

  set(set: RangeSet): void {
    writeSet(set, this)
  }

  text(text: string): void {
    const known = this.#texts.get(text)
    this.number(known ?? 0)
    if (known !== undefined) return
    this.#texts.set(text, this.#texts.size + 1)
    this.number(text.length)
    for (let i = 0; i < text.length; i++) this.number(text.charCodeAt(i))
  }

  address(address: Address): void {
    this.byte(address.family)
    if (address.family === 4) this.number(address.value)
    else this.words(Uint32Array.of(address.w0, address.w1, address.w2, address.w3))
  }

  optional<T>(value: T | undefined, write: (value: T) => void): void {
    this.byte(value === undefined ? 0 : 1)
    if (value !== undefined) write(value)
  }

  hold({ address, owner, sequence, stickyKey }: Hold): void {
    this.address(address)
    this.text(owner.uid)
    for (const text of [owner.key, owner.kind, owner.interface, stickyKey]) this.optional(text, (one) => this.text(one))
    this.large(sequence)
  }

  released({ address, coolUntilMs, stickyKey }: ReleasedAddress): void {
    this.address(address)
    this.large(coolUntilMs)
    this.optional(stickyKey, (text) => this.text(text))
  }
}

class PoolReader extends ByteReader {
  readonly #texts: string[] = []

  large(): number {
    const at = this.position
    const low = this.number()
    const high = this.number()
    if (high >= 2 ** 21) this.refuse(at, 'a number of more than 53 bits')
    return high * HALF + low
  }

  set(): RangeSet {
    return readSet(this)
  }

  text(): string {
    const at = this.position
    const place = this.number()
    if (place > 0) {
      const known = this.#texts[place - 1]
      if (known === undefined) this.refuse(at, 'a text that does not stand before it')
      return known ?? ''
    }
    const length = this.number()
    if (length > this.rest().length) {
      this.refuse(at, 'the bytes end too early')
      return ''
    }
    const parts: string[] = []
    for (let i = 0; i < length; i++) {
      const code = this.number()
      if (code > 0xffff) this.refuse(at, 'a character of more than 16 bits')
      parts.push(String.fromCharCode(code))
    }
    const text = parts.join('')
    this.#texts.push(text)
    return text
  }

  address(): Address {
    const at = this.position
    const family = this.byte()
    if (family === 4) return { family, value: this.number() }
    if (family !== 6) this.refuse(at, `the family ${family}`)
    const words = new Uint32Array(4)
    this.words(words)
    return { family: 6, w0: words[0]!, w1: words[1]!, w2: words[2]!, w3: words[3]! }
  }

  optional<T>(read: () => T): T | undefined {
    const at = this.position
    const flag = this.byte()
    if (flag > 1) this.refuse(at, 'neither 0 nor 1')
    return flag === 1 ? read() : undefined
  }

  /** Things of two bytes at least. */
  list<T>(read: (nth: number) => T): T[] {
    const count = this.count()
    const things: T[] = []
    for (let i = 0; i < count && this.problem === undefined; i++) things.push(read(i))
    return things
  }

  /** A number of a kind that goes up, or a time. */
  counted(): number {
    const at = this.position
    const value = this.large()
    if (value > MOST_COUNTED) this.refuse(at, 'a number of more than 52 bits')
    return value
  }

  hold(most: number): Hold {
    const at = this.position
    const address = this.address()
    const uid = this.text()
    if (!isName(uid)) this.refuse(at, uid === '' ? 'an owner without a uid' : 'a uid that no owner has')
    const [key, kind, name, stickyKey] = [0, 1, 2, 3].map(() => this.optional(() => this.text()))
    if (name !== undefined && !isName(name))
      this.refuse(at, name === '' ? 'an interface without a name' : 'a name that no interface has')
    const owner: Owner = {
      uid,
      ...(key === undefined ? {} : { key }),
      ...(kind === undefined ? {} : { kind }),
      ...(name === undefined ? {} : { interface: name }),
    }
    const sequence = this.large()
    if (sequence > most) this.refuse(at, 'a sequence that the pool has not come to')
    return newHold(address, owner, sequence, stickyKey)
  }

  /** A released address: the higher the order, the later it was released. */
  released(order: number): ReleasedAddress {
    const address = this.address()
    const at = this.position
    const coolUntilMs = this.large()
    if (coolUntilMs > LAST_MS) this.refuse(at, 'a time beyond the last one')
    return { address, order, coolUntilMs, stickyKey: this.optional(() => this.text()) }
  }

  /** An address is released once, and only while nobody holds it; and an owner holds it once. */
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
