import * as ClusterApi from 'ipam-kit/crd/cluster-api'
import * as InCluster from 'ipam-kit/crd/in-cluster'
import * as IpamKit from 'ipam-kit/crd/ipam-kit'
import type { Admission, CrdModel, KubeObject } from 'ipam-kit/crd/meta'
import * as Metal3 from 'ipam-kit/crd/metal3'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import * as OpenStack from 'ipam-kit/crd/openstack'
import { type AdmissionRequest, answerAdmissionReview } from 'ipam-kit/crd/webhook'
import { describe, expect, test } from 'vitest'
import type { FieldValidationOptions } from '../../src/crd/meta/admission.js'

const models: readonly CrdModel<KubeObject>[] = [
  ...InCluster.poolModels,
  ClusterApi.IPAddressClaim,
  ClusterApi.IPAddress,
  Metal3.IPPool,
  Metal3.IPClaim,
  Metal3.IPAddress,
  IpamKit.IPPool,
  IpamKit.IPBlock,
  IpamKit.IPDomain,
  IpamKit.IPHandle,
  IpamKit.ClusterNetwork,
  ClusterCIDR,
  OpenStack.OpenStackFloatingIPPool,
]
const versions = models.flatMap((model) => model.versions.map(({ apiVersion }) => ({ model, apiVersion })))

describe('every version of every kind', () => {
  test.each(versions)('$model.info.kind $apiVersion', ({ model, apiVersion }) => {
    const { kind } = model.info
    const object = {
      ...{ apiVersion, kind, spec: { xyzzy: 1 }, xyzzy: {} },
      metadata: { name: 'a', label: {}, labels: { any: 'thing' }, ownerReferences: [{ uid: 'u', nam: 'n' }] },
      status: { conditions: [] },
    }
    const paths = model.unknownFields(object).map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining(['xyzzy', 'spec.xyzzy', 'metadata.label', 'metadata.ownerReferences[0].nam']),
    )
    expect(paths).not.toContain('metadata.labels.any')
    expect(model.warnings(object)).toContain('unknown field "metadata.label", did you mean "labels"?')
    expect(model.validate(object, { strict: true })).toContainEqual({
      ...{ type: 'Forbidden', path: 'spec.xyzzy', value: null, detail: 'unknown field' },
    })
    expect(model.validate(object).filter(({ path }) => path === 'spec.xyzzy')).toEqual([])
  })

  test('another kind is refused', () => {
    for (const model of models) {
      const other = { apiVersion: model.info.apiVersion, kind: 'Other', metadata: { name: 'a' } }
      expect(() => model.warnings(other)).toThrow(expect.objectContaining({ code: 'OBJECT_KIND_MISMATCH' }))
    }
  })
})

const pool = (spec: object, kind = 'InClusterIPPool') => ({
  apiVersion: InCluster.InClusterIPPool.info.apiVersion,
  kind,
  metadata: { name: 'blue' },
  spec: { addresses: ['10.0.0.0/24'], prefix: 24, ...spec },
})

test('fields of a subset of a kind are kept, whatever they are called; those of other parts of it are not', () => {
  const { OpenStackServer } = OpenStack
  const object = {
    ...{
      apiVersion: OpenStack.OpenStackServer.info.apiVersion,
      kind: 'OpenStackServer',
      metadata: { name: 'a' },
      extra: 1,
    },
    spec: { flavor: 'm1', floatingIPPoolRef: { kind: 'Pool', name: 'p', namespace: 'n' } },
    status: { addresses: [] },
  }
  expect(OpenStackServer.unknownFields(object).map(({ path }) => path)).toEqual([
    'extra',
    'spec.floatingIPPoolRef.namespace',
  ])
})

