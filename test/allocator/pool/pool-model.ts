import type { AddressPoolSpec, AllocationOutcome, AllocationRequest, Hold, Owner, Want } from 'ipam-kit/allocator'
import { Address, type Family, RangeSet } from 'ipam-kit/cidr'

interface ModelHold {
  readonly address: string
  readonly uid: string
  readonly interface: string | undefined
  readonly key: string | undefined
  readonly sequence: number
}

interface ModelRelease {
  readonly address: string
  readonly untilMs: number
  readonly key: string | undefined
}

/**
 * What an allocation is expected to be: its kind, and of which addresses each of those that were
 * given has to be.
 */
export interface Expected {
  readonly kind: AllocationOutcome['kind']
  readonly address?: string
  /** For each address that is given, those that it may be. */
  readonly oneOf?: readonly (readonly string[])[]
  readonly freeAtMs?: number
  /** In which families the strategy has chosen. */
  readonly byStrategy?: readonly Family[]
  /** Of an address that is not of the pool. */
  readonly reason?: string
}

/**
 * An address pool with all of its options, in lists of texts. Addresses that a strategy may choose
 * freely are told as a list of those that would do; the caller then says which one it was.
 */
export class PoolModel {
  #spec!: AddressPoolSpec
  #addresses!: readonly string[]
  #holds: readonly ModelHold[] = []
  /**
   * Those that were released and are not in use, in the order of their release: in cooldown, or
   * remembered for their order.
   */
  #releases: readonly ModelRelease[] = []
  #used: readonly string[] = []
  /** Behind which address next-fit goes on, of each family. */
  #cursor: { readonly [family: number]: string | undefined } = {}
  nowMs = 0

  constructor(spec: AddressPoolSpec) {
    this.resize(spec)
  }

  resize(spec: AddressPoolSpec): void {
    this.#spec = spec
    const kept = [spec.exclude, spec.reserved, spec.gateway && RangeSet.fromAddresses([addressOf(spec.gateway)])]
    const isKept = (address: Address) => kept.some((set) => set && RangeSet.contains(setOf(set), address))
    this.#addresses = [...RangeSet.addresses(setOf(spec.ranges))]
      .filter((address) => !isKept(address))
      .map(Address.format)
  }

