import { admitIPAddress, admitIPAddressClaim, type ClaimLookup } from 'ipam-kit/crd/cluster-api'
import type { Admission } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'

const GROUP = 'ipam.cluster.x-k8s.io'
const poolRef = { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'blue' }
const object = (kind: string, spec: object, version = 'v1beta2') => ({
  apiVersion: `${GROUP}/${version}`,
  kind,
  metadata: { name: 'web', namespace: 'lab' },
  spec,
})
const claim = (spec: object = { poolRef }, version?: string) => object('IPAddressClaim', spec, version)
const given = { claimRef: { name: 'web' }, poolRef, address: '10.0.0.1', prefix: 24 }
const address = (change: object = {}, version?: string) => object('IPAddress', { ...given, ...change }, version)
const create = (change: object, lookup: ClaimLookup = { kind: 'absent' }, version?: string) =>
  admitIPAddress({ operation: 'CREATE', object: address(change, version), claim: lookup })
const message = (admission: Admission) => (admission.allowed ? 'allowed' : admission.message)

describe('creating an address', () => {
  test.each<[string, object]>([
    ['as it should be', {}],
    ['a prefix of 0', { prefix: 0 }],
    ['a zone', { address: 'fe80::1%eth0', prefix: 64 }],
    ['a prefix pool’s base address', { address: 'fd00::', prefix: 128 }],
    ['IPv4 in IPv6, which is IPv6', { address: '::ffff:10.0.0.1', prefix: 120 }],
    ['a gateway of another family', { gateway: 'fd00::1' }],
    ['an empty gateway', { gateway: '' }],
  ])('is allowed: %s', (_, change) => {
    expect(create(change)).toEqual({ allowed: true, warnings: [] })
  })

  test.each<[object, string]>([
    [{ address: '10.0.0.01' }, 'spec.address: Invalid value: "10.0.0.01": not a valid IP address'],
    [{ prefix: -1 }, 'spec.prefix: Invalid value: -1: prefix cannot be negative'],
    [{ prefix: 33 }, 'spec.prefix: Invalid value: 33: prefix is too large for an IPv4 address'],
    [{ address: 'fd00::1', prefix: 129 }, 'spec.prefix: Invalid value: 129: prefix is too large for an IPv6 address'],
    [
      { address: 'x', prefix: 129, gateway: '42' },
      '[spec.address: Invalid value: "x": not a valid IP address, spec.gateway: Invalid value: "42": not a valid IP address]',
    ],
  ])('%j is refused, with every reason', (change, words) => {
    expect(create(change)).toMatchObject({ allowed: false, code: 403, message: words })
  })

  test('needs the pool of its claim, if there is a claim', () => {
    const found = (ref: object): ClaimLookup => ({ kind: 'found', claim: claim({ poolRef: ref }) })
    expect(create({}, found(poolRef)).allowed).toBe(true)
    for (const change of [{ name: 'red' }, { kind: 'OtherPool' }, { apiGroup: 'example.com' }]) {
      expect(message(create({}, found({ ...poolRef, ...change })))).toBe(
        'spec.poolRef: Invalid value: {"name":"blue","kind":"InClusterIPPool","apiGroup":"ipam.cluster.x-k8s.io"}: the referenced pool is different from the pool referenced by the claim this address should fulfill',
      )
    }
  })

  test('compares pools as they are stored, whatever the versions', () => {
    const { apiGroup: _, ...old } = poolRef
    const lookup: ClaimLookup = { kind: 'found', claim: claim({ poolRef: old }, 'v1beta1') }
    expect(create({ poolRef: { ...old, apiGroup: '' } }, lookup).allowed).toBe(true)
    expect(create({}, lookup).allowed).toBe(false)
  })

  test('is refused while it is unknown whether its claim exists', () => {
    expect(create({}, { kind: 'failed', problem: 'timeout' })).toMatchObject({
      message: 'spec.claimRef: Internal error: failed to fetch claim: timeout',
      errors: [{ type: 'Internal', path: 'spec.claimRef' }],
    })
    const broken: ClaimLookup = { kind: 'found', claim: claim({}) }
    expect(message(create({}, broken))).toMatch(/^spec.claimRef: Internal error: failed to fetch claim: IPAddressClaim/)
  })

  test('names what cannot be read', () => {
    expect(create({ claimRef: {} })).toMatchObject({ code: 403, message: 'spec.claimRef.name: Required value' })
    const nameless = { ...address(), metadata: { name: '' } }
    const admission = admitIPAddress({ operation: 'CREATE', object: nameless, claim: { kind: 'absent' } })
    expect(admission).toMatchObject({ allowed: false, errors: [{ path: 'metadata.name' }] })
  })
})

