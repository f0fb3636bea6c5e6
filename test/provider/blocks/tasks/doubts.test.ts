import { Address } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { fail } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, blockClaims, blocksWatch, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AllocationOutcome } from '../../../../src/provider/blocks/tasks/outcome.js'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { blockStore, blocksIn, poolIn, request } from '../world.js'

const nowMs = 1_000_000
let store: Store

beforeEach(() => {
  store = blockStore()
})

const start = <O extends Outcome>(task: Task<O>, on: Store) => runTask(task, on, { now: () => nowMs })

async function run<O extends Outcome>(task: Task<O>, on: Store = store): Promise<O> {
  const ended = await start(task, on)
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome
}

async function give(uid: string, known = new KnownBlocks(), more: Partial<AllocationRequest> = {}): Promise<string> {
  return textOf(await run(allocate(request(uid, more), known)))
}

function textOf(outcome: AllocationOutcome): string {
  const texts = 'allocations' in outcome ? outcome.allocations.map(({ address }) => Address.format(address)) : []
  return [outcome.kind, ...texts].join(' ')
}

async function addressesOf(uid: string): Promise<readonly string[]> {
  return (await blocksIn(store)).flatMap(({ metadata, spec }) =>
    Object.entries(spec.rows).flatMap(([unit, row]) => (row.uid === uid ? [`${metadata.name} ${unit}`] : [])),
  )
}

/**
 * What becomes of each write in turn; after the last of them all are done. `late`: it is in flight,
 * and not answered.
 */
type Fate = 'late' | 'invalid' | 'io' | 'done'

/** A store in front of the real one. */
function fated(...fates: Fate[]): { readonly store: Store; readonly arrive: () => Promise<boolean> } {
  let late: (() => Promise<{ readonly ok: boolean }>) | undefined
  const call = async <T extends { readonly ok: boolean }>(operation: 'patch' | 'create', really: () => Promise<T>) => {
    switch (fates.shift()) {
      case 'late':
        late = really
        return fail('STORE_OUTCOME_UNKNOWN', { operation, object: 'x', problem: 'cut' })
      case 'invalid':
        return fail('STORE_INVALID', { object: 'x', path: 'spec', problem: 'a webhook denies it' })
      case 'io':
        return fail('STORE_IO', { operation, problem: 'down' })
      default:
        return really()
    }
  }
  return {
    store: storeOver(store, {
      patch: (ref, patch, options) =>
        call('patch', () => store.patch(ref, patch, options)) as ReturnType<Store['patch']>,
      create: (object) => call('create', () => store.create(object)) as ReturnType<Store['create']>,
    }),
    arrive: async () => (await (late as () => Promise<{ readonly ok: boolean }>)()).ok,
  }
}

