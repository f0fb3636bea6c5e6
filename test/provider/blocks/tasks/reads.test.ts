import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Task } from 'ipam-kit/plan'
import { allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { beforeEach, describe, expect, test } from 'vitest'
import type { IPPoolFamilyStatus } from '../../../../src/crd/ipam-kit/ip-pool.js'
import { isDeep } from '../../../setup/depth.js'
import { blockStore, blocksIn, countingStore, poolIn, type Requests, request } from '../world.js'

const NOW_MS = 1_000_000

let store: Store
beforeEach(() => {
  store = blockStore()
})

/** @returns what a task asks for until it is done */
async function cost(task: Task, outcome: string): Promise<Requests> {
  const counted = countingStore(store)
  const ended = await runTask(task, counted.store, { now: () => NOW_MS })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  expect(ended.outcome.kind).toBe(outcome)
  const { gets, lists, writes } = counted.requests
  // what a run says of itself is what the store has seen
  expect(ended.requests).toBe(gets + lists + writes)
  return counted.requests
}

/**
 * All that is stored, as a list and a watch tell it. @param full blocks beside those of the store
 */
async function complete(full: Iterable<KubeObject> = []): Promise<KnownBlocks> {
  const known = new KnownBlocks({ isComplete: true })
  const stored: KubeObject[] = []
  for (const { apiVersion, kind } of [IPPool.info, IPBlock.info]) {
    stored.push(...unwrap(await store.list({ apiVersion, kind })).items)
  }
  for (const object of [...stored, ...full]) known.observe({ kind: 'present', object }, { nowMs: NOW_MS })
  return known
}

/** So many IPv4 blocks of a length, of which one owner has all. */
function* fullBlocks(first: string, length: number, count: number): IterableIterator<KubeObject> {
  const { apiVersion, kind } = IPBlock.info
  const size = 2 ** (32 - length)
  for (let nth = 0; nth < count; nth++) {
    const prefix = Prefix.of(Address.add(Address.parse(first), nth * size), length)
    const rows = { 0: { owner: 'ns/large', uid: 'large', count: size, sequence: 1 } }
    const place = { cidr: Prefix.format(prefix), domain: 'default', allocationPrefixLength: 32, pool: 'blue' }
    yield {
      apiVersion,
      kind,
      metadata: { name: blockName(prefix), uid: `full-${nth}`, resourceVersion: '1' },
      spec: { ...place, sequence: 1, rows },
    }
  }
}

function blockName(prefix: Prefix): string {
  const hex = Address.toBigInt(Prefix.first(prefix)).toString(16).padStart(8, '0')
  return `default-4-${hex}-${prefix.length}`
}

/** What a status says where everything in a prefix is given. */
function grid(full: string, blockPrefixLength: number, allocationPrefixLength: number): IPPoolFamilyStatus {
  return { blockPrefixLength, allocationPrefixLength, full: [full] }
}

const LARGE = isDeep
  ? (['16,777,214 IPv4 addresses', '10.0.0.0/8', 4, { ipv4: grid('10.0.0.0/9', 22, 32) }, 22, 8192] as const)
  : (['1,048,574 IPv4 addresses', '10.0.0.0/12', 4, { ipv4: grid('10.0.0.0/13', 22, 32) }, 22, 512] as const)

/**
 * Pools of which the status says where there is room, and of which length and how many the first
 * blocks are that are full, for who knows them.
 */
const POOLS = [
  ['16,382 IPv4 addresses', '10.0.0.0/18', 4, { ipv4: grid('10.0.0.0/19', 24, 32) }, 24, 32],
  LARGE,
  // nobody has that many blocks: to who knows all, half of it is not full
  ['an IPv6 /64', 'fd00::/64', 6, { ipv6: grid('fd00::/65', 120, 128) }, 24, 0],
] as const

test('a block in which nothing like it can lie is not read', async () => {
  const ranges = Array.from({ length: 100 }, (_, nth) => `10.0.0.${nth * 2 + 1}`)
  const grids = { ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 } }
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24', ranges }] }, grids)
  const { gets, lists, writes } = await cost(allocate(request('a', { count: 2 }), new KnownBlocks()), 'exhausted')
  expect([gets, lists, writes]).toEqual([1, 0, 0])
})