describe('the group of a pool', () => {
  const { apiGroup: _, ...groupless } = poolRef
  const words = 'spec.poolRef.apiGroup: Invalid value: "null": the pool reference needs to contain a group'

  test.each(['v1alpha1', 'v1beta1'])('has to be there in %s, where the schema does not ask for it', (version) => {
    for (const ref of [groupless, { ...groupless, apiGroup: null }]) {
      const spec = { poolRef: ref }
      expect(message(admitIPAddressClaim({ operation: 'CREATE', object: claim(spec, version) }))).toBe(words)
      expect(message(create(spec, { kind: 'absent' }, version))).toBe(words)
    }
  })

  test('is the schema’s business in v1beta2', () => {
    const spec = { poolRef: { ...groupless, apiGroup: '' } }
    expect(admitIPAddressClaim({ operation: 'CREATE', object: claim(spec) }).allowed).toBe(true)
  })
})

describe('updating', () => {
  test('is allowed while the spec is the same, in whichever versions', () => {
    const oldObject = { ...claim({ poolRef: { ...poolRef, apiGroup: null } }, 'v1beta1') }
    const changed = { ...claim({ poolRef: { ...poolRef, apiGroup: '' } }), status: { addressRef: { name: 'web' } } }
    expect(admitIPAddressClaim({ operation: 'UPDATE', object: changed, oldObject })).toEqual({
      allowed: true,
      warnings: [],
    })
    const sameGateway = admitIPAddress({ operation: 'UPDATE', object: address({ gateway: '' }), oldObject: address() })
    expect(sameGateway.allowed).toBe(true)
    const { prefix: _, ...unprefixed } = given
    const oldAddress = object('IPAddress', unprefixed, 'v1alpha1')
    expect(admitIPAddress({ operation: 'UPDATE', object: address({ prefix: 0 }), oldObject: oldAddress }).allowed).toBe(
      true,
    )
  })

  test.each<[string, object, object, string]>([
    ['a field', {}, { address: '10.0.0.2' }, 'spec.address: "10.0.0.1" -> "10.0.0.2"'],
    ['a field deeper down', {}, { poolRef: { ...poolRef, name: 'red' } }, 'spec.poolRef.name: "blue" -> "red"'],
    ['a new field', {}, { gateway: '10.0.0.9' }, 'spec.gateway: nothing -> "10.0.0.9"'],
    ['a field that goes', { gateway: '10.0.0.9' }, {}, 'spec.gateway: "10.0.0.9" -> nothing'],
    ['two', {}, { prefix: 25, address: 'x' }, 'spec.address: "10.0.0.1" -> "x", spec.prefix: 24 -> 25'],
    ['an unknown field', { x: [1, { a: 2 }] }, { x: [1, { a: 3 }] }, 'spec.x[1].a: 2 -> 3'],
    ['a list that grows', { x: [1] }, { x: [1, 2] }, 'spec.x: [1] -> [1,2]'],
  ])('is refused with what differs: %s', (_, before, after, words) => {
    const admission = admitIPAddress({ operation: 'UPDATE', object: address(after), oldObject: address(before) })
    expect(admission).toMatchObject({
      code: 403,
      message: `spec: Forbidden: IPAddress spec is immutable. Diff: ${words}`,
      errors: [{ type: 'Forbidden', path: 'spec' }],
    })
  })

  test('a name of the Cluster cannot be given to a claim later', () => {
    const later = claim({ poolRef, clusterName: 'c1' })
    expect(message(admitIPAddressClaim({ operation: 'UPDATE', object: later, oldObject: claim() }))).toBe(
      'spec: Forbidden: IPAddressClaim spec is immutable. Diff: spec.clusterName: nothing -> "c1"',
    )
  })

  test('of what has no stored form is refused', () => {
    const annotations = { 'cluster.x-k8s.io/conversion-data': '{' }
    const broken = { ...claim({ poolRef }, 'v1alpha1'), metadata: { name: 'web', annotations } }
    expect(admitIPAddressClaim({ operation: 'UPDATE', object: broken, oldObject: claim() })).toMatchObject({
      code: 400,
      message: expect.stringMatching(/^failed to compare old and new IPAddressClaim spec: /),
    })
    expect(admitIPAddressClaim({ operation: 'CREATE', object: broken })).toMatchObject({ allowed: false, code: 400 })
  })
})

