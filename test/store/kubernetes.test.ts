import { unwrap } from 'ipam-kit/errors'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import { conformanceKinds, storeConformance } from 'ipam-kit/testing'
import { describe, expect, it } from 'vitest'
import type { KubernetesStoreOptions } from '../../src/store/kubernetes/kubernetes-store.js'
import { ApiServerModel } from './kubernetes-model.js'
import { failure, GROUP, PLAIN, POOL, pool, REGION, ref } from './memory-fixture.js'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))
const kinds = [{ ...POOL, selectableFields: ['spec.color'] }, REGION, PLAIN]
const UID = 'b2a0c7a5-27b1-4a2a-8b54-0d1f4b0e4f3c'

describe('over a model of an API server', () => {
  const server = new ApiServerModel(conformanceKinds)
  for (const listed of [conformanceKinds, undefined]) {
    const options = { sleep, kinds: listed }
    const open = () => kubernetesStore(server, options)
    const interruptWatches = async () => server.end(new Error('cut'))
    const { capabilities } = open()
    const run = listed === undefined ? 'asked' : 'listed'
    for (const each of storeConformance({ open, interruptWatches, sleep, run })) {
      if (each.unless === undefined || !capabilities[each.unless]) it(`${each.name} (kinds ${run})`, each.run)
    }
  }
})

function open(options: Partial<KubernetesStoreOptions> = {}) {
  const server = new ApiServerModel(kinds)
  const store = kubernetesStore(server, { sleep, kinds, ...options })
  const sent = () => server.requests.map(({ method, path }) => `${method} ${decodeURIComponent(path)}`)
  return { server, store, sent }
}

const POOLS = `/apis/${GROUP}/v1/namespaces/ns/pools`

