import type { KubeObject } from 'ipam-kit/crd/meta'
import { IpamError } from 'ipam-kit/errors'
import { type InClusterOptions, inCluster } from 'ipam-kit/provider/in-cluster'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { Host } from './host.js'
import { addressRef, claim, claimRef, pool, poolOf, poolRef, World } from './world.js'

const asks = (name: string, address: string) => claim(name, { annotations: { 'ipam-kit.dev/address': address } })
const keeps = (addresses: readonly string[], kept: unknown) => {
  const made = pool(addresses)
  const annotations = { 'ipam-kit.dev/preallocations': typeof kept === 'string' ? kept : JSON.stringify(kept) }
  return { ...made, metadata: { ...made.metadata, annotations } }
}

async function start(options: InClusterOptions, ...objects: readonly KubeObject[]) {
  const world = new World()
  const host = new Host(world, options)
  await world.create(...objects)
  await host.run()
  return { world, host }
}

async function readyOf(world: World, name: string) {
  const ready = (await world.claim(name)).status?.conditions?.find(({ type }) => type === 'Ready')
  return ready && `${ready.status} ${ready.reason} ${ready.message}`.trim()
}

describe('options that mean nothing are refused', () => {
  test.each<[string, object]>([
    ['poolConditions', { poolConditions: 'yes' }],
    ['requestedAddress', { requestedAddress: true }],
    ['requestedAddress.annotation', { requestedAddress: { annotation: '' } }],
    ['preallocations.annotation', { preallocations: { annotation: 5 } }],
    ['sticky', { sticky: null }],
    ['preallocations.entries', { preallocations: { entries: { 'InClusterIPPool default/pool': { a: 5 } } } }],
    ['preallocations.entries', { preallocations: { entries: { a: '10.0.0.5' } } }],
    ['sticky.formerAddresses', { sticky: { formerAddresses: 5 } }],
    [
      'sticky.formerAddresses',
      { sticky: { formerAddresses: [{ pool: 'InClusterIPPool default/pool', key: 'default/a' }] } },
    ],
    ['sticky.limit', { sticky: { limit: 0 } }],
    ['sticky.limit', { sticky: { limit: 1.5 } }],
    ['random', { random: 42 }],
    ['random.seed', { random: { seed: Number.NaN } }],
    ['overlaps', { overlaps: 'never' }],
    ['sweepAfterSeconds', { sweepAfterSeconds: 0 }],
    ['sweepAfterSeconds', { sweepAfterSeconds: Number.NaN }],
    ['sweepAfterSeconds', { sweepAfterSeconds: 1e9 }],
  ])('%s', (argument, options) => {
    const made = () => inCluster(options as InClusterOptions)
    expect(made).toThrow(IpamError)
    expect(made).toThrow(argument)
  })
})

