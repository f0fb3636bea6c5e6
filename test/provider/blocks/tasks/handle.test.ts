import { Address } from 'ipam-kit/cidr'
import { IPBlock, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { handleName } from '../../../../src/crd/ipam-kit/ip-handle.js'
import type { IPPoolFamilyStatus } from '../../../../src/crd/ipam-kit/ip-pool.js'
import type { AllocationOutcome } from '../../../../src/provider/blocks/tasks/outcome.js'
import type { TaskResult } from '../../../../src/run/task/run-task.js'
import { blockStore, blocksIn, countingStore, poolIn, request } from '../world.js'

let store: Store
beforeEach(async () => {
  store = blockStore()
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }, { cidr: 'fd00::/120' }] })
})

const now = () => 1_000_000

/** A task of a process that knows nothing. */
const give = (uid: string, more: Parameters<typeof request>[1] = {}) =>
  allocate(request(uid, { handle: true, ...more }), new KnownBlocks())
const take = (uid: string, more: object = {}) => release({ owner: { uid }, handle: true, ...more }, new KnownBlocks())

async function run<O extends Outcome>(task: Task<O>, on: Store = store, clock = now): Promise<O> {
  const ended = await runTask(task, on, { now: clock })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome
}

/** @returns what a task has asked for, as reads, lists and writes */
async function cost(task: Task, outcome: string): Promise<string> {
  const counted = countingStore(store)
  expect((await run(task, counted.store)).kind).toBe(outcome)
  const { gets, lists, writes } = counted.requests
  return `${gets} + ${lists} + ${writes}`
}

async function handlesIn(): Promise<Record<string, IPHandle['spec']['blocks']>> {
  const { apiVersion, kind } = IPHandle.info
  const { items } = unwrap(await store.list({ apiVersion, kind }))
  return Object.fromEntries(items.map((each) => [each.metadata.name, IPHandle.parse(each).spec.blocks]))
}

async function ownersIn(): Promise<readonly string[]> {
  return (await blocksIn(store)).flatMap(({ metadata, spec }) =>
    Object.entries(spec.rows).map(([unit, { uid }]) => `${metadata.name} ${unit}: ${uid}`),
  )
}

/**
 * Writes go to a store that answers nothing to the one that is chosen: its process dies of it, and
 * it arrives when `arrive` is called.
 */
function dyingStore(operation: 'create' | 'patch', kind: string) {
  let late: (() => Promise<{ readonly ok: boolean }>) | undefined
  const die = (call: () => Promise<{ readonly ok: boolean }>): never => {
    late = call
    throw new Error('has died')
  }
  return {
    store: storeOver(store, {
      create: (object) =>
        operation === 'create' && object.kind === kind ? die(() => store.create(object)) : store.create(object),
      patch: (ref, patch, options) =>
        operation === 'patch' && ref.kind === kind
          ? die(() => store.patch(ref, patch, options))
          : store.patch(ref, patch, options),
    }),
    arrive: async () => {
      if (late === undefined) throw new Error('nothing is in flight')
      return (await late()).ok
    },
  }
}

async function reshape(spec: object, status: { readonly ipv4?: IPPoolFamilyStatus } = {}): Promise<KubeObject> {
  const { apiVersion, kind } = IPPool.info
  unwrap(await store.patch({ apiVersion, kind, name: 'blue' }, { spec }))
  return unwrap(await store.patch({ apiVersion, kind, name: 'blue' }, { status }, { subresource: 'status' }))
}

const FIRST = 'default-4-0a000000-28'
const SECOND = 'default-4-0a000010-28'

describe('what is given back by a writer that knows only the handle', () => {
  test.each([
    ['rests', { reuseAfterSeconds: 60 }, 'cooldown'],
    ['is kept for an owner that comes again', { sticky: { by: 'owner', forSeconds: 60 } }, 'held'],
  ] as const)('%s, as the pool says', async (_, spec, state) => {
    await reshape(spec)
    expect((await run(give('a'))).kind).toBe('allocated')
    expect((await run(take('a'))).kind).toBe('released')
    const [block] = await blocksIn(store)
    expect(block?.spec.rows).toMatchObject({ 1: { uid: 'a', state, until: new Date(now() + 60_000).toISOString() } })
    expect(await run(give('b'))).toMatchObject({ allocations: [{ address: Address.parse('10.0.0.2') }] })
  })

  test('is free at once if its pool is gone', async () => {
    await reshape({ reuseAfterSeconds: 60 })
    expect((await run(give('a'))).kind).toBe('allocated')
    const { apiVersion, kind } = IPPool.info
    unwrap(await store.delete({ apiVersion, kind, name: 'blue' }))
    expect((await run(take('a'))).kind).toBe('released')
    expect(await ownersIn()).toEqual([])
  })
})

