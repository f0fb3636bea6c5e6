import { AddressPool, type AddressPoolSpec, confusableAddresses, type Owner } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import type { Result } from 'ipam-kit/errors'

type Family = Address['family']

/**
 * A pool of MetalLB: its addresses, which Services may have them, and in which order pools are
 * tried.
 */
export interface PoolConfig {
  /** CIDRs and ranges. */
  readonly cidrs: readonly string[]
  /** Not those that end in .0 or .255. */
  readonly avoidBuggyIPs?: boolean | undefined
  /** False: only for requests that name the pool. Default true. */
  readonly autoAssign?: boolean | undefined
  /** The lowest first; 0, and none at all, last. */
  readonly priority?: number | undefined
  readonly namespaces?: readonly string[] | undefined
  /** Of which one has to match, such as `team=a,tier=b`. */
  readonly serviceSelectors?: readonly string[] | undefined
}

export type PoolConfigs = Readonly<Record<string, PoolConfig>>

/** What is asked for a Service. */
export interface Use {
  readonly service: string
  /**
   * Services with the same sharing key and the same backend may have one address, as long as their
   * ports differ.
   */
  readonly ports?: readonly string[] | undefined
  readonly sharingKey?: string | undefined
  readonly backendKey?: string | undefined
  readonly namespace?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** Which addresses a request is for: one of each family, or one of any. */
export interface Draw {
  readonly families: readonly (Family | undefined)[]
  /** Only from this pool. */
  readonly pool?: string | undefined
}

/**
 * Some pools, the addresses of which are given to Services. What a Service has is from one pool.
 */
export class ServicePools {
  #configs: PoolConfigs
  #pools: ReadonlyMap<string, AddressPool>

  constructor(configs: PoolConfigs) {
    this.#configs = configs
    this.#pools = new Map(Object.entries(configs).map(([name, config]) => [name, new AddressPool(specOf(config))]))
  }

  /** Gives a Service these addresses instead of what it has, or changes nothing. */
  assign(use: Use, addresses: readonly Address[]): boolean {
    const [, pool] = this.#homeOf(addresses, use) ?? []
    if (pool === undefined) return false
    return this.#instead(use.service, () => addresses.every((address) => take(pool, address, use)))
  }

