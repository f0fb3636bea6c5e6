import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createIn,
  drain,
  failure,
  GROUP,
  invalidAt,
  newStore,
  type Parts,
  POOL,
  pool,
  query,
  ref,
  START_MS,
  versionOf,
  watchNow,
  withMeta,
} from './memory-fixture.js'

let nowMs: number
let store: Store

beforeEach(() => {
  nowMs = START_MS
  store = newStore({ now: () => nowMs })
})

const create = (name: string, parts: Parts = {}) => createIn(store, name, parts)

describe('create', () => {
  it('gives uid, resourceVersion, creationTimestamp to the second and generation 1', async () => {
    expect(await create('a', { spec: { size: 1 } })).toEqual({
      apiVersion: `${GROUP}/v1`,
      kind: 'Pool',
      metadata: {
        namespace: 'ns',
        name: 'a',
        uid: '019b7ca9-8f2e-4000-8000-000000000001',
        resourceVersion: '2',
        generation: 1,
        creationTimestamp: '2026-01-02T03:04:05Z',
      },
      spec: { size: 1 },
    })
  })

  it('gives another uid to each object, shaped as RFC 4122 says', async () => {
    const uids = new Set<string | undefined>()
    for (let n = 0; n < 20; n++) uids.add((await create(`a${n}`)).metadata.uid)
    expect(uids.size).toBe(20)
    for (const uid of uids) expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('gives other uids than a store that began at another time, and the same ones with the same clock', async () => {
    const uidsOf = async (firstMs: number) => {
      let ms = firstMs
      store = newStore({ now: () => ms++ })
      return [(await create('a')).metadata.uid, (await create('b')).metadata.uid]
    }
    const [first, again, later] = [await uidsOf(START_MS), await uidsOf(START_MS), await uidsOf(START_MS + 1)]
    expect(again).toEqual(first)
    expect(new Set([...first, ...later]).size).toBe(4)
  })

  it('takes the uid from the option, which counts what was created', async () => {
    store = newStore({ uid: (n) => `uid-${n}` })
    await create('a')
    await store.create(pool('a'))
    expect((await create('b')).metadata.uid).toBe('uid-2')
  })

  it('ignores what only the server may set', async () => {
    const given = {
      uid: 'mine',
      generation: 7,
      creationTimestamp: '1999-01-01T00:00:00Z',
      deletionTimestamp: '1999-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 30,
    }
    expect((await create('a', { metadata: given })).metadata).toEqual((await memoryTwin('a')).metadata)
  })

  it('refuses a name that is taken, whatever the version of the API', async () => {
    await create('a')
    const again = pool('a', { apiVersion: `${GROUP}/v1beta1` })
    expect(failure(await store.create(again))).toEqual({
      code: 'STORE_ALREADY_EXISTS',
      context: { object: 'Pool ns/a' },
    })
  })

  it('tells kinds, groups and namespaces apart', async () => {
    await create('a')
    for (const parts of [
      { kind: 'Other' },
      { apiVersion: 'other.example.com/v1' },
      { apiVersion: 'v1' },
      { metadata: { namespace: 'ns2' } },
    ]) {
      expect(failure(await store.create(pool('a', parts)))).toBe('no failure')
    }
  })

  it('refuses a resourceVersion', async () => {
    expect(failure(await store.create(pool('a', { metadata: { resourceVersion: '5' } })))).toEqual(
      invalidAt('metadata.resourceVersion', 'must not be set'),
    )
  })

  it('takes an empty resourceVersion and 0 as none', async () => {
    expect((await create('a', { metadata: { resourceVersion: '' } })).metadata.resourceVersion).toBe('2')
    expect((await create('b', { metadata: { resourceVersion: '0' } })).metadata.resourceVersion).toBe('3')
  })

  it('drops the status of a kind that has it as a subresource, listed or not', async () => {
    expect(await create('a', { status: { used: 1 } })).not.toHaveProperty('status')
    expect(await create('a', { kind: 'Unlisted', status: { used: 1 } })).not.toHaveProperty('status')
  })

  it('keeps the status of a kind that has not', async () => {
    expect((await create('a', { kind: 'Plain', status: { used: 1 } })).status).toEqual({ used: 1 })
  })

  it('reports what is invalid before it looks whether the name is taken', async () => {
    await create('a')
    expect(failure(await store.create(pool('a', { metadata: { labels: { a: ':' } } })))).toEqual(
      invalidAt('metadata.labels.a'),
    )
  })

  it('does not change anything when it fails', async () => {
    await create('a')
    const version = await versionOf(store)
    await store.create(pool('a'))
    await store.create(pool('B'))
    expect(await versionOf(store)).toBe(version)
  })

  async function memoryTwin(name: string): Promise<KubeObject> {
    return unwrap(await newStore().create(pool(name)))
  }
})

describe('update', () => {
  it('gives a new resourceVersion and keeps what is the server’s', async () => {
    const made = await create('a', { spec: 1 })
    nowMs += 5000
    const changed = unwrap(
      await store.update({
        ...withMeta(made, {
          labels: { a: 'b' },
          generation: 9,
          creationTimestamp: '1999-01-01T00:00:00Z',
          uid: undefined,
        }),
        spec: 2,
      }),
    )
    expect(changed).toEqual({
      ...made,
      spec: 2,
      metadata: { ...made.metadata, labels: { a: 'b' }, generation: 2, resourceVersion: '3' },
    })
    expect(unwrap(await store.get(ref('a')))).toBe(changed)
  })

  it('replaces: what is not there is gone', async () => {
    const made = await create('a', { spec: 1, metadata: { labels: { a: 'b' }, extra: 1 } })
    const { spec: _, ...rest } = made
    const changed = unwrap(await store.update(withMeta(rest, { labels: undefined, extra: undefined })))
    expect(changed).not.toHaveProperty('spec')
    expect(changed.metadata).not.toHaveProperty('labels')
    expect(changed.metadata).not.toHaveProperty('extra')
  })

  it.each([undefined, '', '0'])('needs a resourceVersion: %j is none', async (resourceVersion) => {
    const made = await create('a')
    expect(failure(await store.update({ ...withMeta(made, { resourceVersion }), spec: 1 }))).toEqual(
      invalidAt('metadata.resourceVersion', 'must be specified for an update'),
    )
  })

  it.each(['1', '3', '02', '2.0', 'abc', '9'.repeat(40)])('refuses the resourceVersion %j', async (resourceVersion) => {
    const made = await create('a')
    expect(failure(await store.update({ ...withMeta(made, { resourceVersion }), spec: 1 }))).toEqual({
      code: 'STORE_CONFLICT',
      context: { object: 'Pool ns/a', expected: `resourceVersion "${resourceVersion}"`, actual: '"2"' },
    })
  })

  it('conflicts before it finds anything invalid', async () => {
    const made = await create('a')
    const stale = withMeta(made, { resourceVersion: '1', labels: { a: ':' } })
    expect(failure(await store.update(stale))).toMatchObject({ code: 'STORE_CONFLICT' })
  })

  it('refuses another uid', async () => {
    const made = await create('a')
    expect(failure(await store.update(withMeta(made, { uid: 'other' })))).toEqual({
      code: 'STORE_CONFLICT',
      context: { object: 'Pool ns/a', expected: 'uid "other"', actual: `"${made.metadata.uid}"` },
    })
  })

  it('misses the resourceVersion whatever is there', async () => {
    const made = await create('a')
    for (const metadata of [
      { resourceVersion: undefined, uid: 'other' },
      { resourceVersion: '0' },
      { resourceVersion: '', name: 'b' },
    ]) {
      const refused = await store.update(withMeta(made, metadata))
      expect(failure(refused)).toEqual(invalidAt('metadata.resourceVersion', 'must be specified'))
    }
  })

  it('fails for an object that is not there, and for one made anew under the name', async () => {
    const made = await create('a')
    unwrap(await store.delete(ref('a')))
    expect(failure(await store.update(made))).toEqual({ code: 'STORE_NOT_FOUND', context: { object: 'Pool ns/a' } })
    await create('a')
    expect(failure(await store.update(made))).toMatchObject({ code: 'STORE_CONFLICT' })
  })

  it('leaves the status alone where it is a subresource', async () => {
    const made = await create('a')
    const reported = unwrap(await store.update({ ...made, status: { used: 1 } }, { subresource: 'status' }))
    const { status: _, ...without } = reported
    expect(unwrap(await store.update({ ...reported, spec: 1, status: { used: 2 } })).status).toEqual({ used: 1 })
    const current = unwrap(await store.get(ref('a')))
    expect(unwrap(await store.update(withMeta({ ...without, spec: 2 }, current.metadata))).status).toEqual({ used: 1 })
  })

  it('begins no deletion and changes none', async () => {
    const made = await create('a', { metadata: { finalizers: ['x/f'] } })
    const deletionTimestamp = '2030-01-01T00:00:00Z'
    expect(failure(await store.update(withMeta(made, { deletionTimestamp })))).toEqual(
      invalidAt('metadata.deletionTimestamp', 'is immutable'),
    )
    expect(failure(await store.update(withMeta(made, { deletionGracePeriodSeconds: 5 })))).toEqual(
      invalidAt('metadata.deletionGracePeriodSeconds', 'is immutable'),
    )
    const leaving = unwrap(await store.delete(ref('a')))
    for (const metadata of [
      { deletionTimestamp },
      { deletionTimestamp: undefined, deletionGracePeriodSeconds: undefined },
    ]) {
      expect(unwrap(await store.update(withMeta(leaving, metadata)))).toBe(leaving)
    }
    expect(failure(await store.update(withMeta(leaving, { deletionGracePeriodSeconds: 5 })))).toEqual(
      invalidAt('metadata.deletionGracePeriodSeconds'),
    )
  })

  it('checks the metadata as create does', async () => {
    const made = await create('a')
    expect(failure(await store.update(withMeta(made, { finalizers: ['x/a', 'a b'] })))).toEqual(
      invalidAt('metadata.finalizers[1]', 'name part'),
    )
  })
})

describe('writes that change nothing', () => {
  it('keep the object with its resourceVersion and make no event', async () => {
    const made = await create('a', { spec: { a: [1, { b: 2 }], c: {} }, metadata: { labels: { l: '1' } } })
    const events = watchNow(store)
    const reordered = {
      spec: { c: {}, a: [1, { b: 2 }] },
      metadata: { ...made.metadata, finalizers: [], annotations: {}, generation: 5 },
      kind: 'Pool',
      apiVersion: made.apiVersion,
    } as unknown as KubeObject
    expect(unwrap(await store.update(reordered))).toBe(made)
    expect(unwrap(await store.patch(ref('a'), { spec: { c: {} }, metadata: { finalizers: null } }))).toBe(made)
    expect(unwrap(await store.patch(ref('a'), {}))).toBe(made)
    expect(unwrap(await store.update({ ...made, spec: 'ignored' }, { subresource: 'status' }))).toBe(made)
    expect(await versionOf(store)).toBe('2')
    expect(await drain(events)).toEqual([])
  })

  it.each([
    [{ spec: { a: 1, b: 2 } }, { spec: { a: 1 } }],
    [{ spec: { a: 1 } }, { spec: { b: 1 } }],
    [{ spec: [1] }, { spec: [1, 2] }],
    [{ spec: [] }, { spec: {} }],
    [{ spec: {} }, { spec: [] }],
    [{ spec: null }, { spec: {} }],
    [{ spec: 1 }, { spec: '1' }],
    [{ spec: { a: null } }, { spec: {} }],
  ])('are not confused with a change of %j to %j', async (before, after) => {
    const made = await create('a', before)
    const changed = unwrap(await store.update({ ...made, ...after }))
    expect(changed.metadata).toMatchObject({ resourceVersion: '3', generation: 2 })
    expect(changed.spec).toEqual(after.spec)
  })
})

describe('generation', () => {
  it('rises with everything but metadata and status', async () => {
    let object = await create('a', { spec: 1 })
    const generations: unknown[] = []
    for (const change of [
      { spec: 2 },
      { data: { a: 1 } },
      { metadata: { ...object.metadata, labels: { a: 'b' } } },
      { metadata: { ...object.metadata, finalizers: ['x/f'], annotations: { a: 'b' } } },
    ]) {
      const { resourceVersion } = object.metadata
      object = unwrap(await store.update(withMeta({ ...object, ...change }, { resourceVersion })))
      generations.push(object.metadata.generation)
    }
    expect(generations).toEqual([2, 3, 3, 3])
    object = unwrap(await store.patch(ref('a'), { status: { a: 1 } }, { subresource: 'status' }))
    expect(object.metadata).toMatchObject({ generation: 3, resourceVersion: '7' })
  })

  it('rises with the status of a kind that has it not as a subresource', async () => {
    const made = await create('a', { kind: 'Plain', status: 1 })
    expect(unwrap(await store.update({ ...made, status: 2 })).metadata.generation).toBe(2)
    expect(unwrap(await store.patch(ref('a', { kind: 'Plain' }), { status: 3 })).metadata.generation).toBe(3)
  })

  it('does not rise with another version of the API, which alone changes nothing, and is kept', async () => {
    const made = await create('a', { spec: 1 })
    const apiVersion = `${GROUP}/v1beta1`
    expect(unwrap(await store.update({ ...made, apiVersion }))).toBe(made)
    const beta = unwrap(await store.update({ ...withMeta(made, { labels: { l: '1' } }), apiVersion }))
    expect(beta).toMatchObject({ apiVersion, metadata: { generation: 1, resourceVersion: '3' } })
    expect(unwrap(await store.get(ref('a')))).toBe(beta)
    expect(unwrap(await store.get(ref('a', { apiVersion: `${GROUP}/v2` })))).toBe(beta)
    expect(unwrap(await store.list({ apiVersion: `${GROUP}/v2`, kind: 'Pool' })).items).toEqual([beta])
  })
})

describe('status subresource', () => {
  it('writes the status and nothing else', async () => {
    const made = await create('a', { spec: 1 })
    const everything = { ...withMeta(made, { labels: { a: ':' }, finalizers: ['x/f'] }), spec: 2, status: { used: 1 } }
    const reported = unwrap(await store.update(everything, { subresource: 'status' }))
    expect(reported).toEqual({ ...made, status: { used: 1 }, metadata: { ...made.metadata, resourceVersion: '3' } })
  })

  it('removes the status that is left out', async () => {
    const made = await create('a')
    const reported = unwrap(await store.update({ ...made, status: {} }, { subresource: 'status' }))
    const { status: _, ...without } = reported
    expect(unwrap(await store.update(without, { subresource: 'status' }))).not.toHaveProperty('status')
  })

  it('conflicts as the main endpoint does', async () => {
    const made = await create('a')
    const write = async (metadata: object) =>
      failure(await store.update(withMeta({ ...made, status: 1 }, metadata), { subresource: 'status' }))
    expect(await write({ resourceVersion: undefined })).toEqual(invalidAt('metadata.resourceVersion'))
    expect(await write({ resourceVersion: '1' })).toMatchObject({ code: 'STORE_CONFLICT' })
    expect(await write({ uid: 'other' })).toMatchObject({ code: 'STORE_CONFLICT' })
  })

  it('does not exist for a kind without it', async () => {
    const made = await create('a', { kind: 'Plain' })
    const expected = invalidAt('status', 'is not a subresource')
    expect(failure(await store.update({ ...made, status: 1 }, { subresource: 'status' }))).toEqual(expected)
    const plain = ref('a', { kind: 'Plain' })
    expect(failure(await store.patch(plain, { status: 1 }, { subresource: 'status' }))).toEqual(expected)
  })

  it('cannot remove finalizers', async () => {
    await create('a', { metadata: { finalizers: ['x/f'] } })
    await store.delete(ref('a'))
    const patch = { status: 1, metadata: { finalizers: null } }
    const reported = unwrap(await store.patch(ref('a'), patch, { subresource: 'status' }))
    expect(reported.metadata.finalizers).toEqual(['x/f'])
    expect(unwrap(await store.get(ref('a'))).status).toBe(1)
  })
})

describe('patch', () => {
  it('merges: null removes, arrays are replaced whole, the rest stays', async () => {
    const made = await create('a', { spec: { keep: { x: 1 }, drop: 1, list: [1, 2], deep: { a: 1, b: 2 }, text: 'x' } })
    const patch = { spec: { drop: null, list: [{ y: null }], deep: { b: null, c: { d: null, e: 1 } }, text: { z: 1 } } }
    const patched = unwrap(await store.patch(ref('a'), patch))
    expect(patched.spec).toEqual({
      keep: { x: 1 },
      list: [{ y: null }],
      deep: { a: 1, c: { e: 1 } },
      text: { z: 1 },
    })
    expect(patched.metadata).toEqual({ ...made.metadata, generation: 2, resourceVersion: '3' })
  })

  it('takes an undefined field as one that is not there', async () => {
    const made = await create('a', { spec: { a: 1 } })
    expect(unwrap(await store.patch(ref('a'), { spec: { a: undefined } }))).toBe(made)
  })

  it('changes labels and annotations one by one', async () => {
    await create('a', { metadata: { labels: { a: '1', b: '2' }, annotations: { a: '1' } } })
    const patch = { metadata: { labels: { a: null, c: '3' }, annotations: { a: null } } }
    const { metadata } = unwrap(await store.patch(ref('a'), patch))
    expect(metadata.labels).toEqual({ b: '2', c: '3' })
    expect(metadata).not.toHaveProperty('annotations')
  })

  it.each([
    ['options', { uid: 'other' }, {}],
    ['options', { resourceVersion: '1' }, {}],
    ['options', { resourceVersion: '' }, {}],
    ['the patch', {}, { metadata: { uid: 'other' } }],
    ['the patch', {}, { metadata: { resourceVersion: '1' } }],
  ])('conflicts on a precondition in %s: %j %j', async (_, options, patch) => {
    const made = await create('a')
    expect(failure(await store.patch(ref('a'), { ...patch, spec: 1 }, options))).toMatchObject({
      code: 'STORE_CONFLICT',
    })
    expect(
      failure(await store.patch(ref('a'), { ...patch, status: 1 }, { ...options, subresource: 'status' })),
    ).toMatchObject({ code: 'STORE_CONFLICT' })
    expect(unwrap(await store.get(ref('a')))).toBe(made)
  })

  it('goes through when its preconditions hold', async () => {
    const { uid, resourceVersion } = (await create('a')).metadata
    const patch = { spec: 1, metadata: { uid, resourceVersion } }
    expect(failure(await store.patch(ref('a'), patch, { uid, resourceVersion }))).toBe('no failure')
  })

  it('refuses to remove the resourceVersion, and takes a removed uid or namespace as it was', async () => {
    const made = await create('a')
    expect(failure(await store.patch(ref('a'), { metadata: { resourceVersion: null }, spec: 1 }))).toEqual(
      invalidAt('metadata.resourceVersion', 'must be specified'),
    )
    expect(unwrap(await store.patch(ref('a'), { metadata: { uid: null, namespace: null } }))).toBe(made)
  })

  it.each([
    ['metadata.name', { metadata: { name: 'b' } }],
    ['metadata.name', { metadata: { name: null } }],
    ['metadata.namespace', { metadata: { namespace: 'other' } }],
    ['metadata', { metadata: null }],
    ['kind', { kind: 'Other' }],
    ['kind', { kind: null }],
    ['apiVersion', { apiVersion: 'other.example.com/v1' }],
    ['apiVersion', { apiVersion: 'v1' }],
  ])('cannot change %s: %j', async (path, patch) => {
    const made = await create('a')
    await create('b')
    expect(failure(await store.patch(ref('a'), patch))).toEqual(invalidAt(path))
    expect(failure(await store.patch(ref('a'), patch, { subresource: 'status' }))).toEqual(invalidAt(path))
    expect(unwrap(await store.get(ref('a')))).toBe(made)
  })

  it('cannot move a cluster-scoped object into a namespace', async () => {
    const region = { apiVersion: 'v1', kind: 'Unlisted', name: 'a' }
    unwrap(await store.create({ apiVersion: 'v1', kind: 'Unlisted', metadata: { name: 'a' } }))
    expect(failure(await store.patch(region, { metadata: { namespace: 'ns' } }))).toEqual(
      invalidAt('metadata.namespace'),
    )
  })

  it('does not look at the namespace of a cluster-scoped object', async () => {
    const made = unwrap(await store.create({ ...query, kind: 'Region', metadata: { name: 'a' } }))
    const region = { ...query, kind: 'Region', name: 'a' }
    expect(unwrap(await store.patch(region, { metadata: { namespace: 'ns' } }))).toBe(made)
    const labelled = unwrap(await store.patch(region, { metadata: { namespace: 'ns', labels: { l: '1' } } }))
    expect(Object.hasOwn(labelled.metadata, 'namespace')).toBe(false)
  })

  it('changes the version of the API within the group', async () => {
    await create('a')
    const apiVersion = `${GROUP}/v1beta1`
    expect(unwrap(await store.patch(ref('a'), { apiVersion, spec: 1 })).apiVersion).toBe(apiVersion)
    expect(unwrap(await store.patch(ref('a'), { spec: 2 })).apiVersion).toBe(apiVersion)
  })

  it('ignores the status on the main endpoint and all else on that of the status', async () => {
    const made = await create('a', { spec: 1 })
    expect(unwrap(await store.patch(ref('a'), { status: 1 }))).toBe(made)
    const patch = { spec: 2, status: { a: 1, b: 1 }, metadata: { labels: { a: 'b' } } }
    const reported = unwrap(await store.patch(ref('a'), patch, { subresource: 'status' }))
    expect(reported).toEqual({ ...made, status: { a: 1, b: 1 }, metadata: { ...made.metadata, resourceVersion: '3' } })
    const merged = unwrap(await store.patch(ref('a'), { status: { a: null } }, { subresource: 'status' }))
    expect(merged.status).toEqual({ b: 1 })
  })

  it('that says itself for which object it is made is a conflict if it is another, whatever else is wrong', async () => {
    const { uid } = (await create('a')).metadata
    const conflict = { code: 'STORE_CONFLICT' }
    for (const own of [{ uid: 'other' }, { resourceVersion: '1' }]) {
      const metadata = { ...own, labels: 'none' }
      expect(failure(await store.patch(ref('a'), { metadata }))).toMatchObject(conflict)
      const late = [{ op: 'test', path: '/spec', value: 1 }] as const
      expect(failure(await store.patch(ref('a'), late, own))).toMatchObject(conflict)
    }
    for (const none of [{ uid: '' }, { uid, resourceVersion: '2' }]) {
      const refused = await store.patch(ref('a'), { metadata: { ...none, labels: 'none' } })
      expect(failure(refused)).toEqual(invalidAt('metadata.labels', 'must be an object'))
    }
    const another = [{ op: 'replace', path: '/metadata/uid', value: 'other' }] as const
    expect(failure(await store.patch(ref('a'), another))).toEqual(invalidAt('metadata.uid'))
    expect(failure(await store.patch(ref('a'), { metadata: { resourceVersion: '0' } }))).toEqual(
      invalidAt('metadata.resourceVersion'),
    )
  })

  it('checks what comes out of it', async () => {
    await create('a', { metadata: { finalizers: ['x/a'] } })
    expect(failure(await store.patch(ref('a'), { metadata: { labels: { a: 5 } } }))).toEqual(
      invalidAt('metadata.labels.a'),
    )
    expect(failure(await store.patch(ref('a'), { spec: { a: Number.NaN } }))).toEqual(invalidAt('spec.a', 'NaN'))
  })

  it('fails for an object that is not there', async () => {
    expect(failure(await store.patch(ref('a'), {}))).toEqual({
      code: 'STORE_NOT_FOUND',
      context: { object: 'Pool ns/a' },
    })
  })
})

describe('delete', () => {
  it('removes at once, with an event under a new resourceVersion', async () => {
    const made = await create('a')
    const events = watchNow(store)
    const gone = unwrap(await store.delete(ref('a')))
    expect(gone).toEqual(withMeta(made, { resourceVersion: '3' }))
    expect(failure(await store.get(ref('a')))).toEqual({ code: 'STORE_NOT_FOUND', context: { object: 'Pool ns/a' } })
    expect(await drain(events)).toEqual([{ type: 'DELETED', object: gone }])
    expect(failure(await store.delete(ref('a')))).toMatchObject({ code: 'STORE_NOT_FOUND' })
  })

  it.each([{ uid: 'other' }, { uid: '' }, { resourceVersion: '1' }, { resourceVersion: '' }])(
    'conflicts on %j',
    async (preconditions) => {
      await create('a', { metadata: { finalizers: ['x/f'] } })
      expect(failure(await store.delete(ref('a'), preconditions))).toMatchObject({ code: 'STORE_CONFLICT' })
      const leaving = unwrap(await store.delete(ref('a')))
      expect(failure(await store.delete(ref('a'), preconditions))).toMatchObject({ code: 'STORE_CONFLICT' })
      expect(unwrap(await store.get(ref('a')))).toBe(leaving)
    },
  )

  it('goes through when its preconditions hold', async () => {
    const { uid, resourceVersion } = (await create('a')).metadata
    expect(failure(await store.delete(ref('a'), { uid, resourceVersion }))).toBe('no failure')
  })

  it('waits for finalizers: deletionTimestamp, grace period 0, generation + 1', async () => {
    const made = await create('a', { metadata: { finalizers: ['x/f'] } })
    const events = watchNow(store)
    nowMs += 2000
    const leaving = unwrap(await store.delete(ref('a')))
    expect(leaving).toEqual(
      withMeta(made, {
        deletionTimestamp: '2026-01-02T03:04:07Z',
        deletionGracePeriodSeconds: 0,
        generation: 2,
        resourceVersion: '3',
      }),
    )
    expect(await drain(events)).toEqual([{ type: 'MODIFIED', object: leaving }])
  })

  it('does nothing the second time', async () => {
    await create('a', { metadata: { finalizers: ['x/f'] } })
    const leaving = unwrap(await store.delete(ref('a')))
    nowMs += 2000
    expect(unwrap(await store.delete(ref('a')))).toBe(leaving)
    expect(await versionOf(store)).toBe('3')
  })

  it('lets finalizers go and takes no new ones', async () => {
    await create('a', { metadata: { finalizers: ['x/a', 'x/b'] } })
    const leaving = unwrap(await store.delete(ref('a')))
    const expected = invalidAt('metadata.finalizers', 'x/c')
    expect(failure(await store.update(withMeta(leaving, { finalizers: ['x/a', 'x/b', 'x/c'] })))).toEqual(expected)
    expect(failure(await store.patch(ref('a'), { metadata: { finalizers: ['x/c'] } }))).toEqual(expected)
    const fewer = unwrap(await store.patch(ref('a'), { metadata: { finalizers: ['x/b'] } }))
    expect(fewer.metadata.finalizers).toEqual(['x/b'])
    expect(failure(await store.patch(ref('a'), { metadata: { finalizers: ['x/a', 'x/b'] } }))).toEqual(
      invalidAt('metadata.finalizers', 'x/a'),
    )
  })

  it('still takes other changes, which raise the generation as ever', async () => {
    await create('a', { metadata: { finalizers: ['x/f'] } })
    await store.delete(ref('a'))
    const patch = { spec: 2, metadata: { labels: { a: 'b' } } }
    expect(unwrap(await store.patch(ref('a'), patch)).metadata).toMatchObject({ generation: 3, labels: { a: 'b' } })
  })

  it.each([[null], [[]]])('removes the object with its last finalizer: %j', async (finalizers) => {
    await create('a', { metadata: { finalizers: ['x/f'], labels: { a: '1' } } })
    const leaving = unwrap(await store.delete(ref('a')))
    const events = watchNow(store)
    const answer = unwrap(await store.patch(ref('a'), { metadata: { finalizers, labels: { a: '2' } }, spec: 1 }))

    // the writer sees what it wrote, the watcher what was stored last
    const { finalizers: _, ...metadata } = leaving.metadata
    expect(answer).toEqual({ ...leaving, spec: 1, metadata: { ...metadata, labels: { a: '2' }, generation: 3 } })
    expect(await drain(events)).toEqual([{ type: 'DELETED', object: withMeta(leaving, { resourceVersion: '4' }) }])
    expect(failure(await store.get(ref('a')))).toMatchObject({ code: 'STORE_NOT_FOUND' })
    expect(unwrap(await store.list(query)).items).toEqual([])
  })

  it('keeps an object whose finalizers go while it is not being deleted', async () => {
    await create('a', { metadata: { finalizers: ['x/f'] } })
    unwrap(await store.patch(ref('a'), { metadata: { finalizers: null } }))
    expect(failure(await store.get(ref('a')))).toBe('no failure')
  })

  it('keeps the name taken until the object is gone', async () => {
    const made = await create('a', { metadata: { finalizers: ['x/f'] } })
    await store.delete(ref('a'))
    expect(failure(await store.create(pool('a')))).toMatchObject({ code: 'STORE_ALREADY_EXISTS' })
    await store.patch(ref('a'), { metadata: { finalizers: null } })
    expect((await create('a')).metadata.uid).not.toBe(made.metadata.uid)
  })
})

describe('list', () => {
  it('is ordered by namespace, then name, in code units', async () => {
    for (const [namespace, name] of ['b/a', 'a-b/a', 'a/b', 'a/a.b', 'a/a-b', 'a/a', 'a/10', 'a/9'].map((key) =>
      key.split('/'),
    )) {
      await create(name!, { metadata: { namespace } })
    }
    const keys = async () =>
      unwrap(await store.list(query)).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    expect(await keys()).toEqual(['a/10', 'a/9', 'a/a', 'a/a-b', 'a/a.b', 'a/b', 'a-b/a', 'b/a'])
    await store.delete(ref('a', { namespace: 'a' }))
    await create('0', { metadata: { namespace: 'a' } })
    await store.patch(ref('b', { namespace: 'a' }), { spec: 1 })
    expect(await keys()).toEqual(['a/0', 'a/10', 'a/9', 'a/a-b', 'a/a.b', 'a/b', 'a-b/a', 'b/a'])
  })

  it('has the version of the store, also when nothing is there', async () => {
    expect(unwrap(await store.list(query))).toEqual({ items: [], resourceVersion: '1' })
    await create('a', { kind: 'Other' })
    expect(unwrap(await store.list(query))).toEqual({ items: [], resourceVersion: '2' })
  })

  it('takes one namespace, or all', async () => {
    const a = await create('a')
    const b = await create('b', { metadata: { namespace: 'other' } })
    expect(unwrap(await store.list({ ...query, namespace: 'other' })).items).toEqual([b])
    expect(unwrap(await store.list({ ...query, namespace: '' })).items).toEqual([a, b])
  })

  it('takes labels that must be equal', async () => {
    const a = await create('a', { metadata: { labels: { app: 'x', tier: '1' } } })
    const b = await create('b', { metadata: { labels: { app: 'x' } } })
    await create('c')
    const named = async (labels: { [key: string]: string }) => unwrap(await store.list({ ...query, labels })).items
    expect(await named({ app: 'x' })).toEqual([a, b])
    expect(await named({ app: 'x', tier: '1' })).toEqual([a])
    expect(await named({ app: 'y' })).toEqual([])
    expect(await named({ constructor: 'x' })).toEqual([])
    expect(await named({})).toHaveLength(3)
  })

  it('is a snapshot', async () => {
    await create('a')
    const { items } = unwrap(await store.list(query))
    await create('b')
    await store.delete(ref('a'))
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a'])
  })
})

describe('atomicity', () => {
  it('is done when the call returns', () => {
    void store.create(pool('a'))
    void store.patch(ref('a'), { spec: 1 })
    void store.create(pool('b'))
    void store.delete(ref('b'))
    return expect(store.get(ref('a')).then(unwrap)).resolves.toMatchObject({
      spec: 1,
      metadata: { resourceVersion: '3' },
    })
  })

  it('lets one of many writers of a version through', async () => {
    const made = await create('a')
    const results = await Promise.all(Array.from({ length: 10 }, (_, n) => store.update({ ...made, spec: n })))
    expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  })

  it('is not upset by code of the caller that writes while it is read', async () => {
    const meanwhile = {
      toJSON: () => {
        void store.create(pool('a', { spec: 'meanwhile' }))
        return 'late'
      },
    }
    expect(failure(await store.create(pool('a', { spec: meanwhile })))).toMatchObject({ code: 'STORE_ALREADY_EXISTS' })
    expect(unwrap(await store.get(ref('a'))).spec).toBe('meanwhile')
  })
})

describe('arguments', () => {
  it.each([[undefined], [null], ['x'], [5], [[]]])('rejects %j for an object', async (wrong) => {
    const argument = wrong as never
    for (const call of [
      () => store.get(argument),
      () => store.list(argument),
      () => store.create(argument),
      () => store.update(argument),
      () => store.patch(argument, {}),
      // an array is a JSON patch
      () => store.patch(ref('a'), Array.isArray(argument) ? (null as never) : argument),
      () => store.delete(argument),
      async () => store.watch(argument),
    ]) {
      await expect(call()).rejects.toMatchObject({ name: 'IpamError', code: 'INVALID_ARGUMENT' })
    }
  })

  it('rejects fields and options of the wrong type', async () => {
    await create('a')
    const made = unwrap(await store.get(ref('a')))
    const wrong = 5 as never
    for (const call of [
      () => store.get(ref('a', { name: wrong })),
      () => store.get(ref('a', { kind: wrong })),
      () => store.get(ref('a', { namespace: wrong })),
      () => store.get(ref('a', { apiVersion: undefined as never })),
      () => store.list({ ...query, namespace: wrong }),
      () => store.list({ ...query, labels: wrong }),
      () => store.list({ ...query, labels: { a: wrong } }),
      () => store.update(made, { subresource: 'scale' as never }),
      () => store.update(made, wrong),
      () => store.patch(ref('a'), {}, { uid: wrong }),
      () => store.patch(ref('a'), {}, { resourceVersion: wrong }),
      () => store.patch(ref('a'), {}, { subresource: wrong }),
      () => store.delete(ref('a'), { uid: wrong }),
      () => store.delete(ref('a'), { resourceVersion: null as never }),
      () => store.create({ toJSON: () => 'text' } as never),
      async () => store.watch(query, { resourceVersion: wrong }),
    ]) {
      await expect(call()).rejects.toMatchObject({ name: 'IpamError', code: 'INVALID_ARGUMENT' })
    }
    expect(unwrap(await store.get(ref('a')))).toBe(made)
  })

  it.each([
    undefined,
    {},
    { now: 5 },
    { uid: 5 },
    { maxObjectBytes: 0 },
    { maxObjectBytes: 1.5 },
    { maxObjectBytes: 2 ** 27 },
    { history: -1 },
    { history: Number.POSITIVE_INFINITY },
    { kinds: {} },
    { kinds: [null] },
    { kinds: [{ ...POOL, kind: 5 }] },
    { kinds: [{ ...POOL, namespaced: undefined }] },
    { kinds: [{ ...POOL, statusSubresource: 'yes' }] },
    { kinds: [POOL, { ...POOL, apiVersion: `${GROUP}/v2`, namespaced: false }] },
    { kinds: [POOL, { ...POOL, apiVersion: `${GROUP}/v2`, statusSubresource: false }] },
  ])('refuses the options %j', (options) => {
    const given = options && Object.keys(options).length > 0 ? { now: () => 0, ...options } : options
    expect(() => memoryStore(given as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  it('takes all versions of a kind', () => {
    expect(() => newStore({ kinds: [POOL, { ...POOL, apiVersion: `${GROUP}/v2` }] })).not.toThrow()
  })

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 253_402_300_800_000, '5'])('rejects the time %j', async (time) => {
    store = newStore({ now: () => time as number })
    await expect(store.create(pool('a'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(await versionOf(store)).toBe('1')
  })

  it('writes any second until the year 10000', async () => {
    store = newStore({ now: () => 253_402_300_799_999 })
    expect((await create('a')).metadata.creationTimestamp).toBe('9999-12-31T23:59:59Z')
  })

  it.each(['', 5, undefined])('rejects the uid %j', async (uid) => {
    store = newStore({ uid: () => uid as string })
    await expect(store.create(pool('a'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
