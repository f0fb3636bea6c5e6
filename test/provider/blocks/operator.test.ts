import { IPBlock, IPDomain, IPPool, type IPPoolSpec } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { type AllocationRequest, allocate, blocksOperator, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { beforeEach, describe, expect, test } from 'vitest'
import { blockStore, blocksIn, request } from './world.js'

let store: Store
let nowMs: number
beforeEach(() => {
  store = blockStore()
  nowMs = 1_000_000
})

const poolRef = (name = 'blue') => ({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', name })

async function make(spec: Partial<IPPoolSpec> & Pick<IPPoolSpec, 'subnets'>, name = 'blue'): Promise<void> {
  const { apiVersion, kind } = IPPool.info
  unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec }))
}

async function operate(planner = blocksOperator({ emptySeconds: 10 })): Promise<void> {
  const { failures } = await runUntilQuiet(store, [planner], { now: () => nowMs })
  expect(failures).toEqual([])
}

async function pool(name = 'blue'): Promise<IPPool> {
  return IPPool.parse(unwrap(await store.get(poolRef(name))))
}

async function give(wanted: AllocationRequest) {
  const ended = await runTask(allocate(wanted, new KnownBlocks()), store, { now: () => nowMs })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended
}

async function giveBack(uid: string) {
  const task = release({ owner: { uid }, pools: ['blue'] }, new KnownBlocks())
  const ended = await runTask(task, store, { now: () => nowMs })
  expect(ended).toMatchObject({ outcome: { kind: 'released' } })
}

