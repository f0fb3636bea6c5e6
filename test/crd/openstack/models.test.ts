import { crdManifest } from 'ipam-kit/crd/manifest'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool, OpenStackMachine, OpenStackServer } from 'ipam-kit/crd/openstack'
import { expect, test } from 'vitest'
import { adoptByTagOf, minFreeOf } from '../../../src/crd/openstack/floating-ip-pool.js'
import { API_VERSION_V1BETA1, API_VERSION_V1BETA2 } from '../../../src/crd/openstack/names.js'
import { identityRef, machine, pool, poolJson, poolRef, server } from './objects.js'

test('fields that are not known pass through, in pools, servers and machines', () => {
  expect(pool({ later: 1 }).spec).toEqual({ identityRef, reclaimPolicy: 'Delete', later: 1 })
  expect(server({ floatingIPPoolRef: poolRef, flavor: 'm1' }).spec).toEqual({
    floatingIPPoolRef: poolRef,
    flavor: 'm1',
  })
  expect(machine({ ports: [{ network: 'n' }] }).spec).toEqual({ ports: [{ network: 'n' }] })
})

test('a machine of v1beta1 is read as v1beta2', () => {
  const read = machine({ floatingIPPoolRef: poolRef }, API_VERSION_V1BETA1)
  expect([read.apiVersion, read.spec.floatingIPPoolRef]).toEqual([API_VERSION_V1BETA2, poolRef])
})

test('a pool has the lists of its status, and null is nothing', () => {
  const read = OpenStackFloatingIPPool.parse({ ...poolJson({ maxIPs: null }), status: { failedIPs: null } })
  expect([read.spec.maxIPs, read.status]).toEqual([undefined, { claimedIPs: [], availableIPs: [] }])
})

test.each([
  [{ reclaimPolicy: 'Keep' }, 'spec.reclaimPolicy'],
  [{ identityRef: {} }, 'spec.identityRef.name'],
  [{ maxIPs: 1.5 }, 'spec.maxIPs'],
  [{ preAllocatedFloatingIPs: [1] }, 'spec.preAllocatedFloatingIPs[0]'],
])('a pool with %j is not read', (spec, path) => {
  expect(OpenStackFloatingIPPool.safeParse(poolJson(spec))).toMatchObject({
    failure: {
      code: 'INVALID_OBJECT',
      context: { issues: expect.arrayContaining([expect.objectContaining({ path })]) },
    },
  })
})

test('the definition of a pool is evaluated as an API server does', () => {
  const id = '6c90b532-7ba0-418a-a276-5ae55060b5b0'
  const errorsOf = (network: object) =>
    OpenStackFloatingIPPool.validate(poolJson({ floatingIPNetwork: network })).map(
      ({ type, path }) => `${type} ${path}`,
    )
  expect(errorsOf({ id })).toEqual([])
  expect(errorsOf({ id: id.replaceAll('-', '').toUpperCase() })).toEqual([])
  expect(errorsOf({ id: 'ext' })).toEqual(['TypeInvalid spec.floatingIPNetwork.id'])
  expect(errorsOf({})).toEqual(['Invalid spec.floatingIPNetwork'])
  expect(errorsOf({ id, filter: { name: 'a' } })).toEqual(['TooMany spec.floatingIPNetwork'])
  expect(errorsOf({ filter: { tags: ['a', 'a', 'b,c'] } })).toEqual([
    'Invalid spec.floatingIPNetwork.filter.tags[2]',
    'Duplicate spec.floatingIPNetwork.filter.tags[1]',
  ])
})

test('a network that is two is refused in the words of an API server', () => {
  const id = '6c90b532-7ba0-418a-a276-5ae55060b5b0'
  const errors = OpenStackFloatingIPPool.validate(poolJson({ floatingIPNetwork: { id, filter: { name: 'a' } } }))
  expect(errors.map(formatFieldError)).toEqual(['spec.floatingIPNetwork: Too many: 2: must have at most 1 item'])
})

test('the manifests of subsets keep other fields', () => {
  for (const model of [OpenStackServer, OpenStackMachine]) {
    for (const { schema } of crdManifest(model).spec.versions) {
      const { properties = {} } = schema.openAPIV3Schema
      expect(properties.spec).toMatchObject({ 'x-kubernetes-preserve-unknown-fields': true })
      expect(properties.status).toMatchObject({ 'x-kubernetes-preserve-unknown-fields': true })
      expect(properties.spec?.properties?.floatingIPPoolRef).toMatchObject({
        required: ['kind', 'name'],
        'x-kubernetes-map-type': 'atomic',
      })
    }
  }
})

const annotated = (name: string, text: string) => pool({}, { annotations: { [name]: text } })

test('annotations of a pool are read, and a text that says nothing is a failure', () => {
  expect([minFreeOf(pool()), adoptByTagOf(pool())]).toEqual([
    { ok: true, value: 0 },
    { ok: true, value: false },
  ])
  for (const [text, value] of Object.entries({ '0': 0, '7': 7, '100000': 100_000 })) {
    expect(minFreeOf(annotated('ipam-kit.dev/min-free', text))).toEqual({ ok: true, value })
  }
  for (const text of ['', ' 5', '-1', '5.0', '1e3', '100001', '٣']) {
    expect(minFreeOf(annotated('ipam-kit.dev/min-free', text))).toMatchObject({
      failure: { code: 'INVALID_ARGUMENT', context: { got: text } },
    })
  }
  expect(adoptByTagOf(annotated('ipam-kit.dev/adopt-by-tag', 'true'))).toEqual({ ok: true, value: true })
  expect(adoptByTagOf(annotated('ipam-kit.dev/adopt-by-tag', 'false'))).toEqual({ ok: true, value: false })
  expect(adoptByTagOf(annotated('ipam-kit.dev/adopt-by-tag', '1')).ok).toBe(false)
})
