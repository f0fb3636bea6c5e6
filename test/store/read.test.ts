import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import { read, readAll } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { expect, expectTypeOf, test } from 'vitest'

const lab = { namespace: 'default', name: 'lab' }

const pool = (metadata: { namespace: string; name: string; labels?: { [key: string]: string } }, spec: object) => ({
  ...{ apiVersion: InClusterIPPool.info.apiVersion, kind: 'InClusterIPPool', metadata, spec },
})

async function storeWith(...objects: readonly KubeObject[]) {
  const store = memoryStore({ now: () => 0 })
  for (const object of objects) unwrap(await store.create(object))
  return store
}

test('an object comes as its model reads it', async () => {
  const store = await storeWith(pool(lab, { addresses: ['10.0.0.1'], prefix: 24 }))
  const found = unwrap(await read(store, InClusterIPPool, lab))
  expectTypeOf(found).toEqualTypeOf<InClusterIPPool>()
  expect(found.spec.addresses).toEqual(['10.0.0.1'])
})

test('an object of an older version is converted', async () => {
  const store = await storeWith({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta1',
    kind: 'IPAddressClaim',
    metadata: lab,
    spec: { clusterName: 'c', poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'p' } },
  })
  const found = unwrap(await read(store, IPAddressClaim, lab))
  expect(found).toMatchObject({ apiVersion: IPAddressClaim.info.apiVersion, spec: { clusterName: 'c' } })
  expect(unwrap(await readAll(store, IPAddressClaim))).toEqual([found])
})

test('what is not there, and what a model does not take, are failures', async () => {
  const store = await storeWith(pool(lab, { addresses: 'all of them' }))
  expect(await read(store, InClusterIPPool, { ...lab, name: 'other' })).toMatchObject({
    ok: false,
    failure: { code: 'STORE_NOT_FOUND' },
  })
  const invalid = { ok: false, failure: { code: 'INVALID_OBJECT', context: { kind: 'InClusterIPPool' } } }
  expect(await read(store, InClusterIPPool, lab)).toMatchObject(invalid)
  expect(await readAll(store, InClusterIPPool)).toMatchObject(invalid)
})

test('an object of another kind is a failure, whatever the store answers', async () => {
  const store = storeOver(memoryStore({ now: () => 0 }), {
    get: async () => ({ ok: true, value: { apiVersion: 'v1', kind: 'Pod', metadata: lab } }),
  })
  expect(await read(store, InClusterIPPool, lab)).toMatchObject({ failure: { code: 'OBJECT_KIND_MISMATCH' } })
})

test('all objects of a kind, or those that a query selects', async () => {
  const spec = { addresses: ['10.0.0.1'], prefix: 24 }
  const store = await storeWith(
    pool(lab, spec),
    pool({ namespace: 'default', name: 'red', labels: { tier: 'red' } }, spec),
    pool({ namespace: 'other', name: 'lab' }, spec),
  )
  const names = async (query?: Parameters<typeof readAll>[2]) =>
    unwrap(await readAll(store, InClusterIPPool, query)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  expect(await names()).toEqual(['default/lab', 'default/red', 'other/lab'])
  expect(await names({ namespace: 'default', labels: { tier: 'red' } })).toEqual(['default/red'])
  const down = storeOver(store, {
    list: async () => fail('STORE_IO', { operation: 'list', problem: 'down' }),
  })
  expect(await readAll(down, InClusterIPPool)).toMatchObject({ failure: { code: 'STORE_IO' } })
})