function conditionsOf({ status }: IPPool) {
  return Object.fromEntries((status?.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason}`]))
}

describe('the operator', () => {
  test('takes a pool into its domain before anything is given', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.0.1' }, { cidr: 'fd00::/64' }] })
    expect((await give(request('a'))).outcome).toEqual({
      kind: 'notReady',
      message: 'pool blue: the pool was not taken into its domain yet',
    })
    await operate()
    const domain = IPDomain.parse(unwrap(await store.get({ ...poolRef('default'), kind: 'IPDomain' })))
    expect(domain.spec).toEqual({
      ipv4: { blockPrefixLength: 24, allocationPrefixLength: 32 },
      ipv6: { blockPrefixLength: 120, allocationPrefixLength: 128 },
    })
    const taken = await pool()
    expect(taken.status).toMatchObject({
      domainUID: domain.metadata.uid,
      ipv4: { blockPrefixLength: 24, allocationPrefixLength: 32, total: '253', allocated: '0', free: '253', full: [] },
      ipv6: { total: `${2n ** 64n - 2n}`, free: `${2n ** 64n - 2n}` },
    })
    expect(conditionsOf(taken)).toEqual({ Ready: 'True Ready', Exhausted: 'False Room', Overlaps: 'False Disjoint' })
    expect((await give(request('a', { families: [4, 6] }))).outcome.kind).toBe('allocated')
    await operate()
    expect((await pool()).status).toMatchObject({ ipv4: { allocated: '1', free: '252' }, ipv6: { allocated: '1' } })
  })

  test('refuses a pool that asks for another grid than its domain has', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    await make({ subnets: [{ cidr: '10.0.1.0/24' }], ipv4: { blockPrefixLength: 26 } }, 'red')
    await operate()
    const red = await pool('red')
    expect(red.status?.domainUID).toBeUndefined()
    expect(red.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'PoolNotReady',
      message: 'spec.ipv4.blockPrefixLength is 26, and that of domain default is 24',
    })
    expect((await give(request('a', { pools: ['red'] }))).outcome.kind).toBe('notReady')
  })

  test('says which pools overlap, and what is out of range', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/29' }] })
    await make({ subnets: [{ cidr: '10.0.0.4/30' }] }, 'red')
    await operate()
    expect(conditionsOf(await pool('red'))).toMatchObject({ Overlaps: 'True OverlappingPools' })
    for (const uid of ['a', 'b', 'c', 'd', 'e', 'f']) await give(request(uid))
    expect((await give(request('g'))).outcome.kind).toBe('exhausted')
    expect((await give(request('g', { pools: ['red'] }))).outcome.kind).toBe('exhausted')
    unwrap(await store.patch(poolRef(), { spec: { subnets: [{ cidr: '10.0.0.0/30' }] } }))
    await operate()
    expect((await pool()).status?.ipv4).toMatchObject({ total: '2', allocated: '6', outOfRange: '4', free: '0' })
    expect(conditionsOf(await pool())).toMatchObject({
      Ready: 'False PoolExhausted',
      Exhausted: 'True PoolExhausted',
      Overlaps: 'False Disjoint',
    })
    // what is bound stays where it is, also for the other pool
    expect((await pool('red')).status?.ipv4).toMatchObject({ total: '2', allocated: '0', free: '0' })
  })

  test('removes a block that is empty for a while, but not the last one with room', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/27' }], ipv4: { blockPrefixLength: 29 } })
    const planner = blocksOperator({ emptySeconds: 10 })
    await operate()
    for (let n = 0; n < 9; n++) await give(request(`o${n}`))
    for (const { apiVersion, kind } of planner.watches) {
      for (const object of unwrap(await store.list({ apiVersion, kind })).items)
        planner.observe({ kind: 'present', object })
    }
    const show = async () => {
      for (const object of await blocksIn(store)) planner.observe({ kind: 'present', object })
      return Promise.all(
        (await blocksIn(store)).map(({ metadata }) => planner.plan(`IPBlock ${metadata.name}`, { nowMs })),
      )
    }
    expect((await show()).map((plan) => plan?.outcome.message)).toEqual(['7 rows', '2 rows'])
    for (let n = 0; n < 9; n++) await giveBack(`o${n}`)
    // for who comes next
    const stays = { outcome: { kind: 'ready', message: 'empty, and the only one with room' }, effects: [] }
    const wait = { outcome: { kind: 'ready', message: 'empty' }, effects: [], requeueAfterSeconds: 10 }
    expect(await show()).toEqual([stays, wait])
    nowMs += 9_999
    expect(await show()).toEqual([stays, { ...wait, requeueAfterSeconds: 1 }])
    nowMs += 1
    expect((await show()).map((plan) => plan?.effects)).toMatchObject([[], [{ kind: 'delete' }]])
    await operate(blocksOperator({ emptySeconds: 0 }))
    expect((await blocksIn(store)).length).toBe(1)
  })

  test('keeps no empty block for a node: another one may need its addresses', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/26' }], affinity: { by: 'node', borrow: false } })
    await operate()
    expect((await give(request('a', { node: { name: 'a' } }))).outcome.kind).toBe('allocated')
    await giveBack('a')
    expect((await give(request('b', { node: { name: 'b' } }))).outcome.kind).toBe('exhausted')
    const planner = blocksOperator({ emptySeconds: 0 })
    await operate(planner)
    expect((await give(request('b', { node: { name: 'b' } }))).outcome.kind).toBe('allocated')
  })

  test('keeps pool, blocks and domain that are deleted until nothing needs them', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    await give(request('a'))
    await operate()
    const domainRef = { ...poolRef('default'), kind: 'IPDomain' }
    const [block] = await blocksIn(store)
    const blockRef = { ...poolRef(block?.metadata.name), kind: 'IPBlock' }
    for (const ref of [poolRef(), domainRef, blockRef]) unwrap(await store.delete(ref))
    await operate()
    expect((await give(request('b'))).outcome).toMatchObject({ message: 'pool blue: the pool is being deleted' })
    expect(IPBlock.parse(unwrap(await store.get(blockRef))).spec.rows[1]?.uid).toBe('a')
    await giveBack('a')
    await operate()
    for (const ref of [poolRef(), domainRef, blockRef]) {
      expect(await store.get(ref)).toMatchObject({ failure: { code: 'STORE_NOT_FOUND' } })
    }
  })

  test('makes a domain anew on the grid of its blocks', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 28 } })
    await operate()
    await give(request('a'))
    const domainRef = { ...poolRef('default'), kind: 'IPDomain' }
    unwrap(await store.patch(domainRef, { metadata: { finalizers: [] } }))
    unwrap(await store.delete(domainRef))
    await make({ subnets: [{ cidr: '10.0.8.0/24' }] }, 'aaa')
    await operate()
    expect(IPDomain.parse(unwrap(await store.get(domainRef))).spec.ipv4.blockPrefixLength).toBe(28)
    expect((await give(request('b'))).outcome.kind).toBe('allocated')
  })
})

describe('who knows nothing but the pool', () => {
  test('reads one block for an address, and writes once', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/8' }] })
    await operate()
    expect((await give(request('first'))).requests).toBe(3)
    for (let n = 0; n < 600; n++) {
      const { requests } = await give(request(`o${n}`))
      expect(requests).toBeLessThanOrEqual(4)
      if (n % 50 === 0) await operate()
    }
    // the pool, the block that its status does not call full, and the row
    expect((await give(request('last'))).requests).toBe(3)
  })
})