describe('a requested address', () => {
  const options: InClusterOptions = { requestedAddress: {} }

  test('is given, and no other one', async () => {
    const { world } = await start(options, pool(['10.0.0.5-10.0.0.9']), asks('a', '10.0.0.8'), claim('b'))
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.8', 'default/b': '10.0.0.5' })
  })

  test('means nothing unless it is asked for, or under another name', async () => {
    const { world } = await start({}, pool(['10.0.0.5-10.0.0.9']), asks('a', '10.0.0.8'))
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    const named = { requestedAddress: { annotation: 'ipAddress' } }
    const other = await start(named, pool(['10.0.0.5-10.0.0.9']), asks('a', '10.0.0.8'))
    expect(await other.world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    const metal3 = claim('a', { annotations: { ipAddress: '10.0.0.8' } })
    expect(await (await start(named, pool(['10.0.0.5-10.0.0.9']), metal3)).world.bindings()).toEqual({
      'default/a': '10.0.0.8',
    })
  })

  test.each([
    [
      'ten',
      'the requested "ten" is not what InClusterIPPool default/pool gives: no address, or no prefix of its length',
    ],
    ['', 'the requested "" is not what InClusterIPPool default/pool gives: no address, or no prefix of its length'],
    [
      '10.0.0.8/24',
      'the requested "10.0.0.8/24" is not what InClusterIPPool default/pool gives: no address, or no prefix of its length',
    ],
    ['10.0.0.99', 'the requested 10.0.0.99 is not one that InClusterIPPool default/pool gives'],
    ['10.0.0.7', 'the requested 10.0.0.7 is not one that InClusterIPPool default/pool gives'],
    ['fd00::1', 'the requested fd00::1 is not one that InClusterIPPool default/pool gives'],
  ])('%j is refused, and the claim gets nothing else', async (text, message) => {
    const made = pool(['10.0.0.5-10.0.0.9'], { excludedAddresses: ['10.0.0.7'] })
    const { world } = await start(options, made, asks('a', text))
    expect(await world.bindings()).toEqual({})
    expect(await readyOf(world, 'a')).toBe(`False AllocationFailed ${message}`)
  })

  test('that is taken is waited for, and given as soon as it is free', async () => {
    const { world, host } = await start(options, pool(['10.0.0.5-10.0.0.9']), claim('first'))
    await world.create(asks('a', '10.0.0.5'))
    await host.run()
    expect(await readyOf(world, 'a')).toBe(
      'False AllocationFailed the requested 10.0.0.5 of InClusterIPPool default/pool is in use by default/first',
    )
    await world.delete('claim', 'first')
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    expect(await readyOf(world, 'a')).toBe('True AddressAllocated')
  })

  test('may be corrected', async () => {
    const { world, host } = await start(options, pool(['10.0.0.5-10.0.0.9']), asks('a', '10.0.0.99'))
    await world.patch(claimRef('a'), { metadata: { annotations: { 'ipam-kit.dev/address': '10.0.0.9' } } })
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.9' })
    await world.patch(claimRef('a'), { metadata: { annotations: { 'ipam-kit.dev/address': '10.0.0.6' } } })
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.9' })
  })

  test.each([
    ['10.0.32.0/20', '10.0.32.0'],
    ['10.0.48.0', '10.0.48.0'],
  ])('of a prefix pool is a prefix of its length, or its base address: %s', async (text, expected) => {
    const spec = { prefixes: ['10.0.0.0/16'], allocationPrefixLength: 20 }
    const poolRef = { kind: 'InClusterPrefixPool' }
    const wanted = { ...asks('a', text), spec: claim('a', { poolRef }).spec }
    const { world } = await start(options, poolOf('InClusterPrefixPool', spec), wanted)
    expect(await world.bindings()).toEqual({ 'default/a': expected })
    for (const wrong of ['10.0.33.0', '10.0.32.0/21', '10.0.32.1/20', 'fd00::/20', '10.1.0.0/20']) {
      const refused = { ...asks('a', wrong), spec: claim('a', { poolRef }).spec }
      const other = await start(options, poolOf('InClusterPrefixPool', spec), refused)
      expect(await other.world.bindings(), wrong).toEqual({})
    }
  })
})

describe('a preallocated address', () => {
  const options: InClusterOptions = { preallocations: {} }

  test('is kept for its claim, which gets no other one', async () => {
    const made = keeps(['10.0.0.5-10.0.0.7'], { b: '10.0.0.5', 'default/c': '10.0.0.99' })
    const { world, host } = await start(options, made, claim('a'), claim('c'), claim('d'), claim('e'))
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.6', 'default/d': '10.0.0.7' })
    expect(await readyOf(world, 'e')).toMatch(/^False PoolExhausted/)
    expect(await readyOf(world, 'c')).toBe(
      'False AllocationFailed the preallocated 10.0.0.99 is not one that InClusterIPPool default/pool gives',
    )
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 3, free: 0, used: 2, outOfRange: 0 })
    await world.create(claim('b'))
    await host.run()
    expect((await world.bindings())['default/b']).toBe('10.0.0.5')
    await world.delete('claim', 'b')
    await host.run()
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 3, free: 0, used: 2, outOfRange: 0 })
    const reasons = host.planner.entries().map(({ reason }) => reason)
    expect(reasons.sort()).toEqual(['held', 'held', 'kept', 'kept'])
  })

  test('means nothing unless it is asked for', async () => {
    const { world } = await start({}, keeps(['10.0.0.5-10.0.0.7'], { b: '10.0.0.5' }), claim('a'))
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
  })

  test('that another claim has already is waited for', async () => {
    const { world, host } = await start(options, pool(['10.0.0.5-10.0.0.7']), claim('a'))
    const { metadata } = keeps([], { b: '10.0.0.5' })
    await world.patch(poolRef(), { metadata: { annotations: metadata.annotations } })
    await world.create(claim('b'))
    await host.run()
    expect(await readyOf(world, 'b')).toBe(
      'False AllocationFailed the preallocated 10.0.0.5 of InClusterIPPool default/pool is in use by default/a',
    )
    await world.delete('claim', 'a')
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/b': '10.0.0.5' })
  })

  test('is free for others when it is kept no longer, and they are told', async () => {
    const { world, host } = await start(options, keeps(['10.0.0.5'], { b: '10.0.0.5' }), claim('a'))
    expect(await world.bindings()).toEqual({})
    await world.patch(poolRef(), { metadata: { annotations: { 'ipam-kit.dev/preallocations': null } } })
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
  })

  test('may be configured, also for a pool that is for all namespaces', async () => {
    const entries = { 'GlobalInClusterIPPool pool': { 'default/b': '10.0.0.5', 'other/a': '10.0.0.6' } }
    const global = { kind: 'GlobalInClusterIPPool' }
    const made = poolOf('GlobalInClusterIPPool', { addresses: ['10.0.0.5-10.0.0.8'], prefix: 24 })
    const [a, b] = ['a', 'b'].map((name) => claim(name, { poolRef: global }))
    const elsewhere = claim('a', { namespace: 'other', poolRef: global })
    const { world } = await start({ preallocations: { entries } }, made, a!, b!, elsewhere)
    expect(await world.bindings()).toEqual({
      'default/a': '10.0.0.7',
      'default/b': '10.0.0.5',
      'other/a': '10.0.0.6',
    })
  })

  test('and another one that is requested are in conflict; the same in other words is not', async () => {
    const both: InClusterOptions = { requestedAddress: {}, preallocations: {} }
    const made = poolOf('InClusterIPPool', { addresses: ['fd00::1-fd00::9'], prefix: 64 })
    const annotations = { 'ipam-kit.dev/preallocations': JSON.stringify({ a: 'fd00::0005', b: 'fd00::6' }) }
    const kept = { ...made, metadata: { ...made.metadata, annotations } }
    const { world } = await start(both, kept, asks('a', 'fd00::5'), asks('b', 'fd00::7'), asks('c', 'fd00::6'))
    expect(await world.bindings()).toEqual({ 'default/a': 'fd00::5' })
    expect(await readyOf(world, 'b')).toBe(
      'False AllocationFailed fd00::6 is preallocated for the claim, and it requests fd00::7',
    )
    expect(await readyOf(world, 'c')).toBe(
      'False AllocationFailed the requested fd00::6 of InClusterIPPool default/pool is kept for default/b',
    )
  })

  test.each<[string, unknown, string]>([
    ['no JSON', 'a=10.0.0.5', 'annotation ipam-kit.dev/preallocations: no JSON object of addresses by claim'],
    ['a list', ['10.0.0.5'], 'annotation ipam-kit.dev/preallocations: no JSON object of addresses by claim'],
    ['numbers', { a: 5 }, 'annotation ipam-kit.dev/preallocations: no JSON object of addresses by claim'],
    ['an address that does not parse', { b: '10.0.0.05' }, 'preallocation for "b": "10.0.0.05" is not an address'],
    ['an address that no claim can have', { 'c/b': '' }, 'preallocation for "c/b": "" is not an address'],
  ])('with %s makes the pool one that gives nothing, and says why', async (_, kept, problem) => {
    const { world, host } = await start(
      { ...options, poolConditions: true },
      keeps(['10.0.0.5-10.0.0.7'], kept),
      claim('a'),
    )
    expect(await world.bindings()).toEqual({})
    expect(await readyOf(world, 'a')).toBe(`False PoolNotReady InClusterIPPool default/pool is invalid: ${problem}`)
    expect((await world.pool()).status?.conditions?.[0]).toMatchObject({
      status: 'False',
      reason: 'PoolNotReady',
      message: problem,
    })
    await world.patch(poolRef(), { metadata: { annotations: null } })
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
  })

  test.each<[string, { readonly [claim: string]: string }, string, string]>([
    [
      'of another namespace',
      { 'other/a': '10.0.0.5' },
      'True AddressAllocated',
      'preallocation for "other/a": a claim of this pool is a name of its namespace',
    ],
    [
      'for two claims',
      { a: '10.0.0.5', b: '10.0.0.5' },
      'False AllocationFailed the preallocated 10.0.0.5 of InClusterIPPool default/pool is kept for default/b',
      '10.0.0.5 is preallocated for default/a and for default/b',
    ],
    [
      'with two addresses',
      { a: '10.0.0.5', 'default/a': '10.0.0.6' },
      'False AllocationFailed the preallocated "10.0.0.5 and 10.0.0.6" is not what InClusterIPPool default/pool gives: no address, or no prefix of its length',
      'preallocation for default/a: both 10.0.0.5 and 10.0.0.6',
    ],
  ])('%s is given to no claim, and the pool gives the others', async (_, kept, said, problem) => {
    const given = keeps(['10.0.0.5-10.0.0.8'], kept)
    const { world } = await start({ ...options, poolConditions: true }, given, claim('a'), claim('c'))
    expect(await readyOf(world, 'a')).toBe(said)
    const bindings = await world.bindings()
    expect(Object.keys(bindings)).toContain('default/c')
    for (const address of Object.values(kept)) expect(Object.values(bindings)).not.toContain(address)
    expect((await world.pool()).status?.conditions?.[0]).toMatchObject({ status: 'True', message: problem })
  })

  test.each<[string, KubeObject, string]>([
    ['10.0.0.5-10.0.0.6', pool(['10.0.0.5-10.0.0.7']), '10.0.0.7'],
    ['10.0.0.4/30', pool(['10.0.0.5-10.0.0.8']), '10.0.0.8'],
    ['::ffff:10.0.0.5', pool(['10.0.0.5-10.0.0.7']), '10.0.0.6'],
    ['10.0.0.5', pool(['::ffff:10.0.0.5-::ffff:10.0.0.7']), '::ffff:10.0.0.6'],
    ['fd00::5', poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'] }), 'fd00:0:0:1::'],
    ['fd00::/63', poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'] }), 'fd00:0:0:2::'],
  ])('that is %s keeps what it means from all claims, and says that it is not given', async (text, made, expected) => {
    const annotations = { 'ipam-kit.dev/preallocations': JSON.stringify({ a: text }) }
    const kept = { ...made, metadata: { ...made.metadata, annotations } }
    const claims = ['a', 'b'].map((name) => claim(name, { poolRef: { kind: made.kind } }))
    const { world } = await start({ ...options, poolConditions: true }, kept, ...claims)
    expect(await world.bindings()).toEqual({ 'default/b': expected })
    const { apiVersion, kind, metadata } = made
    const stored = await world.get({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace })
    expect(JSON.stringify(stored.status)).toContain(`preallocation for default/a: the pool does not give ${text}`)
  })

  test('with many faults tells the first ones and how many more there are', async () => {
    const kept = Object.fromEntries(Array.from({ length: 22 }, (_, index) => [`other/${index + 10}`, '10.0.0.5']))
    const { world } = await start({ ...options, poolConditions: true }, keeps(['10.0.0.5-10.0.0.7'], kept), claim('a'))
    const of = (index: number) =>
      `preallocation for "other/${index + 10}": a claim of this pool is a name of its namespace`
    const told = `${Array.from({ length: 20 }, (_, index) => of(index)).join('; ')}; and 23 more`
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.6' })
    expect((await world.pool()).status?.conditions?.[0]).toMatchObject({ reason: 'Ready', message: told })
  })
})

