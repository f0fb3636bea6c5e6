import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createIn,
  drain,
  failure,
  GROUP,
  invalidAt,
  newStore,
  outline,
  type Parts,
  pool,
  query,
  REGION,
  ref,
  START_MS,
  versionOf,
  withMeta,
} from './memory-fixture.js'

let store: Store

beforeEach(() => {
  store = newStore()
})

const create = (name: string, parts: Parts = {}) => createIn(store, name, parts)

describe('names and scope', () => {
  it.each(['', 'A', 'a_b', '-a', 'a-', 'a..b', 'a/b', '.a', 'a b', 'ä', 'a\n', 'a'.repeat(254)])(
    'refuses the name %j',
    async (name) => {
      expect(failure(await store.create(pool(name)))).toEqual(invalidAt('metadata.name'))
    },
  )

  it.each(['a', '0', 'a.b', 'a-b.c-d', '10.0.0.1', 'a'.repeat(253)])('takes the name %j', async (name) => {
    expect(failure(await store.create(pool(name)))).toBe('no failure')
  })

  it.each(['A', 'a.b', '-a', 'a'.repeat(64)])('refuses the namespace %j', async (namespace) => {
    expect(failure(await store.create(pool('a', { metadata: { namespace } })))).toEqual(invalidAt('metadata.namespace'))
  })

  it('takes a namespace of 63 characters', async () => {
    expect(failure(await store.create(pool('a', { metadata: { namespace: 'a'.repeat(63) } })))).toBe('no failure')
  })

  it.each(['', 'a/b/c', '/v1', 'g/', 'G/v1', 'v_1'])('refuses the apiVersion %j', async (apiVersion) => {
    expect(failure(await store.create(pool('a', { apiVersion })))).toEqual(invalidAt('apiVersion'))
  })

  it.each(['', 'a/b', 'a b', '1a'])('refuses the kind %j', async (kind) => {
    expect(failure(await store.create(pool('a', { kind })))).toEqual(invalidAt('kind'))
  })

  it('refuses objects without a kind, version, metadata or name', async () => {
    const whole = pool('a')
    for (const [path, object] of [
      ['kind', { ...whole, kind: undefined }],
      ['apiVersion', { ...whole, apiVersion: 5 }],
      ['metadata', { ...whole, metadata: undefined }],
      ['metadata', { ...whole, metadata: [] }],
      ['metadata.name', { ...whole, metadata: {} }],
      ['metadata.name', { ...whole, metadata: { name: 5 } }],
      ['metadata.uid', withMeta(whole, { uid: 5 })],
    ] as const) {
      expect(failure(await store.create(object as unknown as KubeObject))).toEqual(invalidAt(path))
    }
  })

  it('needs the namespace of a namespaced kind, in every operation on an object', async () => {
    const expected = invalidAt('metadata.namespace', 'is required')
    const lost = pool('a', { metadata: { namespace: undefined, resourceVersion: '1' } })
    const { namespace: _, ...lostRef } = ref('a')
    expect(failure(await store.create(withMeta(lost, { resourceVersion: '' })))).toEqual(expected)
    expect(failure(await store.update(lost))).toEqual(expected)
    expect(failure(await store.get(lostRef))).toEqual(expected)
    expect(failure(await store.get({ ...lostRef, namespace: '' }))).toEqual(expected)
    expect(failure(await store.patch(lostRef, {}))).toEqual(expected)
    expect(failure(await store.delete(lostRef))).toEqual(expected)
  })

  it('takes no namespace for a cluster-scoped kind', async () => {
    const region = { apiVersion: REGION.apiVersion, kind: 'Region' }
    const expected = invalidAt('metadata.namespace', 'is not allowed')
    expect(failure(await store.create(pool('a', { kind: 'Region' })))).toEqual(expected)
    expect(failure(await store.create({ ...region, metadata: { name: 'a' } }))).toBe('no failure')
    expect(failure(await store.get({ ...region, namespace: 'ns', name: 'a' }))).toEqual(expected)
    expect(failure(await store.list({ ...region, namespace: 'ns' }))).toEqual(expected)
    expect(outline(await drain(store.watch({ ...region, namespace: 'ns' })))).toEqual(['ERROR STORE_INVALID'])
  })

  it('knows a listed kind under every version of its group', async () => {
    const beta = pool('a', { apiVersion: `${GROUP}/v1beta1`, metadata: { namespace: undefined } })
    expect(failure(await store.create(beta))).toEqual(invalidAt('metadata.namespace'))
  })

  it('takes the scope of an unlisted kind from the object', async () => {
    const unlisted = { apiVersion: 'v1', kind: 'Unlisted' }
    unwrap(await store.create({ ...unlisted, metadata: { name: 'a' } }))
    unwrap(await store.create({ ...unlisted, metadata: { name: 'a', namespace: 'ns' } }))
    expect(unwrap(await store.get({ ...unlisted, name: 'a' })).metadata).not.toHaveProperty('namespace')
    expect(unwrap(await store.get({ ...unlisted, name: 'a', namespace: 'ns' })).metadata.namespace).toBe('ns')
  })

  it('never finds an object by a name with a slash', async () => {
    unwrap(await store.create({ apiVersion: 'v1', kind: 'Unlisted', metadata: { name: 'b', namespace: 'a' } }))
    for (const parts of [{ name: 'a/b' }, { name: '', namespace: 'a/b' }, { name: '/b', namespace: 'a' }]) {
      const found = await store.get({ apiVersion: 'v1', kind: 'Unlisted', ...parts })
      expect(failure(found)).toMatchObject({ code: 'STORE_NOT_FOUND' })
    }
  })

  it('escapes hostile names in what it says', async () => {
    const missing = await store.get(ref('a\nb'))
    const refused = await store.create(pool('a\nb', { kind: 'K\n' }))
    for (const result of [missing, refused]) {
      expect(result.ok ? '' : result.failure.message).toMatch(/^[^\n]+$/)
    }
  })
})

