import type { InClusterPool } from 'ipam-kit/crd/in-cluster'
import { type EventEffect, ObjectCache } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { claim, poolOf, World } from './world.js'

// A stored pool gives the addresses of its right entries, and reports each wrong entry once. An
// exclusion that does not parse stops the pool.

const NAMES = ['a', 'b', 'c']
type Kind = Parameters<typeof poolOf>[0]

/** One provider for all runs, with the Events that it sends. */
function provider(world: World) {
  const planner = inCluster({ poolConditions: true })
  planner.share(new ObjectCache())
  const events: EventEffect[] = []
  return {
    events,
    told: () => events.filter(({ reason }) => reason === 'InvalidPool').map(({ message }) => message),
    run: () =>
      runUntilQuiet(world.store, [planner], { now: () => world.nowMs, onEvent: (event) => events.push(event) }),
  }
}

async function started(kind: Kind, spec: object) {
  const world = new World()
  const pool = poolOf(kind, spec)
  await world.create(pool, ...NAMES.map((name) => claim(name, { poolRef: { kind } })))
  const running = provider(world)
  await running.run()
  const { apiVersion, metadata } = pool
  const ref = { apiVersion, kind, name: metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) }
  const stored = async () => (await world.get(ref)) as InClusterPool
  const ready = async () => (await stored()).status?.conditions?.find(({ type }) => type === 'Ready')
  const given = async () => (await world.addresses()).map(({ spec: { address } }) => address).sort()
  return { world, ref, ready, given, ...running }
}

const NO_ENTRY = 'is not a valid IP, range, nor CIDR'
const ADDRESSES = { addresses: ['10.0.0.10-10.0.0.11', '10.0.0.300', '10.0.0.14'], prefix: 24 }
const PREFIXES = { prefixes: ['fd00::/63', 'fd00:1::1/64', 'fd00:2::/64'] }

describe.each<[Kind, object, readonly string[], string, object]>([
  ...(['InClusterIPPool', 'GlobalInClusterIPPool'] as const).map(
    (kind): [Kind, object, readonly string[], string, object] => [
      kind,
      ADDRESSES,
      ['10.0.0.10', '10.0.0.11', '10.0.0.14'],
      `spec.addresses: "10.0.0.300" ${NO_ENTRY}`,
      { excludedAddresses: ['10.0.0.20O'] },
    ],
  ),
  ...(['InClusterPrefixPool', 'GlobalInClusterPrefixPool'] as const).map(
    (kind): [Kind, object, readonly string[], string, object] => [
      kind,
      PREFIXES,
      ['fd00:0:0:1::', 'fd00:2::', 'fd00::'],
      'spec.prefixes: fd00:1::1/64 has host bits',
      { excludedPrefixes: ['fd00:2::/640'] },
    ],
  ),
])('%s', (kind, spec, addresses, problem, exclusion) => {
  test('gives what its right entries say, and tells the wrong one in its status and in one Event', async () => {
    const { given, ready, told, run, world, ref } = await started(kind, spec)
    expect(await given()).toEqual(addresses)
    expect(await ready()).toMatchObject({ message: expect.stringContaining(problem) })
    expect(told()).toEqual([problem])
    await world.patch(ref, { metadata: { labels: { a: 'b' } } })
    await run()
    expect(told()).toEqual([problem])
  })

  test('gives nothing while an exclusion cannot be read, and keeps what it has given', async () => {
    const { given, ready, told, run, world, ref } = await started(kind, spec)
    await world.patch(ref, { spec: exclusion })
    await world.create(claim('d', { poolRef: { kind } }))
    await world.delete('claim', 'a')
    await run()
    expect(await given()).toHaveLength(2)
    expect(await ready()).toMatchObject({ status: 'False', reason: 'PoolNotReady' })
    const [[field, texts]] = Object.entries(exclusion) as [[string, readonly string[]]]
    expect(told()).toEqual([problem, `spec.${field}: ${JSON.stringify(texts[0])} ${NO_ENTRY}`])
    await world.patch(ref, { spec: { [field]: null } })
    await run()
    expect(await given()).toEqual(addresses)
  })

  test('gives nothing while its gateway cannot be read: any address may be that of the router', async () => {
    const { given, told } = await started(kind, { ...spec, gateway: 'router' })
    expect(await given()).toEqual([])
    expect(told()).toContain('spec.gateway: "router" is not a valid IP')
  })
})

describe('a pool with entries of both families', () => {
  test.each<[readonly string[], number, readonly string[]]>([
    [['10.0.0.10-10.0.0.11', 'fd00::1', '10.0.0.14'], 24, ['10.0.0.10', '10.0.0.11', '10.0.0.14']],
    [['fd00::10', '10.0.0.1', 'fd00::11'], 64, ['fd00::10', 'fd00::11']],
    [['fd00::10', '10.0.0.1'], 24, ['10.0.0.1']],
  ])('%j with the prefix %j gives %j', async (addresses, prefix, expected) => {
    const { given, told } = await started('InClusterIPPool', { addresses, prefix })
    expect(await given()).toEqual(expected)
    expect(told()).toEqual(['spec.addresses: provided addresses are of mixed IP families'])
  })
})