describe('requests', () => {
  it('are the ones of the resource', async () => {
    const { store, server, sent } = open()
    const made = unwrap(await store.create(pool('a')))
    await store.get(ref('a'))
    await store.update(made)
    await store.update(made, { subresource: 'status' })
    await store.patch(ref('a'), { spec: {} })
    await store.patch(ref('a'), [], { subresource: 'status' })
    await store.list({ ...POOL, namespace: 'ns' })
    await store.list({ ...POOL, namespace: '' }, { limit: 5 })
    await store.get({ apiVersion: POOL.apiVersion, kind: 'Region', name: 'a' })
    expect(sent()).toEqual([
      `POST ${POOLS}?fieldManager=ipam-kit`,
      `GET ${POOLS}/a`,
      `PUT ${POOLS}/a?fieldManager=ipam-kit`,
      `PUT ${POOLS}/a/status?fieldManager=ipam-kit`,
      `PATCH ${POOLS}/a?fieldManager=ipam-kit`,
      `PATCH ${POOLS}/a/status?fieldManager=ipam-kit`,
      `GET ${POOLS}`,
      `GET /apis/${GROUP}/v1/pools?limit=5`,
      `GET /apis/${GROUP}/v1/regions/a`,
    ])
    const types = server.requests.map(({ headers }) => headers['content-type'])
    const json = 'application/json'
    const [merge, operations] = ['application/merge-patch+json', 'application/json-patch+json']
    expect(types.slice(0, 7)).toEqual([json, undefined, json, json, merge, operations, undefined])
    expect(server.requests.every(({ headers }) => headers.accept === json)).toBe(true)
  })

  it('of core kinds are below /api', async () => {
    const { store, sent } = open({ kinds: [{ ...REGION, apiVersion: 'v1', kind: 'Node', plural: 'nodes' }] })
    await store.get({ apiVersion: 'v1', kind: 'Node', name: 'n' })
    expect(sent()).toEqual(['GET /api/v1/nodes/n'])
  })

  it('name the writer', async () => {
    const { store, sent } = open({ fieldManager: 'my/controller' })
    await store.create(pool('a'))
    expect(sent()).toEqual([`POST ${POOLS}?fieldManager=my/controller`])
  })

  it('that write end where they are told to', async () => {
    const { store, sent } = open({ writeTimeoutSeconds: 4 })
    const made = unwrap(await store.create(pool('a')))
    await store.update(made)
    await store.patch(ref('a'), { spec: {} })
    await store.list({ ...POOL, namespace: 'ns' })
    unwrap(await store.delete(ref('a')))
    expect(sent()).toEqual([
      `POST ${POOLS}?fieldManager=ipam-kit&timeout=4s`,
      `PUT ${POOLS}/a?fieldManager=ipam-kit&timeout=4s`,
      `PATCH ${POOLS}/a?fieldManager=ipam-kit&timeout=4s`,
      `GET ${POOLS}`,
      `GET ${POOLS}/a`,
      expect.stringMatching(/^DELETE .*&timeout=4s$/),
    ])
  })

  it('select', async () => {
    const { store, sent } = open()
    const query = { apiVersion: POOL.apiVersion, kind: 'Pool', namespace: 'ns' }
    const labelExpressions = [
      { key: 'a', operator: 'In', values: ['x', ''] },
      { key: 'x/b', operator: 'NotIn', values: ['y'] },
      { key: 'c', operator: 'Exists' },
      { key: 'd', operator: 'DoesNotExist' },
    ] as const
    await store.list({ ...query, labels: { l: '1', m: '' }, labelExpressions })
    await store.list({ ...query, fields: { 'spec.color': 'a,b=c\\d', 'metadata.name': 'x' } })
    await store.list({ ...query, fields: { 'spec.color': '\ud800' } }, { continue: 'a b&c=d' })
    expect(sent()).toEqual([
      `GET ${POOLS}?labelSelector=l=1,m=,a in (x,),x/b notin (y),c,!d`,
      `GET ${POOLS}?fieldSelector=spec.color=a\\,b\\=c\\\\d,metadata.name=x`,
      `GET ${POOLS}?fieldSelector=spec.color=\ufffd&continue=a b&c=d`,
    ])
  })

  it('carry the conditions of a patch in it, so that the server looks at them', async () => {
    const { store, server } = open()
    const { uid, resourceVersion } = unwrap(await store.create(pool('a'))).metadata
    await store.patch(ref('a'), { spec: { x: 1 }, metadata: { labels: { l: '1' } } }, { uid, resourceVersion })
    const after = unwrap(await store.get(ref('a'))).metadata.resourceVersion
    await store.patch(ref('a'), [{ op: 'remove', path: '/spec/x' }], { uid, resourceVersion: after })
    const bodies = server.requests.filter(({ method }) => method === 'PATCH').map(({ body }) => JSON.parse(body!))
    expect(bodies).toEqual([
      { spec: { x: 1 }, metadata: { labels: { l: '1' }, uid, resourceVersion } },
      [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: '/metadata/resourceVersion', value: after },
        { op: 'remove', path: '/spec/x' },
      ],
    ])
  })

  it('delete what was read and nothing else, also if the client loses the body', async () => {
    const { store, server } = open()
    const { uid, resourceVersion } = unwrap(await store.create(pool('a'))).metadata
    await store.delete(ref('a'), { propagation: 'Background' })
    const { path, body } = server.requests.at(-1)!
    const preconditions = { uid, resourceVersion }
    const propagationPolicy = 'Background'
    expect(JSON.parse(body!)).toEqual({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions, propagationPolicy })
    const query = Object.fromEntries(new URLSearchParams(path.split('?')[1]))
    expect(query).toEqual({ ...preconditions, propagationPolicy })
  })

  it('ask for a kind that is not listed once, and again while the server does not know it', async () => {
    const { store, server, sent } = open({ kinds: [] })
    await store.get(ref('a'))
    await store.get(ref('b'))
    await store.get(ref('c', { kind: 'Other' }))
    await store.get(ref('c', { kind: 'Other' }))
    const root = `GET /apis/${GROUP}/v1`
    expect(sent()).toEqual([root, `GET ${POOLS}/a`, `GET ${POOLS}/b`, root, root])
    expect(failure(await store.get(ref('c', { kind: 'Other' })))).toMatchObject({ code: 'STORE_IO' })
    server.before = () => ({ status: 200, body: '{"resources":"none"}' })
    expect(failure(await store.get(ref('c', { kind: 'Other' })))).toMatchObject({ code: 'STORE_IO' })
    server.before = () => ({ status: 200, body: 'no JSON' })
    expect(failure(await store.get(ref('c', { kind: 'Other' })))).toMatchObject({ code: 'STORE_IO' })
    server.before = () => ({ status: 503, body: '' })
    expect(failure(await store.create(pool('c', { kind: 'Other' })))).toMatchObject({ code: 'STORE_IO' })
  })
})

