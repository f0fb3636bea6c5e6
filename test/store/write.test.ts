import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { Service } from 'ipam-kit/crd/core'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { create, type MergePatchOf, type NewObject, patch, read, remove, type Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, expectTypeOf, test } from 'vitest'

const lab = { namespace: 'default', name: 'lab' }
const spec = { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' }
const { apiVersion } = InClusterIPPool.info

const newStore = () => memoryStore({ now: () => 0, kinds: [InClusterIPPool, IPAddressClaim, Service] })

async function storeWithLab(store: Store = newStore()) {
  return { store, made: unwrap(await create(store, InClusterIPPool, { metadata: lab, spec })) }
}

describe('create', () => {
  test('takes apiVersion and kind from the model', async () => {
    const { store, made } = await storeWithLab()
    expectTypeOf(made).toEqualTypeOf<InClusterIPPool>()
    expect(made).toMatchObject({ apiVersion, kind: 'InClusterIPPool', metadata: { ...lab, generation: 1 }, spec })
    expect(unwrap(await read(store, InClusterIPPool, lab))).toEqual(made)
  })

  test('answers with the failures of the store', async () => {
    const { store } = await storeWithLab()
    const again = await create(store, InClusterIPPool, { metadata: lab, spec })
    expect(again).toMatchObject({ ok: false, failure: { code: 'STORE_ALREADY_EXISTS' } })
    const unscoped = await create(store, InClusterIPPool, { metadata: { name: 'lab' }, spec })
    expect(unscoped).toMatchObject({ failure: { code: 'STORE_INVALID', context: { path: 'metadata.namespace' } } })
  })

  test('writes nothing that the model rejects', async () => {
    const store = newStore()
    const object = { metadata: lab, spec: { addresses: '10.0.0.1', prefix: 28 } }
    const made = await create(store, InClusterIPPool, object as never)
    expect(made).toMatchObject({ ok: false, failure: { code: 'INVALID_OBJECT' } })
    expect(await read(store, InClusterIPPool, lab)).toMatchObject({ failure: { code: 'STORE_NOT_FOUND' } })
  })

  test.each([
    ['another version', { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1' }, 'object.apiVersion'],
    ['another kind', { kind: 'IPPool' }, 'object.kind'],
    ['a status, which the store would drop', { status: {} }, 'object.status'],
  ])('refuses %s', async (_, members, argument) => {
    const made = create(newStore(), InClusterIPPool, { metadata: lab, spec, ...members } as never)
    await expect(made).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', context: { function: 'create', argument } })
  })

  test('takes the apiVersion and the kind of the model', async () => {
    const object = { apiVersion, kind: 'InClusterIPPool', metadata: lab, spec }
    expect(await create(newStore(), InClusterIPPool, object)).toMatchObject({ ok: true })
  })

  test('an answer of another kind is a failure', async () => {
    const store = storeOver(newStore(), {
      create: async (object) => ({ ok: true, value: { ...object, kind: 'IPPool' } }),
    })
    const made = await create(store, InClusterIPPool, { metadata: lab, spec })
    expect(made).toMatchObject({ failure: { code: 'OBJECT_KIND_MISMATCH' } })
  })
})

describe('patch', () => {
  test('changes the fields that it names, and null removes one', async () => {
    const { store } = await storeWithLab()
    const found = unwrap(await patch(store, InClusterIPPool, lab, { spec: { gateway: null, prefix: 27 } }))
    expectTypeOf(found).toEqualTypeOf<InClusterIPPool>()
    expect(found.spec).toEqual({ addresses: spec.addresses, prefix: 27 })
  })

  test('a stale precondition is a conflict', async () => {
    const { store, made } = await storeWithLab()
    const { resourceVersion, uid } = made.metadata
    const change = { metadata: { labels: { tier: 'red' } } }
    expect(await patch(store, InClusterIPPool, lab, change, { resourceVersion, uid })).toMatchObject({ ok: true })
    const late = await patch(store, InClusterIPPool, lab, { metadata: { labels: null } }, { resourceVersion })
    expect(late).toMatchObject({ failure: { code: 'STORE_CONFLICT' } })
  })

  test('with the subresource it writes the status', async () => {
    const { store } = await storeWithLab()
    const counts = { total: 1, free: 1, used: 0, outOfRange: 0 }
    const change = { status: { ipAddresses: counts } }
    const found = unwrap(await patch(store, InClusterIPPool, lab, change, { subresource: 'status' }))
    expect(found.status?.ipAddresses).toEqual(counts)
  })

  test.each([
    ['the status without the subresource', { status: { ipAddresses: null } }, {}, 'mergePatch.status'],
    ['the spec with it', { spec: { prefix: 1 } }, { subresource: 'status' as const }, 'mergePatch.spec'],
  ])('refuses %s, which the store would drop', async (_, change, options, argument) => {
    const { store } = await storeWithLab()
    const patched = patch(store, InClusterIPPool, lab, change, options)
    await expect(patched).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', context: { function: 'patch', argument } })
  })

  test('a patch with which the model rejects the object was done, and is a failure', async () => {
    const { store } = await storeWithLab()
    expect(await patch(store, InClusterIPPool, lab, { spec: { addresses: null } })).toMatchObject({
      failure: { code: 'INVALID_OBJECT' },
    })
    expect(unwrap(await store.get({ apiVersion, kind: 'InClusterIPPool', ...lab })).spec).not.toHaveProperty(
      'addresses',
    )
  })
})

describe('remove', () => {
  test('answers with the last state', async () => {
    const { store, made } = await storeWithLab()
    const removed = unwrap(await remove(store, InClusterIPPool, lab, { uid: made.metadata.uid }))
    expectTypeOf(removed).toEqualTypeOf<InClusterIPPool>()
    expect(removed.spec).toEqual(spec)
    expect(await remove(store, InClusterIPPool, lab)).toMatchObject({ failure: { code: 'STORE_NOT_FOUND' } })
  })

  test('with a stale precondition deletes nothing', async () => {
    const { store } = await storeWithLab()
    const removed = await remove(store, InClusterIPPool, lab, { uid: 'another' })
    expect(removed).toMatchObject({ failure: { code: 'STORE_CONFLICT' } })
    expect(await read(store, InClusterIPPool, lab)).toMatchObject({ ok: true })
  })

  test('an object with finalizers has its deletionTimestamp', async () => {
    const store = newStore()
    unwrap(await create(store, InClusterIPPool, { metadata: { ...lab, finalizers: ['example.com/keep'] }, spec }))
    const removed = unwrap(await remove(store, InClusterIPPool, lab, { propagation: 'Background' }))
    expect(removed.metadata.deletionTimestamp).toBe('1970-01-01T00:00:00Z')
  })
})

test('types of writes', () => {
  expectTypeOf<NewObject<InClusterIPPool>>().not.toHaveProperty('apiVersion')
  expectTypeOf<{ metadata: { name: string }; spec: typeof spec }>().toExtend<NewObject<InClusterIPPool>>()
  expectTypeOf<{ metadata: { name: string } }>().not.toExtend<NewObject<InClusterIPPool>>()
  expectTypeOf<{ metadata: { name: string }; spec: { prefix: string } }>().not.toExtend<NewObject<InClusterIPPool>>()
  expectTypeOf<{ metadata: { name: string } }>().toExtend<NewObject<KubeObject>>()

  type PoolPatch = MergePatchOf<NewObject<InClusterIPPool>>
  expectTypeOf<{ spec: { gateway: null; addresses: null } }>().toExtend<PoolPatch>()
  expectTypeOf<{ spec: { addresses: string[] } }>().toExtend<PoolPatch>()
  expectTypeOf<{ spec: { addresses: (string | null)[] } }>().not.toExtend<PoolPatch>()
  expectTypeOf<{ spec: { prefix: string } }>().not.toExtend<PoolPatch>()
  expectTypeOf<{ metadata: { labels: { tier: null } } }>().toExtend<PoolPatch>()
  expectTypeOf<{ status: { ipAddresses: { total: number } } }>().toExtend<PoolPatch>()

  const store = newStore()
  // @ts-expect-error the field is misspelt
  void (() => patch(store, InClusterIPPool, lab, { spec: { gatway: null } }))
  // @ts-expect-error a claim is not a pool
  void (() => create(store, IPAddressClaim, { metadata: lab, spec }))
})

describe('checksSchemas', () => {
  const strict = () => memoryStore({ now: () => 0, kinds: [InClusterIPPool, IPAddressClaim.info], checksSchemas: true })
  const broken = { ...spec, prefix: 300, addresses: [] }
  const raw = (members: object) => ({ apiVersion, kind: 'InClusterIPPool', metadata: lab, ...members })
  const problem = 'Invalid value: 300: spec.prefix in body should be less than or equal to 128'

  test('create, patch and update refuse what an API server refuses', async () => {
    const store = strict()
    expect(store.capabilities.checksSchemas).toBe(true)
    const failure = { code: 'STORE_INVALID', context: { object: 'InClusterIPPool default/lab', path: 'spec.prefix' } }
    expect(await store.create(raw({ spec: { ...spec, prefix: 300 } }))).toMatchObject({
      failure: { ...failure, context: { ...failure.context, problem } },
    })
    const { made } = await storeWithLab(store)
    expect(await patch(store, InClusterIPPool, lab, { spec: { prefix: 300 } })).toMatchObject({ failure })
    expect(await store.update({ ...made, spec: { ...spec, prefix: 300 } })).toMatchObject({ failure })
    expect(unwrap(await read(store, InClusterIPPool, lab)).spec).toEqual(spec)
  })

  test('several problems are one failure', async () => {
    const made = await strict().create(raw({ spec: { addresses: 'all', prefix: 300 } }))
    expect(made).toMatchObject({ failure: { context: { path: 'spec.addresses' } } })
    expect(made).toMatchObject({
      failure: { context: { problem: expect.stringContaining(`; spec.prefix: ${problem}`) } },
    })
  })

  test('a version that the model does not have is refused', async () => {
    const made = await strict().create({ ...raw({ spec }), apiVersion: 'ipam.cluster.x-k8s.io/v9' })
    expect(made).toMatchObject({ failure: { code: 'STORE_INVALID', context: { path: 'apiVersion' } } })
  })

  test('an update may leave a problem as it is, and may delete the object', async () => {
    let isStrict = false
    const model = { ...InClusterIPPool, validate: (it: unknown) => (isStrict ? InClusterIPPool.validate(it) : []) }
    const store = memoryStore({ now: () => 0, kinds: [model], checksSchemas: true })
    const metadata = { ...lab, finalizers: ['example.com/keep'] }
    unwrap(await store.create(raw({ metadata, spec: broken })))
    isStrict = true
    const ref = { apiVersion, kind: 'InClusterIPPool', ...lab }
    expect(await store.patch(ref, { metadata: { labels: { a: 'b' } } })).toMatchObject({ ok: true })
    expect(await store.patch(ref, { spec: { prefix: 301 } })).toMatchObject({ failure: { code: 'STORE_INVALID' } })
    expect(await store.patch(ref, { spec: { prefix: 28 } })).toMatchObject({ ok: true })
    unwrap(await store.delete(ref))
    expect(await store.patch(ref, { metadata: { finalizers: null } })).toMatchObject({ ok: true })
    expect(await store.get(ref)).toMatchObject({ failure: { code: 'STORE_NOT_FOUND' } })
  })

  test('kinds without a model are not checked, and a model without strict schemas checks what it reads', async () => {
    const store = memoryStore({ now: () => 0, kinds: [InClusterIPPool.info, Service], checksSchemas: true })
    expect(await store.create(raw({ spec: broken }))).toMatchObject({ ok: true })
    const service = { apiVersion: 'v1', kind: 'Service', metadata: lab, spec: { clusterIP: 5 } }
    const context = { path: 'spec.clusterIP' }
    expect(await store.create(service)).toMatchObject({ failure: { code: 'STORE_INVALID', context } })
  })

  test('without any model it is refused', () => {
    const make = () => memoryStore({ now: () => 0, kinds: [InClusterIPPool.info], checksSchemas: true })
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  test('without it nothing is checked', async () => {
    const store = newStore()
    expect(store.capabilities.checksSchemas).toBe(false)
    expect(await store.create(raw({ spec: broken }))).toMatchObject({ ok: true })
  })
})

test('a garbage collector takes models', () => {
  expect(Object.keys(gcPlanner({ kinds: [InClusterIPPool, IPAddressClaim.info] }).watches)).toHaveLength(2)
})