describe.each(POOLS)(
  'a task in a pool of %s, half of whose blocks are full',
  (_, cidr, family, grids, full, blocks) => {
    beforeEach(() => poolIn(store, 'blue', { subnets: [{ cidr }] }, grids))
    const wanted = (uid: string) => request(uid, { families: [family] })
    const known = () => complete(fullBlocks('10.0.0.0', full, blocks))

    test('that knows nothing reads the pool and one block, and writes once', async () => {
      const made = await cost(allocate(wanted('a'), new KnownBlocks()), 'allocated')
      expect(made).toEqual({ gets: 2, lists: 0, writes: 1 })
      const given = await cost(allocate(wanted('b'), new KnownBlocks()), 'allocated')
      expect(given).toEqual({ gets: 2, lists: 0, writes: 1 })
    })

    test('that knows all of it reads nothing, and writes once', async () => {
      const all = await known()
      expect(await cost(allocate(wanted('a'), all), 'allocated')).toEqual({ gets: 0, lists: 0, writes: 1 })
      expect(await cost(allocate(wanted('b'), all), 'allocated')).toEqual({ gets: 0, lists: 0, writes: 1 })
      const [block] = await blocksIn(store)
      expect(Object.keys(block?.spec.rows ?? {})).toHaveLength(2)
    })

    test('that meets a faster writer reads once and writes once more', async () => {
      await cost(allocate(wanted('a'), await known()), 'allocated')
      const all = await known()
      await cost(allocate(wanted('faster'), await known()), 'allocated')
      expect(await cost(allocate(wanted('slower'), all), 'allocated')).toEqual({ gets: 1, lists: 0, writes: 2 })
    })

    test('for an owner that has its address asks once whether it still has', async () => {
      const all = await known()
      await cost(allocate(wanted('a'), all), 'allocated')
      expect(await cost(allocate(wanted('a'), all), 'already')).toEqual({ gets: 1, lists: 0, writes: 0 })
    })

    test('that gives back writes once, and where there is nothing asks for nothing', async () => {
      const all = await known()
      await cost(allocate(wanted('a'), all), 'allocated')
      const task = () => release({ owner: { uid: 'a' } }, all)
      expect(await cost(task(), 'released')).toEqual({ gets: 0, lists: 0, writes: 1 })
      expect(await cost(task(), 'nothing')).toEqual({ gets: 0, lists: 0, writes: 0 })
    })
  },
)

describe('a task for both families', () => {
  const families = [4, 6] as const
  beforeEach(() =>
    poolIn(
      store,
      'blue',
      { subnets: [{ cidr: '10.0.0.0/8' }, { cidr: 'fd00::/64' }] },
      { ipv4: grid('10.0.0.0/9', 24, 32), ipv6: grid('fd00::/65', 120, 128) },
    ),
  )

  test('reads the pool once and a block of each, and writes each once', async () => {
    const made = await cost(allocate(request('a', { families }), new KnownBlocks()), 'allocated')
    expect(made).toEqual({ gets: 3, lists: 0, writes: 2 })
    const known = await complete()
    const given = await cost(allocate(request('b', { families }), known), 'allocated')
    expect(given).toEqual({ gets: 0, lists: 0, writes: 2 })
    const back = await cost(release({ owner: { uid: 'b' } }, known), 'released')
    expect(back).toEqual({ gets: 0, lists: 0, writes: 2 })
  })
})

describe('a task that knows nothing', () => {
  beforeEach(() => poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/8' }] }, { ipv4: grid('10.0.0.0/9', 30, 32) }))

  test('looks at one block more for each that the status does not call full yet', async () => {
    for (const uid of ['a', 'b', 'c', 'd']) await cost(allocate(request(uid), new KnownBlocks()), 'allocated')
    const late = await cost(allocate(request('e'), new KnownBlocks()), 'allocated')
    expect(late).toEqual({ gets: 3, lists: 0, writes: 1 })
  })

  test('that meets a faster writer reads that block and another, and writes once more', async () => {
    await cost(allocate(request('a'), new KnownBlocks()), 'allocated')
    const known = new KnownBlocks()
    await cost(release({ owner: { uid: 'nobody' }, pools: ['blue'] }, known), 'nothing')
    await cost(allocate(request('faster'), new KnownBlocks()), 'allocated')
    expect(await cost(allocate(request('slower'), known), 'allocated')).toEqual({ gets: 2, lists: 0, writes: 2 })
  })

  test('gives an address back by itself with the pool, its block and one write', async () => {
    const outcome = await runTask(allocate(request('a'), new KnownBlocks()), store, { now: () => NOW_MS })
    if (outcome.kind !== 'done' || !('allocations' in outcome.outcome)) throw new Error(JSON.stringify(outcome))
    const [allocation] = outcome.outcome.allocations
    const back = { owner: { uid: 'a' }, pools: ['blue'], address: allocation?.address, sequence: allocation?.sequence }
    expect(await cost(release(back, new KnownBlocks()), 'released')).toEqual({ gets: 2, lists: 0, writes: 1 })
  })
})
