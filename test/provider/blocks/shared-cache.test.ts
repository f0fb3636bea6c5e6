import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { ObjectCache, type Planner } from 'ipam-kit/plan'
import { allocate, blockClaims, blocksOperator, blocksWatch, KnownBlocks } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Applied } from '../../../src/plan/object-cache.js'
import { blockStore, blocksIn, poolIn, request } from './world.js'

const now = () => 1_000_000
const FIRST = 'default-4-0a000000-28'

let store: Store
let told: Applied[]
/** The keys that planners want to be planned, of what was told. */
let woken: string[]
let objects: ObjectCache
/** Those that share the cache. */
let planners: Planner[]

beforeEach(async () => {
  store = blockStore()
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
  told = []
  woken = []
  planners = []
  objects = new ObjectCache({
    onAnnounced: (applied) => {
      told.push(applied)
      woken.push(...planners.flatMap((planner) => planner.wakes?.(applied) ?? []))
    },
  })
})

function share<P extends Planner>(planner: P): P {
  planner.share?.(objects)
  planners.push(planner)
  return planner
}

/** What a host does with what its watches tell. */
async function tell(): Promise<void> {
  for (const { apiVersion, kind } of [IPPool.info, IPBlock.info]) {
    for (const object of unwrap(await store.list({ apiVersion, kind })).items) {
      const applied = objects.apply({ kind: 'present', object })
      for (const planner of planners) planner.wakes?.(applied)
    }
  }
}

const readers = [
  ['claims', () => blockClaims()],
  ['a watch', () => blocksWatch({ now })],
] as const satisfies readonly (readonly [string, () => Planner & { readonly known: KnownBlocks }])[]

describe.each(readers)('the tasks of %s', (_, make) => {
  test('read blocks from the cache of the host, and keep none of their own', async () => {
    await runTask(allocate(request('zero'), new KnownBlocks()), store, { now })
    const planner = share(make())
    const [block] = await blocksIn(store)
    objects.apply({ kind: 'present', object: block as IPBlock })
    expect(planner.known.block(FIRST)).toMatchObject({ object: { metadata: { name: FIRST } } })
  })

  test('tell the other planners of the host what they have written, at once', async () => {
    const planner = share(make())
    share(blocksOperator())
    await tell()
    told = []
    const ended = await runTask(allocate(request('a'), planner.known), store, { now })
    expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'allocated' } })
    expect(told.map(({ isNewer }) => isNewer)).toEqual([true])
    const [block] = await blocksIn(store)
    // the watch tells it later, and that is no news
    const applied = objects.apply({ kind: 'present', object: block as IPBlock })
    expect(applied.isNewer).toBe(false)
    expect(woken).toEqual(expect.arrayContaining([`IPBlock ${FIRST}`, 'IPPool blue']))
  })

  test('make no request but the write of the row', async () => {
    const planner = share(make())
    await tell()
    for (const uid of ['a', 'b', 'c']) {
      expect(await runTask(allocate(request(uid), planner.known), store, { now })).toMatchObject({ requests: 1 })
    }
  })
})
