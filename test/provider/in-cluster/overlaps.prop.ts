import fc from 'fast-check'
import { Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { type InClusterPool, isPrefixPool, poolModels } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { Host } from './host.js'
import { claim, pool, poolOf, poolRef, World } from './world.js'

const V4 = ['10.0.0.0/30', '10.0.0.2-10.0.0.6', '10.0.0.4/30', '10.0.0.0-10.0.0.15']
const PARENTS = ['10.0.0.0/28', '10.0.0.8/29', '10.0.0.0/29']

/**
 * The pools of the world: two of a namespace, one of another one, one for all, and those that give
 * prefixes.
 */
const POOLS = [
  { kind: 'InClusterIPPool', name: 'one', namespace: 'default' },
  { kind: 'InClusterIPPool', name: 'two', namespace: 'default' },
  { kind: 'InClusterIPPool', name: 'one', namespace: 'other' },
  { kind: 'GlobalInClusterIPPool', name: 'all', namespace: undefined },
  { kind: 'InClusterPrefixPool', name: 'carved', namespace: 'default' },
] as const

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      name: fc.nat(7),
      pool: fc.nat(4),
      isElsewhere: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('unclaim' as const), name: fc.nat(7), isElsewhere: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('spec' as const), pool: fc.nat(4), ranges: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
)

function specOf(at: number, ranges: number): object {
  return POOLS[at]!.kind === 'InClusterPrefixPool'
    ? { prefixes: [PARENTS[ranges % PARENTS.length]], allocationPrefixLength: 30 }
    : { addresses: [V4[ranges % V4.length]], prefix: 24, allocateReservedIPAddresses: true }
}

function made(at: number, ranges: number): KubeObject {
  const { kind, name, namespace } = POOLS[at]!
  const { apiVersion } = poolModels[0]!.info
  return { apiVersion, kind, metadata: namespace ? { name, namespace } : { name }, spec: specOf(at, ranges) }
}

/** What an IPAddress has, and who may not have it as well. */
function held(address: IPAddress) {
  const { namespace } = address.metadata
  const { kind, name } = address.spec.poolRef
  const own = Prefix.parse(`${address.spec.address}/${kind === 'InClusterPrefixPool' ? address.spec.prefix : 32}`)
  return {
    space: RangeSet.fromPrefixes([own]),
    pool: `${kind} ${kind.startsWith('Global') ? '' : namespace}/${name}`,
    namespace,
    kind,
  }
}

async function addressesIn(world: World): Promise<ReturnType<typeof held>[]> {
  return (await world.addresses()).map(held)
}

/** Two things that are in use although they have something in common, from pools that may not. */
function clashes(all: readonly ReturnType<typeof held>[]): string[] {
  const domain = (it: ReturnType<typeof held>) => (it.kind.startsWith('Global') ? undefined : it.namespace)
  return all.flatMap((left, i) =>
    all.slice(i + 1).flatMap((right) => {
      const [a, b] = [domain(left), domain(right)]
      const areNear = a === undefined || b === undefined || a === b
      const common = RangeSet.intersect(left.space, right.space)
      return areNear && !RangeSet.isEmpty(common) ? [`${left.pool} and ${right.pool}: ${RangeSet.format(common)}`] : []
    }),
  )
}

describe('pools with addresses in common, where that is to be avoided', () => {
  test('never give what is in use from another one, whatever happens, and count right', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 30 }), async (steps) => {
        const world = new World()
        const options = { overlaps: 'avoid' as const, poolConditions: true }
        let host = new Host(world, options)
        for (const at of POOLS.keys()) await world.create(made(at, at))
        for (const it of steps) {
          if (it.do === 'restart') host = new Host(world, options)
          else if (it.do === 'spec') {
            const { kind, name, namespace } = POOLS[it.pool]!
            const ref = { apiVersion: poolModels[0]!.info.apiVersion, kind, name, ...(namespace ? { namespace } : {}) }
            await world.patch(ref, { spec: specOf(it.pool, it.ranges) })
          } else {
            const name = `claim-${it.name}`
            const namespace = it.isElsewhere ? 'other' : 'default'
            if (it.do === 'claim') await world.store.create(claim(name, { namespace, poolRef: POOLS[it.pool]! }))
            else await world.store.delete({ ...claimRefIn(namespace), name })
          }
          await host.run()
          expect(clashes(await addressesIn(world))).toEqual([])
        }
        await expectCountsOf(world)
      }),
      { numRuns: runs(1.5) },
    )
  })

  const claimRefIn = (namespace: string) => ({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    namespace,
  })

  /** Free is what is of the pool, and in use by nobody near. */
  async function expectCountsOf(world: World): Promise<void> {
    const all = await addressesIn(world)
    for (const { kind, name, namespace } of POOLS) {
      const ref = { apiVersion: poolModels[0]!.info.apiVersion, kind, name, ...(namespace ? { namespace } : {}) }
      const object = (await world.get(ref)) as InClusterPool
      const near = all.filter(
        (it) => namespace === undefined || it.kind.startsWith('Global') || it.namespace === namespace,
      )
      const free = isPrefixPool(object)
        ? [...Prefix.split(Prefix.parse(object.spec.prefixes[0]!), 30)].filter((child) =>
            near.every(({ space }) => !RangeSet.overlaps(space, Range.fromPrefix(child))),
          ).length
        : Number(
            RangeSet.size(
              near.reduce((left, { space }) => RangeSet.subtract(left, space), RangeSet.parse(object.spec.addresses)),
            ),
          )
      expect([kind, name, object.status?.ipAddresses?.free]).toEqual([kind, name, free])
    }
  }

  test('without the option they do', async () => {
    const world = new World()
    const host = new Host(world)
    await world.create(pool(['10.0.0.5'], {}, 'one'), pool(['10.0.0.5'], {}, 'two'))
    await world.create(claim('a', { poolRef: { name: 'one' } }), claim('b', { poolRef: { name: 'two' } }))
    await host.run()
    expect(clashes(await addressesIn(world))).toHaveLength(1)
  })
})

