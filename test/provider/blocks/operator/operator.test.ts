import { Address } from 'ipam-kit/cidr'
import { admitIPPool, IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Change, EventEffect, Outcome, Plan, Planner } from 'ipam-kit/plan'
import { allocate, blocksOperator, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runPlan, runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { beforeEach, describe, expect, test } from 'vitest'
import type { IPPoolSpec } from '../../../../src/crd/ipam-kit/ip-pool.js'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { blockStore, blocksIn, request } from '../world.js'

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

async function operate(planner = blocksOperator({ emptySeconds: 10 }), events: string[] = []): Promise<void> {
  const onEvent = ({ about, reason, message }: EventEffect) => void events.push(`${about.name} ${reason}: ${message}`)
  const { failures } = await runUntilQuiet(store, [planner], { now: () => nowMs, onEvent })
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
      message: 'pool blue: the pool is not accepted into its domain yet',
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

  test('serves a stored pool as far as it is right, and tells the rest in its condition and once in Events', async () => {
    const wrong = { cidr: '10.1.0.0/24', exclude: ['10.1.0.300'] }
    await make({ subnets: [{ cidr: '10.0.0.0/29', ranges: ['10.0.0.2', 'x'] }, wrong] })
    const events: string[] = []
    await operate(undefined, events)
    const NOT_ONE = 'is not an address, a range or a CIDR without host bits'
    const problems = [
      `spec.subnets[0].ranges[1]: Invalid value: "x": ${NOT_ONE}`,
      `spec.subnets[1].exclude[0]: Invalid value: "10.1.0.300": ${NOT_ONE}`,
    ]
    const told = problems.map((problem) => `blue InvalidPool: ${problem}`)
    expect(events).toEqual(told)
    const ready = (await pool()).status?.conditions?.find(({ type }) => type === 'Ready')
    expect(ready).toMatchObject({ status: 'True', message: problems.join('; ') })
    expect((await give(request('a'))).outcome.kind).toBe('allocated')
    expect((await give(request('b'))).outcome.kind).toBe('exhausted')
    // other processes and other states of the pool tell it no second time
    await operate(undefined, events)
    unwrap(await store.patch(poolRef(), { spec: { disabled: true } }))
    await operate(undefined, events)
    expect(events).toEqual(told)
    unwrap(await store.patch(poolRef(), { spec: { disabled: false, subnets: [{ cidr: 'y', exclude: ['z'] }] } }))
    await operate(undefined, events)
    expect(events.slice(2)).toEqual(['blue InvalidPool: spec.subnets[0].cidr: Invalid value: "y": is not a CIDR'])
    expect(conditionsOf(await pool())).toMatchObject({ Ready: 'False PoolNotReady' })
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

  test('says that pools overlap also where one of them gives the addresses only on request', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/28' }] })
    await make(
      { subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.4', '10.0.0.64/26'], reserved: ['10.0.0.4'] }] },
      'red',
    )
    await operate()
    for (const name of ['blue', 'red']) {
      expect(conditionsOf(await pool(name))).toMatchObject({ Overlaps: 'True OverlappingPools' })
    }
    // as the admission does
    const [object, other] = [await pool('red'), await pool()]
    expect(admitIPPool({ operation: 'CREATE', object, others: [other] })).toMatchObject({
      warnings: ['has addresses in common with blue: each address is allocated by one of them only'],
    })
    unwrap(
      await store.patch(poolRef('red'), { spec: { subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.64/26'] }] } }),
    )
    await operate()
    expect(conditionsOf(await pool())).toMatchObject({ Overlaps: 'False Disjoint' })
  })

  test('counts nothing as free in a block of which nothing is given', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/29' }], ipv4: { blockPrefixLength: 29 } })
    await operate()
    await give(request('a'))
    const [block] = await blocksIn(store)
    const ref = { ...poolRef(block?.metadata.name), kind: 'IPBlock' }
    // by hand: one lies over another, or out of the block
    const row = { owner: 'ns/x', uid: 'x', sequence: 1 }
    for (const rows of [
      { 2: { ...row, count: 5 }, 3: row },
      { 2: null, 3: null, 9: row },
    ]) {
      unwrap(await store.patch(ref, { spec: { rows } }))
      await operate()
      expect((await give(request('b'))).outcome.kind).toBe('exhausted')
      expect((await pool()).status?.ipv4).toMatchObject({ free: '0', full: ['10.0.0.0/29'] })
      expect(conditionsOf(await pool())).toMatchObject({ Exhausted: 'True PoolExhausted' })
    }
    unwrap(await store.patch(ref, { spec: { rows: { 9: null } } }))
    await operate()
    expect((await pool()).status?.ipv4).toMatchObject({ allocated: '1', free: '5', full: [] })
    // and one that goes
    unwrap(await store.delete(ref))
    await operate()
    expect((await give(request('b'))).outcome.kind).toBe('exhausted')
    expect((await pool()).status?.ipv4).toMatchObject({ allocated: '1', free: '0', full: ['10.0.0.0/29'] })
    await giveBack('a')
    await operate()
    expect((await pool()).status?.ipv4).toMatchObject({ allocated: '0', free: '6', full: [] })
  })

  test('counts what is given of a pool that is deleted', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    for (const uid of ['a', 'b']) await give(request(uid))
    await operate()
    unwrap(await store.delete(poolRef()))
    await operate()
    expect((await pool()).status?.ipv4?.allocated).toBe('2')
    await giveBack('a')
    await operate()
    expect((await pool()).status?.ipv4).toMatchObject({ allocated: '1', free: '253' })
    expect(conditionsOf(await pool())).toMatchObject({ Ready: 'False PoolNotReady' })
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

  describe.each([
    [4, '10.0.0.0/26'],
    [6, 'fd00::/120'],
  ] as const)('that runs once removes empty blocks of IPv%i', (family, cidr) => {
    const grid = { ipv4: { blockPrefixLength: 28 }, ipv6: { blockPrefixLength: 124 } }
    const names = async () => (await blocksIn(store)).map(({ spec }) => spec.cidr)

    /** Three blocks, of which the first one alone is in use. */
    beforeEach(async () => {
      await make({ subnets: [{ cidr }], ...(family === 4 ? { ipv4: grid.ipv4 } : { ipv6: grid.ipv6 }) })
      await operate()
      for (let n = 0; n < 40; n++) await give(request(`o${n}`, { families: [family] }))
      for (let n = 1; n < 40; n++) await giveBack(`o${n}`)
      expect(await names()).toHaveLength(3)
    })

    test('in its only run, without a wait', async () => {
      await operate(blocksOperator({ emptySeconds: 0 }))
      expect(await names()).toHaveLength(1)
    })

    test('in a later run of the same operator, after the wait', async () => {
      const planner = blocksOperator({ emptySeconds: 10 })
      await operate(planner)
      nowMs += 9_999
      await operate(planner)
      expect(await names()).toHaveLength(3)
      nowMs += 1
      await operate(planner)
      expect(await names()).toHaveLength(1)
    })

    test('but none that was in use between two runs', async () => {
      const planner = blocksOperator({ emptySeconds: 10 })
      await operate(planner)
      for (let n = 1; n < 40; n++) await give(request(`again${n}`, { families: [family] }))
      for (let n = 1; n < 40; n++) await giveBack(`again${n}`)
      nowMs += 10_000
      await operate(planner)
      expect(await names()).toHaveLength(3)
      nowMs += 10_000
      await operate(planner)
      expect(await names()).toHaveLength(1)
    })

    test('but none that was made anew between two runs', async () => {
      const planner = blocksOperator({ emptySeconds: 10 })
      await operate(planner)
      const cidrs = await names()
      await operate(blocksOperator({ emptySeconds: 0 }))
      for (let n = 1; n < 40; n++) await give(request(`again${n}`, { families: [family] }))
      for (let n = 1; n < 40; n++) await giveBack(`again${n}`)
      nowMs += 10_000
      await operate(planner)
      expect(await names()).toEqual(cidrs)
    })
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

  test('keeps a deleted pool for as long as a task may not know of the deletion yet', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    // the store knows no other time than 0
    nowMs = 1_000
    const known = new KnownBlocks()
    const task = () => allocate(request('a'), known)
    await runTask(release({ owner: { uid: 'a' }, pools: ['blue'] }, known), store, { now: () => nowMs })
    unwrap(await store.delete(poolRef()))
    await operate()
    expect(await store.get(poolRef())).toMatchObject({ ok: true })
    expect(conditionsOf(await pool())).toMatchObject({ Ready: 'False PoolNotReady' })
    nowMs = 20_000
    expect(await runTask(task(), store, { now: () => nowMs })).toMatchObject({ outcome: { kind: 'allocated' } })
    nowMs = 61_000
    await operate()
    expect(await store.get(poolRef())).toMatchObject({ ok: true })
    await giveBack('a')
    await operate()
    expect(await store.get(poolRef())).toMatchObject({ failure: { code: 'STORE_NOT_FOUND' } })
  })

  test('lets a pool go at once where it is told so', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    nowMs = 1_000
    unwrap(await store.delete(poolRef()))
    await operate()
    expect((await store.get(poolRef())).ok).toBe(true)
    await operate(blocksOperator({ terminationGraceSeconds: 0 }))
    expect((await store.get(poolRef())).ok).toBe(false)
    for (const terminationGraceSeconds of [-1, Number.NaN, 86_401])
      expect(() => blocksOperator({ terminationGraceSeconds })).toThrow('terminationGraceSeconds')
  })

  test('serves a pool that asks for another grid later, and says that it keeps the grid it has', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    unwrap(await store.patch(poolRef(), { spec: { ipv4: { blockPrefixLength: 26 } } }))
    await operate()
    expect(await pool()).toMatchObject({ status: { domainUID: expect.any(String) } })
    expect((await pool()).status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'True',
      message: 'it stays as it is: spec.ipv4.blockPrefixLength is 26, and that of domain default is 24',
    })
    expect((await give(request('a'))).outcome.kind).toBe('allocated')
    await operate()
  })

  describe('a pool that asks for another grid later is served on the grid that it has', () => {
    const domainRef = { ...poolRef('default'), kind: 'IPDomain' }
    const begin = async () => {
      await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
      await operate()
      await give(request('a'))
      unwrap(await store.patch(poolRef(), { spec: { ipv4: { blockPrefixLength: 26 } } }))
      await operate()
    }

    test('after its spec was invalid', async () => {
      await begin()
      unwrap(await store.patch(poolRef(), { spec: { reuseAfterSeconds: -1 } }))
      await operate()
      expect(conditionsOf(await pool())).toMatchObject({ Ready: 'False PoolNotReady' })
      unwrap(await store.patch(poolRef(), { spec: { reuseAfterSeconds: null } }))
      await operate()
      expect(conditionsOf(await pool())).toMatchObject({ Ready: 'True Ready' })
      expect((await give(request('b'))).outcome.kind).toBe('allocated')
    })

    test('after its domain was deleted, and created again on that grid', async () => {
      await begin()
      unwrap(await store.patch(domainRef, { metadata: { finalizers: [] } }))
      unwrap(await store.delete(domainRef))
      await operate()
      expect(conditionsOf(await pool())).toMatchObject({ Ready: 'True Ready' })
      expect((await give(request('b'))).outcome.kind).toBe('allocated')
    })
  })

  test.each<[string, object]>([
    ['spec.reuseAfterSeconds: Invalid value: -1: is not from 0 to 31622400', { reuseAfterSeconds: -1 }],
    ['spec.reuseAfterSeconds: Invalid value: 300000000000: is not from 0 to 31622400', { reuseAfterSeconds: 3e11 }],
    ['spec.sticky.forSeconds: Invalid value: 0: is not from 1 to 31622400', { sticky: { by: 'mac', forSeconds: 0 } }],
  ])('gives nothing of a pool whose times are none: %s', async (message, spec) => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ...spec })
    await operate()
    const ready = (await pool()).status?.conditions?.find(({ type }) => type === 'Ready')
    expect(ready).toMatchObject({ status: 'False', message })
  })

  test('of a pool that had other times before what is given back waits no longer than there are days', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    await give(request('a'))
    unwrap(await store.patch(poolRef(), { spec: { reuseAfterSeconds: 1e15 } }))
    await giveBack('a')
    expect((await blocksIn(store))[0]?.spec.rows[1]).toMatchObject({
      state: 'cooldown',
      until: '1971-01-02T00:16:40.000Z',
    })
  })

  test('keeps a domain while there is a block of it, also without any pool', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    await give(request('a'))
    unwrap(await store.patch(poolRef(), { metadata: { finalizers: [] } }))
    for (const ref of [poolRef(), { ...poolRef('default'), kind: 'IPDomain' }]) unwrap(await store.delete(ref))
    await operate()
    expect((await store.get(poolRef())).ok).toBe(false)
    expect((await store.get({ ...poolRef('default'), kind: 'IPDomain' })).ok).toBe(true)
  })

  test('holds a domain that people have made', async () => {
    const { apiVersion, kind, name } = { ...poolRef('default'), kind: 'IPDomain' }
    const grid = { blockPrefixLength: 28, allocationPrefixLength: 32 }
    const spec = { ipv4: grid, ipv6: { blockPrefixLength: 120, allocationPrefixLength: 128 } }
    unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec }))
    await operate()
    const domain = unwrap(await store.get({ apiVersion, kind, name }))
    expect(domain.metadata.finalizers).toEqual(['ipam-kit.dev/blocks'])
  })

  test('says nothing of a family that a pool has no more, and counts what it reserves as its own', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24', reserved: ['10.0.0.9'] }, { cidr: 'fd00::/64' }] })
    await operate()
    await give(request('a', { addresses: [Address.parse('10.0.0.9')] }))
    await operate()
    expect((await pool()).status?.ipv4).toMatchObject({ allocated: '1', outOfRange: '0', reserved: '1', free: '253' })
    unwrap(await store.patch(poolRef(), { spec: { subnets: [{ cidr: 'fd00::/64' }] } }))
    await operate()
    const { status } = await pool()
    expect(status?.ipv4).toBeUndefined()
    expect(status?.ipv6).toMatchObject({ allocated: '0' })
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

describe('what the operator has seen may be old', () => {
  const domainRef = { ...poolRef('default'), kind: 'IPDomain' }
  const shown = async (planner: Planner<Outcome>) => {
    for (const { apiVersion, kind } of planner.watches) {
      for (const object of unwrap(await store.list({ apiVersion, kind })).items)
        planner.observe({ kind: 'present', object })
    }
  }
  const remake = async (blockPrefixLength: number) => {
    unwrap(await store.patch(domainRef, { metadata: { finalizers: [] } }))
    unwrap(await store.delete(domainRef))
    const spec = {
      ipv4: { blockPrefixLength, allocationPrefixLength: 32 },
      ipv6: { blockPrefixLength: 120, allocationPrefixLength: 128 },
    }
    const { apiVersion, kind, name } = domainRef
    unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec }))
  }
  const readyOf = async (name: string) => (await pool(name)).status?.conditions?.find(({ type }) => type === 'Ready')

  test('an empty block into which a task has just written is not deleted', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/26' }], affinity: { by: 'node', borrow: false } })
    await operate()
    await give(request('a', { node: { name: 'n' } }))
    await giveBack('a')
    const planner = blocksOperator({ emptySeconds: 0 })
    await shown(planner)
    const [block] = await blocksIn(store)
    const plan = planner.plan(`IPBlock ${block?.metadata.name}`, { nowMs })
    expect(plan?.effects).toMatchObject([{ kind: 'delete' }])
    await give(request('b', { node: { name: 'n' } }))
    expect(await runPlan(plan as Plan, store)).toMatchObject({ failure: { code: 'STORE_CONFLICT' } })
    expect((await blocksIn(store))[0]?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('a pool is not taken into a domain that was made anew on another grid meanwhile', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    await make({ subnets: [{ cidr: '10.0.1.0/24' }] }, 'red')
    const planner = blocksOperator()
    await shown(planner)
    await remake(28)
    const plan = planner.plan('IPPool red', { nowMs })
    expect(await runPlan(plan as Plan, store)).toMatchObject({ failure: { code: 'STORE_CONFLICT' } })
    expect((await pool('red')).status?.domainUID).toBeUndefined()
    await operate()
    expect((await pool('red')).status?.ipv4?.blockPrefixLength).toBe(28)
  })

  test('nor into one that is being deleted, and those that are in it stay', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await operate()
    unwrap(await store.delete(domainRef))
    await make({ subnets: [{ cidr: '10.0.1.0/24' }] }, 'red')
    await operate()
    expect(await readyOf('red')).toMatchObject({ status: 'False', message: 'domain default is being deleted' })
    expect((await pool('red')).status?.domainUID).toBeUndefined()
    expect(await readyOf('blue')).toMatchObject({ status: 'True' })
    expect((await give(request('a'))).outcome.kind).toBe('allocated')
  })

  test('nor into one on whose grid its blocks do not lie, or that has no grid at all', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 28 } })
    await operate()
    await give(request('a'))
    await make({ subnets: [{ cidr: '10.0.1.0/24' }] }, 'red')
    await remake(26)
    await operate()
    expect(await readyOf('red')).toMatchObject({
      status: 'False',
      message: 'block default-4-0a000000-28 does not lie on the grid of domain default',
    })
    expect((await give(request('b', { pools: ['red'] }))).outcome.kind).toBe('notReady')
    await remake(16)
    await operate()
    expect(await readyOf('red')).toMatchObject({
      status: 'False',
      message: 'spec.ipv4: a block has 65536 units, more than 1024',
    })
    const domain = IPDomain.parse(unwrap(await store.get(domainRef)))
    expect(domain.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', message: 'spec.ipv4: a block has 65536 units, more than 1024' },
    ])
  })

  test('a block that lies off the grid, and has come later, keeps no pool from what it has', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 28 } })
    await operate()
    const { apiVersion, kind } = IPBlock.info
    const spec = { cidr: '10.1.0.0/26', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1 }
    const metadata = { name: 'default-4-0a010000-26' }
    unwrap(await store.create({ apiVersion, kind, metadata, spec: { ...spec, rows: {} } }))
    await operate()
    expect(await readyOf('blue')).toMatchObject({ status: 'True' })
    expect((await give(request('a'))).outcome.kind).toBe('allocated')
  })

  test('a block that was written is empty anew', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/26' }], affinity: { by: 'node', borrow: true } })
    await operate()
    await give(request('a', { node: { name: 'n' } }))
    await giveBack('a')
    const planner = blocksOperator({ emptySeconds: 10 })
    await shown(planner)
    const key = `IPBlock ${(await blocksIn(store))[0]?.metadata.name}`
    expect(planner.plan(key, { nowMs })).toMatchObject({ effects: [], requeueAfterSeconds: 10 })
    nowMs += 9000
    await give(request('b', { node: { name: 'n' } }))
    await giveBack('b')
    await shown(planner)
    expect(planner.plan(key, { nowMs })).toMatchObject({ effects: [], requeueAfterSeconds: 10 })
  })
})