describe('a write that is refused says nothing of one before it for the same block that may still be done', () => {
  const FIRST = 'default-4-0a000000-28'

  beforeEach(async () => {
    await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
    await give('z')
  })

  test('by the same task', async () => {
    const known = new KnownBlocks()
    const { store: bad, arrive } = fated('late', 'invalid')
    // were it to go on in another block, the owner would have a row in both
    expect(await start(allocate(request('a'), known), bad)).toMatchObject({
      kind: 'failed',
      failure: { code: 'STORE_INVALID' },
    })
    expect(known.unconfirmed('a').map(({ name }) => name)).toEqual([FIRST])
    expect(await give('a', known)).toBe('allocated 10.0.0.2')
    expect(await arrive()).toBe(false)
    expect(await addressesOf('a')).toEqual([`${FIRST} 2`])
  })

  test('by a task before it', async () => {
    const known = new KnownBlocks()
    const { store: bad, arrive } = fated('late', 'io', 'invalid')
    expect(await start(allocate(request('a'), known), bad)).toMatchObject({ failure: { code: 'STORE_IO' } })
    expect(await start(allocate(request('a'), known), bad)).toMatchObject({ failure: { code: 'STORE_INVALID' } })
    expect(known.unconfirmed('a').map(({ name }) => name)).toEqual([FIRST])
    await run(release({ owner: { uid: 'a' }, pools: ['blue'] }, known))
    expect(await arrive()).toBe(false)
    expect(await addressesOf('a')).toEqual([])
  })

  test.each([
    { fate: 'io', uid: 'b' },
    { fate: 'invalid', uid: 'b' },
    { fate: 'io', uid: 'a', interface: 'net2' },
    { fate: 'invalid', uid: 'a', interface: 'net2' },
  ] as const)('by a task for another owner, or for another interface: $fate $uid', async ({ fate, uid, ...more }) => {
    const known = new KnownBlocks()
    const { store: bad, arrive } = fated('late', 'io')
    await start(allocate(request('a'), known), bad)
    // it writes the same version of the same block
    const asked = request(uid, { ...more, addresses: [Address.parse('10.0.0.9')] })
    const ended = await start(allocate(asked, known), fated(fate, fate).store)
    expect(ended).toMatchObject(fate === 'io' ? { kind: 'failed' } : { outcome: { kind: 'denied' } })
    expect(known.unconfirmed('a', { name: undefined }).map(({ name }) => name)).toEqual([FIRST])
    await run(release({ owner: { uid: 'a' }, pools: ['blue'] }, known))
    expect(await arrive()).toBe(false)
  })

  test('and once the block is another one it is refused like any', async () => {
    const known = new KnownBlocks()
    const { store: bad, arrive } = fated('late', 'io')
    await start(allocate(request('a'), known), bad)
    // somebody else writes the block: what was sent for the version of before is not done any more
    await give('y')
    await give('x', known, { addresses: [Address.parse('10.0.0.9')] })
    expect(await arrive()).toBe(false)
    const outcome = await run(allocate(request('a'), known), fated('invalid').store)
    expect(textOf(outcome)).toBe('allocated 10.0.0.32')
    expect(known.unconfirmed('a')).toEqual([])
  })
})

describe('what may still be done in another block', () => {
  test('is done before its owner gets a row, or not at all', async () => {
    await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
    await give('z')
    const known = new KnownBlocks()
    const { store: bad, arrive } = fated('late', 'io')
    await start(allocate(request('a'), known), bad)
    const arrived: boolean[] = []
    const racing = storeOver(store, {
      create: async (object) => {
        arrived.push(await arrive())
        return store.create(object)
      },
    })
    const asked = request('a', { addresses: [Address.parse('10.0.0.20')] })
    expect(textOf(await run(allocate(asked, known), racing))).toBe('allocated 10.0.0.20')
    expect(arrived).toEqual([false])
    expect(await addressesOf('a')).toEqual(['default-4-0a000010-28 4'])
  })
})

describe('what may still be done where an owner cannot have what it asks for', () => {
  test.each(['taken', 'notReady'])('is not done any more: %s', async (kind) => {
    await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
    await give('z')
    await give('y', undefined, { addresses: [Address.parse('10.0.0.20')] })
    const known = new KnownBlocks()
    const { store: bad, arrive } = fated('late', 'io')
    await start(allocate(request('a'), known), bad)
    const { apiVersion } = IPBlock.info
    if (kind === 'notReady')
      await store.patch({ apiVersion, kind: 'IPPool', name: 'blue' }, { spec: { disabled: true } })
    expect(await run(allocate(request('a', { addresses: [Address.parse('10.0.0.20')] }), known))).toMatchObject({
      kind,
    })
    expect(await arrive()).toBe(false)
    expect(await addressesOf('a')).toEqual([])
  })
})