describe('what the server would misread', () => {
  it.each(['', '.', '..', 'a/b', 'a%2fb', 'a\u0000', 'a\ud800'])('the name %j is not sent', async (name) => {
    const { store, server } = open()
    expect(failure(await store.create(pool(name)))).toMatchObject({
      code: 'STORE_INVALID',
      context: { path: 'metadata.name' },
    })
    const notFound = { code: 'STORE_NOT_FOUND' }
    expect(failure(await store.get(ref(name)))).toMatchObject(notFound)
    expect(failure(await store.delete(ref(name)))).toMatchObject(notFound)
    expect(failure(await store.patch(ref(name), {}))).toMatchObject(notFound)
    const update = await store.update(pool(name, { metadata: { resourceVersion: '5' } }))
    expect(failure(update)).toMatchObject(name === '' ? { code: 'STORE_INVALID' } : notFound)
    expect(server.requests).toEqual([])
  })

  it.each(['..', 'a/b', 'A', 'a'.repeat(64)])('the namespace %j is not sent', async (namespace) => {
    const { store, server } = open()
    expect(failure(await store.create(pool('a', { metadata: { namespace } })))).toMatchObject({
      code: 'STORE_INVALID',
      context: { path: 'metadata.namespace' },
    })
    expect(failure(await store.get(ref('a', { namespace })))).toMatchObject({ code: 'STORE_NOT_FOUND' })
    const query = { apiVersion: POOL.apiVersion, kind: 'Pool', namespace }
    expect(failure(await store.list(query))).toMatchObject({ code: 'STORE_INVALID', context: { path: 'namespace' } })
    expect(server.requests).toEqual([])
  })

  it.each([
    [{ apiVersion: 'a/b/c' }, 'apiVersion'],
    [{ apiVersion: '..' }, 'apiVersion'],
    [{ apiVersion: '' }, 'apiVersion'],
    [{ kind: '../Pool' }, 'kind'],
    [{ kind: '' }, 'kind'],
    [{ namespace: undefined }, 'metadata.namespace'],
    [{ kind: 'Region' }, 'metadata.namespace'],
  ])('%j is not sent', async (parts, path) => {
    const { store, server } = open()
    const place = { ...ref('a'), ...parts } as ReturnType<typeof ref>
    const invalid = { code: 'STORE_INVALID', context: { path } }
    expect(failure(await store.get(place))).toMatchObject(invalid)
    expect(failure(await store.delete(place))).toMatchObject(invalid)
    const { apiVersion, kind, namespace } = place
    expect(failure(await store.create({ apiVersion, kind, metadata: { namespace, name: 'a' } }))).toMatchObject(invalid)
    expect(server.requests).toEqual([])
  })

  it('selectors that would be others', async () => {
    const { store, server } = open()
    const query = { apiVersion: POOL.apiVersion, kind: 'Pool', namespace: 'ns' }
    for (const wrong of [
      { labels: { l: 'x,m=y' } },
      { labels: { 'l=x,m': 'y' } },
      { labelExpressions: [{ key: 'l', operator: 'In', values: ['x),m in (y'] }] } as const,
      { labelExpressions: [{ key: '!l', operator: 'Exists' }] } as const,
      { fields: { 'metadata.name=x,metadata.namespace': 'y' } },
      { fields: { 'spec.other': 'y' } },
    ]) {
      expect(failure(await store.list({ ...query, ...wrong }))).toMatchObject({ code: 'STORE_INVALID' })
    }
    expect(server.requests).toEqual([])
    const asking = kubernetesStore(server, { sleep })
    const odd = await asking.list({ ...query, fields: { 'a=b,c': '' } })
    expect(failure(odd)).toMatchObject({ code: 'STORE_INVALID', context: { path: 'fields["a=b,c"]' } })
    await asking.list({ ...query, fields: { 'status.phase': 'x' } })
    expect(server.requests.at(-1)!.path).toContain('fieldSelector=status.phase')
  })

  it('conditions that it would take for none', async () => {
    const { store, server } = open()
    const made = unwrap(await store.create(pool('a')))
    const conflict = { code: 'STORE_CONFLICT' }
    for (const resourceVersion of ['0', '', '007', 'yesterday', '1e3', '9'.repeat(20)]) {
      expect(failure(await store.patch(ref('a'), {}, { resourceVersion }))).toMatchObject(conflict)
      expect(failure(await store.patch(ref('b'), {}, { resourceVersion }))).toMatchObject({ code: 'STORE_NOT_FOUND' })
      expect(failure(await store.delete(ref('a'), { resourceVersion }))).toMatchObject(conflict)
      const changed = { ...made, metadata: { ...made.metadata, resourceVersion } }
      const code = ['0', ''].includes(resourceVersion) ? 'STORE_INVALID' : 'STORE_CONFLICT'
      expect(failure(await store.update(changed))).toMatchObject({ code })
      if (code === 'STORE_INVALID') continue
      expect(failure(await store.patch(ref('a'), { metadata: { resourceVersion } }))).toMatchObject(conflict)
    }
    expect(failure(await store.patch(ref('a'), {}, { uid: '' }))).toMatchObject(conflict)
    const { uid, resourceVersion } = made.metadata
    const twice = await store.patch(
      ref('a'),
      { metadata: { uid: UID, resourceVersion: '9' } },
      { uid, resourceVersion },
    )
    expect(failure(twice)).toMatchObject(conflict)
    expect(server.requests.filter(({ method }) => !['GET', 'POST'].includes(method))).toEqual([])
  })

  it('conditions that an operation could undo', async () => {
    const { store, server } = open()
    const { uid, resourceVersion } = unwrap(await store.create(pool('a'))).metadata
    const changed = unwrap(await store.patch(ref('a'), { spec: { x: 1 } }))
    const current = changed.metadata.resourceVersion
    const undoing = [{ op: 'replace', path: '/metadata/resourceVersion', value: current }] as const
    const conflict = { code: 'STORE_CONFLICT' }
    expect(failure(await store.patch(ref('a'), undoing, { resourceVersion }))).toMatchObject(conflict)
    const ofStatus = { uid: UID, subresource: 'status' } as const
    const operations = [{ op: 'add', path: '/status', value: { used: 1 } }] as const
    expect(failure(await store.patch(ref('a'), operations, ofStatus))).toMatchObject(conflict)
    expect(unwrap(await server.store.get(ref('a')))).toEqual(changed)
    const asked = server.requests.length
    unwrap(await store.patch(ref('a'), operations, { ...ofStatus, uid }))
    expect(server.requests.length).toBe(asked + 1)
  })

  it('a status under a uid is read first, unless the version is that of a write of our own', async () => {
    const { store, server, sent } = open()
    const made = unwrap(await store.create(pool('a')))
    const { uid, resourceVersion } = made.metadata
    const patch = (options: object) =>
      store.patch(ref('a'), { status: { used: 1 } }, { subresource: 'status', ...options })
    const begun = sent().length
    const after = unwrap(await patch({ uid, resourceVersion })).metadata.resourceVersion
    expect(sent().length).toBe(begun + 1)
    // of another object in that version, and of one that was changed since
    expect(failure(await patch({ uid: UID, resourceVersion: after }))).toMatchObject({ code: 'STORE_CONFLICT' })
    expect(sent().length).toBe(begun + 2)
    const foreign = unwrap(await server.store.patch(ref('a'), { spec: { x: 1 } }))
    expect(failure(await patch({ uid, resourceVersion: after }))).toMatchObject({ code: 'STORE_CONFLICT' })
    unwrap(await patch({ uid, resourceVersion: foreign.metadata.resourceVersion }))
    expect(
      sent()
        .slice(begun)
        .map((line) => line.split(' ')[0]),
    ).toEqual(['PATCH', 'GET', 'PATCH', 'GET', 'PATCH'])
  })

  it('an object with a version that is to be created, one without that is to be changed', async () => {
    const { store, server } = open()
    const versioned = pool('a', { metadata: { resourceVersion: '5' } })
    const at = { context: { path: 'metadata.resourceVersion' } }
    expect(failure(await store.create(versioned))).toMatchObject({ code: 'STORE_INVALID', ...at })
    expect(failure(await store.update(pool('a')))).toMatchObject({ code: 'STORE_INVALID', ...at })
    expect(server.requests).toEqual([])
  })

  it('an update that says no uid: it would create what is not there', async () => {
    const { store, server } = open()
    const made = unwrap(await store.create(pool('a')))
    const { uid, ...metadata } = made.metadata
    unwrap(await store.update({ ...made, metadata, spec: { x: 1 } }))
    expect(JSON.parse(server.requests.at(-1)!.body!).metadata.uid).toBe(uid)
    const stale = await store.update({ ...made, metadata, spec: { x: 2 } })
    expect(failure(stale)).toMatchObject({ code: 'STORE_CONFLICT' })
  })

  it.each([
    [{ metadata: { ...pool('a').metadata, uid: 5 } }, 'metadata.uid'],
    [{ metadata: { name: ['a'] } }, 'metadata.name'],
    [{ metadata: null }, 'metadata'],
    [{ kind: undefined }, 'kind'],
    [{ apiVersion: 5 }, 'apiVersion'],
    [{ spec: { x: Number.NaN } }, 'spec.x'],
  ])('an object with %j', async (parts, path) => {
    const { store, server } = open()
    const odd = { ...pool('a'), ...parts } as never
    expect(failure(await store.create(odd))).toMatchObject({ code: 'STORE_INVALID', context: { path } })
    expect(failure(await store.update(odd))).toMatchObject({ code: 'STORE_INVALID', context: { path } })
    expect(server.requests).toEqual([])
  })

  it.each([
    [{ metadata: null }, 'metadata'],
    [{ metadata: 'x' }, 'metadata'],
    [[{ op: 'frob', path: '/spec' }], 'patch[0].op'],
    [[{ op: 'add', path: 'spec/x', value: 1 }], 'patch[0].path'],
    [[{ op: 'add', path: '/spec/x' }], 'patch[0].value'],
  ])('the patch %j', async (patch, path) => {
    const { store, server } = open()
    const answer = await store.patch(ref('a'), patch as never)
    expect(failure(answer)).toMatchObject({ code: 'STORE_INVALID', context: { path } })
    expect(server.requests).toEqual([])
  })
})

