import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { adopt, allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { standingStore } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { IPPoolSpec } from '../../../../src/crd/ipam-kit/ip-pool.js'
import { poolsFor } from '../../../../src/provider/blocks/pool/eligible.js'
import type { AllocationOutcome } from '../../../../src/provider/blocks/tasks/outcome.js'
import type {
  AdoptionRequest,
  AllocationRequest,
  ReleaseRequest,
} from '../../../../src/provider/blocks/tasks/request.js'
import { blockStore, blocksIn, type Grids, kinds, poolIn, request } from '../world.js'

let store: Store
let nowMs: number
beforeEach(() => {
  store = blockStore()
  nowMs = 1_000_000
})

async function give(wanted: AllocationRequest, known = new KnownBlocks()): Promise<AllocationOutcome> {
  const ended = await runTask(allocate(wanted, known), store, { now: () => nowMs })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome
}

async function take(wanted: AllocationRequest, text: string, known = new KnownBlocks()): Promise<AllocationOutcome> {
  const adoption: AdoptionRequest = { ...wanted, addresses: [Address.parse(text)], outOfRange: 'record' }
  const ended = await runTask(adopt(adoption, known), store, { now: () => nowMs })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome
}

async function giveBack(wanted: ReleaseRequest, known = new KnownBlocks()) {
  const ended = await runTask(release({ pools: ['blue'], ...wanted }, known), store, { now: () => nowMs })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome
}

function texts(outcome: AllocationOutcome): readonly string[] {
  if (!('allocations' in outcome)) return [outcome.kind]
  return outcome.allocations.map(({ address }) => Address.format(address))
}

async function blue(spec: Partial<IPPoolSpec> & Pick<IPPoolSpec, 'subnets'>, grids?: Grids) {
  return poolIn(store, 'blue', spec, grids)
}

test('an adoption that an old block denies reads the block, and has the address when it is free by then', async () => {
  await blue({ subnets: [{ cidr: '10.0.0.0/26', gateway: '10.0.0.1' }] })
  const known = new KnownBlocks({ isComplete: true })
  await give(request('a'))
  for (const kind of ['IPPool', 'IPDomain', 'IPBlock'] as const) {
    const { items } = unwrap(await store.list({ apiVersion: IPBlock.info.apiVersion, kind }))
    for (const object of items) known.observe({ kind: 'present', object }, { nowMs })
  }
  // the process has not seen yet that the owner has given it back
  await giveBack({ owner: { uid: 'a' } })
  expect(await take(request('b'), '10.0.0.2', known)).toMatchObject({ kind: 'allocated', message: 'ns/b has 10.0.0.2' })
})

describe('an allocation', () => {
  test('is the lowest address that is free, and the same again for the same owner', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/26', gateway: '10.0.0.1' }] })
    const known = new KnownBlocks()
    const first = await give(request('a'), known)
    expect(first).toMatchObject({ kind: 'allocated', message: 'ns/a has 10.0.0.2' })
    expect(first.kind === 'allocated' && first.allocations).toEqual([
      {
        family: 4,
        address: Address.parse('10.0.0.2'),
        count: 1,
        prefix: Prefix.parse('10.0.0.2/32'),
        subnet: Prefix.parse('10.0.0.0/26'),
        gateway: Address.parse('10.0.0.1'),
        pool: 'blue',
        block: 'default-4-0a000000-28',
        sequence: 1_000_000_000,
      },
    ])
    expect(texts(await give(request('b'), known))).toEqual(['10.0.0.3'])
    const again = await give(request('a'), known)
    expect(again.kind).toBe('already')
    expect(texts(again)).toEqual(['10.0.0.2'])
  })

  test('of both families is one of each, or none', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24' }, { cidr: 'fd00::/64', ranges: ['fd00::5'] }] })
    const known = new KnownBlocks()
    expect(texts(await give(request('a', { families: [4, 6] }), known))).toEqual(['10.0.0.1', 'fd00::5'])
    const second = await give(request('b', { families: [4, 6] }), known)
    expect(second).toEqual({ kind: 'exhausted', message: 'no IPv6 available in blue', family: 6, freeAtMs: undefined })
    // nothing of it is left
    const rows = (await blocksIn(store)).flatMap(({ spec }) => Object.values(spec.rows))
    expect(rows.map(({ uid }) => uid)).toEqual(['a', 'a'])
  })

  test('continues in the next block, and says when none is left', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/27' }] })
    const known = new KnownBlocks()
    const given: string[] = []
    for (let n = 0; n < 30; n++) given.push(...texts(await give(request(`o${n}`), known)))
    expect(given).toEqual(Array.from({ length: 30 }, (_, n) => `10.0.0.${n + 1}`))
    expect(await give(request('late'), known)).toMatchObject({ kind: 'exhausted', family: 4 })
    expect((await blocksIn(store)).map(({ metadata }) => metadata.name)).toEqual([
      'default-4-0a000000-28',
      'default-4-0a000010-28',
    ])
  })

  test('of an address that is asked for is that one or none', async () => {
    await blue({
      subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.0.1', reserved: ['10.0.0.9'], exclude: ['10.0.0.8'] }],
    })
    const ask = (uid: string, text: string) => give(request(uid, { addresses: [Address.parse(text)] }))
    expect(texts(await ask('a', '10.0.0.9'))).toEqual(['10.0.0.9'])
    expect(await ask('b', '10.0.0.9')).toMatchObject({
      kind: 'taken',
      by: 'ns/a',
      message: '10.0.0.9 is in use by ns/a',
    })
    for (const text of ['10.0.0.1', '10.0.0.0', '10.0.0.8', '10.0.1.1']) {
      expect(await ask('b', text)).toEqual({ kind: 'outOfPool', message: `${text} is not given by blue` })
    }
    expect(await ask('a', '10.0.0.10')).toMatchObject({ kind: 'different', message: 'ns/a has 10.0.0.9 of pool blue' })
  })

  test('of an address that its owner has already may be one that the pool does not give', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.0.1', exclude: ['10.0.0.8'] }] })
    const ask = (uid: string, text: string, more?: Partial<AllocationRequest>) => take(request(uid, more), text)
    for (const [uid, text] of Object.entries({ a: '10.0.0.1', b: '10.0.0.8', c: '10.9.9.9', d: '10.0.0.7' })) {
      expect(texts(await ask(uid, text))).toEqual([text])
      expect(await ask('late', text)).toMatchObject({ kind: 'taken', by: `ns/${uid}` })
    }
    expect((await blocksIn(store)).map(({ spec }) => [spec.cidr, Object.keys(spec.rows)])).toEqual([
      ['10.0.0.0/28', ['1', '7', '8']],
      ['10.9.9.0/28', ['9']],
    ])
    expect(await ask('e', 'fd00::1', { families: [6] })).toEqual({
      kind: 'outOfPool',
      message: 'pool blue has no IPv6',
    })
    const selected = { subnets: [{ cidr: '10.0.0.0/24' }], nodeSelector: { matchLabels: { zone: 'a' } } }
    await poolIn(store, 'green', selected)
    expect(await ask('e', '10.9.9.1', { pools: ['green'] })).toMatchObject({ kind: 'refused' })
    await giveBack({ owner: { uid: 'c' }, pools: ['blue'] })
    expect(texts(await ask('f', '10.9.9.9'))).toEqual(['10.9.9.9'])
  })

  test('of such an address is of the pool that gives it, where one does', async () => {
    await poolIn(store, 'near', { subnets: [{ cidr: '10.0.0.0/24' }], domain: 'near' })
    await poolIn(store, 'far', { subnets: [{ cidr: '10.9.9.0/24' }], domain: 'far' })
    const given = await take(request('a', { pools: ['near', 'far'] }), '10.9.9.9')
    expect(given).toMatchObject({ kind: 'allocated', allocations: [{ pool: 'far' }] })
  })

  test('of several such addresses in a row is one of a single block, or none', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24' }] })
    const ask = (uid: string, text: string) => take(request(uid, { count: 4 }), text)
    expect(texts(await ask('a', '10.9.9.12'))).toEqual(['10.9.9.12'])
    for (const text of ['10.9.9.30', '10.0.0.14']) expect(await ask('b', text)).toMatchObject({ kind: 'outOfPool' })
    expect(texts(await give(request('c')))).toEqual(['10.0.0.1'])
  })

  test('of an address takes over the row of an earlier owner of its name, and of no other owner', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24' }] })
    await give(request('first', { owner: { uid: 'first', name: 'ns/web' } }))
    const namesake = request('second', { owner: { uid: 'second', name: 'ns/web' } })
    const asked = { ...namesake, addresses: [Address.parse('10.0.0.1')] }
    expect(await give(asked)).toMatchObject({ kind: 'taken', by: 'ns/web' })
    expect(await take(request('other'), '10.0.0.1')).toMatchObject({ kind: 'taken', by: 'ns/web' })
    expect(texts(await take(namesake, '10.0.0.1'))).toEqual(['10.0.0.1'])
    expect((await blocksIn(store)).map(({ spec }) => spec.rows)).toMatchObject([{ 1: { uid: 'second' } }])
  })

  test('of such an address waits for a block that is going', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24' }] })
    const ask = (uid: string, text: string) => take(request(uid), text)
    await ask('a', '10.9.9.9')
    const [block] = await blocksIn(store)
    const { apiVersion, kind } = IPBlock.info
    unwrap(await store.delete({ apiVersion, kind, name: block?.metadata.name ?? '' }))
    expect(await ask('b', '10.9.9.10')).toMatchObject({
      kind: 'notReady',
      message: expect.stringContaining('it is being deleted'),
    })
  })

  test('of such an address makes no block for a node', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24' }], affinity: { by: 'node', maxBlocksPerNode: 1, borrow: false } })
    const node = { name: 'n1' }
    await take(request('a', { node }), '10.9.9.9')
    expect(texts(await give(request('b', { node })))).toEqual(['10.0.0.1'])
    expect((await blocksIn(store)).map(({ spec }) => [spec.cidr, spec.node])).toEqual([
      ['10.0.0.0/28', 'n1'],
      ['10.9.9.0/28', undefined],
    ])
  })

  test('of such a prefix is one of those that its domain has, or none', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24' }] }, { ipv4: { blockPrefixLength: 24, allocationPrefixLength: 28 } })
    const ask = (uid: string, text: string) => take(request(uid), text)
    expect(texts(await ask('a', '10.9.9.16'))).toEqual(['10.9.9.16'])
    expect(await ask('b', '10.9.9.17')).toMatchObject({ kind: 'outOfPool' })
  })

  test('of many pools that have nothing names the first of them', async () => {
    const pools = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const ask = (addresses?: readonly Address[]) => give(request('x', { pools, addresses }))
    const absent = pools.slice(0, 5).map((name) => `there is no pool ${name}`)
    expect(await ask()).toMatchObject({ kind: 'notReady', message: `${absent.join('; ')}; and more` })
    for (const name of pools) await poolIn(store, name, { subnets: [{ cidr: '10.0.0.0/30' }] })
    await give(request('y', { pools }))
    await give(request('z', { pools }))
    expect(await ask()).toMatchObject({ kind: 'exhausted', message: 'no IPv4 available in a, b, c, d, e, and more' })
    expect(await ask([Address.parse('10.1.0.0')])).toMatchObject({
      kind: 'outOfPool',
      message: '10.1.0.0 is not given by a, b, c, d, e, and more',
    })
  })

  test('in the order next continues after the last address, also in another process and where that is released', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/28' }], order: 'next' })
    expect(texts(await give(request('a', { count: 2 })))).toEqual(['10.0.0.1'])
    await giveBack({ owner: { uid: 'a' } })
    expect(texts(await give(request('b', { count: 2 })))).toEqual(['10.0.0.3'])
    await giveBack({ owner: { uid: 'b' } })
    expect(texts(await give(request('c')))).toEqual(['10.0.0.5'])
    expect(texts(await give(request('e', { count: 9 })))).toEqual(['10.0.0.6'])
    expect(texts(await give(request('f')))).toEqual(['10.0.0.1'])
  })

  test('of several in a row, and of prefixes of several units', async () => {
    await blue(
      { subnets: [{ cidr: '10.0.0.0/24' }, { cidr: 'fd00::/48' }] },
      {
        ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 },
        ipv6: { blockPrefixLength: 56, allocationPrefixLength: 64 },
      },
    )
    const known = new KnownBlocks()
    await give(request('a'), known)
    const run = await give(request('b', { count: 14 }), known)
    expect(run).toMatchObject({ allocations: [{ count: 14, address: Address.parse('10.0.0.2') }] })
    // not in what is left of the first block
    expect(texts(await give(request('c', { count: 2 }), known))).toEqual(['10.0.0.16'])
    expect(texts(await give(request('d'), known))).toEqual(['10.0.0.18'])
    const six = { families: [6] } as const
    const one = await give(request('e', six), known)
    expect(one).toMatchObject({ allocations: [{ prefix: Prefix.parse('fd00::/64') }] })
    const wide = await give(request('f', { ...six, prefixLengths: { ipv6: 60 } }), known)
    expect(wide).toMatchObject({ allocations: [{ prefix: Prefix.parse('fd00:0:0:10::/60'), count: 16 }] })
    const wider = await give(request('g', { ...six, prefixLengths: { ipv6: 52 } }), known)
    expect(wider).toEqual({ kind: 'refused', message: 'pool blue: it gives prefixes from /56 to /64, and not /52' })
  })
})