describe('a near misspelling is named', () => {
  test.each([
    ['exclude', 'excludedAddresses'],
    ['excludeAddresses', 'excludedAddresses'],
    ['excludedAddress', 'excludedAddresses'],
    ['excludedaddresses', 'excludedAddresses'],
    ['excluded', 'excludedAddresses'],
    ['prefx', 'prefix'],
    ['gatway', 'gateway'],
    ['allocateReservedIpAddresses', 'allocateReservedIPAddresses'],
    ['addressReuseGracePeriod', 'addressReuseGracePeriodSeconds'],
  ])('%s for %s', (written, meant) => {
    expect(InCluster.InClusterIPPool.unknownFields(pool({ [written]: [] }))).toEqual([
      { path: `spec.${written}`, suggestion: meant },
    ])
  })

  test.each(['x', 'zone', 'description', '__proto__x', 'constructor', 'a'.repeat(1000)])(
    '%s is like none',
    (written) => {
      const [found] = InCluster.InClusterIPPool.unknownFields(pool({ [written]: null }))
      expect(found).toEqual({ path: expect.stringContaining(written) })
    },
  )

  test('in lists and maps too', () => {
    const spec = { namePrefix: 'a', pools: [{ start: '10.0.0.1', sub: 1 }, { subnets: 'x' }] }
    const object = { apiVersion: Metal3.IPPool.info.apiVersion, kind: 'IPPool', metadata: { name: 'a' }, spec }
    expect(Metal3.IPPool.warnings(object)).toEqual([
      'unknown field "spec.pools[0].sub"',
      'unknown field "spec.pools[1].subnets", did you mean "subnet"?',
    ])
  })

  test('at most 100 are told, of an object that is not meant for the kind', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, index]))
    expect(InCluster.InClusterIPPool.warnings(pool(many))).toHaveLength(100)
  })
})

const poolRef = { apiGroup: 'g', kind: 'Pool', name: 'p', namespace: 'n' }
const object = (apiVersion: string, kind: string, spec: object, name = 'a'): KubeObject => {
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, spec }
}
const claim = object('ipam.cluster.x-k8s.io/v1beta2', 'IPAddressClaim', { poolRef })
const address = object('ipam.cluster.x-k8s.io/v1beta2', 'IPAddress', {
  ...{
    claimRef: { name: 'a' },
    poolRef: { ...poolRef, namespace: undefined },
    address: '10.0.0.1',
    prefix: 24,
    dns: [],
  },
})
const grid = { ipv4: { blockPrefixLength: 24, allocationPrefixLength: 32, size: 1 } }
const { admitInClusterPool } = InCluster

type Admit = (options?: FieldValidationOptions) => Admission
const admits: readonly (readonly [string, string, Admit])[] = [
  ...InCluster.poolModels.map((model) => {
    const isPrefixes = model.info.kind.includes('Prefix')
    const spec = isPrefixes ? { prefixes: ['fd00::/48'], exclude: [] } : { exclude: [] }
    const made = model.parse(pool(spec, model.info.kind)) as InCluster.InClusterPool
    const extra = isPrefixes ? { ...made, spec: { prefixes: ['fd00::/48'], exclude: [] } as never } : made
    return [
      model.info.kind,
      'spec.exclude',
      (options?: FieldValidationOptions) => admitInClusterPool({ operation: 'CREATE', object: extra }, options),
    ] as const
  }),
  [
    'IPAddressClaim',
    'spec.poolRef.namespace',
    (o) => ClusterApi.admitIPAddressClaim({ operation: 'CREATE', object: claim }, o),
  ],
  [
    'IPAddress',
    'spec.dns',
    (o) => ClusterApi.admitIPAddress({ operation: 'CREATE', object: address, claim: { kind: 'absent' } }, o),
  ],
  [
    'IPPool of metal3',
    'spec.pols',
    (o) => {
      const made = Metal3.IPPool.parse(object(Metal3.IPPool.info.apiVersion, 'IPPool', { namePrefix: 'a', pols: [] }))
      return Metal3.admitMetal3IPPool({ operation: 'CREATE', object: made }, o)
    },
  ],
  [
    'IPClaim of metal3',
    'spec.pools',
    (o) => {
      const made = Metal3.IPClaim.parse(
        object(Metal3.IPPool.info.apiVersion, 'IPClaim', { pool: { name: 'p' }, pools: 1 }),
      )
      return Metal3.admitMetal3IPClaim({ operation: 'CREATE', object: made }, o)
    },
  ],
  [
    'IPPool of ipam-kit',
    'spec.subnet',
    (o) => {
      const made = IpamKit.IPPool.parse(
        object(IpamKit.IPPool.info.apiVersion, 'IPPool', { subnets: [{ cidr: '10.0.0.0/24' }], subnet: 1 }),
      )
      return IpamKit.admitIPPool({ operation: 'CREATE', object: made }, o)
    },
  ],
  [
    'IPDomain',
    'spec.ipv4.size',
    (o) => {
      const ipv6 = { blockPrefixLength: 120, allocationPrefixLength: 128 }
      const made = IpamKit.IPDomain.parse(object(IpamKit.IPPool.info.apiVersion, 'IPDomain', { ...grid, ipv6 }))
      return IpamKit.admitIPDomain({ operation: 'CREATE', object: made }, o)
    },
  ],
]