describe('pools with addresses in common', () => {
  const conditionsOf = async (world: World, name: string) =>
    (await world.pool(name)).status?.conditions?.filter(({ type }) => type === 'AddressesUnique')

  test('are reported with both, and no longer when they have none', async () => {
    const world = new World()
    const host = new Host(world, { overlaps: 'report', poolConditions: true })
    await world.create(pool(['10.0.0.5'], {}, 'one'), pool(['10.0.0.0/24'], {}, 'two'))
    await world.create(
      poolOf('GlobalInClusterPrefixPool', { prefixes: ['10.0.0.0/16'], allocationPrefixLength: 24 }, 'all'),
    )
    await world.create(claim('a', { poolRef: { name: 'one' } }), claim('b', { poolRef: { name: 'two' } }))
    await host.run()
    expect(await conditionsOf(world, 'one')).toMatchObject([
      {
        status: 'False',
        reason: 'OverlappingPools',
        message: 'has addresses in common with GlobalInClusterPrefixPool all, InClusterIPPool default/two',
      },
    ])
    expect(host.events.some(({ about, reason }) => about.name === 'two' && reason === 'OverlappingPools')).toBe(true)
    await world.patch(poolRef('one'), { spec: { addresses: ['10.9.0.5'] } })
    await host.run()
    expect(await conditionsOf(world, 'one')).toMatchObject([{ status: 'True', reason: 'Unique' }])
    expect(await conditionsOf(world, 'two')).toMatchObject([
      { message: 'has addresses in common with GlobalInClusterPrefixPool all' },
    ])
  })

  test('of two namespaces are two networks', async () => {
    const world = new World()
    const host = new Host(world, { overlaps: 'report', poolConditions: true })
    const elsewhere = pool(['10.0.0.5'], {}, 'one')
    await world.create(pool(['10.0.0.5'], {}, 'one'))
    await world.create({ ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'other' } })
    await host.run()
    expect(await conditionsOf(world, 'one')).toMatchObject([{ status: 'True' }])
  })

  test('a claim that waits is woken when the other pool gives an address back', async () => {
    const world = new World()
    const host = new Host(world, { overlaps: 'avoid' })
    await world.create(pool(['10.0.0.5'], {}, 'one'), pool(['10.0.0.5'], {}, 'two'))
    await world.create(claim('a', { poolRef: { name: 'one' } }))
    await host.run()
    await world.create(claim('b', { poolRef: { name: 'two' } }))
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    await world.delete('claim', 'a')
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/b': '10.0.0.5' })
  })

  test('two plans side by side do not give one address', async () => {
    const world = new World()
    const host = new Host(world, { overlaps: 'avoid' })
    await world.create(pool(['10.0.0.5-10.0.0.6'], {}, 'one'), pool(['10.0.0.5-10.0.0.6'], {}, 'two'))
    await host.run()
    const { planner } = host
    const given = ['one', 'two'].map((name) => {
      planner.observe({ kind: 'present', object: withUid(claim(`of-${name}`, { poolRef: { name } })) })
      const plan = planner.plan(`IPAddressClaim default/of-${name}`, { nowMs: 0 })!
      const created = plan.effects.find((effect) => effect.kind === 'create')!
      return { end: planner.begin!(plan), address: IPAddress.parse(created.object).spec.address }
    })
    expect(given.map(({ address }) => address)).toEqual(['10.0.0.5', '10.0.0.6'])
    const other = planner.ledgerOf(poolRef('two'))
    expect(other.counts()).toEqual({ total: 2, free: 2, used: 0, outOfRange: 0 })
    expect(given[0]!.end()).toContain('InClusterIPPool default/two')
    expect(other.next()?.address).toEqual({ family: 4, value: 0x0a000005 })
  })

  const withUid = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, uid: object.metadata.name, resourceVersion: '1' },
  })
})