describe('the pools of a request that names none', () => {
  test('are those for it, by priority', async () => {
    const known = new KnownBlocks({ isComplete: true })
    const subnets = [{ cidr: '10.0.0.0/24' }]
    const add = async (name: string, spec: Partial<IPPoolSpec>) =>
      known.observe({ kind: 'present', object: await poolIn(store, name, { subnets, ...spec }) }, { nowMs })
    await add('b', {})
    await add('a', {})
    await add('best', { priority: 5 })
    await add('worst', { priority: -1 })
    await add('off', { disabled: true })
    await add('edge', { nodeSelector: { matchLabels: { zone: 'edge' } } })
    await add('lab', { namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] } })
    expect(poolsFor(known, {})).toEqual(['best', 'a', 'b', 'worst'])
    const node = { name: 'n1', labels: { zone: 'edge' } }
    expect(poolsFor(known, { node, namespaceLabels: { team: 'x' } })).toEqual([
      'best',
      'a',
      'b',
      'edge',
      'lab',
      'worst',
    ])
  })
})

describe('blocks of nodes', () => {
  const spec = (more: object = {}) => ({
    subnets: [{ cidr: '10.0.0.0/26' }],
    affinity: { by: 'node', borrow: true, ...more } as const,
  })
  const at = (name: string, uid: string) => request(uid, { node: { name } })

  /** Who knows all blocks, as a controller does. */
  async function all(): Promise<KnownBlocks> {
    const known = new KnownBlocks({ isComplete: true })
    for (const { apiVersion, kind } of kinds) {
      for (const object of unwrap(await store.list({ apiVersion, kind })).items)
        known.observe({ kind: 'present', object }, { nowMs })
    }
    return known
  }

  test('are one for each node, and another one when that is full', async () => {
    await blue(spec())
    const known = await all()
    expect(texts(await give(at('n1', 'a'), known))).toEqual(['10.0.0.1'])
    expect(texts(await give(at('n2', 'b'), known))).toEqual(['10.0.0.16'])
    expect(texts(await give(at('n1', 'c'), known))).toEqual(['10.0.0.2'])
    for (let n = 0; n < 14; n++) await give(at('n1', `n1-${n}`), known)
    expect((await blocksIn(store)).map(({ spec: { cidr, node } }) => `${cidr} ${node}`)).toEqual([
      '10.0.0.0/28 n1',
      '10.0.0.16/28 n2',
      '10.0.0.32/28 n1',
    ])
  })

  test('are not more than a node may have: then it borrows, or gets nothing', async () => {
    await blue(spec({ maxBlocksPerNode: 1 }))
    const known = await all()
    expect(texts(await give(at('n2', 'other'), known))).toEqual(['10.0.0.1'])
    for (let n = 0; n < 16; n++) await give(at('n1', `n1-${n}`), known)
    expect(texts(await give(at('n1', 'more'), known))).toEqual(['10.0.0.2'])
    const strict = spec({ maxBlocksPerNode: 1, borrow: false })
    unwrap(await store.patch({ ...kinds[1], name: 'blue' }, { spec: strict }))
    expect(await give(at('n1', 'strict'), await all())).toMatchObject({ kind: 'exhausted' })
    expect(texts(await give(at('n2', 'own'), await all()))).toEqual(['10.0.0.3'])
  })

  test('are not more than a node may have, also where it asks for addresses of others', async () => {
    await blue(spec({ maxBlocksPerNode: 1, borrow: false }))
    const known = await all()
    await give(at('n1', 'a'), known)
    for (const text of ['10.0.0.20', '10.0.0.40']) {
      const asked = { ...at('n1', text), addresses: [Address.parse(text)] }
      expect(texts(await give(asked, known))).toEqual([text])
    }
    expect((await blocksIn(store)).map(({ spec: { cidr, node } }) => [cidr, node])).toEqual([
      ['10.0.0.0/28', 'n1'],
      ['10.0.0.16/28', undefined],
      ['10.0.0.32/28', undefined],
    ])
  })

  test('are those of a node too where what it keeps is of the pool', async () => {
    await blue(spec({ maxBlocksPerNode: 1 }))
    expect(texts(await take(at('n1', 'a'), '10.0.0.20', await all()))).toEqual(['10.0.0.20'])
    expect((await blocksIn(store))[0]?.spec.node).toBe('n1')
  })

  test('are asked for by a writer that does not know them', async () => {
    await blue(spec())
    expect(texts(await give(at('n1', 'a')))).toEqual(['10.0.0.1'])
    expect(texts(await give(at('n1', 'b')))).toEqual(['10.0.0.2'])
    expect(texts(await give(at('n2', 'c')))).toEqual(['10.0.0.16'])
    expect(texts(await give(at('n1', 'd')))).toEqual(['10.0.0.3'])
  })

  test('are used by an owner without a node when there are no others', async () => {
    await blue(spec({}))
    const known = await all()
    for (const node of ['n1', 'n2', 'n3', 'n4']) await give(at(node, node), known)
    expect(texts(await give(request('nowhere'), known))).toEqual(['10.0.0.2'])
  })
})