describe('a claim that comes again', () => {
  const options: InClusterOptions = { sticky: {} }

  async function again(given: InClusterOptions, names = ['a', 'b', 'c']) {
    const { world, host } = await start(given, pool(['10.0.0.5-10.0.0.9']))
    for (const name of names) {
      await world.create(claim(name))
      await host.run()
    }
    for (const name of names.slice(0, 2)) await world.delete('claim', name)
    await host.run()
    return { world, host }
  }

  test('gets what it had, which others leave alone while there are others', async () => {
    const { world, host } = await again(options)
    await world.create(claim('x'), claim('b'), claim('y'))
    await host.run()
    expect(await world.bindings()).toMatchObject({ 'default/b': '10.0.0.6', 'default/c': '10.0.0.7' })
    const bindings = await world.bindings()
    expect([bindings['default/x'], bindings['default/y']].sort()).toEqual(['10.0.0.8', '10.0.0.9'])
    await world.create(claim('a'))
    await host.run()
    expect((await world.bindings())['default/a']).toBe('10.0.0.5')
  })

  test('shares what is left: what has been remembered longest goes first, and all of it counts as free', async () => {
    const { world, host } = await again(options)
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 5, free: 4, used: 1, outOfRange: 0 })
    for (const name of ['v', 'w', 'x']) {
      await world.create(claim(name))
      await host.run()
    }
    expect(await world.bindings()).toMatchObject({
      'default/v': '10.0.0.8',
      'default/w': '10.0.0.9',
      'default/x': '10.0.0.5',
    })
    expect((await world.pool()).status?.ipAddresses?.free).toBe(1)
    await world.create(claim('a'))
    await host.run()
    expect((await world.bindings())['default/a']).toBe('10.0.0.6')
  })

  test('is nothing special unless it is asked for', async () => {
    const { world, host } = await again({})
    await world.create(claim('b'))
    await host.run()
    expect((await world.bindings())['default/b']).toBe('10.0.0.5')
  })

  test('may have another name, if it has the same key in the same namespace', async () => {
    const keyed = (name: string, key: string, namespace = 'default') =>
      claim(name, { namespace, annotations: { 'example.com/machine': key } })
    const { world, host } = await start(
      { sticky: { annotation: 'example.com/machine' } },
      pool(['10.0.0.5-10.0.0.9']),
      keyed('web-x1', 'web'),
    )
    await world.delete('claim', 'web-x1')
    await host.run()
    await world.create(claim('other'))
    await host.run()
    await world.create(keyed('web-y2', 'web'))
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/other': '10.0.0.6', 'default/web-y2': '10.0.0.5' })
    expect(host.planner.formerAddresses()).toEqual([
      { pool: 'InClusterIPPool default/pool', key: 'default#web', address: '10.0.0.5', prefix: 24 },
    ])
  })

  test('gets what its key had last, through every rolling update', async () => {
    const keyed = (name: string) => claim(name, { annotations: { 'example.com/machine': 'web' } })
    const { world, host } = await start(
      { sticky: { annotation: 'example.com/machine' } },
      pool(['10.0.0.5-10.0.0.9']),
      keyed('v0'),
    )
    await world.create(keyed('v1'))
    await host.run()
    for (const name of ['v0', 'v1']) {
      await world.delete('claim', name)
      await host.run()
    }
    for (const name of ['v2', 'v3', 'v4']) {
      await world.create(keyed(name))
      await host.run()
      expect((await world.bindings())[`default/${name}`]).toBe('10.0.0.6')
      await world.delete('claim', name)
      await host.run()
    }
  })

  test('gets what its key had of each pool, also after a restart', async () => {
    const annotations = { 'example.com/machine': 'web' }
    const sticky = { annotation: 'example.com/machine' }
    const of = (name: string, poolName: string) => claim(name, { annotations, poolRef: { name: poolName } })
    const { world, host } = await start({ sticky }, pool(['10.0.0.5-10.0.0.9']), claim('other'))
    await world.create(pool(['fd00::5-fd00::9'], { prefix: 64 }, 'six'), claim('other6', { poolRef: { name: 'six' } }))
    await host.run()
    await world.create(of('a4', 'pool'), of('a6', 'six'))
    await host.run()
    for (const name of ['a4', 'a6', 'other', 'other6']) {
      await world.delete('claim', name)
      await host.run()
    }
    const kept = host.planner.formerAddresses()
    expect(kept).toHaveLength(4)
    const knowing = new Host(world, { sticky: { ...sticky, formerAddresses: kept } })
    await world.create(of('b4', 'pool'), of('b6', 'six'))
    await knowing.run()
    expect(await world.bindings()).toEqual({ 'default/b4': '10.0.0.6', 'default/b6': 'fd00::6' })
  })

  test('is a stranger after a restart, unless the host has kept what was remembered', async () => {
    const { world, host } = await again(options)
    const kept = host.planner.formerAddresses()
    expect(kept.map(({ key, address }) => [key, address])).toEqual([
      ['default/a', '10.0.0.5'],
      ['default/b', '10.0.0.6'],
    ])
    await world.create(claim('b'))
    const knowing = new Host(world, { sticky: { formerAddresses: kept } })
    await knowing.run()
    await world.create(claim('x'))
    await knowing.run()
    expect(await world.bindings()).toMatchObject({ 'default/b': '10.0.0.6', 'default/x': '10.0.0.8' })
    await world.delete('claim', 'b')
    await knowing.run()
    await world.create(claim('b'))
    await new Host(world, options).run()
    expect((await world.bindings())['default/b']).toBe('10.0.0.5')
  })

  test('is forgotten when there is no room to remember it', async () => {
    const { world, host } = await again({ sticky: { limit: 1 } })
    expect(host.planner.formerAddresses().map(({ key }) => key)).toEqual(['default/b'])
    await world.create(claim('x'))
    await host.run()
    expect((await world.bindings())['default/x']).toBe('10.0.0.5')
  })

  test('forgets with reset, and begins with what was handed in', () => {
    const formerAddresses = [{ pool: 'InClusterIPPool default/pool', key: 'default/a', address: '10.0.0.7' }]
    const planner = inCluster({ sticky: { formerAddresses } })
    planner.reset()
    expect(planner.formerAddresses()).toMatchObject(formerAddresses)
    expect(inCluster({ sticky: {} }).formerAddresses()).toEqual([])
  })
})