describe('an admission', () => {
  test.each(admits)('of %s warns of %s, and refuses it where it is strict', (_, path, admit) => {
    const warned = admit()
    expect(warned.allowed).toBe(true)
    expect(warned.warnings?.[0]).toContain(`unknown field "${path}"`)
    const strict = admit({ fieldValidation: 'Strict' })
    expect(strict).toMatchObject({ allowed: false, code: 422, errors: [{ type: 'Forbidden', path }] })
    expect(admit({ fieldValidation: 'Ignore' })).toEqual({ allowed: true, warnings: [] })
  })

  test('warns beside a refusal, in the review too', () => {
    const wrong = InCluster.InClusterIPPool.parse(pool({ addresses: [], exclude: [] }))
    const admission = admitInClusterPool({ operation: 'CREATE', object: wrong })
    const warnings = ['unknown field "spec.exclude", did you mean "excludedAddresses"?']
    expect(admission).toMatchObject({ allowed: false, errors: [{ path: 'spec.addresses' }], warnings })
    const kind = { group: 'ipam.cluster.x-k8s.io', version: 'v1alpha2', kind: 'InClusterIPPool' }
    const request: AdmissionRequest = { uid: 'u', kind, name: 'blue', operation: 'CREATE', object: wrong }
    expect(answerAdmissionReview(request, admission).response).toMatchObject({ allowed: false, warnings })
    const right = admitInClusterPool({
      operation: 'CREATE',
      object: InCluster.InClusterIPPool.parse(pool({ exclude: [] })),
    })
    expect(answerAdmissionReview(request, right).response).toEqual({ uid: 'u', allowed: true, warnings })
  })

  test('looks at changes, and not at deletions or the status', () => {
    const before = InCluster.InClusterIPPool.parse(pool({}))
    const after = InCluster.InClusterIPPool.parse({ ...pool({ exclude: [] }), status: { more: 1, conditions: [] } })
    const update = admitInClusterPool({ operation: 'UPDATE', object: after, oldObject: before, inUse: [] })
    expect(update.warnings).toEqual(['unknown field "spec.exclude", did you mean "excludedAddresses"?'])
    expect(admitInClusterPool({ operation: 'DELETE', oldObject: after, inUse: [] }).warnings).toEqual([])
  })

  const strict = { fieldValidation: 'Strict' } as const
  const update = (before: object, after: object, metadata: object = {}) => {
    const oldObject = InCluster.InClusterIPPool.parse(pool(before))
    const parsed = InCluster.InClusterIPPool.parse(pool(after))
    const object = { ...parsed, metadata: { ...parsed.metadata, ...metadata } }
    return admitInClusterPool({ operation: 'UPDATE', object, oldObject, inUse: [] }, strict)
  }
  const warning = 'unknown field "spec.exclude", did you mean "excludedAddresses"?'

  test('that is strict refuses no change of an object for a field that it had before: finalizers have to go', () => {
    expect(update({ exclude: [] }, { exclude: [] }, { finalizers: [] })).toEqual({ allowed: true, warnings: [warning] })
    expect(update({ exclude: ['a'] }, { exclude: ['b'] })).toEqual({ allowed: true, warnings: [warning] })
  })

  test('that is strict refuses the fields that a change adds, and warns of the others', () => {
    expect(update({ exclude: [] }, { exclude: [], gatway: '10.0.0.1' })).toMatchObject({
      allowed: false,
      errors: [{ path: 'spec.gatway' }],
      warnings: [warning],
    })
    expect(update({}, { exclude: [] })).toMatchObject({ allowed: false, errors: [{ path: 'spec.exclude' }] })
  })

  test('that is strict refuses no field of an object that is being deleted', () => {
    const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [] }
    expect(update({}, { exclude: [] }, deleted)).toEqual({ allowed: true, warnings: [warning] })
  })

  test.each(['strict', 'STRICT', 'warn', '', null, true])('does not take %j for one of its three words', (word) => {
    const options = { fieldValidation: word } as unknown as FieldValidationOptions
    const right = InCluster.InClusterIPPool.parse(pool({}))
    const refused = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      context: expect.objectContaining({ argument: 'options.fieldValidation' }),
    })
    expect(() => admitInClusterPool({ operation: 'CREATE', object: right }, options)).toThrow(refused)
    expect(() => admitInClusterPool({ operation: 'DELETE', oldObject: right, inUse: [] }, options)).toThrow(refused)
  })
})