  /** All that can be told about it. */
  state() {
    const inCooldown = this.#releases
      .map((released) => released.address)
      .filter((address) => this.#isInCooldown(address))
    return {
      inCooldown: inCooldown.sort(compare),
      holds: [...this.#holds].sort(byAddress).map(({ address, uid, sequence }) => `${address} ${uid} ${sequence}`),
      counts: this.counts(),
      lowest: ([undefined, 4, 6] as const).map((family) => this.#free(family)[0]),
    }
  }

  counts() {
    const held = new Set(this.#holds.map((hold) => hold.address))
    const inPool = (address: string) => this.#addresses.includes(address)
    const inCooldown = this.#addresses.filter((address) => !held.has(address) && this.#isInCooldown(address))
    const preallocated = this.#preallocated()
      .map(([, address]) => address)
      .filter((address) => inPool(address) && !held.has(address) && !inCooldown.includes(address))
    const count = (list: readonly unknown[]) => BigInt(list.length)
    return {
      total: count(this.#addresses),
      used: count([...held].filter(inPool)),
      cooldown: count(inCooldown),
      preallocated: count(preallocated),
      free: count(this.#free(undefined)),
      reserved: RangeSet.size(setOf(this.#spec.ranges)) - count(this.#addresses),
      outOfRange: count([...held].filter((address) => !inPool(address))),
    }
  }

  /** What a request has to be answered. Changes nothing. */
  expected(request: AllocationRequest): Expected {
    const { owner, want = { kind: 'any' }, family, stickyKey } = request
    const own = this.#holds.filter(({ uid, interface: name }) => uid === owner.uid && name === owner.interface)
    const wanted = want.kind === 'address' ? [want.address] : want.kind === 'oneOf' ? want.addresses : []
    const texts = wanted.map(Address.format)
    const same = own.find(({ address }) => texts.includes(address))
    if (same !== undefined) return { kind: 'already', address: same.address }
    const families = wanted.length > 0 ? wanted.map((address) => address.family) : family ? [family] : [4, 6]
    const isCandidate = ({ address }: ModelHold) => families.includes(familyOf(address))
    const candidates = want.kind === 'oneOf' && wanted.length === 0 ? [] : own.filter(isCandidate)
    if (candidates.length > 0) {
      const first = candidates[0]!.address
      const isSame =
        want.kind === 'any' ||
        fits(
          candidates.map((hold) => hold.address),
          want,
        )
      return { kind: isSame ? 'already' : 'refused', address: first }
    }
    if (want.kind === 'address') return this.#refusal(texts[0]!, stickyKey) ?? { kind: 'allocated', oneOf: [texts] }
    if (want.kind === 'oneOf') {
      const found = texts.find((text) => this.#refusal(text, stickyKey) === undefined)
      if (found !== undefined) return { kind: 'allocated', oneOf: [[found]] }
      return texts.length === 0 ? { kind: 'exhausted' } : this.#refusal(texts[0]!, stickyKey)!
    }
    if (want.kind === 'run' || want.kind === 'prefix') {
      const run = this.#run(want, family, stickyKey)
      return run === undefined ? this.#exhausted(family) : { kind: 'allocated', oneOf: run.map((address) => [address]) }
    }
    if (want.kind === 'dualStack') return this.#expectedOfBoth(request)
    const kept = stickyKey === undefined ? undefined : this.#keptFor(stickyKey, family)
    if (kept !== undefined) return this.#refusal(kept, stickyKey) ?? { kind: 'allocated', oneOf: [[kept]] }
    const chosen = this.#choose(family)
    return chosen ? { kind: 'allocated', oneOf: [chosen], byStrategy: [4, 6] } : this.#exhausted(family)
  }

  #exhausted(family: Family | undefined): Expected {
    const times = this.#releases
      .filter(
        (released) => released.untilMs > this.nowMs && (family === undefined || familyOf(released.address) === family),
      )
      .map((released) => released.untilMs)
    return times.length === 0 ? { kind: 'exhausted' } : { kind: 'exhausted', freeAtMs: Math.min(...times) }
  }

  #expectedOfBoth(request: AllocationRequest): Expected {
    const each = ([4, 6] as const).map((family) => this.expected({ ...request, want: { kind: 'any' }, family }))
    return (
      each.find((one) => one.kind !== 'allocated') ?? {
        kind: 'allocated',
        oneOf: each.flatMap((one) => one.oneOf!),
        byStrategy: ([4, 6] as const).filter((_, i) => each[i]!.byStrategy !== undefined),
      }
    )
  }

  /**
   * These holds have begun. `byStrategy`: in which families the strategy has chosen the addresses.
   */
  begin(holds: readonly Hold[], { byStrategy = [] }: Pick<Expected, 'byStrategy'> = {}): void {
    for (const { address, owner, sequence, stickyKey } of holds) {
      const text = Address.format(address)
      const { uid, interface: name } = owner
      this.#holds = [...this.#holds, { address: text, uid, interface: name, key: stickyKey, sequence }]
      this.#releases = this.#releases.filter((released) => released.address !== text)
      this.#used = [...this.#used, text]
      if (byStrategy.includes(address.family)) this.#cursor = { ...this.#cursor, [address.family]: text }
    }
  }

  holdsOf(uid: string): readonly ModelHold[] {
    return this.#holds.filter((hold) => hold.uid === uid)
  }

  find(address: string, owner: Pick<Owner, 'uid' | 'interface'>): ModelHold | undefined {
    return this.#holds.find(
      (hold) => hold.address === address && hold.uid === owner.uid && hold.interface === owner.interface,
    )
  }

  end(holds: readonly ModelHold[]): void {
    const { cooldownSeconds = 0, holdSeconds = 0 } = this.#spec
    for (const hold of holds) {
      this.#holds = this.#holds.filter((other) => other !== hold)
      if (this.#holds.some((other) => other.address === hold.address)) continue
      const seconds = Math.max(cooldownSeconds, hold.key === undefined ? 0 : holdSeconds)
      const untilMs = seconds === 0 ? 0 : this.nowMs + seconds * 1000
      this.#releases = [...this.#releases, { address: hold.address, untilMs, key: hold.key }]
    }
  }

  /** A copy that goes its own way: what it was before a call, for `undo` of that call. */
  copy(): PoolModel {
    const twin = new PoolModel(this.#spec)
    twin.#holds = this.#holds
    twin.#releases = this.#releases
    twin.#used = this.#used
    twin.#cursor = this.#cursor
    twin.nowMs = this.nowMs
    return twin
  }

  #preallocated(): (readonly [key: string, address: string])[] {
    return [...(this.#spec.preallocated ?? [])].map(([key, address]) => [key, Address.format(addressOf(address))])
  }

  #isInCooldown(address: string): boolean {
    return this.#releases.some((released) => released.address === address && released.untilMs > this.nowMs)
  }

  #isFree(address: string): boolean {
    return (
      this.#addresses.includes(address) &&
      !this.#holds.some((hold) => hold.address === address) &&
      !this.#isInCooldown(address) &&
      !this.#preallocated().some(([, other]) => other === address)
    )
  }

  #free(family: Family | undefined): string[] {
    return this.#addresses.filter(
      (address) => (family ?? familyOf(address)) === familyOf(address) && this.#isFree(address),
    )
  }

  #refusal(address: string, key: string | undefined): Expected | undefined {
    if (!this.#addresses.includes(address)) {
      const isOfRanges = [...RangeSet.addresses(setOf(this.#spec.ranges))].map(Address.format).includes(address)
      return { kind: 'outOfPool', address, reason: isOfRanges ? 'Reserved' : 'Outside' }
    }
    const isSameFamily = (other: string) => familyOf(other) === familyOf(address)
    const own = this.#preallocated().find(([to, other]) => to === key && isSameFamily(other))?.[1]
    if (own !== undefined && own !== address) return { kind: 'refused', address: own }
    if (this.#holds.some((hold) => hold.address === address)) return { kind: 'taken', address }
    const to = this.#preallocated().find(([, other]) => other === address)?.[0]
    if (to !== undefined && to !== key) return { kind: 'refused', address }
    const released = this.#releases.find((other) => other.address === address && other.untilMs > this.nowMs)
    if (released === undefined || (released.key !== undefined && released.key === key)) return undefined
    return { kind: 'cooldown', address, freeAtMs: released.untilMs }
  }

  /** What is preallocated for a key, else what it had last; IPv4 before IPv6. */
  #keptFor(key: string, family: Family | undefined): string | undefined {
    const own = this.#preallocated().filter(([to]) => to === key)
    const lists = [own.map(([, address]) => address), this.#releasesFor(key)]
    const found = lists.flatMap((list) =>
      familiesOf(family).flatMap((one) => list.filter((address) => familyOf(address) === one).slice(-1)),
    )
    return found[0]
  }

  /** What a key had and is kept for it, in the order of its release. */
  #releasesFor(key: string): string[] {
    return this.#releases
      .filter(
        ({ address, key: other }) =>
          other === key &&
          this.#addresses.includes(address) &&
          !this.#preallocated().some(([to, one]) => one === address && to !== key),
      )
      .map((released) => released.address)
  }

  /**
   * All that is kept for a key and can be given to it, in the order of its release; what is
   * preallocated comes last.
   */
  #allKeptFor(key: string | undefined, family: Family): string[] {
    if (key === undefined) return []
    const own = this.#preallocated()
      .filter(([to, address]) => to === key && this.#refusal(address, key) === undefined)
      .map(([, address]) => address)
    const releases = this.#releasesFor(key).filter((address) => !own.includes(address))
    return [...releases, ...own].filter((address) => familyOf(address) === family)
  }

  /** Those that the next address may be; `undefined`: none is free. */
  #choose(family: Family | undefined): string[] | undefined {
    const { strategy = { kind: 'lowest' }, staticBand = 0 } = this.#spec
    const inBand = (address: string) =>
      this.#addresses.filter((other) => familyOf(other) === familyOf(address)).indexOf(address) < staticBand
    const one = familiesOf(family).find((each) => this.#free(each).length > 0)
    if (one === undefined) return undefined
    const free = this.#free(one)
    const above = free.filter((address) => !inBand(address))
    const first = above.length > 0 ? above : free
    if (strategy.kind === 'random' || strategy.kind === 'hashed') return first
    const releases = this.#releases.map((released) => released.address)
    return [chooseOne(strategy.kind, first, this.#cursor[one], this.#used, releases)]
  }

  /**
   * A run of what is kept for a key, the one that was released last, else the lowest of what is
   * kept for it or free.
   */
  #run(want: Want, family: Family | undefined, key: string | undefined): string[] | undefined {
    const families = familiesOf(family)
    const kept = families.flatMap((one) => {
      const list = this.#allKeptFor(key, one)
      const lateness = (run: readonly string[]) => run.reduce((sum, address) => sum + list.indexOf(address), 0)
      return runsOf(want, one, list)
        .sort((a, b) => lateness(b) - lateness(a))
        .slice(0, 1)
    })
    if (kept.length > 0) return kept[0]
    return families.flatMap((one) => runsOf(want, one, [...this.#free(one), ...this.#allKeptFor(key, one)]))[0]
  }
}

/** The model is given sets, and reserves nothing. */
/** The model takes no texts. */
function addressOf(given: Address | string): Address {
  if (typeof given === 'string') throw new Error('a model of addresses')
  return given
}

function setOf(given: AddressPoolSpec['ranges']): RangeSet {
  if ('v4' in given) return given
  throw new Error('a model of a set')
}

/** All runs that can be made of some addresses, the lowest first. */
function runsOf(want: Want, family: Family, addresses: readonly string[]): string[][] {
  const count = want.kind === 'run' ? want.count : 2 ** (Address.bitsOf(family) - (want as { length: number }).length)
  return [...addresses].sort(compare).flatMap((first) => {
    const start = Address.toBigInt(Address.parse(first))
    if (want.kind === 'prefix' && start % BigInt(count) !== 0n) return []
    if (start + BigInt(count) > 1n << BigInt(Address.bitsOf(family))) return []
    const run = Array.from({ length: count }, (_, i) => start + BigInt(i))
    const texts = run.map((value) => Address.format(Address.fromBigInt(family, value)))
    return texts.every((text) => addresses.includes(text)) ? [texts] : []
  })
}

function familiesOf(family: Family | undefined): readonly Family[] {
  return family === undefined ? [4, 6] : [family]
}

function chooseOne(
  strategy: string,
  from: readonly string[],
  cursor: string | undefined,
  used: readonly string[],
  releases: readonly string[],
): string {
  if (strategy === 'next-fit') {
    return from.find((address) => cursor !== undefined && compare(address, cursor) > 0) ?? from[0]!
  }
  if (strategy === 'least-recently-released') {
    // one that was never used, then the one that was released first; what is above the band before
    // what is in it
    const fresh = from.find((address) => !used.includes(address))
    return fresh ?? releases.find((address) => from.includes(address)) ?? from[0]!
  }
  return from[0]!
}

function fits(addresses: readonly string[], want: Want): boolean {
  if (want.kind === 'dualStack') return [...addresses].map(familyOf).sort().join() === '4,6'
  if (want.kind !== 'run' && want.kind !== 'prefix') return false
  const sorted = addresses.map((text) => Address.parse(text)).sort(Address.compare)
  const { family } = sorted[0]!
  if (sorted.some((address) => address.family !== family)) return false
  const values = sorted.map(Address.toBigInt)
  const count = want.kind === 'run' ? want.count : 2 ** (Address.bitsOf(family) - want.length)
  const isAligned = want.kind === 'run' || values[0]! % BigInt(count) === 0n
  return isAligned && values.length === count && values.every((value, i) => value === values[0]! + BigInt(i))
}

function familyOf(address: string): Family {
  return address.includes(':') ? 6 : 4
}

function compare(a: string, b: string): number {
  return Address.compare(Address.parse(a), Address.parse(b))
}

function byAddress(a: { readonly address: string }, b: { readonly address: string }): number {
  return compare(a.address, b.address)
}