describe('several objects with one address', () => {
  test('are told of once, however many objects there are and whatever else is counted', async () => {
    const { world, host } = await start({}, pool(['10.0.0.5-10.0.0.30']), claim('a'))
    const { uid: _, resourceVersion: __, ...metadata } = (await world.address('a')).metadata
    const told = () =>
      host.events.filter(({ about, reason }) => about.kind === 'InClusterIPPool' && reason === 'DuplicateAddress')
    for (const name of ['w', 'v', 'u', 't', 's', 'r', 'q']) {
      const twin = { ...(await world.address('a')), metadata: { ...metadata, name, ownerReferences: [] } }
      await world.create({ ...twin, spec: { ...twin.spec, claimRef: { name } } }, claim(`another-${name}`))
      await host.run()
    }
    expect(told().map(({ message }) => message)).toEqual(['10.0.0.5 is that of default/a, default/w'])
    // it ends, and comes back
    for (const name of ['w', 'v', 'u', 't', 's', 'r', 'q']) await world.delete('address', name)
    await host.run()
    const again = { ...(await world.address('a')), metadata: { ...metadata, name: 'x', ownerReferences: [] } }
    await world.create({ ...again, spec: { ...again.spec, claimRef: { name: 'x' } } })
    await host.run()
    expect(told()).toHaveLength(2)
  })

  test('are told of by an event, and by the condition, and free is right', async () => {
    const { world, host } = await start({ poolConditions: true }, pool(['10.0.0.5-10.0.0.9']), claim('a'))
    const { uid: _, resourceVersion: __, ...metadata } = (await world.address('a')).metadata
    const twin = { ...(await world.address('a')), metadata: { ...metadata, name: 'twin', ownerReferences: [] } }
    await world.create({ ...twin, spec: { ...twin.spec, claimRef: { name: 'twin' } } })
    await host.run()
    const message = '10.0.0.5 is that of default/a, default/twin'
    const about = poolRef()
    const told = { kind: 'event', about, uid: expect.any(String), type: 'Warning', reason: 'DuplicateAddress', message }
    expect(host.events.at(-1)).toEqual(told)
    const { status } = await world.pool()
    expect(status?.ipAddresses).toEqual({ total: 5, free: 4, used: 2, outOfRange: 0 })
    expect(status?.conditions).toMatchObject([
      { type: 'Ready', status: 'True', reason: 'Ready' },
      { type: 'AddressesUnique', status: 'False', reason: 'DuplicateAddress', message },
    ])
    await world.patch(addressRef('twin'), { metadata: { finalizers: null } })
    await world.delete('address', 'twin')
    await host.run()
    expect((await world.pool()).status?.conditions?.[1]).toMatchObject({ status: 'True', reason: 'Unique' })
  })

  test('are told of by an event where there are no conditions', async () => {
    const { world, host } = await start({}, pool(['10.0.0.5-10.0.0.9']), claim('a'), claim('b'))
    await world.patch(addressRef('b'), { spec: { address: '10.0.0.5' } })
    await host.run()
    expect(host.events.at(-1)).toMatchObject({ reason: 'DuplicateAddress', about: poolRef() })
    expect((await world.pool()).status).toEqual({ ipAddresses: { total: 5, free: 4, used: 2, outOfRange: 0 } })
  })
})