describe('metadata', () => {
  async function refusal(metadata: object): Promise<unknown> {
    return failure(await store.create(pool('a', { metadata })))
  }

  it('refuses labels that are not texts', async () => {
    for (const value of [5, true, {}, []]) {
      expect(await refusal({ labels: { app: value } })).toEqual(invalidAt('metadata.labels.app', 'must be a string'))
    }
    for (const labels of [['a'], [], '', 'a', 0, false]) {
      expect(await refusal({ labels })).toEqual(invalidAt('metadata.labels', 'must be an object'))
    }
  })

  it('takes null as an empty text, as an API server does', async () => {
    const metadata = { labels: { app: null, l: '1' }, annotations: { note: null } }
    const kept = (await createIn(store, 'a', { metadata })).metadata
    expect([kept.labels, kept.annotations]).toEqual([{ app: '', l: '1' }, { note: '' }])
  })

  it.each(['fd00::1', '-a', 'a-', 'a b', 'a'.repeat(64)])('refuses the label value %j', async (value) => {
    expect(await refusal({ labels: { app: value } })).toEqual(invalidAt('metadata.labels.app'))
  })

  it.each(['', '10.0.0.1', 'A_b', 'a'.repeat(63)])('takes the label value %j', async (value) => {
    expect(await refusal({ labels: { app: value } })).toBe('no failure')
  })

  it.each(['', 'a b', '/a', 'A.b/c', 'a/b/c', 'a/', '_a', 'a'.repeat(64), `${'a'.repeat(254)}/a`])(
    'refuses the label key %j',
    async (key) => {
      expect(await refusal({ labels: { [key]: 'x' } })).toMatchObject({ code: 'STORE_INVALID' })
    },
  )

  it.each(['app', 'A', 'example.com/A_b.c-d', '0'])('takes the label key %j', async (key) => {
    expect(await refusal({ labels: { [key]: 'x' } })).toBe('no failure')
  })

  it('refuses annotations that are not texts, and keys that are none', async () => {
    expect(await refusal({ annotations: { app: 5 } })).toEqual(
      invalidAt('metadata.annotations.app', 'must be a string'),
    )
    expect(await refusal({ annotations: { 'a b': '' } })).toEqual(invalidAt('metadata.annotations["a b"]'))
    expect(await refusal({ annotations: 'a' })).toEqual(invalidAt('metadata.annotations', 'must be an object'))
  })

  it('takes upper case in the prefix of an annotation, and any value', async () => {
    expect(await refusal({ annotations: { 'EXAMPLE.com/a': 'fd00::1 \n' } })).toBe('no failure')
  })

  it('takes annotations of 262144 bytes together, and not one more', async () => {
    const annotations = { ab: 'x'.repeat(100_000), cd: 'ü'.repeat(81_070) }
    expect(await refusal({ annotations: { ...annotations, more: 'x' } })).toEqual(
      invalidAt('metadata.annotations', 'at most 262144 bytes together, they have 262149'),
    )
    expect(await refusal({ annotations })).toBe('no failure')
  })

  it('refuses finalizers that are no list of names', async () => {
    for (const finalizers of ['a', '', {}, 0]) {
      expect(await refusal({ finalizers })).toEqual(invalidAt('metadata.finalizers', 'must be an array'))
    }
    expect(await refusal({ finalizers: [5] })).toEqual(invalidAt('metadata.finalizers[0]', 'must be a string'))
    expect(await refusal({ finalizers: ['a b'] })).toEqual(invalidAt('metadata.finalizers[0]', 'name part'))
  })

  it('keeps a finalizer that is there twice, as an API server does', async () => {
    const finalizers = ['x/a', 'x/b', 'x/a']
    expect((await createIn(store, 'a', { metadata: { finalizers } })).metadata.finalizers).toEqual(finalizers)
  })

  it('refuses to orphan dependents and to wait for them', async () => {
    expect(await refusal({ finalizers: ['orphan', 'foregroundDeletion'] })).toEqual(invalidAt('metadata.finalizers'))
  })

  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }

  it('refuses owner references that are incomplete', async () => {
    for (const field of ['apiVersion', 'kind', 'name', 'uid']) {
      for (const value of ['', undefined, 5]) {
        expect(await refusal({ ownerReferences: [{ ...owner, [field]: value }] })).toEqual(
          invalidAt(`metadata.ownerReferences[0].${field}`),
        )
      }
    }
    for (const field of ['controller', 'blockOwnerDeletion']) {
      expect(await refusal({ ownerReferences: [owner, { ...owner, uid: 'v', [field]: 'yes' }] })).toEqual(
        invalidAt(`metadata.ownerReferences[1].${field}`, 'true or false'),
      )
    }
    expect(await refusal({ ownerReferences: { a: 1 } })).toEqual(
      invalidAt('metadata.ownerReferences', 'must be an array'),
    )
    expect(await refusal({ ownerReferences: ['a'] })).toEqual(invalidAt('metadata.ownerReferences[0]'))
  })

  it('takes null in lists for what Go makes of it', async () => {
    expect(await refusal({ finalizers: ['x/a', null] })).toEqual(invalidAt('metadata.finalizers[1]', 'name part'))
    expect(await refusal({ ownerReferences: [null] })).toEqual(invalidAt('metadata.ownerReferences[0].apiVersion'))
    const metadata = { ownerReferences: [{ ...owner, controller: null }, owner] }
    expect((await createIn(store, 'nulls', { metadata })).metadata.ownerReferences).toEqual([owner])
  })

  it('refuses owners of no version, and events', async () => {
    for (const apiVersion of ['a/b/c', 'x/', '/']) {
      expect(await refusal({ ownerReferences: [{ ...owner, apiVersion }] })).toEqual(
        invalidAt('metadata.ownerReferences[0].apiVersion', 'must have a version'),
      )
    }
    const event = { ...owner, apiVersion: 'v1', kind: 'Event' }
    expect(await refusal({ ownerReferences: [event] })).toEqual(invalidAt('metadata.ownerReferences[0]', 'an Event'))
  })

  it.each([
    ['generateName', 5],
    ['generation', '1'],
    ['generation', 1.5],
    ['creationTimestamp', 'yesterday'],
    ['creationTimestamp', '2026-02-30T00:00:00'],
    ['creationTimestamp', '2024-02-30T00:00:00Z'],
    ['creationTimestamp', '2023-02-29T00:00:00Z'],
    ['creationTimestamp', '1900-02-29T00:00:00Z'],
    ['creationTimestamp', '2024-04-31T00:00:00Z'],
    ['creationTimestamp', '2024-01-00T00:00:00Z'],
    ['creationTimestamp', '2024-00-01T00:00:00Z'],
    ['creationTimestamp', '2024-13-01T00:00:00Z'],
    ['creationTimestamp', '2024-01-01T24:00:00Z'],
    ['creationTimestamp', '2024-01-01T23:60:00Z'],
    ['creationTimestamp', '2016-12-31T23:59:60Z'],
    ['creationTimestamp', '2024-01-01T00:00:00+25:00'],
    ['creationTimestamp', '2024-01-01T00:00:00+00:61'],
    ['creationTimestamp', '2024-01-01t00:00:00z'],
    ['creationTimestamp', '2024-01-01T01:04:05.Z'],
    ['creationTimestamp', '2024-01-01T001:04:05Z'],
    ['deletionTimestamp', '2024-02-30T00:00:00Z'],
    ['deletionTimestamp', 5],
    ['deletionGracePeriodSeconds', '0'],
  ])('refuses %s: %j, which a server could not read', async (field, value) => {
    expect(await refusal({ [field]: value })).toEqual(invalidAt(`metadata.${field}`, 'must be'))
  })

  it.each([
    '2024-02-29T23:59:59Z',
    '2000-02-29T00:00:00Z',
    '2023-12-31T00:00:00.123456789Z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-23:59',
    // offsets that some people write, and a server reads
    '2024-01-01T00:00:00+24:00',
    '2024-01-01T00:00:00+00:60',
    '2024-01-01T1:04:05Z',
    '2024-01-01T01:04:05,5Z',
  ])('takes %s for a time', async (creationTimestamp) => {
    expect(await refusal({ creationTimestamp })).toBe('no failure')
  })

  it('takes one controller and not two', async () => {
    const controllers = ['u', 'v'].map((uid) => ({ ...owner, uid, controller: true }))
    expect(await refusal({ ownerReferences: controllers })).toEqual(invalidAt('metadata.ownerReferences', 'only one'))
    expect(await refusal({ ownerReferences: [controllers[0], { ...owner, controller: false }] })).toBe('no failure')
  })

  it('keeps each owner once', async () => {
    const made = await create('a', { metadata: { ownerReferences: [owner, { ...owner, uid: 'v' }, { ...owner }] } })
    expect(made.metadata.ownerReferences).toEqual([owner, { ...owner, uid: 'v' }])
  })

  it('keeps fields that it does not know', async () => {
    expect((await create('a', { metadata: { extra: { a: [1] } } })).metadata).toMatchObject({ extra: { a: [1] } })
  })

  it('takes fields that are null or empty as absent', async () => {
    const empty = {
      labels: {},
      annotations: null,
      finalizers: [],
      ownerReferences: [],
      creationTimestamp: null,
      uid: '',
    }
    const { metadata } = await create('a', { metadata: empty })
    expect(Object.keys(metadata).sort()).toEqual(
      ['creationTimestamp', 'generation', 'name', 'namespace', 'resourceVersion', 'uid'].sort(),
    )
  })
})

