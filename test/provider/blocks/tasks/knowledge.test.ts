import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { IPPoolSpec } from '../../../../src/crd/ipam-kit/ip-pool.js'
import type { AllocationOutcome } from '../../../../src/provider/blocks/tasks/outcome.js'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { blockStore, blocksIn, poolIn, request } from '../world.js'

let store: Store
let nowMs: number
beforeEach(async () => {
  nowMs = 1_000_000
  store = blockStore()
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
})

async function run<O extends Outcome>(task: Task<O>, on: Store = store): Promise<O> {
  const ended = await runTask(task, on, { now: () => nowMs })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome
}

const give = (uid: string, known = new KnownBlocks(), more: Partial<AllocationRequest> = {}) =>
  run(allocate(request(uid, more), known))
const take = (uid: string, more: object = {}, known = new KnownBlocks()) =>
  run(release({ owner: { uid }, pools: ['blue'], ...more }, known))

function textOf(outcome: AllocationOutcome): string {
  const texts = 'allocations' in outcome ? outcome.allocations.map(({ address }) => Address.format(address)) : []
  return [outcome.kind, ...texts].join(' ')
}

async function rows(): Promise<readonly string[]> {
  return (await blocksIn(store)).flatMap(({ metadata, spec }) =>
    Object.entries(spec.rows).map(([unit, { uid, state = 'bound' }]) => `${metadata.name} ${unit} ${uid} ${state}`),
  )
}

async function change(kind: 'IPPool' | 'IPBlock', name: string, spec: object): Promise<void> {
  unwrap(await store.patch({ apiVersion: IPPool.info.apiVersion, kind, name }, { spec }))
}

/** All that is stored now, as a watch has told it that tells nothing more. */
async function asNow(known = new KnownBlocks({ isComplete: true })): Promise<KnownBlocks> {
  for (const { apiVersion, kind } of [IPPool.info, IPBlock.info]) {
    for (const object of unwrap(await store.list({ apiVersion, kind })).items) {
      known.observe({ kind: 'present', object }, { nowMs })
    }
  }
  return known
}

const FIRST = 'default-4-0a000000-28'
const SECOND = 'default-4-0a000010-28'

