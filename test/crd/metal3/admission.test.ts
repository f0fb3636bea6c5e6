import type { Admission } from 'ipam-kit/crd/meta'
import {
  admitMetal3IPAddress,
  admitMetal3IPClaim,
  admitMetal3IPPool,
  IPAddress,
  IPClaim,
  IPPool,
} from 'ipam-kit/crd/metal3'
import { describe, expect, test } from 'vitest'

const apiVersion = 'ipam.metal3.io/v1alpha1'
const metadata = { name: 'blue', namespace: 'lab' }

const pool = (spec: object, indexes: object = {}) =>
  IPPool.parse({ apiVersion, kind: 'IPPool', metadata, spec: { namePrefix: 'blue', ...spec }, status: { indexes } })
const poolErrors = (admission: Admission) =>
  admission.allowed ? [] : admission.errors.map(({ path, detail }) => `${path}: ${detail}`)
const created = (spec: object) => poolErrors(admitMetal3IPPool({ operation: 'CREATE', object: pool(spec) }))
const updated = (before: object, after: object, indexes = {}) =>
  poolErrors(admitMetal3IPPool({ operation: 'UPDATE', object: pool(after), oldObject: pool(before, indexes) }))

describe('creating a pool', () => {
  test.each<[string, object]>([
    ['without entries', {}],
    ['a range', { pools: [{ start: '10.0.0.10', end: '10.0.0.10' }] }],
    ['a start', { pools: [{ start: '10.0.0.10' }] }],
    ['an end', { pools: [{ end: '10.0.0.10' }] }],
    ['a subnet with host bits', { pools: [{ subnet: '10.0.0.7/24' }] }],
    ['both families: IPv4 lies before IPv6', { pools: [{ start: '10.0.0.1', end: '2001:db8::1' }] }],
    [
      'at random, where there is an end',
      { allocationStrategy: 'random', pools: [{ start: '10.0.0.1', end: '10.0.0.9' }] },
    ],
    [
      'at random from the rest of a subnet',
      { allocationStrategy: 'random', pools: [{ start: '10.0.0.9', subnet: '10.0.0.0/24' }] },
    ],
    ['at random from 2^63 - 1 addresses', { allocationStrategy: 'random', pools: [{ subnet: 'fd00::/65' }] }],
    [
      'at random from as many, with both ends',
      { allocationStrategy: 'random', pools: [{ start: 'fd00::', end: 'fd00::7fff:ffff:ffff:fffe' }] },
    ],
    ['at random from a subnet of 2^62', { allocationStrategy: 'random', pools: [{ subnet: 'fd00::/66' }] }],
    [
      'what comes with addresses',
      {
        gateway: '10.0.0.1',
        dnsServers: ['fd00::1'],
        pools: [{ subnet: '10.0.0.0/24', gateway: '::1', dnsServers: ['1.1.1.1'] }],
      },
    ],
    ['an address that is kept', { pools: [{ subnet: '10.0.0.0/24' }], preAllocations: { web: '10.0.0.255' } }],
    ['IPv6 behind an IPv4 start, as upstream', { pools: [{ start: '10.0.0.1' }], preAllocations: { web: 'fd00::1' } }],
    [
      'IPv4 within IPv6, in an IPv4 subnet',
      { pools: [{ subnet: '10.0.0.0/24' }], preAllocations: { web: '::ffff:10.0.0.1' } },
    ],
  ])('is allowed: %s', (_, spec) => {
    expect(created(spec)).toEqual([])
  })

  test.each<[object, string]>([
    [{ gateway: 'x' }, 'spec.gateway: is not a valid IP address'],
    [{ dnsServers: ['1.1.1.1', 'fe80::1%eth0'] }, 'spec.dnsServers[1]: is not a valid IP address'],
    [{ pools: [{}] }, 'spec.pools[0]: pool entry must specify at least one of start, end, or subnet'],
    [{ pools: [{ gateway: 'x' }] }, 'spec.pools[0]: pool entry must specify at least one of start, end, or subnet'],
    [{ pools: [{ start: '' }] }, 'spec.pools[0]: invalid Start IP ""'],
    [{ pools: [{ end: '10.0.0.256' }] }, 'spec.pools[0]: invalid End IP "10.0.0.256"'],
    [{ pools: [{ subnet: 'x' }] }, 'spec.pools[0]: invalid Subnet "x": invalid CIDR address: x'],
    [{ pools: [{ start: '10.0.0.9', end: '10.0.0.1' }] }, 'spec.pools[0]: end IP 10.0.0.1 is before start IP 10.0.0.9'],
    [{ pools: [{ start: 'fd00::1', end: '10.0.0.1' }] }, 'spec.pools[0]: end IP 10.0.0.1 is before start IP fd00::1'],
    [{ pools: [{ start: '10.0.0.1', gateway: 'x' }] }, 'spec.pools[0].gateway: is not a valid IP address'],
    [{ pools: [{ start: '10.0.0.1', dnsServers: ['x'] }] }, 'spec.pools[0].dnsServers[0]: is not a valid IP address'],
  ])('%j is refused', (spec, words) => {
    expect(created(spec)).toEqual([words])
  })

  test.each<[object, string]>([
    [{ start: '10.0.0.1' }, 'pool with Start requires End or Subnet to determine size'],
    [{ end: '10.0.0.1' }, 'either Start or Subnet is required for ipAddress'],
    [{ subnet: 'fd00::/64' }, 'pool size exceeds int range'],
    [{ start: 'fd00::', end: 'fd00::7fff:ffff:ffff:ffff' }, 'pool size exceeds int range'],
    [{ subnet: 'fd00::/64', end: 'fd00::1' }, 'pool size exceeds int range'],
    [{ start: '10.0.1.0', subnet: '10.0.0.0/24' }, 'end IP 10.0.0.255 is before start IP 10.0.1.0'],
  ])('at random, %j is refused', (entry, words) => {
    expect(created({ allocationStrategy: 'random', pools: [entry] })).toEqual([
      `spec.pools[0]: cannot be used with allocationStrategy "random": ${words}`,
    ])
    expect(created({ pools: [entry] })).toEqual([])
  })

  test('at random, an entry that cannot be read is refused once', () => {
    expect(created({ allocationStrategy: 'random', pools: [{ start: 'x' }] })).toEqual([
      'spec.pools[0]: invalid Start IP "x"',
    ])
  })

  test('an address is kept for one claim only, however it is written', () => {
    const preAllocations = { a: 'fd00::5', b: 'fd00:0::0005', c: 'x' }
    expect(created({ pools: [{ subnet: 'fd00::/64' }], preAllocations })).toEqual([
      'spec.preAllocations.b: IP address is already pre-allocated to claim "a"',
      'spec.preAllocations.c: is not a valid IP address',
      'spec.preAllocations: is out of bonds of the pools given',
    ])
  })

  test.each<[object]>([
    [{ start: '10.0.0.2' }],
    [{ end: '10.0.0.0' }],
    [{ subnet: '10.0.1.0/24' }],
    [{ start: '10.0.0.0', end: '10.0.0.9', subnet: '10.1.0.0/16' }],
    [{ start: 'fd00::1' }],
  ])('an address that is kept has to be of the pool: not of %j', (entry) => {
    expect(created({ pools: [entry], preAllocations: { web: '10.0.0.1' } })).toEqual([
      'spec.preAllocations: is out of bonds of the pools given',
    ])
  })

  test('is answered as the project does', () => {
    expect(admitMetal3IPPool({ operation: 'CREATE', object: pool({ gateway: 'x' }) })).toMatchObject({
      code: 422,
      message: 'IPPool.ipam.metal3.io "blue" is invalid: spec.gateway: Invalid value: "x": is not a valid IP address',
    })
  })
})