describe('a block that may still be made', () => {
  let known: KnownBlocks
  let bad: ReturnType<typeof fated>

  beforeEach(async () => {
    await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
    known = new KnownBlocks()
    bad = fated('late', 'io', 'io', 'io', 'io', 'io')
    expect(await start(allocate(request('a'), known), bad.store)).toMatchObject({ kind: 'unsettled' })
  })

  test('is made by the next task for that owner, also after it was seen that it is not there', async () => {
    const ref = { apiVersion: IPBlock.info.apiVersion, kind: IPBlock.info.kind, name: 'default-4-0a000000-28' }
    known.observe({ kind: 'absent', ref, confirmed: true }, { nowMs })
    expect(known.unconfirmed('a')).toEqual([{ name: ref.name, version: undefined }])
    expect(await give('a', known)).toBe('allocated 10.0.0.1')
    expect(await bad.arrive()).toBe(false)
    expect(await addressesOf('a')).toEqual(['default-4-0a000000-28 1'])
  })

  test('keeps no other owner from another block, and is released with all that its owner has', async () => {
    expect(await give('b', known)).toBe('allocated 10.0.0.16')
    expect(await bad.arrive()).toBe(true)
    await run(release({ owner: { uid: 'a' }, pools: ['blue'] }, known))
    expect(await addressesOf('a')).toEqual([])
  })
})

test.each(['a watch', 'claims'])('what may still be done is known also after %s has begun anew', async (what) => {
  const blue = await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
  await give('a')
  const [block] = await blocksIn(store)
  const planner = what === 'claims' ? blockClaims() : blocksWatch({ now: () => nowMs })
  const list = () => {
    for (const object of [blue, block as IPBlock]) planner.observe({ kind: 'present', object })
  }
  list()
  const { store: bad, arrive } = fated('late', 'io')
  const failed = await start(release({ owner: { uid: 'a' } }, planner.known), bad)
  expect(failed).toMatchObject({ kind: 'failed', failure: { code: 'STORE_IO' } })
  planner.reset()
  list()
  expect(await give('a', planner.known)).toBe('already 10.0.0.1')
  expect(await arrive()).toBe(false)
  expect(await give('b')).toBe('allocated 10.0.0.2')
})

test('what may still change the row of an owner is not done after it was told the number of that', async () => {
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
  await give('a', undefined, { container: 'c1' })
  const known = new KnownBlocks()
  const { store: bad, arrive } = fated('late', 'io')
  const failed = await start(allocate(request('a', { container: 'c2' }), known), bad)
  expect(failed).toMatchObject({ failure: { code: 'STORE_IO' } })
  const outcome = await run(allocate(request('a'), known))
  if (outcome.kind !== 'already') throw new Error(outcome.kind)
  expect(await arrive()).toBe(false)
  const sequence = outcome.allocations[0]?.sequence
  expect((await run(release({ owner: { uid: 'a' }, pools: ['blue'], sequence }, known))).kind).toBe('released')
})

describe('what a task has taken back, and of which it is not known whether that was done', () => {
  const pools = ['both']
  const families = [4, 6] as const

  beforeEach(async () => {
    await poolIn(store, 'both', {
      subnets: [{ cidr: '10.0.9.0/28' }, { cidr: 'fd00::/127' }],
      skipEdges: 'never',
    })
    await give('six', undefined, { pools, families: [6] })
    await give('four', undefined, { pools, families: [4] })
  })

  test.each([
    { asked: families, answer: 'allocated 10.0.9.1 fd00::1' },
    { asked: [4] as const, answer: 'already 10.0.9.1' },
  ])('is not what the next task for that owner says it has: $asked', async ({ asked, answer }) => {
    const known = new KnownBlocks()
    const { store: bad, arrive } = fated('done', 'done', 'late', 'io')
    // between its two rows somebody else takes the last address of the second family
    const task = allocate(request('a', { pools, families }), known)
    const racing = storeOver(bad, {
      patch: async (ref, patch, options) => {
        if (ref.name.includes('-6-') && (await addressesOf('fast')).length === 0) {
          await give('fast', undefined, { pools, families: [6] })
        }
        return bad.patch(ref, patch, options)
      },
    })
    expect(await start(task, racing)).toMatchObject({ kind: 'failed', failure: { code: 'STORE_IO' } })
    expect(await addressesOf('a')).toEqual(['default-4-0a000900-28 1'])
    await run(release({ owner: { uid: 'fast' }, pools }, new KnownBlocks()))
    expect(await give('a', known, { pools, families: asked })).toBe(answer)
    expect(await arrive()).toBe(false)
    expect(await give('other', undefined, { pools, families: [4] })).toBe('allocated 10.0.9.2')
  })
})