describe('what a handle costs', () => {
  test('a write more for what is new, a read for what is there, and no list', async () => {
    expect(await cost(give('a'), 'allocated')).toBe('2 + 0 + 2')
    expect(await handlesIn()).toEqual({ 'uid-a': { '': [FIRST] } })
    // a write that keeps off a write that a process sent before it died
    expect(await cost(give('a'), 'already')).toBe('3 + 0 + 1')
    // the handle, the block, and the pool: how long it rests
    expect(await cost(take('a'), 'released')).toBe('3 + 0 + 2')
    expect(await handlesIn()).toEqual({})
    expect(await cost(take('a'), 'nothing')).toBe('1 + 0 + 0')
  })

  test('for both families one write of the handle', async () => {
    const families = [4, 6] as const
    expect(await cost(give('a', { families }), 'allocated')).toBe('3 + 0 + 3')
    expect(await handlesIn()).toEqual({ 'uid-a': { '': [FIRST, `default-6-fd${'0'.repeat(30)}-124`] } })
    expect(await cost(take('a'), 'released')).toBe('4 + 0 + 3')
    expect(await ownersIn()).toEqual([])
  })

  test('what cannot be given costs a read, and leaves no handle', async () => {
    for (let n = 0; n < 14; n++) await run(give(`other-${n}`))
    await reshape({ subnets: [{ cidr: '10.0.0.0/28' }] })
    expect(await cost(give('a'), 'exhausted')).toBe('3 + 0 + 0')
    expect(Object.keys(await handlesIn())).not.toContain(handleName('a'))
  })
})

describe('a writer that knows nothing', () => {
  test('finds what the owner has in a block to which nothing else leads', async () => {
    await run(give('a'))
    const full = { blockPrefixLength: 28, allocationPrefixLength: 32, full: ['10.0.0.0/26'] }
    await reshape({}, { ipv4: full })
    expect(await run(give('b'))).toMatchObject({ kind: 'allocated', allocations: [{ block: 'default-4-0a000040-28' }] })
    expect(await run(give('a'))).toMatchObject({ kind: 'already', allocations: [{ block: FIRST }] })
    // without a handle that is another address
    const without = allocate(request('a'), new KnownBlocks())
    expect(await run(without)).toMatchObject({ kind: 'allocated', allocations: [{ block: 'default-4-0a000040-28' }] })
  })

  test('finds it where the pool has nothing more to give', async () => {
    await run(give('a'))
    await reshape({ disabled: true })
    expect((await run(give('a'))).kind).toBe('already')
    expect((await run(give('b'))).kind).toBe('notReady')
  })

  test('gives back one interface and keeps the others', async () => {
    await run(give('a', { interface: 'eth0' }))
    await run(give('a', { interface: 'net1' }))
    expect(await handlesIn()).toEqual({ 'uid-a': { eth0: [FIRST], net1: [FIRST] } })
    expect((await run(take('a', { interface: 'eth0' }))).kind).toBe('released')
    expect(await handlesIn()).toEqual({ 'uid-a': { net1: [FIRST] } })
    expect((await run(take('a', { interface: 'eth0' }))).kind).toBe('nothing')
    expect(await ownersIn()).toEqual([`${FIRST} 2: a`])
    expect((await run(take('a'))).kind).toBe('released')
    expect(await handlesIn()).toEqual({})
  })

  test('keeps what the sequence does not name, and where that is', async () => {
    const given = (await run(give('a'))) as Extract<AllocationOutcome, { kind: 'allocated' }>
    const sequence = given.allocations[0]?.sequence ?? 0
    expect((await run(take('a', { sequence: sequence - 1 }))).kind).toBe('nothing')
    expect(await handlesIn()).toEqual({ 'uid-a': { '': [FIRST] } })
    expect((await run(take('a', { sequence }))).kind).toBe('released')
  })

  test('looks through the pools where there is no handle, if it is told to', async () => {
    await run(allocate(request('a'), new KnownBlocks()))
    expect((await run(take('a'))).kind).toBe('nothing')
    expect(await cost(take('a', { pools: ['blue'] }), 'released')).toBe('2 + 1 + 1')
  })

  test('is told when a handle cannot be read', async () => {
    const { apiVersion, kind } = IPHandle.info
    const spec = { owner: 'ns/b', uid: 'b', blocks: {} }
    unwrap(await store.create({ apiVersion, kind, metadata: { name: handleName('a') }, spec }))
    const message = 'uid-a is of another owner'
    expect(await run(give('a'))).toEqual({ kind: 'notReady', message })
    expect(await run(take('a'))).toEqual({ kind: 'notReady', message })
  })
})