describe('what is known may be old', () => {
  test.each(['asked', 'watched'])(
    'no owner is told that it has an address that another owner was given since: %s',
    async (how) => {
      const agent = new KnownBlocks()
      expect(textOf(await give('a', agent))).toBe('allocated 10.0.0.1')
      const known = how === 'asked' ? agent : await asNow()
      await take('a')
      expect(textOf(await give('b'))).toBe('allocated 10.0.0.1')
      expect(textOf(await give('a', known))).toMatch(/^allocated 10\.0\.0\.(2|16)$/u)
    },
  )

  test('nor that there is no room, when there is again', async () => {
    await change('IPPool', 'blue', { subnets: [{ cidr: '10.0.0.0/30' }] })
    const agent = new KnownBlocks()
    await give('a', agent)
    await give('b', agent)
    expect(textOf(await give('c', agent))).toBe('exhausted')
    await take('a')
    expect(textOf(await give('c', agent))).toBe('allocated 10.0.0.1')
    expect(textOf(await give('d', agent))).toBe('exhausted')
    await change('IPPool', 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
    expect(textOf(await give('d', agent))).toBe('allocated 10.0.0.3')
  })

  test.each(['taken', 'notReady'])('nor that an address cannot be had, when it can again: %s', async (kind) => {
    const agent = new KnownBlocks()
    const asked = { addresses: [Address.parse('10.0.0.9')] }
    await give('y', agent, asked)
    const ref = { apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock', name: FIRST }
    // what keeps it from being read, and what makes it as it was
    const spoil = { 3: { owner: 'ns/x', uid: 'x', count: 64, sequence: 1 } }
    if (kind === 'notReady') unwrap(await store.patch(ref, { spec: { rows: spoil } }))
    expect((await give('w', agent, asked)).kind).toBe(kind)
    if (kind === 'notReady') unwrap(await store.patch(ref, { spec: { rows: { 3: null } } }))
    await take('y')
    expect(textOf(await give('w', agent, asked))).toBe('allocated 10.0.0.9')
  })

  test('nor the status of a pool that was not written for long: few of its blocks are looked into', async () => {
    const status = { ipv4: { full: ['10.0.0.0/24'] } }
    const ref = { apiVersion: IPPool.info.apiVersion, kind: 'IPPool', name: 'blue' }
    unwrap(await store.patch(ref, { status }, { subresource: 'status' }))
    expect(textOf(await give('a'))).toBe('allocated 10.0.0.1')
    // eight are, and no more
    for (let nth = 0; nth < 8; nth++) {
      const addresses = [Address.parse(`10.0.0.${nth * 16 + (nth === 0 ? 2 : 0)}`)]
      await give(`all-${nth}`, undefined, { addresses, count: nth === 0 ? 14 : 16 })
    }
    const counted: string[] = []
    const counting = storeOver(store, {
      get: (read) => {
        counted.push(read.name)
        return store.get(read)
      },
    })
    expect((await run(allocate(request('b'), new KnownBlocks()), counting)).kind).toBe('exhausted')
    expect(counted.filter((name) => name.startsWith('default-'))).toHaveLength(8)
    // not even where they have room for others
    counted.length = 0
    await take('all-3')
    await give('none', undefined, { addresses: [Address.parse('10.0.0.50')] })
    expect((await run(allocate(request('b', { count: 15 }), new KnownBlocks()), counting)).kind).toBe('exhausted')
    expect(counted.filter((name) => name.startsWith('default-'))).toHaveLength(8)
    unwrap(await store.patch(ref, { status: { ipv4: { full: [] } } }, { subresource: 'status' }))
    expect(textOf(await give('b', undefined, { count: 15 }))).toBe('allocated 10.0.0.128')
  })

  test('nor what a pool of its name gave in another domain', async () => {
    const agent = new KnownBlocks()
    await give('a', agent)
    const { apiVersion } = IPPool.info
    unwrap(await store.delete({ apiVersion, kind: 'IPPool', name: 'blue' }))
    await poolIn(store, 'blue', { domain: 'other', subnets: [{ cidr: '10.7.0.0/24' }] })
    nowMs += 60_000
    expect(textOf(await give('a', agent))).toBe('allocated 10.7.0.1')
  })

  test('nor by what rules a pool takes back', async () => {
    const agent = new KnownBlocks()
    await give('a', agent)
    await change('IPPool', 'blue', { reuseAfterSeconds: 600 })
    nowMs += 86_400_000
    await take('a', {}, agent)
    expect(await rows()).toEqual([`${FIRST} 1 a cooldown`])
  })

  test('nor that it was given back what another task has made its own meanwhile', async () => {
    await give('a', undefined, { interface: 'eth0', container: 'c1' })
    let isFirst = true
    const meeting = storeOver(store, {
      patch: async (ref, patch, options) => {
        if (isFirst) {
          isFirst = false
          await give('a', undefined, { interface: 'eth0', container: 'c2' })
        }
        return store.patch(ref, patch, options)
      },
    })
    const task = release({ owner: { uid: 'a' }, container: 'c1', pools: ['blue'] }, new KnownBlocks())
    expect(await run(task, meeting)).toEqual({ kind: 'nothing', message: 'owner holds no matching address' })
    expect(await rows()).toEqual([`${FIRST} 1 a bound`])
  })

  test('of two rows that an owner has by an accident, the one that it asks for is looked for where it is', async () => {
    const asked = { addresses: [Address.parse('10.0.0.20')] }
    const known = await asNow()
    await give('a', known)
    const { apiVersion, kind } = IPBlock.info
    const row = { owner: 'ns/a', uid: 'a', sequence: 7 }
    const spec = { cidr: '10.0.0.16/28', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 7 }
    unwrap(await store.create({ apiVersion, kind, metadata: { name: SECOND }, spec: { ...spec, rows: { 4: row } } }))
    expect(textOf(await give('a', known, asked))).toBe('already 10.0.0.20')
  })

  test('nor what the status of a pool said before of blocks of nodes', async () => {
    const { apiVersion } = IPPool.info
    await change('IPPool', 'blue', { affinity: { by: 'node', borrow: false } })
    const say = async (bound: readonly string[]) => {
      const status = { ipv4: { bound } }
      unwrap(await store.patch({ apiVersion, kind: 'IPPool', name: 'blue' }, { status }, { subresource: 'status' }))
    }
    const agent = new KnownBlocks()
    const node = { name: 'n1' }
    await say(['10.0.0.0/24'])
    expect(textOf(await give('a', agent, { node }))).toBe('exhausted')
    await say([])
    nowMs += 60_000
    expect(textOf(await give('a', agent, { node }))).toBe('allocated 10.0.0.1')
  })

  test('a pool is read again after half a minute', async () => {
    const agent = new KnownBlocks()
    await give('a', agent)
    await change('IPPool', 'blue', { disabled: true })
    nowMs += 30_001
    expect((await give('b', agent)).kind).toBe('notReady')
  })

  test('a release by address looks at the block as it is', async () => {
    const agent = new KnownBlocks()
    await give('a', agent)
    await give('b')
    expect((await take('b', { address: Address.parse('10.0.0.2') }, agent)).kind).toBe('released')
  })
})

describe('the container of an owner', () => {
  test('is that of its last request: a late release of the one before takes nothing', async () => {
    await give('a', undefined, { container: 'c1', interface: 'eth0', mac: '02:00:00:00:00:01' })
    const again = await give('a', undefined, { container: 'c2', interface: 'eth0', mac: '02:00:00:00:00:0A' })
    expect(textOf(again)).toBe('already 10.0.0.1')
    const [block] = await blocksIn(store)
    expect(block?.spec.rows[1]).toMatchObject({ container: 'c2', mac: '02:00:00:00:00:0a' })
    expect(block?.spec.rows[1]?.sequence).toBe(block?.spec.sequence)
    expect((await take('a', { container: 'c1' })).kind).toBe('nothing')
    expect((await take('a', { container: 'c2' })).kind).toBe('released')
  })

  test('stays as it is where the request says nothing of it', async () => {
    await give('a', undefined, { container: 'c1' })
    const rowsIn = async () => (await blocksIn(store)).map(({ spec }) => spec.rows)
    const before = await rowsIn()
    expect(textOf(await give('a'))).toBe('already 10.0.0.1')
    expect(await rowsIn()).toEqual(before)
  })
})

describe('a write that a process sent before it died', () => {
  /** Who gives back, and dies while that is in flight. @returns lets it arrive */
  async function dying(uid: string): Promise<() => Promise<boolean>> {
    let arrive: (() => ReturnType<Store['patch']>) | undefined
    const lost = storeOver(store, {
      patch: (...args) => {
        arrive = () => store.patch(...args)
        return Promise.reject(new Error('the process has died'))
      },
    })
    await expect(run(release({ owner: { uid }, pools: ['blue'] }, new KnownBlocks()), lost)).rejects.toThrow('has died')
    return async () => (await arrive?.())?.ok === true
  }

  test.each([
    ['nothing', 'in no', async () => new KnownBlocks(), undefined],
    ['nothing', 'in another', async () => new KnownBlocks(), 'c2'],
    ['all', 'in no', () => asNow(), undefined],
    ['all', 'in another', () => asNow(), 'c2'],
  ])(
    'does not take away what an owner that knows %s is told to have, %s container',
    async (_, __, knows, container) => {
      await give('a')
      const arrive = await dying('a')
      expect(textOf(await give('a', await knows(), { container }))).toBe('already 10.0.0.1')
      expect(await arrive()).toBe(false)
      expect(await rows()).toEqual(['default-4-0a000000-28 1 a bound'])
    },
  )

  test('does not take away one of two families', async () => {
    const families = [4, 6] as const
    await change('IPPool', 'blue', { subnets: [{ cidr: '10.0.0.0/24' }, { cidr: 'fd00::/120' }] })
    await give('a', undefined, { families: [6] })
    const arrive = await dying('a')
    expect(textOf(await give('a', await asNow(), { families }))).toBe('allocated 10.0.0.1 fd00::1')
    expect(await arrive()).toBe(false)
    expect((await rows()).length).toBe(2)
  })

  test('is kept off once for each block, and by another task that writes it', async () => {
    const writes = async (known: KnownBlocks, over = store) => {
      let count = 0
      const counted = storeOver(over, {
        patch(...args) {
          count++
          return over.patch(...args)
        },
      })
      expect(textOf(await run(allocate(request('a'), known), counted))).toBe('already 10.0.0.1')
      return count
    }
    await give('a')
    const known = await asNow()
    expect([await writes(known), await writes(known), await writes(await asNow(known.anew()))]).toEqual([1, 0, 0])
    const other = await asNow()
    // somebody is faster: what was sent for the version of before is not done any more
    let isFirst = true
    const busy = storeOver(store, {
      patch: async (...args) => {
        if (isFirst) await give('b')
        isFirst = false
        return store.patch(...args)
      },
    })
    expect([await writes(other, busy), await writes(other, busy)]).toEqual([1, 0])
    const own = new KnownBlocks()
    await give('c', own)
    expect(await writes(own)).toBe(0)
  })
})

describe('a release', () => {
  const spec = { cidr: '10.7.0.0/28', domain: 'far', allocationPrefixLength: 32, pool: 'far', sequence: 1 }
  const unreadable = (name: string, cidr: string, domain: string) =>
    store.create({
      apiVersion: IPBlock.info.apiVersion,
      kind: IPBlock.info.kind,
      metadata: { name },
      spec: { ...spec, cidr, domain, rows: { 9: { owner: 'ns/x', uid: 'x', sequence: 5, state: 'draining' } } },
    })

  test('of some pools leaves what the owner has of others', async () => {
    await poolIn(store, 'red', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await give('a')
    await give('a', undefined, { pools: ['red'], interface: 'net2' })
    expect((await take('a', { pools: ['red'] })).kind).toBe('released')
    expect(await rows()).toEqual([`${FIRST} 1 a bound`])
  })

  test('of what another owner has given back says that there is nothing, and names no owner', async () => {
    await change('IPPool', 'blue', { reuseAfterSeconds: 3600 })
    await give('a')
    const address = Address.parse('10.0.0.1')
    expect(await take('b', { address })).toMatchObject({ kind: 'notYours', by: 'ns/a' })
    await take('a')
    expect((await take('b', { address })).kind).toBe('nothing')
  })

  test('is not kept by a block that cannot be read where nothing of that can be: of another domain, or place', async () => {
    await poolIn(store, 'far', { domain: 'far', subnets: [{ cidr: '10.7.0.0/28' }] })
    await give('a')
    const known = new KnownBlocks({ isComplete: true })
    unwrap(await unreadable('far-4-0a070000-28', '10.7.0.0/28', 'far'))
    unwrap(await unreadable('default-4-0a0000f0-28', '10.0.0.240/28', 'default'))
    for (const { apiVersion, kind } of [IPPool.info, IPBlock.info]) {
      for (const object of unwrap(await store.list({ apiVersion, kind })).items) {
        known.observe({ kind: 'present', object }, { nowMs })
      }
    }
    const kindOf = async (more: object) => (await take('b', more, known)).kind
    expect(await kindOf({ address: Address.parse('10.0.0.2') })).toBe('nothing')
    expect(await kindOf({ address: Address.parse('10.0.0.241') })).toBe('notReady')
    await change('IPBlock', 'default-4-0a0000f0-28', { rows: { 9: null } })
    for (const object of unwrap(await store.list(IPBlock.info)).items)
      known.observe({ kind: 'present', object }, { nowMs })
    expect(await kindOf({})).toBe('nothing')
    expect(await kindOf({ pools: ['far'] })).toBe('notReady')
    expect(await kindOf({ pools: ['gone'] })).toBe('notReady')
  })
})

describe('what cannot be read', () => {
  test('is not taken for nothing', async () => {
    await give('a')
    await change('IPBlock', FIRST, { rows: { 9: { owner: 'ns/x', uid: 'x', sequence: 5, state: 'draining' } } })
    for (const more of [{}, { address: Address.parse('10.0.0.1') }, { pools: ['gone'] }]) {
      expect((await take('a', more)).kind, JSON.stringify(more)).toBe('notReady')
    }
    await change('IPBlock', FIRST, { rows: { 9: null } })
    expect((await take('a')).kind).toBe('released')
  })

  test('a pool that is gone, or has lost its status, hides no rows', async () => {
    await give('a')
    await give('b')
    const ref = { apiVersion: IPPool.info.apiVersion, kind: 'IPPool', name: 'blue' }
    unwrap(await store.patch(ref, { status: { ipv4: null, ipv6: null } }, { subresource: 'status' }))
    expect((await take('a', { address: Address.parse('10.0.0.1') })).kind).toBe('released')
    unwrap(await store.patch(ref, { metadata: { finalizers: [] } }))
    unwrap(await store.delete(ref))
    expect((await take('b')).kind).toBe('released')
    expect(await rows()).toEqual([])
  })

  test('a block under the name of another one gives nothing', async () => {
    const spec = {
      cidr: '10.0.0.16/28',
      domain: 'default',
      allocationPrefixLength: 32,
      pool: 'blue',
      sequence: 1,
      rows: {},
    }
    unwrap(
      await store.create({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock', metadata: { name: FIRST }, spec }),
    )
    expect(textOf(await give('a'))).toBe('allocated 10.0.0.16')
    expect((await blocksIn(store)).map(({ metadata }) => metadata.name)).toEqual([FIRST, SECOND])
    expect(await rows()).toEqual([`${SECOND} 0 a bound`])
  })

  test('a block of other units gives nothing', async () => {
    const spec = {
      cidr: '10.0.0.0/28',
      domain: 'default',
      allocationPrefixLength: 30,
      pool: 'blue',
      sequence: 1,
      rows: {},
    }
    unwrap(
      await store.create({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock', metadata: { name: FIRST }, spec }),
    )
    expect(textOf(await give('a'))).toBe('allocated 10.0.0.16')
    const asked = await give('b', undefined, { addresses: [Address.parse('10.0.0.4')] })
    expect(asked).toMatchObject({
      kind: 'notReady',
      message: `block ${FIRST} cannot be used: its units are not those of the domain`,
    })
  })

  test('where one lies off the grid that cannot be read nothing is given, until it goes', async () => {
    const { apiVersion, kind } = IPBlock.info
    const name = 'default-4-0a000000-25'
    unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec: {} }))
    const known = await asNow()
    expect(textOf(await give('a', known))).toBe('allocated 10.0.0.128')
    const asked = { addresses: [Address.parse('10.0.0.9')] }
    expect(await give('b', known, asked)).toMatchObject({
      kind: 'notReady',
      message: `block ${name} overlaps 10.0.0.0/28, but is not on the grid of the domain`,
    })
    known.observe({ kind: 'absent', ref: { apiVersion, kind, name } }, { nowMs })
    expect(textOf(await give('b', known, asked))).toBe('allocated 10.0.0.9')
  })

  test('where the sequence of one has come to its end nothing more is given there', async () => {
    await give('a')
    await change('IPBlock', FIRST, { sequence: Number.MAX_SAFE_INTEGER })
    expect(textOf(await give('b'))).toBe('allocated 10.0.0.16')
    expect((await take('a')).kind).toBe('released')
  })

  test('where a block lies off the grid nothing is given', async () => {
    const { apiVersion } = IPBlock.info
    const place = { domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1 }
    const rows = { 1: { owner: 'ns/x', uid: 'x', sequence: 1 } }
    for (const [cidr, name] of [
      ['10.0.0.0/27', 'default-4-0a000000-27'],
      ['10.0.0.32/30', 'default-4-0a000020-30'],
    ] as const) {
      const spec = { ...place, cidr, rows }
      unwrap(await store.create({ apiVersion, kind: 'IPBlock', metadata: { name }, spec }))
    }
    expect(textOf(await give('a', await asNow()))).toBe('allocated 10.0.0.48')
    const asked = await give('b', await asNow(), { addresses: [Address.parse('10.0.0.20')] })
    expect(asked).toMatchObject({
      kind: 'notReady',
      message: 'block default-4-0a000000-27 overlaps 10.0.0.16/28, but is not on the grid of the domain',
    })
  })

  test('a row under a key that is no number of a unit is given back all the same', async () => {
    const row = { owner: 'ns/a', uid: 'a', sequence: 1 }
    const spec = { cidr: '10.0.0.0/28', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1 }
    const metadata = { name: FIRST }
    const { apiVersion } = IPBlock.info
    unwrap(await store.create({ apiVersion, kind: 'IPBlock', metadata, spec: { ...spec, rows: { '01': row } } }))
    expect(textOf(await give('b'))).toBe('allocated 10.0.0.16')
    expect((await take('a')).kind).toBe('released')
    expect(await rows()).toEqual([`${SECOND} 0 b bound`])
  })
})

describe('a task that has failed', () => {
  /** The first write is in flight and not answered, the second one is refused. */
  function failing(kind: 'patch' | 'create') {
    let late: (() => Promise<{ readonly ok: boolean }>) | undefined
    let writes = 0
    const call = async <T extends { readonly ok: boolean }>(really: () => Promise<T>) => {
      writes++
      if (writes === 1) {
        late = really
        return fail('STORE_OUTCOME_UNKNOWN', { operation: kind, object: 'x', problem: 'cut' })
      }
      if (writes === 2) return fail('STORE_IO', { operation: kind, problem: 'down' })
      return really()
    }
    return {
      store: storeOver(store, {
        patch: (ref, patch, options) => call(() => store.patch(ref, patch, options)) as ReturnType<Store['patch']>,
        create: (object) =>
          kind === 'create' ? (call(() => store.create(object)) as ReturnType<Store['create']>) : store.create(object),
      }),
      arrive: async () => (await (late as () => Promise<{ readonly ok: boolean }>)()).ok,
    }
  }

  test('leaves its doubt to the next one for that owner', async () => {
    const known = new KnownBlocks()
    await give('z', known)
    const { store: bad, arrive } = failing('patch')
    const first = await runTask(allocate(request('a'), known), bad, { now: () => nowMs })
    expect(first).toMatchObject({ kind: 'failed', failure: { code: 'STORE_IO' } })
    expect((await run(allocate(request('a'), known), bad)).kind).toBe('allocated')
    expect(await arrive()).toBe(false)
    expect((await rows()).filter((row) => row.includes(' a '))).toHaveLength(1)
  })

  test('also where all is given back, and where a block was made', async () => {
    const known = new KnownBlocks()
    await give('z', known)
    const patching = failing('patch')
    await runTask(allocate(request('a'), known), patching.store, { now: () => nowMs })
    await run(release({ owner: { uid: 'a' }, pools: ['blue'] }, known))
    expect(await patching.arrive()).toBe(false)
    expect((await rows()).filter((row) => row.includes(' a '))).toEqual([])
  })

  test('leaves it also when another task was about to write the same version, and could not', async () => {
    const known = new KnownBlocks()
    await give('z', known)
    const { store: bad, arrive } = failing('patch')
    await runTask(allocate(request('a'), known), bad, { now: () => nowMs })
    const denied = storeOver(store, {
      create: async () => fail('STORE_INVALID', { object: 'x', path: '', problem: 'denied' }),
      patch: async () => fail('STORE_INVALID', { object: 'x', path: '', problem: 'denied' }),
    })
    await runTask(allocate(request('b'), known), denied, { now: () => nowMs })
    expect([known.unconfirmed('a').length, known.unconfirmed('b').length]).toEqual([1, 0])
    await run(allocate(request('a'), known))
    expect(await arrive()).toBe(false)
    expect((await rows()).filter((row) => row.includes(' a '))).toHaveLength(1)
  })

  test('leaves it to its own interface, and to a release of all interfaces', async () => {
    const known = new KnownBlocks()
    await give('z', known)
    const { store: bad } = failing('patch')
    await runTask(allocate(request('a', { interface: 'net1' }), known), bad, { now: () => nowMs })
    const unconfirmed = (name: string | undefined) => known.unconfirmed('a', { name }).map((sent) => sent.name)
    expect([unconfirmed('net1'), unconfirmed('net2'), unconfirmed(undefined)]).toEqual([[FIRST], [], []])
    expect(known.unconfirmed('a')).toHaveLength(1)
  })

  test('keeps others from its block for a while only', async () => {
    const known = await asNow()
    const down = storeOver(store, { create: async () => fail('STORE_IO', { operation: 'create', problem: 'down' }) })
    await runTask(allocate(request('a'), known), down, { now: () => nowMs })
    nowMs += 10_000
    expect(textOf(await give('b', known))).toBe('allocated 10.0.0.1')
  })
})

describe('what an owner has and does not ask for', () => {
  test('is not given to it as what it asks for', async () => {
    await give('a')
    expect(await give('a', undefined, { count: 4 })).toMatchObject({
      kind: 'different',
      message: 'ns/a has 10.0.0.1 of pool blue',
    })
    expect((await give('a', undefined, { prefixLengths: { ipv4: 30 } })).kind).toBe('different')
    await give('b', undefined, { count: 3 })
    expect(await give('b')).toMatchObject({ kind: 'different', message: 'ns/b has 3 from 10.0.0.2 of pool blue' })
    expect((await give('b', undefined, { count: 3 })).kind).toBe('already')
  })

  test('that was kept is no prefix if it does not lie like one', async () => {
    const sticky: IPPoolSpec['sticky'] = { by: 'owner', forSeconds: 3600 }
    await change('IPPool', 'blue', { sticky })
    expect(textOf(await give('a', undefined, { count: 4 }))).toBe('allocated 10.0.0.1')
    await take('a')
    expect(textOf(await give('a', undefined, { prefixLengths: { ipv4: 30 } }))).toBe('allocated 10.0.0.8')
  })

  test('that was kept is not given again while another owner has it without a row', async () => {
    await change('IPPool', 'blue', { sticky: { by: 'owner', forSeconds: 3600 } })
    expect(textOf(await give('a'))).toBe('allocated 10.0.0.1')
    await take('a')
    const heldBy = (prefix: Prefix) => (Prefix.format(prefix) === '10.0.0.1/32' ? 'ns/x' : undefined)
    expect(textOf(await give('a', undefined, { heldBy }))).toBe('allocated 10.0.0.2')
  })

  test('comes back as it was when not all of it can be given', async () => {
    const rules = { reuseAfterSeconds: 3600, sticky: { by: 'owner', forSeconds: 7200 } } as const
    await poolIn(store, 'both', { subnets: [{ cidr: '10.0.9.0/24' }, { cidr: 'fd00::/126' }], ...rules })
    const [families, pools] = [[4, 6] as const, ['both']]
    await give('slow', undefined, { pools })
    await take('slow', { pools })
    await give('f1', undefined, { pools, families: [6] })
    const before = (await rows()).filter((row) => row.includes(' slow '))
    expect(before).toEqual(['default-4-0a000900-28 1 slow held'])
    let isFaster = true
    const racing = storeOver(store, {
      patch: async (ref, patch, options) => {
        if (isFaster && ref.name.includes('-6-')) {
          isFaster = false
          await give('f2', undefined, { pools, families: [6] })
          await give('f3', undefined, { pools, families: [6] })
        }
        return store.patch(ref, patch, options)
      },
    })
    const outcome = await run(allocate(request('slow', { pools, families }), new KnownBlocks()), racing)
    expect(outcome.kind).toBe('exhausted')
    expect((await rows()).filter((row) => row.includes(' slow '))).toEqual(before)
    expect(textOf(await give('other', undefined, { pools }))).toBe('allocated 10.0.9.2')
    expect(textOf(await give('slow', undefined, { pools }))).toBe('allocated 10.0.9.1')
  })
})

test.each<[string, object]>([
  ['owner.uid', { owner: { uid: 'u'.repeat(37), name: 'ns/a' } }],
  ['owner.name', { owner: { uid: 'u', name: 'ns/ä' } }],
  ['owner.kind', { owner: { uid: 'u', name: 'ns/a', kind: 3 } }],
  ['interface', { interface: 5 }],
  ['interface', { interface: '__proto__' }],
  ['interface', { interface: 'i'.repeat(16) }],
  ['container', { container: '' }],
  ['mac', { mac: '02-00-00-00-00-01' }],
  ['node.name', { node: { name: 'Node 1' } }],
  ['pools', { pools: ['Blue'] }],
  ['prefixLengths.ipv4', { prefixLengths: { ipv4: 30.5 } }],
  ['prefixLengths.ipv6', { prefixLengths: { ipv6: 129 } }],
])('a request that no block can hold is refused before anything is written: %s', (argument, more) => {
  expect(() => allocate(request('a', more as Partial<AllocationRequest>), new KnownBlocks())).toThrow(
    `argument ${argument}: expected`,
  )
})

describe('tasks that know together', () => {
  /** Carries a task out, and another one whole after each of its writes. */
  async function amid<O extends Outcome>(task: Task<O>, other: () => Promise<unknown>): Promise<O> {
    const amidst = async <T>(written: Promise<T>) => {
      await written
      await other()
      return written
    }
    const on = storeOver(store, {
      create: (object) => amidst(store.create(object)),
      patch: (ref, patch, options) => amidst(store.patch(ref, patch, options)),
      delete: (ref, options) => amidst(store.delete(ref, options)),
    })
    return run(task, on)
  }

  const families = [4, 6] as const

  beforeEach(async () => {
    await poolIn(store, 'tight', { domain: 'tight', subnets: [{ cidr: '10.9.0.0/30' }, { cidr: 'fd09::/126' }] })
  })

  test.each([true, false])(
    'take nothing from what another one goes by when there is no room: handle %s',
    async (handle) => {
      const known = new KnownBlocks()
      const pools = ['tight']
      for (const uid of ['a', 'b']) await give(uid, known, { pools, families, handle })
      const noRoom = async () => expect((await give('c', known, { pools, count: 2 })).kind).toBe('exhausted')
      nowMs += 60_000
      const outcome = await amid(release({ owner: { uid: 'a' }, ...(handle ? { handle } : { pools }) }, known), noRoom)
      expect(outcome.kind).toBe('released')
      expect((await rows()).filter((row) => row.includes(' a '))).toEqual([])
    },
  )

  test('do not believe that a block is absent that has come while one of them asked for it', async () => {
    const known = new KnownBlocks()
    await poolIn(store, 'both', { domain: 'both', subnets: [{ cidr: '10.8.0.0/28' }, { cidr: 'fd08::/124' }] })
    const { apiVersion, kind } = IPBlock.info
    const ref = { apiVersion, kind, name: 'both-4-0a080000-28' }
    const since = known.clock
    const late = async () => known.observe({ kind: 'absent', ref, confirmed: true }, { nowMs, since })
    const outcome = await amid(allocate(request('a', { pools: ['both'], families }), known), late)
    expect(textOf(outcome)).toBe('allocated 10.8.0.1 fd08::1')
    expect((await rows()).filter((row) => row.includes(' a '))).toHaveLength(2)
    expect([await late(), known.block(ref.name) === 'absent']).toEqual([false, false])
    // asked for since then it is believed
    expect(known.observe({ kind: 'absent', ref, confirmed: true }, { nowMs })).toBe(true)
    expect(known.block(ref.name)).toBe('absent')
  })

  test('nor an address twice to one owner', async () => {
    const known = new KnownBlocks()
    const pools = ['tight', 'blue']
    const noRoom = async () => expect((await give('c', known, { pools: ['tight'], count: 3 })).kind).toBe('exhausted')
    await poolIn(store, 'six', { domain: 'six', subnets: [{ cidr: 'fd10::/126' }] })
    const outcome = await amid(allocate(request('a', { pools: [...pools, 'six'], families }), known), noRoom)
    expect(outcome.kind).toBe('allocated')
    expect((await rows()).filter((row) => row.includes(' a '))).toHaveLength(2)
  })
})