describe('a block that cannot be read', () => {
  const block = { ...poolRef('default-4-0a000000-28'), kind: 'IPBlock' }
  const domain = { ...poolRef('default'), kind: 'IPDomain' }
  /** As a newer version may have written it. */
  const spoil = async () => {
    const row = { owner: 'ns/x', uid: 'x', sequence: 1, state: 'draining' }
    unwrap(await store.patch(block, { spec: { rows: { 9: row } } }))
  }
  const mend = async () => unwrap(await store.patch(block, { spec: { rows: { 9: null } } }))
  const messageOf = async (key: string) => {
    const { outcomes } = await runUntilQuiet(store, [blocksOperator()], { now: () => nowMs })
    return [...outcomes].find(([name]) => name.endsWith(key))?.[1].message
  }

  test('keeps pools and domain from going', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 28 } })
    await make({ subnets: [{ cidr: '10.0.1.0/24' }] }, 'red')
    await operate()
    await give(request('a'))
    await spoil()
    for (const ref of [poolRef(), poolRef('red'), domain]) unwrap(await store.delete(ref))
    expect(await messageOf('IPPool blue')).toBe('kept while block default-4-0a000000-28 cannot be read')
    // it may have had more before: its rows may be anywhere in the domain
    expect(await messageOf('IPPool red')).toBe('kept while block default-4-0a000000-28 cannot be read')
    const kept = 'kept for 0 blocks and 2 pools, and for block default-4-0a000000-28, which cannot be read'
    expect(await messageOf('IPDomain default')).toBe(kept)
    const planner = blocksOperator()
    await operate(planner)
    await mend()
    const keys = planner.observe({ kind: 'present', object: unwrap(await store.get(block)) })
    expect(keys).toEqual(['IPBlock default-4-0a000000-28', 'IPDomain default', 'IPPool blue', 'IPPool red'])
    expect(await messageOf('IPPool blue')).toBe('kept while 1 are in use')
    expect((await store.get(poolRef('red'))).ok).toBe(false)
    await giveBack('a')
    await operate(blocksOperator({ emptySeconds: 0 }))
    for (const ref of [poolRef(), domain]) expect((await store.get(ref)).ok).toBe(false)
  })

  test('has nothing to give, and is named in no count as free', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/28' }], ipv4: { blockPrefixLength: 28 } })
    await operate()
    await give(request('a'))
    await spoil()
    await make({ subnets: [{ cidr: '10.0.0.0/28' }], skipEdges: 'never' }, 'red')
    await operate()
    for (const name of ['blue', 'red']) {
      expect((await pool(name)).status?.ipv4).toMatchObject({ free: '0', full: ['10.0.0.0/28'] })
      expect(conditionsOf(await pool(name))).toMatchObject({ Exhausted: 'True PoolExhausted' })
    }
    await mend()
    await operate()
    expect((await pool()).status?.ipv4).toMatchObject({ allocated: '1', free: '13', full: [] })
  })

  test('keeps a domain from being made anew while the grid of its blocks is not known', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 28 } })
    await operate()
    await give(request('a'))
    await spoil()
    unwrap(await store.patch(domain, { metadata: { finalizers: [] } }))
    unwrap(await store.delete(domain))
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 27 } }, 'aaa')
    await operate()
    expect((await store.get(domain)).ok).toBe(false)
    expect((await pool()).status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      message: 'domain default cannot be made: block default-4-0a000000-28 cannot be read, so its grid is not known',
    })
    expect((await give(request('b'))).outcome.kind).toBe('notReady')
    await mend()
    await operate()
    expect(IPDomain.parse(unwrap(await store.get(domain))).spec.ipv4.blockPrefixLength).toBe(28)
    expect(conditionsOf(await pool())).toMatchObject({ Ready: 'True Ready' })
    expect(conditionsOf(await pool('aaa'))).toMatchObject({ Ready: 'False PoolNotReady' })
  })

  test('is a offGrid where its name is not of the grid, and none of the domain where it is no name', async () => {
    const { apiVersion, kind } = IPBlock.info
    const bad = { cidr: 'all', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1, rows: {} }
    unwrap(await store.create({ apiVersion, kind, metadata: { name: 'what' }, spec: bad }))
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 28 } })
    await operate()
    expect(conditionsOf(await pool())).toMatchObject({ Ready: 'True Ready' })
    unwrap(await store.create({ apiVersion, kind, metadata: { name: 'default-4-0a000000-26' }, spec: bad }))
    expect(await messageOf('IPDomain default')).toBe(
      'block default-4-0a000000-26 does not lie on the grid of the domain',
    )
  })
})