describe('a release', () => {
  test.each<[string, object, string]>([
    ['an uid that is none', { owner: { uid: 7 } }, 'owner.uid'],
    ['an uid that no row has', { owner: { uid: 'a b' } }, 'owner.uid'],
    ['an address as a text', { address: '10.0.0.1' }, 'address'],
    ['no number', { sequence: Number.NaN }, 'sequence'],
    ['no container', { container: '' }, 'container'],
    ['no interface', { interface: '' }, 'interface'],
    ['no pools', { pools: [] }, 'pools'],
    ['pools that have no names', { pools: ['Blue'] }, 'pools'],
  ])('is refused of %s', (_, wrong, argument) => {
    const asked = { owner: { uid: 'a' }, pools: ['blue'], ...wrong } as Parameters<typeof release>[0]
    expect(() => release(asked, new KnownBlocks({ isComplete: true }))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) }),
    )
  })

  test('frees at once, is done twice without harm, and takes nothing from others', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/24' }] })
    const first = await give(request('a'))
    if (first.kind !== 'allocated') throw new Error(first.kind)
    const [{ address, sequence } = { address: undefined, sequence: undefined }] = first.allocations
    expect(await giveBack({ owner: { uid: 'b' }, address })).toEqual({
      kind: 'notYours',
      message: 'ns/a has it',
      by: 'ns/a',
    })
    expect((await giveBack({ owner: { uid: 'a' }, address, sequence })).kind).toBe('released')
    expect((await giveBack({ owner: { uid: 'a' }, address, sequence })).kind).toBe('nothing')
    const again = await give(request('a'))
    expect(texts(again)).toEqual(['10.0.0.1'])
    // one that comes late
    expect((await giveBack({ owner: { uid: 'a' }, address, sequence })).kind).toBe('nothing')
    expect((await giveBack({ owner: { uid: 'a' } })).kind).toBe('released')
  })

  test('that is repeated takes nothing after a create of the block arrived late', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/29' }] })
    let sequence: number | undefined
    const below = store
    store = standingStore(below, 1, async () => {
      store = below
      expect(texts(await give(request('a')))).toEqual(['10.0.0.1'])
      const second = await give(request('b'))
      if (second.kind === 'allocated') sequence = second.allocations[0]?.sequence
      for (const uid of ['a', 'b']) expect((await giveBack({ owner: { uid } })).kind).toBe('released')
      const [block] = await blocksIn(store)
      const ref = { ...IPBlock.info, name: block?.metadata.name ?? '' }
      unwrap(await store.patch(ref, { metadata: { finalizers: [] } }))
      unwrap(await store.delete(ref))
      nowMs += 60_000
    })
    expect(texts(await give(request('late')))).toEqual(['10.0.0.1'])
    expect(texts(await give(request('b')))).toEqual(['10.0.0.2'])
    expect((await giveBack({ owner: { uid: 'b' }, sequence })).kind).toBe('nothing')
    expect((await giveBack({ owner: { uid: 'b' } })).kind).toBe('released')
  })

  test('keeps an address from all for a time', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/30' }], reuseAfterSeconds: 60 })
    const known = new KnownBlocks()
    expect(texts(await give(request('a'), known))).toEqual(['10.0.0.1'])
    expect(texts(await give(request('b'), known))).toEqual(['10.0.0.2'])
    await giveBack({ owner: { uid: 'a' } }, known)
    nowMs += 59_999
    expect(await give(request('c'), known)).toMatchObject({ kind: 'exhausted', freeAtMs: 1_060_000 })
    nowMs += 1
    expect(texts(await give(request('c'), known))).toEqual(['10.0.0.1'])
    const [block] = await blocksIn(store)
    expect(block?.spec.rows[1]).toEqual({ owner: 'ns/c', uid: 'c', sequence: 1_060_000_000 })
  })

  test('keeps an address for an owner that comes again with its MAC', async () => {
    await blue({ subnets: [{ cidr: '10.0.0.0/29' }], sticky: { by: 'mac', forSeconds: 60 } })
    const known = new KnownBlocks()
    const mac = '02:00:00:00:00:0A'
    expect(texts(await give(request('a', { mac }), known))).toEqual(['10.0.0.1'])
    await giveBack({ owner: { uid: 'a' } }, known)
    expect(texts(await give(request('b'), known))).toEqual(['10.0.0.2'])
    expect(texts(await give(request('c', { mac: mac.toLowerCase() }), known))).toEqual(['10.0.0.1'])
    await giveBack({ owner: { uid: 'c' } }, known)
    nowMs += 60_000
    expect(texts(await give(request('d'), known))).toEqual(['10.0.0.1'])
  })
})

describe('a request of the wrong task is refused', () => {
  const addresses = [Address.parse('10.0.0.5')]
  const named = (argument: string) =>
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) })

  test('by allocate: outOfRange', () => {
    const adoption = { ...request('a'), addresses, outOfRange: 'record' } as const
    expect(() => allocate(adoption, new KnownBlocks())).toThrow(named('outOfRange'))
    expect(() =>
      allocate({ ...request('a'), outOfRange: undefined } as AllocationRequest, new KnownBlocks()),
    ).not.toThrow()
  })

  test.each([
    ['addresses', { addresses: [] }],
    ['addresses', { addresses, families: [4, 6] }],
    ['prefixLengths', { addresses, prefixLengths: { ipv4: 30 } }],
  ] as const)('by adopt: %s', (argument, more) => {
    const adoption = { ...request('a'), outOfRange: 'record', ...more } as AdoptionRequest
    expect(() => adopt(adoption, new KnownBlocks())).toThrow(named(argument))
  })
})