describe('a process that has died', () => {
  async function dieGiving(operation: 'create' | 'patch', kind: string) {
    const dying = dyingStore(operation, kind)
    await expect(runTask(give('a'), dying.store, { now })).rejects.toThrow('has died')
    return dying.arrive
  }

  test('before the row: the next attempt gives it in the block that the handle names', async () => {
    const arrive = await dieGiving('create', 'IPBlock')
    expect(await handlesIn()).toEqual({ 'uid-a': { '': [FIRST] } })
    // others go on somewhere else
    const last = { blockPrefixLength: 28, allocationPrefixLength: 32, last: '10.0.0.20' }
    await reshape({ order: 'next' }, { ipv4: last })
    expect(await run(give('b'))).toMatchObject({ kind: 'allocated', allocations: [{ block: SECOND }] })
    expect(await run(give('a'))).toMatchObject({ kind: 'allocated', allocations: [{ block: FIRST }] })
    expect(await arrive()).toBe(false)
    expect(await ownersIn()).toEqual([`${FIRST} 1: a`, `${SECOND} 0: b`])
  })

  test('with a row in flight: it does not arrive any more when another block was taken', async () => {
    await run(give('b'))
    const arrive = await dieGiving('patch', 'IPBlock')
    await reshape({ subnets: [{ cidr: '10.0.0.16/28' }] })
    expect(await run(give('a'))).toMatchObject({ kind: 'allocated', allocations: [{ block: SECOND }] })
    expect(await arrive()).toBe(false)
    expect(await ownersIn()).toEqual([`${FIRST} 1: b`, `${SECOND} 1: a`])
    expect(await handlesIn()).toEqual({ 'uid-a': { '': [SECOND] }, 'uid-b': { '': [FIRST] } })
  })

  test('with a row in flight: it does not arrive any more when all was given back', async () => {
    await run(give('b'))
    const arrive = await dieGiving('patch', 'IPBlock')
    expect((await run(take('a'))).kind).toBe('nothing')
    expect(await arrive()).toBe(false)
    expect(await ownersIn()).toEqual([`${FIRST} 1: b`])
    expect(await handlesIn()).toEqual({ 'uid-b': { '': [FIRST] } })
  })

  test('with a row in flight: nor when the answer is that there is nothing', async () => {
    await run(give('b'))
    const arrive = await dieGiving('patch', 'IPBlock')
    await reshape({ subnets: [{ cidr: '10.0.0.16/32' }] })
    await run(give('c'))
    expect((await run(give('a'))).kind).toBe('exhausted')
    expect(await arrive()).toBe(false)
    expect(Object.keys(await handlesIn())).not.toContain('uid-a')
  })

  test('before the handle: nothing was given', async () => {
    const arrive = await dieGiving('create', 'IPHandle')
    expect(await blocksIn(store)).toEqual([])
    expect((await run(give('a'))).kind).toBe('allocated')
    expect(await arrive()).toBe(false)
    expect(await ownersIn()).toEqual([`${FIRST} 1: a`])
  })

  test('while it gave back: the next one continues', async () => {
    await run(give('a'))
    const dying = storeOver(store, {
      delete: () => {
        throw new Error('has died')
      },
    })
    await expect(runTask(take('a'), dying, { now })).rejects.toThrow('has died')
    expect(await ownersIn()).toEqual([])
    expect(await handlesIn()).toEqual({ 'uid-a': { '': [FIRST] } })
    expect((await run(take('a'))).kind).toBe('nothing')
    expect(await handlesIn()).toEqual({})
  })
})