  /**
   * Some addresses for a Service: those that it has, if they are what it asks for, or new ones;
   * `undefined` if there are none.
   */
  get(use: Use, draw: Draw): Address[] | undefined {
    const held = this.addressesOf(use.service)
    if (held.length > 0) return isOf(held, draw.families) && this.assign(use, held) ? held : undefined
    for (const name of draw.pool === undefined ? this.#automatic(use) : [draw.pool]) {
      const pool = this.#pools.get(name)
      if (pool === undefined || !this.#admits(name, use)) continue
      const isGiven = this.#instead(use.service, () => takeNext(pool, draw.families, use))
      if (isGiven) return this.addressesOf(use.service)
    }
    return undefined
  }

  release(service: string): void {
    for (const pool of this.#pools.values()) pool.releaseOwner(service)
  }

  addressesOf(service: string): Address[] {
    const held = [...this.#pools.values()].flatMap((pool) => pool.addressesOf(service))
    // an address that is held for several ports is one
    return [...RangeSet.addresses(RangeSet.fromAddresses(held))]
  }

  poolOf(service: string): string | undefined {
    return [...this.#pools].find(([, pool]) => pool.addressesOf(service).length > 0)?.[0]
  }

  /** Other pools: what a Service has goes over to the one that has all of it now, or is dropped. */
  configure(configs: PoolConfigs): void {
    const before = this.#pools
    const pools = Object.entries(configs).map(([name, config]) => {
      const pool = before.get(name) ?? new AddressPool(specOf(config))
      pool.resize(specOf(config))
      return [name, pool] as const
    })
    this.#configs = configs
    this.#pools = new Map(pools)
    for (const old of before.values()) {
      for (const service of new Set(old.entries().flatMap(({ owners }) => owners.map(({ uid }) => uid)))) {
        const holds = old.addressesOf(service).flatMap((address) => old.holdsOf(address))
        const own = holds.filter(({ owner }) => owner.uid === service)
        const [, home] = this.#homeOf(own.map(({ address }) => address)) ?? []
        if (home === old) continue
        old.releaseOwner(service)
        for (const { address, owner } of own) home?.occupy(address, owner)
      }
    }
  }

  /** The first pool that has all of the addresses. */
  #homeOf(addresses: readonly Address[], use?: Use): readonly [string, AddressPool] | undefined {
    return [...this.#pools].find(
      ([name, pool]) =>
        addresses.every((address) => pool.hasAddress(address)) && (use === undefined || this.#admits(name, use)),
    )
  }

  /**
   * The pools for who names none: those that are for some Services only before those for all of
   * them.
   */
  #automatic(use: Use): string[] {
    const names = Object.keys(this.#configs).filter((name) => this.#configs[name]?.autoAssign !== false)
    const isForAll = (name: string) => this.#admits(name, { service: use.service })
    const priorityOf = (name: string) => this.#configs[name]?.priority || Number.MAX_SAFE_INTEGER
    return names.sort((a, b) => Number(isForAll(a)) - Number(isForAll(b)) || priorityOf(a) - priorityOf(b))
  }

  #admits(name: string, { namespace = '', labels = {} }: Use): boolean {
    const { namespaces = [], serviceSelectors = [] } = this.#configs[name] as PoolConfig
    if (namespaces.length > 0 && !namespaces.includes(namespace)) return false
    return serviceSelectors.length === 0 || serviceSelectors.some((selector) => matches(selector, labels))
  }

  /**
   * Takes everything from a Service for something else, and gives it back where that comes to
   * nothing.
   */
  #instead(service: string, call: () => boolean): boolean {
    const released = [...this.#pools.values()].map((pool) => ({ pool, delta: pool.releaseOwner(service) }))
    if (call()) return true
    for (const { pool, delta } of released) {
      pool.releaseOwner(service)
      if (!pool.undo(delta)) throw new Error('what was released cannot be taken back')
    }
    return false
  }
}

function specOf({ cidrs, avoidBuggyIPs }: PoolConfig): AddressPoolSpec {
  const prefixes = cidrs.flatMap((text) => {
    const entry = parseEntry(text)
    if (!entry.ok) throw new Error(`no entry of a pool: ${text}`)
    return entry.value
  })
  const ranges = RangeSet.fromPrefixes(prefixes)
  return avoidBuggyIPs === true ? { ranges, reserved: confusableAddresses(ranges) } : { ranges }
}

/** An entry with a hyphen is a range, any other one a CIDR: a single address is none. */
export function parseEntry(text: string): Result<Prefix[], 'MALFORMED_PREFIX' | 'MALFORMED_RANGE'> {
  if (text.includes('-')) {
    const range = Range.safeParse(text, { blanks: 'around-hyphen' })
    return range.ok ? { ok: true, value: Range.prefixes(range.value) } : range
  }
  const prefix = Prefix.safeParse(text)
  return prefix.ok ? { ok: true, value: [Prefix.masked(prefix.value)] } : prefix
}

/** The owners of an address that is used: one for each port. */
function ownersOf({ service, ports = [], sharingKey = '', backendKey = '' }: Use): Owner[] {
  const key = sharingKey === '' ? undefined : JSON.stringify([sharingKey, backendKey])
  return ports.length === 0 ? [{ uid: service, key }] : ports.map((port) => ({ uid: service, key, interface: port }))
}

/** Takes an address that nobody has, or one whose owners share it with this Service. */
function take(pool: AddressPool, address: Address, use: Use): boolean {
  return ownersOf(use).every((owner) => {
    const { kind } = pool.allocate({ owner, want: { kind: 'address', address } })
    if (kind !== 'taken') return kind === 'allocated'
    if (!isSharedWith(use, pool.ownersOf(address))) return false
    pool.occupy(address, owner)
    return true
  })
}

/**
 * Takes what comes next: all of the families or none. Of one that may be shared it is the lowest,
 * where that is below the lowest free one.
 */
function takeNext(pool: AddressPool, families: Draw['families'], use: Use): boolean {
  const isDual = families.length > 1
  if (isDual && use.sharingKey) return families.every((family) => takeNext(pool, [family], use))
  const [family] = families
  const shared = pool
    .entries()
    .find(({ address, owners }) => address.family === (family ?? address.family) && isSharedWith(use, owners))
  const free = pool.lowestFree({ family })
  if (shared !== undefined && (free === undefined || Address.compare(shared.address, free) < 0)) {
    return take(pool, shared.address, use)
  }
  const [owner, ...others] = ownersOf(use)
  if (owner === undefined) return false
  const outcome = pool.allocate(isDual ? { owner, want: { kind: 'dualStack' } } : { owner, family })
  if (outcome.kind !== 'allocated') return false
  for (const other of others) for (const address of outcome.addresses) pool.occupy(address, other)
  return true
}

/** Whether all others that have an address let this Service have it, too. */
function isSharedWith(use: Use, owners: readonly Owner[]): boolean {
  const wanted = ownersOf(use)
  const others = owners.filter(({ uid }) => uid !== use.service)
  return others.every(
    (other) =>
      other.key !== undefined &&
      wanted.every(({ key, interface: port }) => key === other.key && (port === undefined || port !== other.interface)),
  )
}

function isOf(addresses: readonly Address[], families: Draw['families']): boolean {
  if (families.includes(undefined)) return addresses.length === families.length
  return addresses.length === families.length && addresses.every(({ family }) => families.includes(family))
}

/** Whether labels have each pair of a selector such as `team=a,tier=b`. */
function matches(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return selector.split(',').every((term) => {
    const [, key = '', value] = /^(.*?)==?(.*)$/.exec(term.trim()) ?? []
    return Object.hasOwn(labels, key) && labels[key] === value
  })
}