test('deleting is always allowed', () => {
  expect(admitIPAddress({ operation: 'DELETE', oldObject: address() }).allowed).toBe(true)
  expect(admitIPAddressClaim({ operation: 'DELETE', oldObject: claim() }).allowed).toBe(true)
})

test('the wrong question is a mistake, not a yes', () => {
  const operation = 'CONNECT' as 'CREATE'
  expect(() => admitIPAddressClaim({ operation, object: claim() })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
  expect(() => admitIPAddressClaim({ operation: 'CREATE', object: address() })).toThrow(
    expect.objectContaining({ code: 'OBJECT_KIND_MISMATCH' }),
  )
})

describe('several faults of an address at once', () => {
  const poolRef = { apiGroup: 'g', kind: 'Pool', name: 'p' }
  const spec = { claimRef: { name: 'web' }, poolRef, address: 'x', prefix: -1, gateway: 'y' }
  const pathsOf = (version: string, own: object) => {
    const metadata = { name: 'web' }
    const object = { apiVersion: `ipam.cluster.x-k8s.io/${version}`, kind: 'IPAddress', metadata, spec: own }
    const admission = admitIPAddress({ operation: 'CREATE', object, claim: { kind: 'failed', problem: 'down' } })
    return admission.allowed ? [] : admission.errors.map(({ path, detail }) => `${path}: ${detail}`)
  }
  const three = [
    'spec.address: not a valid IP address',
    'spec.prefix: prefix cannot be negative',
    'spec.gateway: not a valid IP address',
  ]

  test.each(['v1alpha1', 'v1beta1', 'v1beta2'])('are all told, in the order of upstream: %s', (version) => {
    expect(pathsOf(version, spec)).toEqual([...three, 'spec.claimRef: failed to fetch claim: down'])
  })

  test.each([
    { ...spec, poolRef: { kind: 'Pool', name: 'p' } },
    { ...spec, poolRef: { ...poolRef, kind: undefined } },
    { ...spec, poolRef: undefined },
    { ...spec, claimRef: undefined },
  ])('also where it cannot be read: %j', (own) => {
    const paths = pathsOf('v1beta2', own)
    expect(paths.slice(0, 3)).toEqual(three)
    expect(paths.length).toBeGreaterThan(3)
  })

  test('with those of its fields that are of another type', () => {
    expect(pathsOf('v1beta2', { ...spec, prefix: '24', poolRef: undefined }).map((text) => text.split(':')[0])).toEqual(
      ['spec.address', 'spec.gateway', 'spec.poolRef', 'spec.prefix'],
    )
  })
})