describe('a handle', () => {
  test('keeps what other requests of the same interface have', async () => {
    await poolIn(store, 'red', { subnets: [{ cidr: '10.1.0.0/24' }] })
    await run(give('a', { families: [4] }))
    await run(give('a', { families: [6] }))
    await run(give('a', { pools: ['red'] }))
    expect((await handlesIn())['uid-a']?.['']).toHaveLength(3)
    expect(await run(give('a', { families: [4] }))).toMatchObject({ kind: 'already' })
    expect((await handlesIn())['uid-a']?.['']).toHaveLength(3)
    expect(await run(take('a'))).toMatchObject({ kind: 'released', allocations: [{}, {}, {}] })
    expect(await ownersIn()).toEqual([])
  })

  test('is written before each row, so that a deletion that was in flight does not take it away', async () => {
    await run(give('a'))
    let late: (() => Promise<{ readonly ok: boolean }>) | undefined
    const dying = storeOver(store, {
      delete: (ref, options) => {
        late = () => store.delete(ref, options)
        throw new Error('has died')
      },
    })
    await expect(runTask(take('a'), dying, { now })).rejects.toThrow('has died')
    expect(await run(give('a'))).toMatchObject({ kind: 'allocated', allocations: [{ block: FIRST }] })
    expect((await late?.())?.ok).toBe(false)
    expect((await run(take('a'))).kind).toBe('released')
    expect(await ownersIn()).toEqual([])
  })

  test('that names a block that cannot be read stays, and so does what it says', async () => {
    await run(give('a'))
    const { apiVersion, kind } = IPBlock.info
    const odd = { 9: { owner: 'ns/x', uid: 'x', sequence: 5, state: 'draining' } }
    unwrap(await store.patch({ apiVersion, kind, name: FIRST }, { spec: { rows: odd } }))
    expect((await run(take('a'))).kind).toBe('notReady')
    expect(await handlesIn()).toEqual({ 'uid-a': { '': [FIRST] } })
    unwrap(await store.patch({ apiVersion, kind, name: FIRST }, { spec: { rows: { 9: null } } }))
    expect((await run(take('a'))).kind).toBe('released')
    expect(await handlesIn()).toEqual({})
  })
})

test('a block that cannot be read stays in the handle, also where it is looked once more for what is asked for', async () => {
  await run(give('a'))
  const known = new KnownBlocks()
  for (const text of ['10.0.0.20', '10.0.0.40']) {
    const [uid, addresses] = [`of ${text.slice(-2)}`.replace(' ', '-'), [Address.parse(text)]]
    await run(allocate(request(uid, { addresses }), known))
  }
  const { apiVersion, kind } = IPBlock.info
  const odd = { 9: { owner: 'ns/x', uid: 'x', sequence: 5, state: 'draining' } }
  unwrap(await store.patch({ apiVersion, kind, name: FIRST }, { spec: { rows: odd } }))
  const asked = request('a', { handle: true, addresses: [Address.parse('10.0.0.40')] })
  expect((await run(allocate(asked, known))).kind).toBe('taken')
  expect((await handlesIn())['uid-a']).toEqual({ '': [FIRST] })
})

test('a block in which another writer was faster does not stay in the handle', async () => {
  await reshape({ subnets: [{ cidr: '10.0.0.0/27' }] })
  for (let n = 0; n < 14; n++) await run(give(`other-${n}`))
  let isFaster = true
  const meets = storeOver(store, {
    patch: async (ref, patch, options) => {
      if (isFaster && IPBlock.is(ref)) {
        isFaster = false
        await run(give('faster'))
      }
      return store.patch(ref, patch, options)
    },
  })
  expect(await run(give('a'), meets)).toMatchObject({ kind: 'allocated', allocations: [{ block: SECOND }] })
  expect((await handlesIn())['uid-a']).toEqual({ '': [SECOND] })
})

test('an attempt whose handle is made by another one looks at what that names', async () => {
  let isFaster = true
  const meets = storeOver(store, {
    create: async (object) => {
      if (isFaster && IPHandle.is(object)) {
        isFaster = false
        await run(give('a'), store, () => now() + 5)
        await reshape({}, { ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32, full: ['10.0.0.0/28'] } })
      }
      return store.create(object)
    },
  })
  const ended: TaskResult<AllocationOutcome> = await runTask(give('a'), meets, { now })
  expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'already', allocations: [{ block: FIRST }] } })
  expect(await ownersIn()).toHaveLength(1)
})