describe('a pool that can give nothing is admitted with a warning', () => {
  const warningsOf = (spec: object) =>
    admitInClusterPool({ operation: 'CREATE', object: InCluster.InClusterIPPool.parse(pool(spec)) })
  const prefixWarningsOf = (spec: object) => {
    const made = {
      ...pool({}, 'InClusterPrefixPool'),
      spec: { prefixes: ['fd00::/48'], allocationPrefixLength: 64, ...spec },
    }
    return admitInClusterPool({ operation: 'CREATE', object: InCluster.InClusterPrefixPool.parse(made) })
  }
  const nothing = { allowed: true, warnings: [expect.stringContaining('the pool has nothing to allocate')] }

  test.each([
    { addresses: ['10.0.0.5'], prefix: 32 },
    { addresses: ['10.0.0.4/31'], prefix: 31 },
    { addresses: ['fd00::5'], prefix: 128 },
    { addresses: ['10.0.0.1'], prefix: 24, gateway: '10.0.0.1' },
    { addresses: ['fd00::1'], prefix: 64, gateway: 'fd00::1' },
    { addresses: ['10.0.0.1-10.0.0.9'], prefix: 24, excludedAddresses: ['10.0.0.0/28'] },
  ])('%j', (spec) => {
    expect(warningsOf(spec)).toEqual(nothing)
  })

  test.each([
    { addresses: ['10.0.0.5'], prefix: 32, allocateReservedIPAddresses: true },
    { addresses: ['fd00::4/127'], prefix: 127 },
    { addresses: ['10.0.0.1-10.0.0.9'], prefix: 24, excludedAddresses: ['10.0.0.0/29'] },
  ])('and not %j', (spec) => {
    expect(warningsOf(spec)).toEqual({ allowed: true, warnings: [] })
  })

  test('of prefixes too', () => {
    expect(prefixWarningsOf({ excludedPrefixes: ['fd00::/48'] })).toEqual(nothing)
    expect(prefixWarningsOf({ prefixes: ['fd00::/63'], excludedPrefixes: ['fd00::1', 'fd00:0:0:1::1'] })).toEqual(
      nothing,
    )
    expect(prefixWarningsOf({ prefixes: ['fd00::/63'], excludedPrefixes: ['fd00::1'] })).toEqual({
      allowed: true,
      warnings: [],
    })
  })
})
