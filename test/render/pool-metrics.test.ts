import fc from 'fast-check'
import { Ledger, type LedgerEntry } from 'ipam-kit/allocator'
import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { Node, Service } from 'ipam-kit/crd/core'
import { IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { ServiceCIDR } from 'ipam-kit/crd/networking'
import { IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { blockClaims, blocksOperator } from 'ipam-kit/provider/blocks'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { networkViewPlanner } from 'ipam-kit/provider/network-view'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { poolMetrics, prometheusText, type UsageReporter } from 'ipam-kit/render'
import { runUntilQuiet, taskCaller } from 'ipam-kit/run'
import { create, type Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import type { Holder } from '../../src/plan/holdings.js'
import { property } from '../cidr/property.js'
import { blue, World as CloudWorld, claim as cloudClaim, pool as cloudPool } from '../provider/external/world.js'
import { claim, claimRef, pool, poolRef, World } from '../provider/in-cluster/world.js'
import { node, range } from '../provider/node-ipam/objects.js'
import { claimOf, ovnNad, podIn } from '../provider/persistent-ip/serving-world.js'
import { runs } from '../setup/depth.js'

/** The lines of the metrics, without comments. */
function linesOf(...planners: readonly UsageReporter[]): readonly string[] {
  return prometheusText(poolMetrics(planners))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** The lines that one pool and family have. */
function lines(pool: string, family: string, figures: { total?: unknown; used: unknown; free?: unknown }) {
  return (['total', 'used', 'free'] as const).flatMap((figure) =>
    figures[figure] === undefined ? [] : [`ipam_pool_${figure}{pool="${pool}",family="${family}"} ${figures[figure]}`],
  )
}

type Counts = { readonly [pool: string]: bigint }

/** `ipam_pool_used` as a count over the entries of a planner, by pool and family. */
function counted(entries: readonly LedgerEntry<Holder>[], of = (holder: Holder) => holder.pool ?? ''): Counts {
  const extents = new Map<string, Set<string>>()
  for (const { prefix, reason, holder } of entries) {
    if (reason !== 'held') continue
    const key = `${of(holder)} IPv${prefix.address.family}`
    extents.set(key, (extents.get(key) ?? new Set()).add(Prefix.format(prefix)))
  }
  return Object.fromEntries([...extents].map(([key, set]) => [key, BigInt(set.size)]))
}

/** `ipam_pool_used` of the metrics, where it is not 0. */
function used(...planners: readonly UsageReporter[]): Counts {
  const metric = poolMetrics(planners).find(({ name }) => name === 'ipam_pool_used')
  if (metric?.type !== 'gauge') throw new Error('no gauge')
  const samples = metric.samples.filter(({ value }) => value !== 0n)
  return Object.fromEntries(samples.map(({ labels, value }) => [`${labels?.pool} ${labels?.family}`, value as bigint]))
}

describe('usage of a ledger', () => {
  const REASONS = ['held', 'held', 'held', 'pending', 'kept', 'cooldown', 'former', 'foreign'] as const
  const address = fc.tuple(fc.constantFrom('10.0.0.', 'fd00::'), fc.nat(15), fc.nat(2))
  const step = fc.record({ id: fc.nat(9), at: fc.option(address), reason: fc.constantFrom(...REASONS), key: fc.nat(2) })
  const spaces = [[], ['10.0.0.2-10.0.0.9'], ['10.0.0.0/29', 'fd00::/124'], ['fd00::3-fd00::c']].map((texts) =>
    RangeSet.parse(texts),
  )

  property([fc.array(fc.tuple(step, fc.option(fc.constantFrom(...spaces))), { maxLength: 30 })], 4)(
    'is a count over its entries',
    (steps) => {
      const ledger = new Ledger<Holder>({ space: spaces[1]! })
      for (const [{ id, at, reason, key }, space] of steps) {
        if (space !== null) ledger.setSpace({ space })
        if (at === null) {
          ledger.delete(`${id}`)
          continue
        }
        const [start, last, bits] = at
        const prefix = Prefix.parse(
          `${start}${last.toString(start === '10.0.0.' ? 10 : 16)}/${(start === '10.0.0.' ? 32 : 128) - bits}`,
        )
        ledger.set(`${id}`, { prefix, reason, holder: { key: `${key}` } })
      }
      const counts = counted(ledger.entries())
      const usage = ledger.usage()
      const found = usage.filter((each) => each.used > 0n).map((each) => [` IPv${each.family}`, each.used])
      expect(Object.fromEntries(found)).toEqual(counts)
      const sum = (of: 'total' | 'free') => usage.reduce((all, each) => all + (each[of] ?? 0n), 0n)
      expect({ total: sum('total'), free: sum('free') }).toEqual({
        total: ledger.counts().total,
        free: ledger.counts().free,
      })
      for (const { total, free } of usage) expect(free === undefined).toBe(total === undefined)
    },
  )
})

test('the metrics of the in-cluster provider are counts over its entries', async () => {
  const texts = ['10.0.0.1-10.0.0.4', 'fd00::/126', '10.0.0.3-10.0.0.9', 'garbage']
  const step = fc.oneof(
    fc.record({ do: fc.constant('claim' as const), name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), of: fc.nat(1) }),
    fc.record({ do: fc.constant('delete' as const), name: fc.constantFrom('a', 'b', 'c', 'd', 'e') }),
    fc.record({ do: fc.constant('pool' as const), of: fc.nat(1), addresses: fc.constantFrom(...texts) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const world = new World()
      const planner = inCluster()
      const names = ['one', 'two']
      for (const name of names) await world.create(pool([texts[0]!], {}, name))
      for (const each of steps) {
        if (each.do === 'claim') await world.store.create(claim(each.name, { poolRef: { name: names[each.of]! } }))
        if (each.do === 'delete') await world.store.delete(claimRef(each.name))
        if (each.do === 'pool') {
          const spec = { addresses: [each.addresses], prefix: each.addresses.startsWith('fd') ? 64 : 24 }
          await world.patch({ ...poolRef(), name: names[each.of]! }, { spec })
        }
        await world.run(world.store, planner)
        expect(used(planner)).toEqual(counted(planner.entries()))
      }
    }),
    { numRuns: runs(0.25) },
  )
})

test('a pool that is invalid or being deleted has neither a total nor free addresses', async () => {
  const world = new World()
  const planner = inCluster()
  const name = 'InClusterIPPool default/pool'
  const told = async () => {
    await world.run(world.store, planner)
    return [...linesOf(planner)].sort()
  }
  await world.create(pool(['10.0.0.5-10.0.0.8']), claim('a'))
  expect(await told()).toEqual(lines(name, 'IPv4', { total: 4, used: 1, free: 3 }).sort())
  await world.patch(poolRef(), { spec: { addresses: ['garbage'] } })
  expect(await told()).toEqual(lines(name, 'IPv4', { used: 1 }))
  await world.patch(poolRef(), { spec: { addresses: ['10.0.0.7-10.0.0.8'] } })
  expect(await told()).toEqual(lines(name, 'IPv4', { total: 2, used: 1, free: 2 }).sort())
  await world.delete('pool', 'pool')
  expect(await told()).toEqual(lines(name, 'IPv4', { used: 1 }))
  await world.delete('claim', 'a')
  expect(await told()).toEqual([])
})

test('the total of a large pool is exact', async () => {
  const world = new World()
  const planner = inCluster()
  await world.create(pool(['fd00::/64'], { prefix: 64, allocateReservedIPAddresses: true }), claim('a'))
  await world.run(world.store, planner)
  const figures = { total: 2n ** 64n, used: 1, free: 2n ** 64n - 1n }
  expect(linesOf(planner)).toEqual(lines('InClusterIPPool default/pool', 'IPv6', figures))
})

/** A store with these objects on which planners have done all that they have to do. */
async function quiet(objects: readonly KubeObject[], planners: readonly Planner<Outcome>[]): Promise<Store> {
  const store = memoryStore({ now: () => 0 })
  for (const object of objects) unwrap(await store.create(object))
  await runUntilQuiet(store, planners, { now: () => 0 })
  return store
}

test('node IPAM counts subnets of each range', async () => {
  const planner = nodeIPAM({ serviceCIDRs: [Prefix.parse('10.0.4.0/25')] })
  const nodes = ['n1', 'n2'].map((name) => node(name))
  const half = node('n3', { podCIDRs: ['10.0.5.128/25'] })
  await quiet([range('a', { ipv4: '10.0.0.0/21', ipv6: 'fd00::/116' }), half, ...nodes], [planner])
  expect(linesOf(planner)).toEqual(
    ['total', 'used', 'free'].flatMap((figure) => [
      ...lines('ClusterCIDR a', 'IPv4', { total: 8, used: 3, free: 4 }).filter((line) => line.includes(`_${figure}{`)),
      ...lines('ClusterCIDR a', 'IPv6', { total: 16, used: 2, free: 14 }).filter((line) =>
        line.includes(`_${figure}{`),
      ),
    ]),
  )
  expect(used(planner)).toEqual(counted(planner.entries(), () => 'ClusterCIDR a'))
})

test('services have one pool', async () => {
  const planner = serviceIPs({ seed: 7 })
  const service = (name: string) => ({
    ...{ apiVersion: 'v1', kind: Service.info.kind, metadata: { namespace: 'default', name }, spec: {} },
  })
  const { apiVersion, kind } = ServiceCIDR.info
  const ranges = { apiVersion, kind, metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/28'] } }
  await quiet([ranges, service('web'), service('api')], [planner])
  expect(linesOf(planner)).toEqual(lines('services', 'IPv4', { total: 14, used: 2, free: 12 }))
  expect(used(planner)).toEqual(counted(planner.entries(), () => 'services'))
})

test('networks of persistent IPs have their range', async () => {
  const planner = persistentIPs()
  const objects = [ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']), podIn('p2', ['blue'])]
  await quiet(objects, [planner])
  const counts = counted(planner.entries?.() ?? [])
  expect(Object.values(counts)).toEqual([2n])
  expect(used(planner)).toEqual(counts)
  expect(linesOf(planner).filter((line) => line.startsWith('ipam_pool_total'))).toHaveLength(1)
})

test('pools of floating IPs have what the last list of the cloud had', async () => {
  const world = new CloudWorld()
  const planner = world.start()
  await world.create(cloudPool({ minFree: 3 } as never), cloudClaim('a'))
  await world.runFor(120, planner)
  const name = 'OpenStackFloatingIPPool team-a/blue'
  expect(used(planner)).toEqual(counted(planner.entries()))
  expect(used(planner)).toEqual({ [`${name} IPv4`]: 1n })
  const free = planner.ledgerOf(blue).report?.available.length
  expect(linesOf(planner)).toEqual(lines(name, 'IPv4', { total: 1 + Number(free), used: 1, free }))
})

test('pools of blocks have the units of the operator, which knows the total', async () => {
  const store = memoryStore({ now: () => 0 })
  const spec = { subnets: [{ cidr: '10.0.0.0/26' }], ipv4: { blockPrefixLength: 28 } }
  unwrap(await store.create({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name: 'blue' }, spec }))
  for (const name of ['a', 'b', 'c']) {
    const poolRef = { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: 'blue' }
    unwrap(await create(store, IPAddressClaim, { metadata: { namespace: 'default', name }, spec: { poolRef } }))
  }
  const [claims, operator] = [blockClaims(), blocksOperator()]
  const external = taskCaller({ store, tasks: claims.tasks, now: () => 0 })
  await runUntilQuiet<Outcome>(store, [claims, operator], { now: () => 0, external })
  const all = lines('IPPool blue', 'IPv4', { total: 62, used: 3, free: 59 })
  expect(linesOf(claims, operator)).toEqual(all)
  expect(linesOf(operator, claims)).toEqual(all)
  expect(linesOf(claims)).toEqual(lines('IPPool blue', 'IPv4', { used: 3 }))
  const counts = counted(operator.entries(), ({ pool }) => `IPPool ${pool}`)
  expect(used(operator)).toEqual(counts)
})

test('pools of whereabouts have no total', () => {
  const planner = whereaboutsSweep()
  const { apiVersion, kind } = WhereaboutsPool.info
  const allocations = { 1: { id: 'c1', podref: 'default/p1' }, 5: { id: 'c2', podref: 'default/p2' } }
  const metadata = { namespace: 'kube-system', name: '10.0.0.0-24' }
  const spec = { range: '10.0.0.0/24', allocations }
  planner.observe({ kind: 'present', object: { apiVersion, kind, metadata, spec } })
  expect(linesOf(planner)).toEqual(lines('IPPool kube-system/10.0.0.0-24', 'IPv4', { used: 2 }))
})

test('planners whose objects hold nothing of their own report nothing', async () => {
  const planners: Planner<Outcome>[] = [networkViewPlanner(), gcPlanner({ kinds: [Node] })]
  await quiet([node('n1', { podCIDRs: ['10.0.0.0/24'] })], planners)
  expect(linesOf(...planners, {})).toEqual([])
})