describe('writes that go by what was read', () => {
  it('a deletion is tried again if the object has changed, unless that was not to be', async () => {
    const { store, server, sent } = open()
    const made = unwrap(await store.create(pool('a')))
    let changes = 3
    server.after = (answer, { method }) => {
      // as soon as it has been read, somebody else writes
      if (method === 'GET' && changes-- > 0) void server.store.patch(ref('a'), { spec: { changes } })
      return answer
    }
    const { resourceVersion } = made.metadata
    expect(failure(await store.delete(ref('a'), { resourceVersion }))).toMatchObject({ code: 'STORE_CONFLICT' })
    changes = 3
    const gone = unwrap(await store.delete(ref('a'), { uid: made.metadata.uid }))
    expect(gone.spec).toEqual({ changes: 0 })
    expect(sent().filter((line) => line.startsWith('DELETE'))).toHaveLength(5)
  })

  it('a conflict of another kind is not tried for ever', async () => {
    const { store, server, sent } = open()
    unwrap(await store.create(pool('a')))
    const conflict = { kind: 'Status', reason: 'Conflict', message: 'still ending' }
    server.before = ({ method }) => (method === 'DELETE' ? { status: 409, body: JSON.stringify(conflict) } : undefined)
    expect(failure(await store.delete(ref('a')))).toMatchObject({
      code: 'STORE_CONFLICT',
      context: { actual: 'still ending' },
    })
    expect(sent().filter((line) => line.startsWith('DELETE'))).toHaveLength(2)
  })

  it('an object that changes with every read is given up', async () => {
    const { store, server, sent } = open()
    unwrap(await store.create(pool('a')))
    let changes = 0
    server.after = (answer, { method }) => {
      if (method === 'GET') void server.store.patch(ref('a'), { spec: { changes: changes++ } })
      return answer
    }
    expect(failure(await store.delete(ref('a')))).toMatchObject({ code: 'STORE_CONFLICT' })
    expect(sent().filter((line) => line.startsWith('DELETE'))).toHaveLength(100)
  })

  it('a patch that is refused is a conflict if its conditions do not hold any more', async () => {
    const { store, server } = open()
    const made = unwrap(await store.create(pool('a', { spec: { x: 1 } })))
    const { uid, resourceVersion } = made.metadata
    unwrap(await store.patch(ref('a'), { spec: { x: 2 } }))
    const patch = [{ op: 'test', path: '/spec/x', value: 1 }] as const
    expect(failure(await store.patch(ref('a'), patch, { resourceVersion }))).toMatchObject({
      code: 'STORE_CONFLICT',
      context: { expected: `resourceVersion "${resourceVersion}"` },
    })
    expect(failure(await store.patch(ref('a'), patch, { uid }))).toMatchObject({ code: 'STORE_INVALID' })
    const asked = server.requests.length
    expect(failure(await store.patch(ref('a'), patch))).toMatchObject({ code: 'STORE_INVALID' })
    expect(server.requests.length).toBe(asked + 1)
    server.before = ({ method }) => (method === 'GET' ? { status: 503, body: '' } : undefined)
    expect(failure(await store.patch(ref('a'), patch, { uid }))).toMatchObject({ code: 'STORE_INVALID' })
    server.after = (answer, { method }) => {
      if (method === 'PATCH') server.before = () => undefined
      if (method === 'PATCH') void server.store.delete(ref('a'))
      return answer
    }
    expect(failure(await store.patch(ref('a'), patch, { uid }))).toMatchObject({ code: 'STORE_NOT_FOUND' })
  })

  it('a patch of a status under a uid is made for what was read', async () => {
    const { store, server, sent } = open()
    const { uid } = unwrap(await store.create(pool('a'))).metadata
    let isRead = false
    server.after = (answer, { method }) => {
      if (method === 'GET' && !isRead) {
        isRead = true
        void server.store.delete(ref('a')).then(() => server.store.create(pool('a')))
      }
      return answer
    }
    const late = await store.patch(ref('a'), { status: { x: 1 } }, { uid, subresource: 'status' })
    expect(failure(late)).toMatchObject({ code: 'STORE_CONFLICT' })
    expect(unwrap(await server.store.get(ref('a'))).status).toBeUndefined()
    expect(sent().filter((line) => line.startsWith('PATCH')).length).toBeLessThan(2)
  })

  it('what the server gives back for a deletion is the answer', async () => {
    const { store, server } = open()
    const made = unwrap(await store.create(pool('a')))
    const shown = { ...made, spec: { shown: true } }
    server.before = ({ method }) => (method === 'DELETE' ? { status: 200, body: JSON.stringify(shown) } : undefined)
    expect(unwrap(await store.delete(ref('a')))).toEqual(shown)
  })
})

