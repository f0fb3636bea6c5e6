import { GlobalInClusterIPPool, InClusterIPPool, InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import { describe, expect, test } from 'vitest'

const GROUP = 'ipam.cluster.x-k8s.io'
const DATA = 'cluster.x-k8s.io/conversion-data'
const V1ALPHA1 = `${GROUP}/v1alpha1`
const HUB = `${GROUP}/v1alpha2`

const pool = (apiVersion: string, spec: object, metadata: object = {}) => ({
  apiVersion,
  kind: 'InClusterIPPool',
  metadata: { name: 'blue', namespace: 'lab', ...metadata },
  spec,
})
const global = (object: object) => ({ ...object, kind: 'GlobalInClusterIPPool' })
const hubSpec = (spec: object) => InClusterIPPool.convert(pool(V1ALPHA1, spec), HUB).spec

describe('v1alpha1 to v1alpha2', () => {
  test.each<[string, object, object]>([
    ['a range', { start: '10.0.0.4', end: '10.0.0.9', prefix: 24 }, { addresses: ['10.0.0.4-10.0.0.9'], prefix: 24 }],
    ['a subnet', { subnet: '10.0.0.0/24' }, { addresses: ['10.0.0.1-10.0.0.254'], prefix: 24 }],
    ['a subnet with host bits', { subnet: '10.0.0.7/29' }, { addresses: ['10.0.0.1-10.0.0.6'], prefix: 29 }],
    ['an IPv6 subnet', { subnet: 'fd00::/120' }, { addresses: ['fd00::1-fd00::fe'], prefix: 120 }],
    ['a length of its own', { subnet: '10.0.0.0/24', prefix: 16 }, { addresses: ['10.0.0.1-10.0.0.254'], prefix: 16 }],
    ['addresses too', { addresses: ['a'], start: 'b', end: 'c' }, { addresses: ['a', 'b-c'], prefix: 0 }],
    ['half a range', { start: '10.0.0.4', prefix: 24 }, { addresses: [], prefix: 24 }],
    ['nothing', {}, { addresses: [], prefix: 0 }],
    ['nothing between the ends', { subnet: '10.0.0.0/31' }, { addresses: ['10.0.0.1-10.0.0.0'], prefix: 31 }],
    ['the end of all', { subnet: '255.255.255.255/32' }, { addresses: ['invalid IP-255.255.255.254'], prefix: 32 }],
  ])('%s', (_, spec, expected) => {
    expect(hubSpec(spec)).toEqual(expected)
  })

  test.each(['10.0.0.0', 'x/8', '10.0.0.0/33', 'fe80::%eth0/64'])('the subnet %s fails, and says why', (subnet) => {
    const result = InClusterIPPool.safeConvert(pool(V1ALPHA1, { subnet }), HUB)
    expect(result).toMatchObject({
      ok: false,
      failure: { code: 'INVALID_CONVERSION', context: { object: 'InClusterIPPool lab/blue', path: 'spec.subnet' } },
    })
    expect(InClusterIPPool.safeParse(pool(V1ALPHA1, { subnet }))).toMatchObject({
      ok: false,
      failure: { code: 'INVALID_OBJECT', context: { name: 'lab/blue', issues: [{ path: 'spec.subnet' }] } },
    })
  })

  test('is read as what it is converted to', () => {
    expect(InClusterIPPool.parse(pool(V1ALPHA1, { subnet: '10.0.0.0/24' })).spec).toEqual({
      addresses: ['10.0.0.1-10.0.0.254'],
      prefix: 24,
    })
  })
})

describe('the way back to v1alpha1', () => {
  const written = { subnet: '10.0.0.0/24', gateway: '10.0.0.1' }
  const whole = { ...written, start: '10.0.0.1', end: '10.0.0.254', prefix: 24 }
  const hub = InClusterIPPool.convert(pool(V1ALPHA1, written), HUB) as ReturnType<typeof pool>

  test('says again what was written, with what was left to the subnet', () => {
    expect(InClusterIPPool.convert(hub, V1ALPHA1)).toEqual(pool(V1ALPHA1, whole))
  })

  test.each<[string, object]>([
    ['addresses', { addresses: ['10.0.0.1-10.0.0.9'] }],
    ['more addresses', { addresses: ['10.0.0.1-10.0.0.254', '10.0.1.1'] }],
    ['the prefix', { prefix: 23 }],
    ['the gateway', { gateway: '10.0.0.2' }],
  ])('says what the pool is now if it has other %s', (_, change) => {
    const changed = { ...hub, spec: { ...hub.spec, ...change } }
    expect(InClusterIPPool.convert(changed, V1ALPHA1)).toEqual(pool(V1ALPHA1, changed.spec))
  })

  test('says what was written all the same for a pool without a namespace, as upstream', () => {
    const changed = global({ ...hub, spec: { ...hub.spec, addresses: ['10.9.9.9'] } })
    expect(GlobalInClusterIPPool.convert(changed, V1ALPHA1)).toEqual(global(pool(V1ALPHA1, whole)))
  })

  test('keeps exclusions for a client that knows nothing of them', () => {
    const excluding = { ...hub, spec: { ...hub.spec, excludedAddresses: ['10.0.0.9'] } }
    const old = InClusterIPPool.convert(excluding, V1ALPHA1)
    expect(old.spec).toEqual(whole)
    expect(JSON.parse(old.metadata.annotations?.[DATA] ?? '')).toEqual({ spec: { excludedAddresses: ['10.0.0.9'] } })
    const edited = { ...old, spec: { ...(old.spec as object), end: '10.0.0.99' } }
    expect(InClusterIPPool.convert(edited, HUB).spec).toMatchObject({
      addresses: ['10.0.0.1-10.0.0.99'],
      excludedAddresses: ['10.0.0.9'],
    })
  })

  test('is the same text however the fields come: a write of it is none', () => {
    const other = { prefix: 24, gateway: '10.0.0.1', subnet: '10.0.0.0/24' }
    const again = InClusterIPPool.convert(pool(V1ALPHA1, other), HUB)
    const first = InClusterIPPool.convert(
      pool(V1ALPHA1, { subnet: '10.0.0.0/24', prefix: 24, gateway: '10.0.0.1' }),
      HUB,
    )
    expect(again.metadata.annotations).toEqual(first.metadata.annotations)
  })

  test('does not believe an annotation that means another pool, or none', () => {
    for (const spec of [{ subnet: 'x' }, { subnet: '10.9.0.0/24' }]) {
      const annotations = { [DATA]: JSON.stringify({ spec }) }
      const plain = { addresses: ['10.0.0.1'], prefix: 24 }
      expect(InClusterIPPool.convert(pool(HUB, plain, { annotations }), V1ALPHA1)).toEqual(pool(V1ALPHA1, plain))
    }
  })
})

test('pools of prefixes have one version', () => {
  expect(InClusterPrefixPool.versions.map(({ apiVersion }) => apiVersion)).toEqual([HUB])
})