describe('updating a pool', () => {
  const range = { pools: [{ start: '10.0.0.1', end: '10.0.0.9' }] }

  test.each<[string, object, object, object, readonly string[]]>([
    ['nothing', range, range, { web: '10.0.0.9' }, []],
    ['the name prefix', {}, { namePrefix: 'red' }, {}, ['spec.namePrefix: cannot be modified']],
    ['a Cluster for the first time', {}, { clusterName: 'c1' }, {}, []],
    ['the Cluster', { clusterName: 'c1' }, { clusterName: 'c2' }, {}, ['spec.clusterName: cannot be modified']],
    ['no Cluster any more', { clusterName: 'c1' }, {}, {}, ['spec.clusterName: cannot be modified']],
    [
      'the strategy',
      {},
      { allocationStrategy: 'random' },
      {},
      ['spec.allocationStrategy: cannot be modified after creation'],
    ],
    ['a strategy that is the default', {}, { allocationStrategy: 'sequential' }, {}, []],
    ['an empty strategy, which is the default', { allocationStrategy: '' }, {}, {}, []],
    [
      'a range without what is in use',
      range,
      { pools: [{ start: '10.0.0.2' }] },
      { web: '10.0.0.1' },
      ['spec.pools: is in use but out of bounds of the pools given'],
    ],
    [
      'what is kept to elsewhere',
      range,
      { ...range, preAllocations: { web: '10.9.9.9' } },
      {},
      ['spec.preAllocations: is out of bounds of the pools given'],
    ],
    ['to what cannot be', range, { pools: [{ start: 'x' }] }, {}, ['spec.pools[0]: invalid Start IP "x"']],
  ])('%s', (_, before, after, indexes, expected) => {
    expect(updated(before, after, indexes)).toEqual(expected)
  })
})