test('a handle that names the same block is still that of another attempt, with a row in flight', async () => {
  await run(give('b'))
  const known = new KnownBlocks()
  const dying = dyingStore('patch', 'IPBlock')
  let isFaster = true
  const meets = storeOver(store, {
    create: async (object) => {
      if (isFaster && IPHandle.is(object)) {
        isFaster = false
        await expect(runTask(give('a'), dying.store, { now })).rejects.toThrow('has died')
        const pool = await reshape({ subnets: [{ cidr: '10.0.0.16/28' }] })
        known.observe({ kind: 'present', object: pool }, { nowMs: now() })
      }
      return store.create(object)
    },
  })
  const outcome = await run(allocate(request('a', { handle: true }), known), meets)
  expect(outcome).toMatchObject({ kind: 'allocated', allocations: [{ block: SECOND }] })
  expect(await dying.arrive()).toBe(false)
  expect(await ownersIn()).toEqual([`${FIRST} 1: b`, `${SECOND} 1: a`])
})

test('a task that meets its own write of the handle names an earlier block once more', async () => {
  await reshape({ subnets: [{ cidr: '10.0.0.0/27' }] })
  for (let n = 0; n < 13; n++) await run(give(`other-${n}`))
  const known = new KnownBlocks()
  const met = new Set<string>()
  const isFirst = (kind: string) => !met.has(kind) && met.add(kind) !== undefined
  const isNamed: (boolean | undefined)[] = []
  const meets = storeOver(store, {
    patch: async (ref, patch, options) => {
      if (IPBlock.is(ref)) {
        isNamed.push((await handlesIn())['uid-a']?.['']?.includes(ref.name))
        if (isFirst(ref.kind)) await run(give('faster'))
      }
      if (IPHandle.is(ref) && isFirst(ref.kind)) {
        // somebody on the way asks twice, and others have filled the second block, as another task
        // of the process has seen
        unwrap(await store.patch(ref, patch, options))
        for (let n = 16; n < 32; n++) await run(give(`more-${n}`, { addresses: [Address.parse(`10.0.0.${n}`)] }))
        const { apiVersion, kind } = IPBlock.info
        const object = unwrap(await store.get({ apiVersion, kind, name: SECOND }))
        known.observe({ kind: 'present', object }, { nowMs: now() })
      }
      return store.patch(ref, patch, options)
    },
  })
  const outcome = await run(allocate(request('a', { handle: true }), known), meets)
  expect(outcome).toMatchObject({ kind: 'allocated', allocations: [{ block: FIRST }] })
  expect(isNamed).toEqual([true, true, true])
})

test('a handle that was not written after all is written before the row, also where the task has to be run again to know that', async () => {
  const task = give('a', { interface: 'eth0' })
  const isHandle = (ref: { readonly kind: string }) => ref.kind === IPHandle.info.kind
  const lost = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: handleName('a'), problem: 'cut' })
  const bad = storeOver(store, { create: async (object) => (isHandle(object) ? lost : store.create(object)) })
  const first = await runTask(task, bad, { now })
  if (first.kind !== 'unsettled') throw new Error(first.kind)
  // for another interface it is made by another one
  await run(give('a', { interface: 'net1' }))
  const named: unknown[] = []
  const watched = storeOver(store, {
    patch: async (ref, patch, options) => {
      if (!isHandle(ref)) named.push((await handlesIn())[handleName('a')]?.eth0)
      return store.patch(ref, patch, options)
    },
    create: async (object) => {
      if (!isHandle(object)) named.push((await handlesIn())[handleName('a')]?.eth0)
      return store.create(object)
    },
  })
  expect((await runTask(task, watched, { now }, first.unsettled)).kind).toBe('done')
  expect(named.length).toBeGreaterThan(0)
  for (const blocks of named) expect(blocks).toEqual([FIRST])
})

test.each(['', 'u'.repeat(61), 'Ü'.repeat(61)])('a uid that no name can hold is refused: %s', (uid) => {
  expect(() => release({ owner: { uid }, handle: true }, new KnownBlocks())).toThrow(
    /argument (owner\.)?uid: expected/u,
  )
})
