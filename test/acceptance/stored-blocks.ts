import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { blockName, IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import { IpamError, unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, blocksOperator, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

type IPBlockRow = IPBlock['spec']['rows'][string]

/** The time at which a pool is read: any one does. */
const NOW_MS = 1_800_000_000_000
/** A moment later, so that what is released now was released last. */
const now = () => NOW_MS + 1
const POOL = 'pool'
/** A block has at most so many addresses, as a power of two. */
export const BLOCK_BITS = 10

export interface PoolSpec {
  readonly prefix: Prefix
  readonly blockLength: number
  readonly reserved?: RangeSet | undefined
  readonly cooldownSeconds?: number | undefined
  /** The length of what is given. Default: single addresses. */
  readonly unitLength?: number | undefined
  /** Gives the blocks to nodes, one to each. */
  readonly isForNodes?: boolean | undefined
}

/**
 * A pool with its blocks in a store, as the operator and the tasks of `provider/blocks` have them.
 */
export class StoredBlocks {
  readonly #store: Store
  readonly #known = new KnownBlocks()
  readonly #family: 4 | 6

  private constructor(store: Store, family: 4 | 6) {
    this.#store = store
    this.#family = family
  }

  /** A pool that the operator has taken into its domain, without blocks. */
  static async create(spec: PoolSpec): Promise<StoredBlocks> {
    const { prefix, blockLength, reserved = RangeSet.empty, cooldownSeconds = 0, isForNodes = false, unitLength } = spec
    const { family } = prefix.address
    const store = memoryStore({ now, kinds: [IPDomain, IPPool, IPBlock, IPHandle].map(({ info }) => info) })
    const inside = RangeSet.intersect(reserved, RangeSet.fromPrefixes([prefix]))
    const pool = {
      subnets: [{ cidr: Prefix.format(prefix), reserved: [...RangeSet.prefixes(inside)].map(Prefix.format) }],
      [family === 4 ? 'ipv4' : 'ipv6']: {
        blockPrefixLength: blockLength,
        ...(unitLength !== undefined && { allocationPrefixLength: unitLength }),
      },
      skipEdges: 'never',
      order: 'leastRecentlyReleased',
      reuseAfterSeconds: cooldownSeconds,
      ...(isForNodes ? { affinity: { by: 'node', maxBlocksPerNode: 1, borrow: false } } : {}),
    }
    unwrap(
      await store.create({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name: POOL }, spec: pool }),
    )
    const blocks = new StoredBlocks(store, family)
    await blocks.operate()
    return blocks
  }

  async add(prefix: Prefix, rows: Readonly<Record<string, IPBlockRow>>): Promise<void> {
    const sequence = Math.max(0, ...Object.values(rows).map((row) => row.sequence))
    const spec = {
      cidr: Prefix.format(prefix),
      domain: 'default',
      allocationPrefixLength: Address.bitsOf(this.#family),
      pool: POOL,
      sequence,
      rows,
    }
    const metadata = { name: blockName('default', prefix) }
    unwrap(await this.#store.create({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock', metadata, spec }))
  }

  async operate(): Promise<void> {
    await runUntilQuiet(this.#store, [blocksOperator()], { now })
  }

  async blocks(): Promise<readonly IPBlock[]> {
    const { items } = unwrap(await this.#store.list(IPBlock.info))
    return items.map((object) => IPBlock.parse(object))
  }

  /** The addresses that are not free, with their rows: in use, or in cooldown. */
  async rows(): Promise<readonly { readonly address: Address; readonly row: IPBlockRow }[]> {
    return (await this.blocks()).flatMap(({ spec }) =>
      Object.entries(spec.rows)
        .filter(
          ([, { state, until }]) => state === undefined || (state === 'cooldown' && Date.parse(until ?? '') > now()),
        )
        .map(([unit, row]) => ({ address: Prefix.addressAt(Prefix.parse(spec.cidr), Number(unit)), row })),
    )
  }

  /** The counts of the status of the pool. */
  async counts(): Promise<{ readonly total: bigint; readonly free: bigint; readonly reserved: bigint }> {
    await this.operate()
    const pool = IPPool.parse(
      unwrap(await this.#store.get({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', name: POOL })),
    )
    const counts = this.#family === 4 ? pool.status?.ipv4 : pool.status?.ipv6
    const of = (name: 'total' | 'free' | 'reserved') => BigInt(counts?.[name] ?? 0)
    return { total: of('total'), free: of('free'), reserved: of('reserved') }
  }

  /** The next address for an owner; `undefined` if there is none. */
  async allocate(request: Pick<Parameters<typeof allocate>[0], 'owner' | 'node'>): Promise<Address | undefined> {
    const outcome = await this.#run(allocate({ ...request, pools: [POOL], families: [this.#family] }, this.#known))
    return outcome.kind === 'allocated' ? outcome.allocations[0]?.address : undefined
  }

  /** The free addresses in the order in which they are given. They are in use afterwards. */
  async takeAll(): Promise<Address[]> {
    const given: Address[] = []
    for (;;) {
      const address = await this.allocate({ owner: { uid: `free-${given.length}`, name: 'free' } })
      if (address === undefined) return given
      given.push(address)
    }
  }

  async release(
    uid: string,
    part: { readonly address?: Address; readonly sequence?: number | undefined },
  ): Promise<void> {
    await this.#run(release({ owner: { uid }, pools: [POOL], ...part }, this.#known))
  }

  async #run<O extends Outcome>(task: Task<O>): Promise<O> {
    const ended = await runTask(task, this.#store, { now })
    if (ended.kind === 'done') return ended.outcome
    throw new IpamError(ended.failure)
  }
}

/**
 * When an address was given back, and until when it cools down. What is said to be given back later
 * was by a clock that is ahead: at the latest it is now.
 */
export function released(
  secondsAgo: number,
  cooldownSeconds: number,
): Pick<IPBlockRow, 'state' | 'released' | 'until'> {
  const releasedMs = NOW_MS - Math.max(0, secondsAgo) * 1000
  const text = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z/, 'Z')
  return { state: 'cooldown', released: text(releasedMs), until: text(releasedMs + cooldownSeconds * 1000) }
}