describe('an exclusion or a gateway of another family than the pool is told, and IPv4 within IPv6 is IPv4', () => {
  const four = { addresses: ['10.0.0.10-10.0.0.12'], prefix: 24 }
  const six = { addresses: ['::ffff:10.0.0.10-::ffff:10.0.0.12'], prefix: 120 }
  const prefixes = { prefixes: ['10.0.0.0/28'], allocationPrefixLength: 30 }
  test.each<[Kind, object, readonly string[], string]>([
    [
      'InClusterIPPool',
      { ...four, excludedAddresses: ['::ffff:10.0.0.10'] },
      ['10.0.0.11', '10.0.0.12'],
      'excludedAddresses: addresses and excluded addresses are',
    ],
    [
      'InClusterIPPool',
      { ...four, excludedAddresses: ['::ffff:10.0.0.0/123'] },
      [],
      'excludedAddresses: addresses and excluded addresses are',
    ],
    [
      'InClusterIPPool',
      { ...four, gateway: '::ffff:10.0.0.10' },
      ['10.0.0.11', '10.0.0.12'],
      'gateway: provided gateway and addresses are',
    ],
    [
      'InClusterIPPool',
      { ...four, gateway: 'fd00::1' },
      ['10.0.0.10', '10.0.0.11', '10.0.0.12'],
      'gateway: provided gateway and addresses are',
    ],
    [
      'InClusterIPPool',
      { ...six, excludedAddresses: ['10.0.0.10'] },
      ['::ffff:10.0.0.11', '::ffff:10.0.0.12'],
      'excludedAddresses: addresses and excluded addresses are',
    ],
    [
      'InClusterPrefixPool',
      { ...prefixes, excludedPrefixes: ['::ffff:10.0.0.0/126'] },
      ['10.0.0.12', '10.0.0.4', '10.0.0.8'],
      'excludedPrefixes: prefixes and excluded prefixes are',
    ],
    [
      'InClusterPrefixPool',
      { ...prefixes, gateway: 'fd00::1' },
      ['10.0.0.0', '10.0.0.4', '10.0.0.8'],
      'gateway: provided gateway and prefixes are',
    ],
  ])('%s %j gives %j', async (kind, spec, expected, problem) => {
    const { given, told } = await started(kind, spec)
    expect(await given()).toEqual(expected)
    expect(told()).toEqual([`spec.${problem} of mixed IP families`])
  })

  test('in a pool with entries of both families, exclusions of both mean something', async () => {
    const { given, told } = await started('InClusterIPPool', {
      addresses: ['10.0.0.10-10.0.0.11', 'fd00::1'],
      excludedAddresses: ['fd00::1', '10.0.0.10'],
      prefix: 24,
    })
    expect(await given()).toEqual(['10.0.0.11'])
    expect(told()).toEqual(['spec.addresses: provided addresses are of mixed IP families'])
  })
})

test('an Event about a pool is sent again when the pool is created again, and for another entry', async () => {
  const { world, ref, told, run } = await started('InClusterIPPool', ADDRESSES)
  await world.patch(ref, { spec: { addresses: ['10.0.0.10', 'x'] } })
  await run()
  const second = `spec.addresses: "x" ${NO_ENTRY}`
  expect(told()).toEqual([`spec.addresses: "10.0.0.300" ${NO_ENTRY}`, second])
  for (const name of NAMES) await world.delete('claim', name)
  await run()
  await world.delete('pool', 'pool')
  await run()
  await world.create(poolOf('InClusterIPPool', { addresses: ['10.0.0.10', 'x'], prefix: 24 }))
  await run()
  expect(told().slice(2)).toEqual([second])
})

test.each(['STORE_INVALID', 'STORE_CONFLICT', 'STORE_OUTCOME_UNKNOWN'] as const)(
  'an Event about a pool is sent after all writes of its plan, also if the first try ended with %s',
  async (code) => {
    const world = new World()
    await world.create(poolOf('InClusterIPPool', ADDRESSES))
    let isDown = true
    const patch = async (...args: Parameters<typeof world.store.patch>): ReturnType<typeof world.store.patch> => {
      if (!isDown || args[0].kind !== 'InClusterIPPool') return world.store.patch(...args)
      if (code !== 'STORE_INVALID') isDown = false
      const context = { object: 'pool', path: '', problem: 'no', operation: 'patch', expected: '1', actual: '2' }
      return { ok: false, failure: { code, context } as never }
    }
    const store = storeOver(world.store, { patch })
    const planner = inCluster()
    const told: string[] = []
    const onEvent = ({ reason, message }: EventEffect) => {
      if (reason === 'InvalidPool') told.push(message)
    }
    const run = () => runUntilQuiet(store, [planner], { now: () => world.nowMs, onEvent })
    await run()
    isDown = false
    await run()
    await run()
    expect(told).toEqual([`spec.addresses: "10.0.0.300" ${NO_ENTRY}`])
  },
)

test('a pool with many wrong entries sends twenty Events', async () => {
  const wrong = Array.from({ length: 50 }, (_, index) => `x${index}`)
  const { given, told } = await started('InClusterIPPool', { addresses: [...wrong, '10.0.0.10'], prefix: 24 })
  expect(await given()).toEqual(['10.0.0.10'])
  expect(told()).toEqual(wrong.slice(0, 20).map((text) => `spec.addresses: "${text}" ${NO_ENTRY}`))
})
