import { Address } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Plan } from 'ipam-kit/plan'
import { type InClusterOptions, inCluster } from 'ipam-kit/provider/in-cluster'
import { expect, test } from 'vitest'
import { addressObject, claim, poolOf, poolRef } from './world.js'

const time = { nowMs: Date.UTC(2026, 0, 1) }
const given = (plan: Plan | undefined) =>
  plan?.effects.flatMap((effect) =>
    effect.kind === 'create' ? [(effect.object.spec as { address: string }).address] : [],
  )

test('what is about to be written is in use for a pool that comes to have it in common meanwhile', () => {
  const planner = inCluster({ overlaps: 'avoid' })
  let version = 0
  const show = (object: KubeObject) => {
    const metadata = { ...object.metadata, uid: object.metadata.name, resourceVersion: String(++version) }
    planner.observe({ kind: 'present', object: { ...object, metadata } })
  }
  const two = (addresses: readonly string[]) => poolOf('InClusterIPPool', { addresses, prefix: 24 }, 'two')
  const keyOf = (name: string) => `IPAddressClaim default/${name}`
  show(poolOf('InClusterIPPool', { addresses: ['10.0.0.5'], prefix: 24 }, 'one'))
  show(two(['10.0.0.7']))
  show(claim('a', { poolRef: { name: 'one' } }))
  show(claim('b', { poolRef: { name: 'two' } }))
  const first = planner.plan(keyOf('a'), time) as Plan
  const end = planner.begin?.(first) as () => readonly string[]
  expect(given(first)).toEqual(['10.0.0.5'])

  show(two(['10.0.0.5', '10.0.0.7']))
  show(two(['10.0.0.5', '10.0.0.7-10.0.0.8']))
  expect(given(planner.plan(keyOf('b'), time))).toEqual(['10.0.0.7'])
  // it was not written after all
  expect(end()).toContain('InClusterIPPool default/two')
  expect(end()).toEqual([])
  expect(given(planner.plan(keyOf('b'), time))).toEqual(['10.0.0.5'])
})

/** A planner, and functions that show it objects and return the keys that are woken. */
function shown(options: InClusterOptions) {
  const planner = inCluster(options)
  let version = 0
  const show = (object: KubeObject) => {
    const metadata = { ...object.metadata, uid: object.metadata.name, resourceVersion: String(++version) }
    return planner.observe({ kind: 'present', object: { ...object, metadata } })
  }
  const range = (name: string, addresses: unknown) =>
    show(poolOf('InClusterIPPool', { addresses, prefix: 24 } as never, name))
  return { planner, show, range }
}

test('a pool that could not be read for a while wakes those that overlap it when it changes or is deleted', () => {
  for (const isDeleted of [true, false]) {
    const { planner, range } = shown({ overlaps: 'avoid', poolConditions: true })
    range('one', ['10.0.0.1-10.0.0.3'])
    range('two', ['10.0.0.2-10.0.0.5'])
    range('one', 'not a list')
    const gone = { ...poolRef('one'), namespace: 'default' }
    const woken = isDeleted ? planner.observe({ kind: 'absent', ref: gone, uid: 'one' }) : range('one', ['10.0.0.20'])
    expect(woken).toContain('InClusterIPPool default/two')
  }
})

test('an IPAddress that moves to another pool wakes the claims there that have its address', () => {
  const { planner, show, range } = shown({})
  const held = (name: string, pool: string) => show(addressObject(name, { address: '10.0.0.5', poolRef: refIn(pool) }))
  for (const name of ['one', 'two']) range(name, ['10.0.0.1-10.0.0.9'])
  show(claim('bound', { poolRef: { name: 'one' } }))
  held('bound', 'one')
  held('by-hand', 'two')
  expect(held('by-hand', 'one')).toContain('IPAddressClaim default/bound')
  planner.plan('IPAddressClaim default/bound', time)
  expect(held('by-hand', 'two')).toContain('IPAddressClaim default/bound')
})

test('an IPAddress wakes the claims of other pools that are not Bound, and those of its own pool that are', () => {
  const { planner, show, range } = shown({ overlaps: 'avoid' })
  const wide = { ...refIn('wide'), kind: 'InClusterPrefixPool' }
  const bind = (name: string, poolRef: object, address: string, addressRef?: object) => {
    show({ ...claim(name, { poolRef }), status: { addressRef } })
    show(addressObject(name, { address, prefix: 32, poolRef }))
  }
  range('one', ['10.0.0.1-10.0.0.200'])
  show(poolOf(wide.kind, { prefixes: ['10.0.0.0/24'], allocationPrefixLength: 32 }, wide.name))
  for (let nth = 1; nth <= 100; nth++) bind(`bound-${nth}`, refIn('one'), `10.0.0.${nth}`, { name: `bound-${nth}` })
  bind('new', refIn('one'), '10.0.0.150')
  bind('narrow', wide, '10.0.0.201', { name: 'narrow' })
  for (const address of ['10.0.0.0', '10.0.1.0']) {
    const woken = show(addressObject('by-hand', { address, prefix: 24, poolRef: wide }))
    const claims = woken.filter((key) => key.startsWith('IPAddressClaim '))
    expect(claims).toEqual(['by-hand', 'new', 'narrow'].map((name) => `IPAddressClaim default/${name}`))
    for (const key of claims) planner.plan(key, time)
  }
})

test('entries tell pool, domain, object and owner, also of what is kept for a claim', () => {
  const { planner, show } = shown({ preallocations: {} })
  const annotations = { 'ipam-kit.dev/preallocations': JSON.stringify({ later: '10.0.0.7' }) }
  const one = poolOf('InClusterIPPool', { addresses: ['10.0.0.1-10.0.0.9'], prefix: 24 }, 'pool')
  show({ ...one, metadata: { ...one.metadata, annotations } })
  show(addressObject('a'))
  const common = { pool: 'InClusterIPPool default/pool', domain: 'default' }
  expect(planner.entries()).toMatchObject([
    { reason: 'held', holder: { ...common, object: { kind: 'IPAddress', name: 'a' }, owner: 'default/a' } },
    { reason: 'kept', holder: { ...common, object: { kind: 'InClusterIPPool' }, owner: 'default/later' } },
  ])
})

const refIn = (name: string) => ({ apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name })

test.each([
  ['another address', { claimRef: 7, address: '10.0.0.2' }, ['one 10.0.0.1', 'one 10.0.0.2']],
  ['no address, and another pool', { poolRef: refIn('two'), address: 5 }, ['one 10.0.0.1']],
  ['another pool', { claimRef: 7, poolRef: refIn('two'), address: '10.0.0.1' }, ['one 10.0.0.1', 'two 10.0.0.1']],
  ['an address that is no address', { poolRef: refIn('one'), address: 'garbage' }, ['one 10.0.0.1']],
])(
  'an IPAddress that cannot be read any more and names %s holds what it held, and what can be read of it',
  (_, spec, expected) => {
    const { planner, show, range } = shown({})
    for (const name of ['one', 'two']) range(name, ['10.0.0.1-10.0.0.3'])
    show(addressObject('a', { address: '10.0.0.1', poolRef: refIn('one') }))
    show(addressObject('a', { poolRef: refIn('one'), ...spec }))
    const held = planner.entries().map(({ prefix, holder }) => `${holder.pool} ${Address.format(prefix.address)}`)
    expect(held).toEqual(expected.map((each) => `InClusterIPPool default/${each}`))
    show(claim('b', { poolRef: { name: 'one' } }))
    expect(given(planner.plan('IPAddressClaim default/b', time))).not.toContain('10.0.0.1')
  },
)
