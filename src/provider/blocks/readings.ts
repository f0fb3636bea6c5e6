import { IPPool, type IPPoolFamilyStatus } from '../../crd/ipam-kit/ip-pool.js'
import { type PoolSpace, poolSpace } from '../../crd/ipam-kit/space.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { describe, type Result } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import { BlockBook } from './book.js'

export interface BlockReadingsOptions {
  /** How many versions of an object are kept, the last ones that were read: 1 to 64. Default 2. */
  readonly versions?: number | undefined
  /** How many objects are kept, 1 to 1,000,000: of more those that were kept for longest are read anew. Default 16,384. */
  readonly objects?: number | undefined
}

/**
 * What pools and blocks come to when they are read: parsed, checked, and their space computed. Several parts of one process that share it read each version of
 * an object once for all of them. It changes nothing else: each of them knows what it was shown, and no more.
 *
 * Versions are told by `uid` and `resourceVersion`, and never change; what has one of them not is read each time. What nobody was shown is not kept, what was seen
 * to go is forgotten, and so is all of it with a `reset` of one of those that share it.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * import { blocksOperator, blocksSweep, KnownBlocks } from 'ipam-kit/provider/blocks'
 * import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
 * const readings = new BlockReadings()
 * const known = new KnownBlocks({ isComplete: true, readings })
 * const planners = [blocksOperator({ readings }), blocksSweep({ owners: [IPAddressClaim.info], readings })]
 * known.pool('blue') // 'absent'
 * planners.map(({ name }) => name) // ['blocks', 'blocks-sweep']
 */
export class BlockReadings {
  readonly #pools: Versions<PoolReading | string>
  readonly #blocks: Versions<BlockBook | string>

  constructor({ versions = 2, objects = 16_384 }: BlockReadingsOptions = {}) {
    assertCount('versions', versions, 64)
    assertCount('objects', objects, 1_000_000)
    this.#pools = new Versions(versions, objects)
    this.#blocks = new Versions(versions, objects)
  }

  /** @returns the pool; why it can not be read */
  pool(object: KubeObject): PoolReading | string {
    return this.#pools.of(object, (others) => readPool(object, others))
  }

  /** @returns the block; why it can not be read */
  block(object: KubeObject): BlockBook | string {
    return this.#blocks.of(object, () => BlockBook.read(object))
  }

  /** An object is not there any more. */
  forget(uid: string): void {
    this.#pools.forget(uid)
    this.#blocks.forget(uid)
  }

  /** Nothing of it is believed any more: after the database below was restored to an earlier state a version names something else. */
  clear(): void {
    this.#pools.clear()
    this.#blocks.clear()
  }
}

/** A version of a pool as it was read. Immutable. */
export class PoolReading {
  readonly object: IPPool
  /** Two versions for which this is the same give the same. */
  readonly gives: string
  #space: Result<PoolSpace, 'INVALID_POOL_SPEC'> | undefined

  /** @param others other versions: the space of one that gives the same is that of this one */
  constructor(object: IPPool, others: readonly PoolReading[] = []) {
    const { spec, status } = object
    this.object = object
    this.gives = JSON.stringify([spec, status?.domainUID, gridOf(status?.ipv4), gridOf(status?.ipv6)])
    this.#space = others.find(({ gives }) => gives === this.gives)?.space
  }

  /** What it has; why the spec can not be used. The same object for each version that gives the same, as far as those are known. */
  get space(): Result<PoolSpace, 'INVALID_POOL_SPEC'> {
    const { spec, status } = this.object
    // whether it gives addresses or prefixes is said by the grid of the domain
    this.#space ??= poolSpace(spec, { ipv4: status?.ipv4 ?? spec.ipv4, ipv6: status?.ipv6 ?? spec.ipv6 })
    return this.#space
  }
}

/** Reads a pool. @returns the pool; why it can not be read */
export function readPool(object: KubeObject, others: readonly (PoolReading | string)[] = []): PoolReading | string {
  const read = IPPool.safeParse(object)
  if (!read.ok) return describe(read.failure)
  return new PoolReading(
    read.value,
    others.filter((other) => typeof other !== 'string'),
  )
}

interface Version<T> {
  readonly version: string
  readonly apiVersion: string
  readonly value: T
}

/** The last versions of objects, by uid. */
class Versions<T> {
  readonly #versions: number
  readonly #objects: number
  readonly #of = new Map<string, Version<T>[]>()

  constructor(versions: number, objects: number) {
    this.#versions = versions
    this.#objects = objects
  }

  /** @param read told of what is kept of other versions of the object */
  of({ apiVersion, metadata }: KubeObject, read: (others: readonly T[]) => T): T {
    const { uid, resourceVersion: version } = metadata
    if (uid === undefined || version === undefined) return read([])
    const kept = this.#of.get(uid)
    // the last one is asked for most
    const known = kept?.findLast((each) => each.version === version && each.apiVersion === apiVersion)
    if (known !== undefined) return known.value
    const value = read(kept?.map((each) => each.value) ?? [])
    this.#keep(uid, { version, apiVersion, value })
    return value
  }

  forget(uid: string): void {
    this.#of.delete(uid)
  }

  clear(): void {
    this.#of.clear()
  }

  #keep(uid: string, version: Version<T>): void {
    const kept = this.#of.get(uid)
    if (kept !== undefined) {
      kept.push(version)
      if (kept.length > this.#versions) kept.shift()
      return
    }
    this.#of.set(uid, [version])
    if (this.#of.size <= this.#objects) return
    for (const oldest of this.#of.keys()) {
      this.#of.delete(oldest)
      return
    }
  }
}

function gridOf(of: IPPoolFamilyStatus | undefined): readonly number[] | undefined {
  return of && [of.blockPrefixLength, of.allocationPrefixLength]
}

function assertCount(argument: string, count: number, most: number): void {
  if (Number.isInteger(count) && count >= 1 && count <= most) return
  refuse(argument, `a whole number, 1 to ${most}`, count)
}
