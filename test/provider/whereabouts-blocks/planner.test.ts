import { IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect, Planner } from 'ipam-kit/plan'
import { type BlockNetworksPlanner, blockNetworks, poolsOf } from 'ipam-kit/provider/whereabouts-blocks'
import { runUntilQuiet } from 'ipam-kit/run'
import { beforeEach, describe, expect, test } from 'vitest'
import { NetworkAttachmentDefinition, networkOf, World } from './world.js'

const NET = { range: '10.0.0.0/24', gateway: '10.0.0.1' }
const NAME = 'whereabouts.10.0.0.0-24'

let world: World
let planner: BlockNetworksPlanner
let events: string[]
beforeEach(() => {
  world = new World()
  planner = blockNetworks()
  events = []
})

function refOf(name: string, namespace = 'ns') {
  return { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', name, namespace }
}

const configOf = (ipam: object) =>
  JSON.stringify({ cniVersion: '1.0.0', name: 'lab', type: 'macvlan', ipam: { type: 'ipam-kit', ...ipam } })

/** Makes or changes a definition. */
async function define(name: string, ipam: object | string, namespace = 'ns'): Promise<void> {
  const { apiVersion, kind } = NetworkAttachmentDefinition.info
  const spec = { config: typeof ipam === 'string' ? ipam : configOf(ipam) }
  const ref = refOf(name, namespace)
  const patched = await world.store.patch(ref, { spec })
  if (patched.ok) return
  world.nowMs += 1000
  unwrap(await world.store.create({ apiVersion, kind, metadata: { name, namespace }, spec } as KubeObject))
}

async function undefine(name: string, namespace = 'ns'): Promise<void> {
  unwrap(await world.store.delete(refOf(name, namespace)))
}

/** Runs the planner, and the operator after it. */
async function settle(): Promise<{ readonly [key: string]: string }> {
  const onEvent = ({ about, reason }: EventEffect) => void events.push(`${about.namespace}/${about.name} ${reason}`)
  const planners: readonly Planner[] = [planner]
  const { outcomes, failures } = await runUntilQuiet(world.store, planners, { now: () => world.nowMs, onEvent })
  expect(failures).toEqual([])
  await world.operate()
  return Object.fromEntries([...outcomes].map(([key, { kind }]) => [key, kind]))
}

async function pool(name = NAME): Promise<IPPool | undefined> {
  const read = await world.store.get({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', name })
  return read.ok ? IPPool.parse(read.value) : undefined
}

async function patchPool(patch: object, name = NAME): Promise<void> {
  unwrap(await world.store.patch({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', name }, patch as never))
}

async function poolNames(): Promise<readonly string[]> {
  return unwrap(await world.store.list(IPPool.info)).items.map(({ metadata }) => metadata.name)
}

describe('the pools of definitions', () => {
  test('are created as poolsOf makes them, and serve an ADD', async () => {
    await define('a', NET)
    await settle()
    expect((await pool())?.spec).toEqual(unwrap(poolsOf(networkOf(NET)))[0]?.spec)
    expect(await world.add(NET)).toEqual(['10.0.0.2/24'])
    expect(events).toEqual([])
    await settle()
    const version = (await pool())?.metadata.resourceVersion
    planner = blockNetworks()
    await settle()
    expect((await pool())?.metadata.resourceVersion).toBe(version)
  })

  test('one for each range, and none for a network that names its pools', async () => {
    await define('a', { ipRanges: [{ range: '10.0.0.0/24' }, { range: 'fd00::/64' }] })
    await define('b', { pools: ['blue'] })
    await settle()
    expect(await poolNames()).toEqual([NAME, 'whereabouts.fd00---64'])
  })

  test('follow changes of excludes, gateway and static addresses; the rest of a pool is of the operators', async () => {
    await define('a', NET)
    await settle()
    const subnets = [{ cidr: '10.0.0.0/24', gateway: '10.0.0.1', reserved: ['10.0.0.99'] }]
    await patchPool({ spec: { subnets, reuseAfterSeconds: 60 } })
    await settle()
    expect((await pool())?.spec).toMatchObject({ subnets, reuseAfterSeconds: 60 })
    await define('a', { range: '10.0.0.0/24', exclude: ['10.0.0.0/28'], addresses: [{ address: '10.0.0.20/24' }] })
    await settle()
    expect((await pool())?.spec).toMatchObject({
      subnets: [{ cidr: '10.0.0.0/24', exclude: ['10.0.0.1-10.0.0.15', '10.0.0.20'], reserved: ['10.0.0.99'] }],
      reuseAfterSeconds: 60,
    })
    expect((await pool())?.spec.subnets[0]?.gateway).toBeUndefined()
    expect(await world.add({ range: '10.0.0.0/24', exclude: ['10.0.0.0/28'] })).toEqual(['10.0.0.16/24'])
  })

  test('of one namespace, if that is wanted', async () => {
    planner = blockNetworks({ namespaced: true })
    await define('a', NET)
    await settle()
    expect((await pool())?.spec.namespaceSelector).toEqual({ matchLabels: { 'kubernetes.io/metadata.name': 'ns' } })
    await define('b', NET, 'other')
    await settle()
    expect(await world.add(NET, { namespace: 'other' })).toEqual(['10.0.0.2/24'])
    expect(await world.add(NET, { namespace: 'third' })).toMatch(/^refused/)
    await undefine('b', 'other')
    await settle()
    expect(await world.add(NET, { namespace: 'other', pod: 'p2' })).toMatch(/^refused/)
  })
})

describe('definitions that share a pool', () => {
  test('get only what each of them gives, and are told', async () => {
    await define('a', { ...NET, exclude: ['10.0.0.2'] })
    await define('b', { range: '10.0.0.0/24', gateway: '10.0.0.4', exclude: ['10.0.0.3'] })
    expect(await settle()).toMatchObject({ 'NetworkAttachmentDefinition ns/b': 'shared' })
    expect(events.sort()).toEqual(['ns/a SharedPool', 'ns/b SharedPool'])
    expect((await pool())?.spec.subnets).toEqual([
      { cidr: '10.0.0.0/24', exclude: ['10.0.0.2-10.0.0.4'], gateway: '10.0.0.1' },
    ])
    expect(await world.add({ ...NET, exclude: ['10.0.0.2'] })).toEqual(['10.0.0.5/24'])
    await undefine('b')
    await settle()
    expect((await pool())?.spec.subnets).toEqual([{ cidr: '10.0.0.0/24', exclude: ['10.0.0.2'], gateway: '10.0.0.1' }])
    expect(events).toHaveLength(2)
  })

  test('divide a CIDR by bounds without sharing one', async () => {
    await define('a', { range: '10.0.0.0/24', range_end: '10.0.0.99' })
    await define('b', { range: '10.0.0.0/24', range_start: '10.0.0.100' })
    await settle()
    expect(events).toEqual([])
    expect(await world.add({ range: '10.0.0.0/24', range_start: '10.0.0.100' })).toEqual(['10.0.0.100/24'])
    expect(await world.add({ range: '10.0.0.0/24', range_end: '10.0.0.99' })).toEqual(['10.0.0.1/24'])
  })

  test('overlap in two domains: that an address may be given twice is told', async () => {
    await define('a', NET)
    await define('b', { range: '10.0.0.0/16', node_slice_size: '24' })
    await define('c', { range: '10.0.0.0/24', enable_overlapping_ranges: false })
    await define('d', { range: '10.0.0.0/20', enable_overlapping_ranges: false })
    await define('e', { range: '10.0.0.0/24', network_name: 'other' })
    await settle()
    expect(events.sort()).toEqual(['ns/a OverlappingDomains', 'ns/b OverlappingDomains', 'ns/c OverlappingDomains'])
  })
})

describe('a range that no definition has any more', () => {
  test('its pool is disabled while it has rows, and deleted after the last one', async () => {
    await define('a', NET)
    await settle()
    await world.add(NET)
    await define('a', { range: '10.1.0.0/24' })
    await settle()
    expect(await poolNames()).toEqual([NAME, 'whereabouts.10.1.0.0-24'])
    expect((await pool())?.spec.disabled).toBe(true)
    expect(await world.add(NET, { pod: 'p2' })).toMatch(/^poolNotReady: .*disabled/)
    expect(await world.check(NET)).toBe('present')
    expect(await world.del(NET)).toBe('released 10.0.0.2')
    await world.operate()
    await settle()
    expect((await pool())?.metadata.deletionTimestamp).toBeDefined()
    world.nowMs += 120_000
    await world.operate()
    world.nowMs += 120_000
    await world.operate()
    expect(await poolNames()).toEqual(['whereabouts.10.1.0.0-24'])
  })

  test('a pool that is retired serves again if its range returns', async () => {
    await define('a', NET)
    await settle()
    await world.add(NET)
    await undefine('a')
    await settle()
    expect((await pool())?.spec.disabled).toBe(true)
    await define('a', NET)
    await settle()
    expect((await pool())?.spec.disabled).toBe(false)
    expect(await world.add(NET, { pod: 'p2' })).toEqual(['10.0.0.3/24'])
  })

  test('a pool that an operator of the cluster has disabled stays disabled', async () => {
    await define('a', NET)
    await settle()
    await patchPool({ spec: { disabled: true } })
    await define('a', { ...NET, exclude: ['10.0.0.2'] })
    await settle()
    expect((await pool())?.spec).toMatchObject({ disabled: true, subnets: [{ exclude: ['10.0.0.2'] }] })
  })

  test('a pool is kept while a definition cannot be read, and retired once it can', async () => {
    await define('a', NET)
    await settle()
    await define('a', { ...NET, range: '10.0.0.0/33' })
    expect(await settle()).toMatchObject({ [`IPPool ${NAME}`]: 'kept' })
    expect((await pool())?.spec.disabled).toBe(false)
    expect(events).toEqual(['ns/a InvalidNetwork'])
    await define('a', { range: '10.1.0.0/24' })
    expect(await settle()).toMatchObject({ [`IPPool ${NAME}`]: 'retired' })
  })
})

describe('what is not of this planner', () => {
  test('other definitions are ignored, and stop nothing', async () => {
    const other = (ipam: object) => JSON.stringify({ cniVersion: '1.0.0', name: 'x', type: 'macvlan', ipam })
    await define('w', other({ type: 'whereabouts', range: '10.7.0.0/24' }))
    await define('d', other({ type: 'dhcp' }))
    await define('n', JSON.stringify({ cniVersion: '1.0.0', name: 'x', type: 'macvlan' }))
    await define('t', 'no JSON')
    await define('e', '')
    await define('u', '{ "ipam": { "type": "ipam-kit", }')
    await define('v', { range: 'nonsense' })
    await define('a', NET)
    expect(await settle()).toMatchObject({ 'NetworkAttachmentDefinition ns/u': 'invalid' })
    expect(await poolNames()).toEqual([NAME])
    expect(events.sort()).toEqual(['ns/u InvalidNetwork', 'ns/v InvalidNetwork'])
    await settle()
    expect(events).toHaveLength(2)
  })

  test('a pool that was made by hand is not changed, and not deleted', async () => {
    await world.pool(NAME, { domain: 'whereabouts', subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.9'] }] })
    await define('a', NET)
    await settle()
    expect(events).toEqual(['ns/a UnmanagedPool'])
    expect((await pool())?.spec.subnets).toEqual([{ cidr: '10.0.0.0/24', ranges: ['10.0.0.9'] }])
    expect(await world.add(NET)).toEqual(['10.0.0.9/24'])
    await undefine('a')
    await settle()
    expect((await pool())?.spec.disabled).toBe(false)
  })

  test('a pool of another domain cannot be one of the definition', async () => {
    await world.pool(NAME, { subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.0.1' }] })
    await define('a', NET)
    await settle()
    expect(events).toEqual(['ns/a InvalidPool'])
    expect(await world.add(NET)).toBe(`poolNotReady: IPPool ${NAME} is in the domain default, not in whereabouts`)
  })

  test('a pool that is being deleted is created again when it is gone', async () => {
    await define('a', NET)
    await settle()
    await world.add(NET)
    unwrap(await world.store.delete({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', name: NAME }))
    expect(await settle()).toMatchObject({ [`IPPool ${NAME}`]: 'deleting' })
    await world.del(NET)
    world.nowMs += 120_000
    await world.operate()
    await settle()
    expect((await pool())?.metadata.deletionTimestamp).toBeUndefined()
    expect(await world.add(NET)).toEqual(['10.0.0.2/24'])
  })
})
