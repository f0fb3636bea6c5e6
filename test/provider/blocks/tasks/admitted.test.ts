import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { admitIPBlock, IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { type Result, unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { allocate, blockClaims, blocksOperator, blocksSweep, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask, runUntilQuiet, taskCaller } from 'ipam-kit/run'
import type { Store, StoreErrorCode } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, expect, test } from 'vitest'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { kinds, poolIn, request } from '../world.js'

let store: Store
let nowMs: number
/** How often a block was written, and what its admission has said against it. */
let writes: number
let refusals: string[]
beforeEach(() => {
  nowMs = 1_000_000
  writes = 0
  refusals = []
  const models = [IPAddressClaim, IPAddress, Cluster].map(({ info }) => info)
  const below = memoryStore({ kinds: [...kinds, ...models], now: () => nowMs })
  const review = <T extends Result<unknown, StoreErrorCode>>(written: T, oldObject?: IPBlock): T => {
    if (!written.ok) return written
    writes++
    const object = IPBlock.parse(written.value as IPBlock)
    const verdict = admitIPBlock(
      oldObject === undefined ? { operation: 'CREATE', object } : { operation: 'UPDATE', object, oldObject },
    )
    if (!verdict.allowed) refusals.push(verdict.message)
    return written
  }
  store = storeOver(below, {
    create: async (object) => {
      const created = await below.create(object)
      return IPBlock.is(object) ? review(created) : created
    },
    patch: async (ref, patch, options) => {
      const before = IPBlock.is(ref) ? await below.get(ref) : undefined
      const patched = await below.patch(ref, patch, options)
      return before?.ok === true ? review(patched, IPBlock.parse(before.value)) : patched
    },
  })
})

async function give(uid: string, more: Partial<AllocationRequest> = {}): Promise<string> {
  const ended = await runTask(allocate(request(uid, more), new KnownBlocks()), store, { now: () => nowMs })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome.kind
}

const take = (uid: string) =>
  runTask(release({ owner: { uid }, pools: ['blue'] }, new KnownBlocks()), store, { now: () => nowMs })

test('all that tasks write to blocks is admitted', async () => {
  const rules = { reuseAfterSeconds: 60, sticky: { by: 'owner', forSeconds: 3600 } } as const
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/28' }, { cidr: 'fd00::/126' }], ...rules })
  for (const uid of ['a', 'b', 'c']) expect(await give(uid, { container: 'c1' })).toBe('allocated')
  expect(await give('a', { container: 'c2', mac: '02:00:00:00:00:01' })).toBe('already')
  expect(await give('d', { count: 4 })).toBe('allocated')
  for (const uid of ['a', 'd']) await take(uid)
  expect(await give('a')).toBe('allocated')
  await take('a')
  for (const uid of ['x', 'y']) expect(await give(uid, { families: [6] })).toBe('allocated')
  // another one takes the last of the other family in between: what was kept is kept again
  let isFaster = true
  const racing = storeOver(store, {
    patch: async (ref, patch, options) => {
      if (isFaster && ref.name.includes('-6-')) {
        isFaster = false
        await give('z', { families: [6] })
      }
      return store.patch(ref, patch, options)
    },
  })
  const both = request('a', { families: [4, 6] })
  const ended = await runTask(allocate(both, new KnownBlocks()), racing, { now: () => nowMs })
  expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'exhausted' } })
  nowMs += 3_600_000
  expect(await give('e', { count: 4 })).toBe('allocated')
  expect(refusals).toEqual([])
  expect(writes).toBeGreaterThan(10)
})

test('what is taken back because another family had no room is admitted: its row is as it was, of the owner before', async () => {
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/30' }, { cidr: 'fd00::/126' }], reuseAfterSeconds: 1 })
  for (const uid of ['a', 'b']) expect(await give(uid)).toBe('allocated')
  expect(await give('x', { families: [6] })).toBe('allocated')
  await take('a')
  nowMs += 2000
  let isFaster = true
  const racing = storeOver(store, {
    patch: async (ref, patch, options) => {
      if (isFaster && ref.name.includes('-6-')) {
        isFaster = false
        await give('z', { families: [6] })
      }
      return store.patch(ref, patch, options)
    },
  })
  const ended = await runTask(allocate(request('c', { families: [4, 6] }), new KnownBlocks()), racing, {
    now: () => nowMs,
  })
  expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'exhausted' } })
  const blocks = unwrap(await store.list({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock' })).items
  const rows = blocks.map((block) => Object.values(IPBlock.parse(block).spec.rows))
  expect(rows[0]?.map(({ uid, state }) => [uid, state])).toEqual([
    ['a', 'cooldown'],
    ['b', undefined],
  ])
  expect(refusals).toEqual([])
})

test('all that claims, the operator and the sweep write to blocks is admitted', async () => {
  const { apiVersion, kind } = IPPool.info
  unwrap(
    await store.create({ apiVersion, kind, metadata: { name: 'blue' }, spec: { subnets: [{ cidr: '10.0.0.0/24' }] } }),
  )
  const claim = { apiVersion: IPAddressClaim.info.apiVersion, kind: 'IPAddressClaim', namespace: 'default' }
  const make = async (name: string) => {
    const spec = { poolRef: { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: 'blue' } }
    const { apiVersion, kind, namespace } = claim
    unwrap(await store.create({ apiVersion, kind, metadata: { namespace, name }, spec }))
  }
  const work = async () => {
    const claims = blockClaims({ sweepAfterSeconds: 1 })
    const sweep = blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: 0 })
    const external = taskCaller({ store, now: () => nowMs, tasks: claims.tasks })
    const planners: readonly Planner[] = [claims, blocksOperator({ emptySeconds: 0 }), sweep]
    expect((await runUntilQuiet(store, planners, { now: () => nowMs, external })).failures).toEqual([])
  }
  for (const name of ['a', 'b', 'c']) await make(name)
  await work()
  // made anew by force, and by the book
  unwrap(await store.patch({ ...claim, name: 'b' }, { metadata: { finalizers: [] } }))
  for (const name of ['a', 'b']) unwrap(await store.delete({ ...claim, name }))
  await make('b')
  await work()
  // the same, and the sweep is first to see it
  unwrap(await store.patch({ ...claim, name: 'c' }, { metadata: { finalizers: [] } }))
  unwrap(await store.delete({ ...claim, name: 'c' }))
  await work()
  expect(refusals).toEqual([])
  expect(writes).toBeGreaterThan(4)
})
