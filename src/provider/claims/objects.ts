import { type Cluster, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, type KubeObject, type ObjectRef } from '../../crd/meta/object.js'
import type { Parsed } from '../../plan/cached-objects.js'
import type { CachedObjects, ObjectCache } from '../../plan/index.js'
import type { PoolObjects } from './definition.js'
import { claimReads, poolOfAddress } from './references.js'
import type { PoolKinds } from './rules.js'
import { type ClaimWatches, keyOf, type SeenAddress } from './watches.js'

/** The objects that a provider plans from, by key: `Kind namespace/name`. */
export class ClaimObjects {
  readonly claims: CachedObjects<IPAddressClaim>
  readonly addresses: CachedObjects<SeenAddress>
  readonly clusters: CachedObjects<Cluster>
  readonly #kinds: PoolKinds
  /** By kind. */
  readonly #pools: ReadonlyMap<string, CachedObjects<KubeObject>>

  constructor(kinds: PoolKinds, watches: ClaimWatches, cache: ObjectCache) {
    this.#kinds = kinds
    this.claims = cache.open(watches.claims)
    this.addresses = cache.open(watches.addresses)
    this.clusters = cache.open(watches.clusters)
    this.#pools = new Map(Object.entries(watches.pools).map(([kind, watch]) => [kind, cache.open(watch)]))
  }

  claim(key: string): IPAddressClaim | undefined {
    // a pool may have the name of a claim
    const name = nameIn(key)
    return key === claimKey(name) ? this.claims.get(name) : undefined
  }

  /** The IPAddress with the name of a claim. */
  address(claimKey: string): IPAddress | undefined {
    return this.addresses.get(nameIn(claimKey))?.address
  }

  poolEntry(key: string): Parsed<KubeObject> | undefined {
    return this.#pools.get(key.slice(0, key.indexOf(' ')))?.entry(nameIn(key))
  }

  /** Whether a pool may exist although it is not known: its kind is not listed yet. */
  isPoolUnknown(key: string): boolean {
    return this.#pools.get(key.slice(0, key.indexOf(' ')))?.presence(nameIn(key)) === 'unknown'
  }

  pool(key: string): KubeObject | undefined {
    return readable(this.poolEntry(key))
  }

  /** The pool that an IPAddress is from. */
  poolOf(address: IPAddress | undefined): ObjectRef | undefined {
    return address && poolOfAddress(address, this.#kinds)
  }

  poolKeyOf(address: IPAddress | undefined): string | undefined {
    const pool = this.poolOf(address)
    return pool && formatRef(pool)
  }

  /** Whether the IPAddress with the name of a claim is from a pool. */
  isOfPool(claimKey: string, pool: string | undefined): boolean {
    return this.addresses.get(nameIn(claimKey))?.held.some((held) => this.poolKeyOf(held) === pool) === true
  }

  /** The IPAddress objects that refer to a pool. */
  addressesOf(pool: string, pending?: () => number): PoolObjects {
    const { addresses } = this
    const ofPool = (seen: SeenAddress | undefined) => seen?.held.find((held) => this.poolKeyOf(held) === pool)
    return {
      get size() {
        return addresses.countBy('pool', pool)
      },
      get pending() {
        return pending?.()
      },
      get: (name) => ofPool(addresses.get(name)),
      *values() {
        for (const seen of addresses.each('pool', pool)) yield ofPool(seen) as IPAddress
      },
    }
  }

  /** The keys of the claims of a pool or a Cluster, the oldest claim first. */
  claimsBy(index: 'pool' | 'cluster', key: string): readonly string[] {
    return this.claims.by(index, key).map(keyOf)
  }

  /** Whether the Cluster of a claim pauses it, or cannot be read. */
  isPaused(claim: IPAddressClaim | undefined): boolean {
    const name = claim && claimReads(claim, this.#kinds).cluster
    const cluster = name && this.clusters.get(name)
    return name !== undefined && (cluster === undefined || isClusterPaused(cluster))
  }
}

export function claimKey(name: string): string {
  return `${IPAddressClaim.info.kind} ${name}`
}

/** The name in a key: `namespace/name`. */
export function nameIn(key: string): string {
  return key.slice(key.indexOf(' ') + 1)
}

export function readable<T>(entry: Parsed<T> | undefined): T | undefined {
  return entry?.ok === true ? entry.value : undefined
}

export function problemOf(entry: Parsed<unknown> | undefined): string | undefined {
  return entry?.ok === false ? entry.problem : undefined
}