describe('options', () => {
  const server = new ApiServerModel(kinds)

  it.each([
    [undefined, 'options'],
    [{}, 'options.sleep'],
    [{ sleep, kinds: {} }, 'options.kinds'],
    [{ sleep, kinds: [{ ...POOL, plural: undefined }] }, 'options.kinds.plural'],
    [{ sleep, kinds: [{ ...POOL, plural: '../x' }] }, 'options.kinds.plural'],
    [{ sleep, fieldManager: '' }, 'options.fieldManager'],
    [{ sleep, fieldManager: 'ä' }, 'options.fieldManager'],
    [{ sleep, maxObjectBytes: 0 }, 'options.maxObjectBytes'],
    [{ sleep, writeTimeoutSeconds: 0 }, 'options.writeTimeoutSeconds'],
    [{ sleep, writeTimeoutSeconds: 1.5 }, 'options.writeTimeoutSeconds'],
    [{ sleep, writeTimeoutSeconds: 61 }, 'options.writeTimeoutSeconds'],
  ])('%j are refused', (options, argument) => {
    const refused = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      context: expect.objectContaining({ argument }),
    })
    expect(() => kubernetesStore(server, options as never)).toThrow(refused)
  })

  it('the client needs both of its methods', () => {
    for (const client of [undefined, {}, { request: server.request }, { watch: server.watch }]) {
      expect(() => kubernetesStore(client as never, { sleep })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
    }
  })

  it('a smaller size is kept to', async () => {
    const { store, server: asked } = open({ maxObjectBytes: 1000 })
    expect(store.capabilities.maxObjectBytes).toBe(1000)
    const huge = pool('a', { spec: { x: 'ü'.repeat(450) } })
    expect(failure(await store.create(huge))).toMatchObject({
      code: 'STORE_OBJECT_TOO_LARGE',
      context: { sizeBytes: expect.any(Number), maxBytes: 1000 },
    })
    expect(asked.requests).toEqual([])
  })

  it('arguments of the wrong type reject, before anything is asked', async () => {
    const { store, server: asked } = open()
    const wrong = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    await expect(store.get('a' as never)).rejects.toEqual(wrong)
    await expect(store.list({} as never)).rejects.toEqual(wrong)
    await expect(store.list({ ...POOL }, { limit: 0 })).rejects.toEqual(wrong)
    await expect(store.create(null as never)).rejects.toEqual(wrong)
    await expect(store.update([] as never)).rejects.toEqual(wrong)
    await expect(store.update(pool('a'), { subresource: 'scale' as never })).rejects.toEqual(wrong)
    await expect(store.patch(ref('a'), 'x' as never)).rejects.toEqual(wrong)
    await expect(store.patch(ref('a'), {}, { uid: 5 as never })).rejects.toEqual(wrong)
    await expect(store.delete(ref('a'), { propagation: 'Never' as never })).rejects.toEqual(wrong)
    expect(() => store.watch({} as never)).toThrow(wrong)
    expect(() => store.watch({ ...POOL }, { resourceVersion: 5 as never })).toThrow(wrong)
    expect(asked.requests).toEqual([])
  })

  it('what is changed after the call is not looked at', async () => {
    const { store, sent } = open({ kinds: [] })
    const query = { apiVersion: POOL.apiVersion, kind: 'Pool', namespace: 'ns', labels: { l: '1' } }
    const listing = store.list(query)
    query.labels.l = '2'
    query.namespace = 'other'
    await listing
    expect(sent().at(-1)).toBe(`GET ${POOLS}?labelSelector=l=1`)
  })
})