describe('a claim', () => {
  const claim = (spec: object = { pool: { name: 'blue' } }, annotations: object = {}) =>
    IPClaim.parse({ apiVersion, kind: 'IPClaim', metadata: { name: 'web', annotations }, spec })

  test('names a pool', () => {
    expect(admitMetal3IPClaim({ operation: 'CREATE', object: claim() }).allowed).toBe(true)
    expect(poolErrors(admitMetal3IPClaim({ operation: 'CREATE', object: claim({ pool: {} }) }))).toEqual([
      'spec.pool.name: cannot be empty',
    ])
  })

  test('asks for an address, in an annotation, if for anything', () => {
    for (const text of ['', '10.0.0.1', 'fd00::1']) {
      expect(admitMetal3IPClaim({ operation: 'CREATE', object: claim(undefined, { ipAddress: text }) }).allowed).toBe(
        true,
      )
    }
    const object = claim(undefined, { ipAddress: 'x' })
    for (const request of [
      { operation: 'CREATE', object } as const,
      { operation: 'UPDATE', object, oldObject: claim() } as const,
    ]) {
      expect(poolErrors(admitMetal3IPClaim(request))).toEqual([
        'metadata.annotations.ipAddress: is not a valid IP address',
      ])
    }
  })

  test('never changes its spec', () => {
    const object = claim({ pool: { name: 'red', namespace: 'lab' } })
    expect(admitMetal3IPClaim({ operation: 'UPDATE', object, oldObject: claim() })).toMatchObject({
      message:
        'IPClaim.ipam.metal3.io "web" is invalid: spec: Invalid value: {"pool":{"namespace":"lab","name":"red"}}: cannot be modified',
    })
    const same = claim({ pool: { name: 'blue', namespace: '' } })
    expect(admitMetal3IPClaim({ operation: 'UPDATE', object: same, oldObject: claim() }).allowed).toBe(true)
  })
})

describe('an address', () => {
  const given = { address: '10.0.0.1', claim: { name: 'web' }, pool: { name: 'blue' } }
  const address = (change: object = {}, annotations: object = {}) =>
    IPAddress.parse({
      apiVersion,
      kind: 'IPAddress',
      metadata: { name: 'web', annotations },
      spec: { ...given, ...change },
    })

  test.each<[object, readonly string[]]>([
    [{}, []],
    [{ address: '' }, ['spec.address: cannot be empty']],
    [{ address: 'x' }, ['spec.address: is not a valid IP address']],
    [{ pool: {}, claim: {} }, ['spec.pool.name: cannot be empty', 'spec.claim.name: cannot be empty']],
  ])('with %j is created, or not', (change, expected) => {
    expect(poolErrors(admitMetal3IPAddress({ operation: 'CREATE', object: address(change) }))).toEqual(expected)
  })

  test('asks for an address, in an annotation, if for anything', () => {
    expect(poolErrors(admitMetal3IPAddress({ operation: 'CREATE', object: address({}, { ipAddress: 'x' }) }))).toEqual([
      'metadata.annotations.ipAddress: is not a valid IP address',
    ])
  })

  test.each<[object, readonly string[]]>([
    [{ prefix: 24, gateway: '10.0.0.9' }, []],
    [{ pool: { name: 'blue', uid: 'u' } }, []],
    [{ address: '10.0.0.2' }, ['spec.address: cannot be modified']],
    [{ pool: { name: 'red' } }, ['spec.pool: cannot be modified']],
    [{ pool: { name: 'blue', namespace: 'x' } }, ['spec.pool: cannot be modified']],
    [{ claim: { name: 'web', kind: 'X' } }, ['spec.claim: cannot be modified']],
  ])('changes to %j, or not', (change, expected) => {
    expect(
      poolErrors(admitMetal3IPAddress({ operation: 'UPDATE', object: address(change), oldObject: address() })),
    ).toEqual(expected)
  })
})

test('deleting is always allowed, and the wrong question a mistake', () => {
  expect(admitMetal3IPPool({ operation: 'DELETE', oldObject: pool({}, { web: '10.0.0.1' }) }).allowed).toBe(true)
  const operation = 'CONNECT' as 'CREATE'
  expect(() => admitMetal3IPPool({ operation, object: pool({}) })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
})