describe('a change of a block', () => {
  const { apiVersion } = IPPool.info
  let version = 1
  const versioned = (name: string) => ({ name, uid: `uid ${name}`, resourceVersion: `${version++}` })
  const blockAt = (index: number, given: number, more: object = {}): Change => {
    const digits = (0x0a000000 + index * 16).toString(16).padStart(8, '0')
    const rows = given === 0 ? {} : { 0: { owner: 'ns/a', uid: `${index}`, sequence: 1, count: given } }
    const cidr = `10.0.${index >> 4}.${(index % 16) * 16}/28`
    const spec = { cidr, domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1, rows, ...more }
    const metadata = versioned(`default-4-${digits}-28`)
    return { kind: 'present', object: { apiVersion, kind: 'IPBlock', metadata, spec } }
  }
  const poolOf = (name: string, cidr: string, more: object = {}): Change => {
    const status = { domainUID: 'd', ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 } }
    const spec = { subnets: [{ cidr }], skipEdges: 'never', ...more }
    return { kind: 'present', object: { apiVersion, kind: 'IPPool', metadata: versioned(name), spec, status } }
  }
  const planner = () => blocksOperator({ emptySeconds: 10 })
  const messageOf = (operator: Planner<Outcome>, key: string) => operator.plan(key, { nowMs })?.outcome.message

  test('wakes the empty block that was kept beside it, and no other empty block', () => {
    const operator = planner()
    operator.observe(poolOf('blue', '10.0.0.0/16'))
    const own = (index: number) => [
      `IPBlock default-4-${(0x0a000000 + index * 16).toString(16).padStart(8, '0')}-28`,
      'IPDomain default',
      'IPPool blue',
    ]
    for (let index = 0; index < 40; index++) operator.observe(blockAt(index, 16))
    for (let index = 40; index < 60; index++) operator.observe(blockAt(index, 0))
    const [kept = '', waiting = ''] = [own(40)[0], own(41)[0]]
    const needed = 'empty, and the only one with room'
    expect(messageOf(operator, kept)).toBe(needed)
    expect(messageOf(operator, waiting)).toBe('empty')
    expect(operator.observe(blockAt(3, 16))).toEqual([...own(3), kept])
    expect(messageOf(operator, kept)).toBe(needed)
    expect(operator.observe(blockAt(3, 15))).toEqual([...own(3), kept])
    expect(messageOf(operator, kept)).toBe('empty')
    expect(operator.observe(blockAt(4, 15))).toEqual(own(4))
    operator.observe(blockAt(3, 16))
    operator.observe(blockAt(4, 16))
    expect(messageOf(operator, kept)).toBe(needed)
    // what is another family's, another pool's or a node's is no room for this one
    operator.observe(blockAt(5, 3, { node: 'n' }))
    operator.observe(blockAt(6, 3, { pool: 'red' }))
    expect(messageOf(operator, kept)).toBe(needed)
    // an empty one before it
    operator.observe(blockAt(2, 0))
    expect(messageOf(operator, kept)).toBe('empty')
  })

  test('wakes it also when the other one has gained room because time has passed', () => {
    const operator = planner()
    operator.observe(poolOf('blue', '10.0.0.0/16'))
    const until = new Date(nowMs + 60_000).toISOString()
    const [waiting, kept] = ['IPBlock default-4-0a000000-28', 'IPBlock default-4-0a000010-28']
    const row = { owner: 'ns/a', uid: 'a', sequence: 1, state: 'cooldown', released: until, until }
    operator.observe(blockAt(0, 0, { rows: { 0: { ...row, count: 16 } } }))
    operator.observe(blockAt(1, 0))
    expect(messageOf(operator, kept)).toBe('empty, and the only one with room')
    nowMs += 60_000
    expect(messageOf(operator, waiting)).toBe('empty, and the only one with room')
    expect(operator.observe(blockAt(2, 16))).toContain(kept)
    // for longer than it may be
    expect(messageOf(operator, kept)).toBe('deleting the empty block')
  })

  test('wakes an empty one that was kept when its pool gives nothing any more', () => {
    const operator = planner()
    operator.observe(poolOf('blue', '10.0.0.0/16'))
    operator.observe(blockAt(0, 0))
    const key = 'IPBlock default-4-0a000000-28'
    expect(messageOf(operator, key)).toBe('empty, and the only one with room')
    expect(operator.observe(poolOf('blue', '10.0.0.0/16', { disabled: true }))).toContain(key)
    expect(messageOf(operator, key)).toBe('empty')
    operator.observe(poolOf('blue', '10.0.0.0/16'))
    expect(messageOf(operator, key)).toBe('empty, and the only one with room')
    expect(operator.observe(poolOf('blue', '10.0.1.0/24'))).toContain(key)
    expect(messageOf(operator, key)).toBe('empty')
  })

  test('is one of the pools that give something in it, or have rows in it, now or before', () => {
    const operator = planner()
    for (let n = 0; n < 20; n++) operator.observe(poolOf(`p${n}`, `10.0.${n}.0/24`))
    operator.observe(poolOf('wide', '10.0.0.0/20'))
    const pools = (change: Change) => operator.observe(change).filter((key) => key.startsWith('IPPool '))
    expect(pools(blockAt(3 * 16, 2, { pool: 'p3' }))).toEqual(['IPPool p3', 'IPPool wide'])
    for (let n = 0; n < 20; n++) operator.plan(`IPPool p${n}`, { nowMs })
    expect(pools(blockAt(3 * 16, 2, { pool: 'p7' }))).toEqual(['IPPool p3', 'IPPool p7', 'IPPool wide'])
    expect(pools(blockAt(3 * 16, 0, { pool: 'p7' }))).toEqual(['IPPool p7', 'IPPool p3', 'IPPool wide'])
    expect(pools(blockAt(3 * 16, 0, { pool: 'p7' }))).toEqual(['IPPool p3', 'IPPool wide'])
  })

  test('of the space of a pool wakes those with which it has, or had, addresses in common', () => {
    const operator = planner()
    for (let n = 0; n < 20; n++) operator.observe(poolOf(`p${n}`, `10.0.${n}.0/24`))
    expect(operator.observe(poolOf('wide', '10.0.4.0/23'))).toEqual([
      'IPPool wide',
      'IPDomain default',
      'IPPool p4',
      'IPPool p5',
    ])
    expect(operator.observe(poolOf('wide', '10.0.5.0/24')).slice(2)).toEqual(['IPPool p4'])
    expect(operator.observe(poolOf('wide', '10.0.5.0/24')).slice(2)).toEqual([])
    const ref = { apiVersion, kind: 'IPPool', name: 'wide' }
    expect(operator.observe({ kind: 'absent', ref }).slice(2)).toEqual(['IPPool p5'])
  })
})

describe('a writer that knows only the pool', () => {
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
