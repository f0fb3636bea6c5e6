import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { admitInClusterPool, DRAIN_ANNOTATION, type InClusterPool, poolModels } from 'ipam-kit/crd/in-cluster'
import type { ObjectRef } from 'ipam-kit/crd/meta'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimRef, poolOf } from '../in-cluster/world.js'
import { BlocksWorld } from './world.js'

interface Setting {
  readonly ledger: 'objects' | 'blocks'
  readonly kind: InClusterPool['kind']
  readonly what: string
  readonly before: object
  /** Without what the first two claims have. */
  readonly after: object
  readonly drained: string
  /** What the pool gives, in order. */
  readonly gives: readonly string[]
}

const shapes: readonly Omit<Setting, 'ledger'>[] = [
  {
    kind: 'InClusterIPPool',
    what: 'a range of IPv4',
    before: { addresses: ['10.0.0.2-10.0.0.3', '10.0.0.8-10.0.0.9'], prefix: 24 },
    after: { addresses: ['10.0.0.8-10.0.0.9'], prefix: 24 },
    drained: '10.0.0.2-10.0.0.3',
    gives: ['10.0.0.2', '10.0.0.3', '10.0.0.8', '10.0.0.9'],
  },
  {
    kind: 'GlobalInClusterIPPool',
    what: 'an exclusion of IPv6',
    before: { addresses: ['fd00::2-fd00::5'], prefix: 64 },
    after: { addresses: ['fd00::2-fd00::5'], prefix: 64, excludedAddresses: ['fd00::2/127'] },
    drained: 'fd00::3, fd00::2',
    gives: ['fd00::2', 'fd00::3', 'fd00::4', 'fd00::5'],
  },
  {
    kind: 'InClusterPrefixPool',
    what: 'a range of IPv6 prefixes',
    before: { prefixes: ['fd00::/63', 'fd01::/63'], allocationPrefixLength: 64 },
    after: { prefixes: ['fd01::/63'], allocationPrefixLength: 64 },
    drained: 'fd00::/32',
    gives: ['fd00::', 'fd00:0:0:1::', 'fd01::', 'fd01:0:0:1::'],
  },
  {
    kind: 'GlobalInClusterPrefixPool',
    what: 'an exclusion of IPv4 prefixes',
    before: { prefixes: ['10.0.0.0/26'], allocationPrefixLength: 28 },
    after: { prefixes: ['10.0.0.0/26'], allocationPrefixLength: 28, excludedPrefixes: ['10.0.0.0/27'] },
    drained: '10.0.0.0/27',
    gives: ['10.0.0.0', '10.0.0.16', '10.0.0.32', '10.0.0.48'],
  },
]
const settings = (['objects', 'blocks'] as const).flatMap((ledger) => shapes.map((shape) => ({ ledger, ...shape })))

describe.each(settings)('$ledger, $kind: $what that is in use', (setting) => {
  let world: BlocksWorld
  const model = poolModels.find(({ info }) => info.kind === setting.kind)!
  const { namespace } = poolOf(setting.kind, {}).metadata
  const ref: ObjectRef = { ...model.info, namespace, name: 'pool' }

  const play = () => (setting.ledger === 'blocks' ? world.runOnBlocks() : world.run())
  const claim = (name: string) => {
    const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: setting.kind, name: 'pool' }
    return { ...IPAddressClaim.info, metadata: { name, namespace: 'default' }, spec: { poolRef } }
  }
  const addressesOf = async () => (await world.addresses()).map(({ metadata, spec }) => [metadata.name, spec.address])
  const countsOf = async () => model.parse(await world.get(ref)).status?.ipAddresses

  async function admit(spec: object, drained?: string) {
    const oldObject = model.parse(await world.get(ref))
    const annotations = drained === undefined ? undefined : { [DRAIN_ANNOTATION]: drained }
    const object = model.parse({ ...oldObject, metadata: { ...oldObject.metadata, annotations }, spec })
    const inUse = (await world.addresses()).map((each) => IPAddress.parse(each))
    return admitInClusterPool({ operation: 'UPDATE', object, oldObject, inUse }, { ipv4Prefixes: true })
  }

  beforeEach(async () => {
    world = new BlocksWorld()
    await world.create(poolOf(setting.kind, setting.before), claim('a'), claim('b'))
    await play()
    const [first, second] = setting.gives
    expect(await addressesOf()).toEqual([
      ['a', first],
      ['b', second],
    ])
  })

  test('is taken out by a client that names it in the annotation, and by no other', async () => {
    expect(await admit(setting.after)).toMatchObject({ allowed: false, code: 400 })
    expect(await admit(setting.after, '')).toMatchObject({ allowed: false, code: 400 })
    expect(await admit(setting.after, 'everything')).toMatchObject({ allowed: false, code: 400 })
    // only half of what is in use
    expect(await admit(setting.after, setting.gives[0])).toMatchObject({ allowed: false, code: 400 })
    const [first] = setting.gives
    const warnings = [expect.stringContaining(`${first}`)]
    expect(await admit(setting.after, setting.drained)).toMatchObject({ allowed: true, warnings })
  })

  test('stays with its claims, is counted until it is given back, and is not given again', async () => {
    const annotations = { [DRAIN_ANNOTATION]: setting.drained }
    await world.patch(ref, { metadata: { annotations }, spec: setting.after })
    await world.create(claim('c'), claim('d'), claim('e'))
    await play()
    const [first, second, third, fourth] = setting.gives
    expect(await addressesOf()).toEqual([
      ['a', first],
      ['b', second],
      ['c', third],
      ['d', fourth],
    ])
    expect(await countsOf()).toMatchObject({ total: 2, free: 0, used: 4, outOfRange: 2 })
    expect((await world.claim('a')).status?.addressRef).toEqual({ name: 'a' })

    await world.store.delete(claimRef('a'))
    await play()
    await play()
    expect((await addressesOf()).map(([name]) => name)).toEqual(['b', 'c', 'd'])
    expect(await countsOf()).toMatchObject({ total: 2, free: 0, used: 3, outOfRange: 1 })
    await world.store.delete(claimRef('b'))
    await play()
    await play()
    expect(await countsOf()).toMatchObject({ total: 2, free: 0, used: 2, outOfRange: 0 })
    // what waited has waited for what the pool still gives
    await world.store.delete(claimRef('c'))
    await play()
    await play()
    expect(await addressesOf()).toEqual([
      ['d', fourth],
      ['e', third],
    ])
    // nothing is in use any more that is not of the pool: the annotation may go
    expect(await admit(setting.after)).toMatchObject({ allowed: true, warnings: [] })
  })
})