describe('JSON', () => {
  it('drops what is undefined and honours toJSON', async () => {
    const spec = { gone: undefined, at: new Date(START_MS), list: [undefined, 1], box: Object('text'), zero: -0 }
    const { spec: kept } = await create('a', { spec })
    expect(kept).toStrictEqual({ at: '2026-01-02T03:04:05.678Z', list: [null, 1], box: 'text', zero: 0 })
  })

  it('gives the key to toJSON, as JSON does', async () => {
    const value = { toJSON: (key: string) => `key ${key}` }
    expect((await create('a', { spec: { x: value, y: [value] } })).spec).toEqual({ x: 'key x', y: ['key 0'] })
  })

  const itself: { [key: string]: unknown } = {}
  itself.me = [itself]
  it.each([
    ['a function', () => 1, 'spec.a[1].b', 'function'],
    ['a bigint', 1n, 'spec.a[1].b', 'bigint'],
    ['a boxed bigint', Object(1n), 'spec.a[1].b', 'bigint'],
    ['a symbol', Symbol('s'), 'spec.a[1].b', 'symbol'],
    ['NaN', Number.NaN, 'spec.a[1].b', 'NaN'],
    ['an infinity', Number.NEGATIVE_INFINITY, 'spec.a[1].b', '-Infinity'],
    ['a Map', new Map([[1, 2]]), 'spec.a[1].b', 'Map'],
    ['a Set', new Set([1]), 'spec.a[1].b', 'Set'],
    ['a cycle', itself, 'spec.a[1].b.me[0]', 'refers back'],
  ])('refuses %s with its path', async (_, value, path, problem) => {
    expect(failure(await store.create(pool('a', { spec: { a: [0, { b: value }] } })))).toEqual(invalidAt(path, problem))
  })

  it('refuses what throws while it is read, with the cause', async () => {
    const cause = new Error('no')
    const spec = {
      get bad() {
        throw cause
      },
    }
    const result = await store.create(pool('a', { spec }))
    expect(failure(result)).toEqual(invalidAt('spec.bad', 'cannot be read'))
    expect(result).toMatchObject({ failure: { cause } })
  })

  it('takes the same value in two places, which is no cycle', async () => {
    const shared = { a: 1 }
    expect((await create('a', { spec: { x: shared, y: [shared, shared] } })).spec).toEqual({
      x: { a: 1 },
      y: [{ a: 1 }, { a: 1 }],
    })
  })

  it('takes 512 levels and refuses more, however deep', async () => {
    const nested = (levels: number) => {
      let value: unknown = []
      for (let level = 1; level < levels; level++) value = [value]
      return value
    }
    expect(failure(await store.create(pool('a', { spec: nested(511) })))).toBe('no failure')
    for (const levels of [512, 100_000]) {
      const refused = await store.create(pool('b', { spec: nested(levels) }))
      expect(failure(refused)).toEqual(invalidAt(/^spec\[0\].{1,60}…$/, 'deeper than 512'))
    }
  })

  it('gives up on a small graph that unfolds into a huge tree', async () => {
    let spec: unknown = 'x'
    for (let level = 0; level < 60; level++) spec = [spec, spec]
    expect(failure(await store.create(pool('a', { spec })))).toMatchObject({ code: 'STORE_OBJECT_TOO_LARGE' })
  })

  it('keeps keys such as __proto__ and pollutes nothing', async () => {
    const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":null}'
    const made = await create('a', { spec: JSON.parse(text) })
    expect(JSON.stringify(made.spec)).toBe(text)
    const patched = unwrap(await store.patch(ref('a'), JSON.parse(`{"spec":{"more":${text}},"metadata":${text}}`)))
    expect(JSON.stringify((patched.spec as { more: unknown }).more)).toBe(text.replace(',"toString":null', ''))
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect((made.spec as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('compares such keys as any other', async () => {
    const made = await create('a', { spec: JSON.parse('{"__proto__":1}') })
    const other = unwrap(await store.update({ ...made, spec: { other: 1 } }))
    expect(other.metadata.generation).toBe(2)
    expect(unwrap(await store.update({ ...other, spec: { other: 1 } })).metadata.generation).toBe(2)
  })

  it('copies what it is given, and freezes only its copy', async () => {
    const spec = { list: [{ a: 1 }] }
    const given = pool('a', { spec, metadata: { labels: { a: 'b' } } })
    await store.create(given)
    expect([given, given.metadata, given.metadata.labels, spec, spec.list, spec.list[0]].some(Object.isFrozen)).toBe(
      false,
    )
    spec.list[0]!.a = 2
    expect(unwrap(await store.get(ref('a'))).spec).toEqual({ list: [{ a: 1 }] })
  })

  it('hands out one deep-frozen object, whatever was done to it', async () => {
    const metadata = { labels: { a: 'b' }, finalizers: ['x/f'], ownerReferences: [] }
    const made = await create('a', { spec: { list: [{}] }, metadata })
    expect(unwrap(await store.get(ref('a')))).toBe(made)
    expect(unwrap(await store.list(query)).items[0]).toBe(made)
    const states = [
      made,
      unwrap(await store.update({ ...made, spec: { other: [{}] } })),
      unwrap(await store.patch(ref('a'), { spec: { deep: { er: {} } }, metadata: { labels: { c: 'd' } } })),
      unwrap(await store.patch(ref('a'), { status: { x: [{}] } }, { subresource: 'status' })),
      unwrap(await store.delete(ref('a'))),
      unwrap(await store.patch(ref('a'), { metadata: { finalizers: null } })),
    ]
    for (const state of states) expectDeepFrozen(state)
    await create('b')
    expectDeepFrozen(unwrap(await store.delete(ref('b'))))
  })

  function expectDeepFrozen(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    expect(Object.isFrozen(value)).toBe(true)
    for (const field of Object.values(value)) expectDeepFrozen(field)
  }
})

describe('sizes', () => {
  it('takes an object of exactly the limit in UTF-8, and not one byte more', async () => {
    const object = pool('a', { spec: { text: 'aé€😀\u0001"'.repeat(50), half: '\ud800' } })
    const sizeBytes = Buffer.byteLength(JSON.stringify(unwrap(await newStore().create(object))))
    expect(failure(await newStore({ maxObjectBytes: sizeBytes }).create(object))).toBe('no failure')
    expect(failure(await newStore({ maxObjectBytes: sizeBytes - 1 }).create(object))).toEqual({
      code: 'STORE_OBJECT_TOO_LARGE',
      context: { object: 'Pool ns/a', sizeBytes, maxBytes: sizeBytes - 1 },
    })
  })

  it('has 1.5 MiB as its limit', async () => {
    expect(failure(await store.create(pool('a', { spec: 'x'.repeat(1_572_500) })))).toBe('no failure')
    expect(failure(await store.create(pool('b', { spec: 'x'.repeat(1_572_864) })))).toEqual({
      code: 'STORE_OBJECT_TOO_LARGE',
      context: { object: 'Pool ns/b', sizeBytes: expect.any(Number), maxBytes: 1_572_864 },
    })
  })

  it('refuses an update and a patch that grow an object too large, and changes nothing', async () => {
    store = newStore({ maxObjectBytes: 400 })
    const made = await create('a')
    const spec = { text: 'x'.repeat(250) }
    expect(failure(await store.update({ ...made, spec }))).toMatchObject({ code: 'STORE_OBJECT_TOO_LARGE' })
    expect(failure(await store.patch(ref('a'), { spec }))).toMatchObject({ code: 'STORE_OBJECT_TOO_LARGE' })
    expect(unwrap(await store.get(ref('a')))).toBe(made)
    expect(await versionOf(store)).toBe('2')
  })

  it('deletes an object that has no room for a deletionTimestamp', async () => {
    const object = pool('a', { metadata: { finalizers: ['x/f'] } })
    const sizeBytes = JSON.stringify(await create('a', { metadata: object.metadata })).length
    store = newStore({ maxObjectBytes: sizeBytes })
    unwrap(await store.create(object))
    expect(failure(await store.delete(ref('a')))).toBe('no failure')
  })
})