describe('the conditions of a pool', () => {
  const options: InClusterOptions = { poolConditions: true }
  const ready = async (world: World) => {
    const condition = (await world.pool()).status?.conditions?.find(({ type }) => type === 'Ready')
    return `${condition?.status} ${condition?.reason} ${condition?.message}`.trim()
  }

  test('follow the pool, and are written only when they change', async () => {
    const { world, host } = await start(options, pool(['10.0.0.5']))
    expect(await ready(world)).toBe('True Ready')
    await host.run({ after: 100 })
    const { writes } = host
    await host.run({ after: 100 })
    expect(host.writes).toBe(writes)
    await world.create(claim('a'))
    await host.run()
    expect(await ready(world)).toBe('False PoolExhausted no address available')
    await world.patch(poolRef(), { spec: { addresses: ['ten'] } })
    await host.run()
    expect(await ready(world)).toBe('False PoolNotReady spec.addresses: "ten" is not a valid IP, range, nor CIDR')
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.5-10.0.0.6'] } })
    await host.run()
    expect(await ready(world)).toBe('True Ready')
    await world.delete('pool', 'pool')
    await host.run()
    expect(await ready(world)).toBe('False PoolNotReady the pool is being deleted')
  })

  test('say which generation they speak of, and keep the time of the last change', async () => {
    const { world, host } = await start(options, pool(['10.0.0.5']))
    const [before] = (await world.pool()).status?.conditions ?? []
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.5-10.0.0.6'] } })
    await host.run({ after: 1000 })
    const [after] = (await world.pool()).status?.conditions ?? []
    expect(after).toEqual({ ...before, observedGeneration: 2 })
  })

  test('of others stay, and none are written unless it is asked for', async () => {
    const theirs = {
      type: 'Theirs',
      status: 'True',
      reason: 'So',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    for (const [given, types] of [
      [options, ['Theirs', 'Ready', 'AddressesUnique']],
      [{}, ['Theirs']],
    ] as const) {
      const { world, host } = await start({}, pool(['10.0.0.5']))
      expect((await world.pool()).status?.conditions).toBeUndefined()
      const patched = await world.store.patch(
        poolRef(),
        { status: { conditions: [theirs] } },
        { subresource: 'status' },
      )
      expect(patched.ok).toBe(true)
      await new Host(world, given).run()
      expect((await world.pool()).status?.conditions?.map(({ type }) => type)).toEqual(types)
      await host.run()
    }
  })

  test('come with the counts, in one write', async () => {
    const { world, host } = await start(options, pool(['10.0.0.5']))
    await world.create(claim('a'))
    await host.run()
    await world.delete('claim', 'a')
    await host.run()
    const versions = await world.pool()
    // finalizer, then one write of the status for each of three states
    expect(Number(versions.metadata.generation)).toBe(1)
    const plan = inCluster(options)
    for (const object of [versions]) plan.observe({ kind: 'present', object: { ...object, status: {} } })
    const effects = plan.plan('InClusterIPPool default/pool', { nowMs: 0 })?.effects ?? []
    expect(effects).toHaveLength(1)
    expect(effects[0]).toMatchObject({
      subresource: 'status',
      patch: { status: { ipAddresses: {}, conditions: [{}, {}] } },
    })
  })

  test('that the server drops are not written again and again', async () => {
    const world = new World()
    const host = new Host(world, options)
    const dropping = storeOver(world.store, {
      patch: (ref, patch, given) => {
        const written = (patch as { readonly status?: object }).status
        if (ref.kind !== 'InClusterIPPool' || written === undefined) return world.store.patch(ref, patch, given)
        const { conditions: _, ...status } = written as { readonly conditions?: unknown }
        return Object.keys(status).length === 0 ? world.store.get(ref) : world.store.patch(ref, { status }, given)
      },
    })
    await world.create(pool(['10.0.0.5']), claim('a'))
    await host.run({ store: dropping })
    expect((await world.pool()).status).toEqual({ ipAddresses: { total: 1, free: 0, used: 1, outOfRange: 0 } })
    const { writes } = host
    await host.run({ store: dropping })
    expect(host.writes).toBe(writes)
    // and they come when the definition has them
    await world.patch(poolRef(), { metadata: { labels: { a: 'b' } } })
    await host.run()
    expect(await ready(world)).toBe('False PoolExhausted no address available')
  })
})

test('a pool that cannot be read is named once in what its claims say', async () => {
  const { world } = await start({}, { ...pool(['10.0.0.5']), spec: { addresses: 5 } } as never, claim('a'))
  const ready = await readyOf(world, 'a')
  expect(ready).toMatch(/^False PoolNotReady InClusterIPPool default\/pool is invalid: spec\./)
  expect(ready?.match(/is invalid/g)).toHaveLength(1)
})
