import { fc, test as property } from '@fast-check/vitest'
import { ClusterApi, InCluster, IpamKit, Meta, Metal3, Networking, NodeIpam, OpenStack } from 'ipam-kit/crd'
import { unwrap } from 'ipam-kit/errors'
import { ObjectCache } from 'ipam-kit/plan'
import { answerReview, type ReviewReader, reviewedKinds } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { STORE_IO } from '../../../src/errors/definitions.js'
import { failure } from '../../../src/errors/failure.js'

type Answer<K> = Extract<Awaited<ReturnType<typeof answerReview>>, { readonly kind: K }>

const GROUP = 'ipam.cluster.x-k8s.io'
const pool = (fields: object = {}, kind = 'InClusterIPPool', namespace: string | undefined = 'lab') => ({
  apiVersion: InCluster.InClusterIPPool.info.apiVersion,
  kind,
  metadata: { name: 'blue', ...(namespace === undefined ? {} : { namespace }) },
  spec: { addresses: ['10.0.0.1-10.0.0.9'], prefix: 24, ...fields },
})
const address = (name: string, text: string, fields: object = {}, namespace = 'lab') => ({
  apiVersion: `${GROUP}/v1beta2`,
  kind: 'IPAddress',
  metadata: { name, namespace },
  spec: {
    claimRef: { name },
    poolRef: { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'blue' },
    address: text,
    prefix: 24,
    ...fields,
  },
})
const claim = (poolName: string) => ({
  apiVersion: `${GROUP}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web', namespace: 'lab' },
  spec: { poolRef: { apiGroup: GROUP, kind: 'InClusterIPPool', name: poolName } },
})

const versionOf = (apiVersion: string) => apiVersion.split('/').at(-1)

type Operation = 'CREATE' | 'UPDATE' | 'DELETE'

function reviewOf(
  operation: Operation,
  object: Meta.KubeObject,
  oldObject: Meta.KubeObject = object,
  more: object = {},
) {
  const { apiVersion, kind, metadata } = object
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u-1',
      kind: { group: Meta.groupOf(apiVersion), version: versionOf(apiVersion), kind },
      name: metadata.name,
      operation,
      object: operation === 'DELETE' ? null : object,
      oldObject: operation === 'CREATE' ? null : oldObject,
      ...more,
    },
  }
}

/** What a reader finds: the same objects in a store, and in the cache of a controller. */
const READERS: readonly [string, (objects: readonly Meta.KubeObject[]) => Promise<ReviewReader>][] = [
  [
    'a store',
    async (objects) => {
      const store = memoryStore({ now: () => 0, kinds: reviewedKinds })
      for (const object of objects) unwrap(await store.create(object))
      return store
    },
  ],
  [
    'a cache',
    async (objects) => {
      const cache = new ObjectCache()
      for (const info of reviewedKinds) cache.complete(info)
      for (const object of objects) {
        const selection = reviewedKinds.find(
          ({ kind, apiVersion }) => kind === object.kind && apiVersion === object.apiVersion,
        )
        cache.apply({ kind: 'present', object }, { selection })
      }
      return cache
    },
  ],
]

async function said(review: unknown, reader: ReviewReader, options?: Parameters<typeof answerReview>[2]) {
  const { response } = (await answerReview(review, reader, options)) as Answer<'AdmissionReview'>
  if (response.allowed) return response.warnings?.join('; ') ?? 'allowed'
  return `${response.status?.code} ${response.status?.reason}: ${response.status?.message}`
}

const HELD = 'Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.'

test('each admission rule of the library is asked', () => {
  const groups = { ClusterApi, InCluster, IpamKit, Metal3, Networking, NodeIpam, OpenStack }
  const exported = Object.values(groups).flatMap((group) =>
    Object.keys(group).filter((name) => name.startsWith('admit')),
  )
  const wanted = exported.flatMap((name) =>
    name === 'admitInClusterPool'
      ? InCluster.poolModels.map(({ info }) => info.kind)
      : [name.slice('admit'.length).replace(/^Metal3|^Service(?=IP)/, '')],
  )
  expect(reviewedKinds.map(({ kind }) => kind).sort()).toEqual(wanted.sort())
})

describe.each(READERS)('with %s', (_, readerWith) => {
  test('a pool is not deleted while an address of it is in use, in its namespace and without a group too', async () => {
    const groupless = address('a', '10.0.0.1', { poolRef: { kind: 'InClusterIPPool', name: 'blue' } })
    const others = [
      address('other-namespace', '10.0.0.2', {}, 'office'),
      address('other-pool', '10.0.0.3', { poolRef: { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'red' } }),
      address('global', '10.0.0.4', { poolRef: { apiGroup: GROUP, kind: 'GlobalInClusterIPPool', name: 'blue' } }),
    ]
    const review = reviewOf('DELETE', pool())
    expect(await said(review, await readerWith(others))).toBe('allowed')
    expect(await said(review, await readerWith([...others, groupless]))).toBe(`400 BadRequest: ${HELD}`)
    const global = reviewOf('DELETE', pool({}, 'GlobalInClusterIPPool', undefined))
    expect(await said(global, await readerWith(others))).toBe(`400 BadRequest: ${HELD}`)
    expect(await said(global, await readerWith([groupless]))).toBe('allowed')
  })

  test('an address that cannot be read is in use, and so is one of a pool that cannot be read', async () => {
    const unreadable = address('a', '10.0.0.1', { prefix: 'x' })
    const change = reviewOf('UPDATE', pool({ addresses: ['10.0.0.5'] }), pool())
    const lost = '400 BadRequest: pool addresses do not contain allocated addresses: [10.0.0.1-10.0.0.1]'
    expect(await said(change, await readerWith([unreadable]))).toBe(lost)
    const broken = { ...pool(), spec: { addresses: 5 } }
    expect(await said(reviewOf('DELETE', broken), await readerWith([unreadable]))).toBe(`400 BadRequest: ${HELD}`)
    const repair = reviewOf('UPDATE', pool({ addresses: ['10.0.0.5'] }), broken)
    expect(await said(repair, await readerWith([unreadable]))).toBe(lost)
    expect(await said(repair, await readerWith([]))).toBe('allowed')
  })

  test('an address is of the pool that its claim asks for', async () => {
    const review = reviewOf('CREATE', address('web', '10.0.0.1'))
    expect(await said(review, await readerWith([]))).toBe('allowed')
    expect(await said(review, await readerWith([claim('blue')]))).toBe('allowed')
    expect(await said(review, await readerWith([claim('red')]))).toContain('the referenced pool is different')
  })

  test('a pool of ipam-kit has the grid of its domain, and is told of its blocks', async () => {
    const own = { apiVersion: IpamKit.IPPool.info.apiVersion }
    const grid = { blockPrefixLength: 28, allocationPrefixLength: 32 }
    const ipv6 = { blockPrefixLength: 124, allocationPrefixLength: 128 }
    const domain = { ...own, kind: 'IPDomain', metadata: { name: 'lab' }, spec: { ipv4: grid, ipv6 } }
    const rows = { '3': { owner: 'web/0', uid: 'a', sequence: 1, interface: 'eth0' } }
    const place = { cidr: '10.0.0.0/28', domain: 'lab', pool: 'blue', allocationPrefixLength: 32, sequence: 1 }
    const block = { ...own, kind: 'IPBlock', metadata: { name: 'lab-4-0a000000-28' }, spec: { ...place, rows } }
    const ownPool = (fields: object) => ({
      ...own,
      kind: 'IPPool',
      metadata: { name: 'blue' },
      spec: { domain: 'lab', subnets: [{ cidr: '10.0.0.0/24' }], ...fields },
    })
    const wrong = reviewOf('CREATE', ownPool({ ipv4: { blockPrefixLength: 27 } }))
    expect(await said(wrong, await readerWith([]))).toBe('allowed')
    expect(await said(wrong, await readerWith([domain]))).toContain('domain "lab" has 28')
    const gone = 'deletion waits for the release of its rows: 1 (blocks: 1)'
    expect(await said(reviewOf('DELETE', ownPool({})), await readerWith([domain, block]))).toBe(gone)
    expect(await said(reviewOf('DELETE', domain), await readerWith([block]))).toBe(gone)
    const broken = { ...block, metadata: { name: 'broken' }, spec: { domain: 5 } }
    const warning = '1 block cannot be read, and may be of the domain lab'
    expect(await said(reviewOf('DELETE', domain), await readerWith([broken]))).toContain(warning)
    expect(await said(reviewOf('DELETE', ownPool({})), await readerWith([broken]))).toContain(warning)
    expect(await said(reviewOf('CREATE', ownPool({})), await readerWith([domain, broken]))).toContain(warning)
    const unreadable = { ...domain, spec: { ipv4: 5 } }
    expect(await said(wrong, await readerWith([unreadable]))).toMatch(/^500 InternalError: .*IPDomain lab/)
  })
})

describe('what cannot be looked up', () => {
  const problem = { ok: false, failure: failure(STORE_IO, { operation: 'get', problem: 'refused' }) } as const
  const failing = { get: async () => problem, list: async () => problem }
  const throwing = {
    get: () => Promise.reject(new Error('boom')),
    list: (): never => {
      throw new Error('boom')
    },
  }

  test('is not a yes', async () => {
    const words = '500 InternalError: the rules cannot be applied: '
    expect(await said(reviewOf('DELETE', pool()), failing)).toBe(`${words}get failed: refused`)
    expect(await said(reviewOf('DELETE', pool()), throwing)).toBe(`${words}boom`)
    expect(await said(reviewOf('DELETE', pool()), new ObjectCache())).toMatch(/the cache does not know all objects/)
    const created = reviewOf('CREATE', address('web', '10.0.0.1'))
    expect(await said(created, failing)).toBe(
      '403 Forbidden: spec.claimRef: Internal error: failed to fetch claim: get failed: refused',
    )
    expect(await said(created, throwing)).toContain('failed to fetch claim: boom')
    expect(await said(created, new ObjectCache())).toContain('failed to fetch claim: ')
  })

  test('is not looked up where no rule needs it', async () => {
    expect(await said(reviewOf('CREATE', pool()), failing)).toBe('allowed')
    expect(await said(reviewOf('UPDATE', address('web', '10.0.0.1')), failing)).toBe('allowed')
    for (const kind of InCluster.poolModels.map(({ info }) => info.kind)) {
      const spec = { prefixes: ['fd00::/48'], addresses: ['10.0.0.1-10.0.0.9'] }
      const stored = pool(spec, kind, kind.startsWith('Global') ? undefined : 'lab')
      const with_ = (metadata: object, fields: object = {}) => ({
        ...stored,
        metadata: { ...stored.metadata, ...metadata },
        spec: { ...stored.spec, ...fields },
      })
      const update = (now: Meta.KubeObject, before: Meta.KubeObject = stored) =>
        said(reviewOf('UPDATE', now, before), failing, { fieldValidation: 'Ignore' })
      expect(await update(with_({ labels: { a: 'b' } }))).toBe('allowed')
      const going = { deletionTimestamp: '2026-01-01T00:00:00Z' }
      expect(await update(with_(going), with_({ ...going, finalizers: ['x/y'] }))).toBe('allowed')
      // a pool that is being deleted does not exist after its last finalizer is removed
      const last = with_({ ...going, finalizers: ['x/y'] })
      expect(await update(with_({ ...going, finalizers: [] }, { gateway: '10.0.0.5' }), last)).not.toMatch(/^\d/)
      // machines may still use the addresses of a pool that is being deleted
      expect(await update(with_(going, { gateway: '10.0.0.5' }), with_(going))).toMatch(/^(500|422) /)
      const drain = { annotations: { 'ipam-kit.dev/drain': '10.0.0.1' } }
      expect(await update(with_(drain))).toBe('allowed')
      expect(await update(stored, with_(drain))).toBe('allowed')
      expect(await update(with_({}, { gateway: '10.0.0.5' }))).toMatch(/^(500|422) /)
      // what cannot be read is not known to be the same
      expect(await update(stored, { ...stored, spec: 5 } as never)).toMatch(/^500 /)
    }
    const own = { apiVersion: IpamKit.IPPool.info.apiVersion, kind: 'IPPool', metadata: { name: 'blue' } }
    const spec = { domain: 'lab', subnets: [{ cidr: '10.0.0.0/24' }] }
    expect(await said(reviewOf('UPDATE', { ...own, spec } as Meta.KubeObject), failing)).toBe('allowed')
  })
})

describe('a request that cannot be judged', () => {
  const store = memoryStore({ now: () => 0, kinds: reviewedKinds })
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }

  test.each<[string, unknown, RegExp, string]>([
    ['no JSON object', 5, /^400 BadRequest: expected .*AdmissionReview/, ''],
    ['another kind', pod, /^400 BadRequest: expected .*AdmissionReview/, ''],
    ['an old version', { ...reviewOf('DELETE', pool()), apiVersion: 'admission.k8s.io/v1beta1' }, /^400 /, 'u-1'],
    ['no request', { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }, /^400 .*request/, ''],
    ['another operation', reviewOf('DELETE', pool(), pool(), { operation: 'CONNECT' }), /^400 .*operation/, 'u-1'],
    ['a kind without rules', reviewOf('CREATE', pod), /^400 .*no admission rules for Pod of the core group/, 'u-1'],
    [
      'an object of another kind than it says',
      reviewOf('CREATE', pool(), pool(), { kind: { group: GROUP, version: 'v1beta2', kind: 'IPAddressClaim' } }),
      /^400 .*about IPAddressClaim of ipam\.cluster\.x-k8s\.io, and its object is .* InClusterIPPool/,
      'u-1',
    ],
    [
      'a claim without a name',
      reviewOf('CREATE', { ...claim('blue'), metadata: {} } as never),
      /^400 .*no name/,
      'u-1',
    ],
    [
      'metadata that no API server keeps',
      reviewOf('UPDATE', { ...claim('blue'), metadata: { name: 'a', finalizers: 5 } } as never),
      /^400 /,
      'u-1',
    ],
    ['a pool without a name', reviewOf('DELETE', { ...pool(), metadata: {} } as never), /^400 .*no name/, 'u-1'],
    ['a change of the kind', reviewOf('UPDATE', pool(), address('a', '10.0.0.1')), /^400 .* IPAddress$/, 'u-1'],
    ['an object that cannot be read', reviewOf('CREATE', { ...pool(), spec: 5 }), /^400 BadRequest: /, 'u-1'],
  ])('is refused: %s', async (_, review, words, uid) => {
    expect(await said(review, store)).toMatch(words)
    expect((await answerReview(review, store)).response.uid).toBe(uid)
  })

  test.each<[string, unknown, string]>([
    ['a text', '{}', 'got "a text: pass the parsed JSON"'],
    ['undefined', undefined, 'got "undefined"'],
  ])('says what it got: %s', async (_, review, words) => {
    expect(await said(review, store)).toContain(words)
  })

  const thrown = () => {
    throw new Error('read')
  }
  test.each<[string, unknown]>([
    ['a proxy', new Proxy({}, { get: thrown, getPrototypeOf: thrown, ownKeys: thrown, has: thrown })],
    ['a request that throws', Object.defineProperty({}, 'request', { get: thrown })],
    ['a kind that throws', Object.defineProperty({}, 'kind', { get: thrown })],
    [
      'a uid that throws',
      { ...reviewOf('CREATE', pool()), request: Object.defineProperty({}, 'uid', { get: thrown }) },
    ],
  ])('is refused where reading it throws: %s', async (_, review) => {
    expect(await said(review, store)).toMatch(/^400 BadRequest: the review cannot be read: /)
  })

  const long = 'x'.repeat(1_000_000)
  const wide = (text: string) => Array.from({ length: 100_000 }, (_, n) => `${text}${n}`)
  const fields = Object.fromEntries(wide('field').map((name) => [name, 1]))
  test.each<[string, unknown]>([
    ['a kind', reviewOf('CREATE', { ...pool(), kind: long })],
    ['a group', reviewOf('CREATE', { ...pool(), apiVersion: `${long}/v1` })],
    [
      'an object of another kind',
      reviewOf('CREATE', { ...pool(), kind: long }, pool(), { kind: { group: '', version: '', kind: 'Pod' } }),
    ],
    ['a name', reviewOf('CREATE', { ...pool({ prefix: 999 }), metadata: { name: long, namespace: 'lab' } })],
    ['an address', reviewOf('CREATE', pool({ addresses: [long] }))],
    ['many addresses', reviewOf('CREATE', pool({ addresses: wide('zz') }))],
    ['many unknown fields', reviewOf('CREATE', pool(fields))],
    ['a long unknown field', reviewOf('CREATE', pool({ [long]: 1 }))],
    ['a pool of another claim', reviewOf('UPDATE', claim(long), claim('blue'))],
    [
      'a version to convert to',
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'ConversionReview',
        request: { uid: 'u', desiredAPIVersion: long, objects: [claim('a')] },
      },
    ],
    [
      'a kind to convert',
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'ConversionReview',
        request: { uid: 'u', desiredAPIVersion: 'v1', objects: [{ ...claim('a'), kind: long }] },
      },
    ],
  ])('has an answer of bounded size: %s', async (_, review) => {
    for (const fieldValidation of ['Warn', 'Strict'] as const) {
      expect(JSON.stringify(await answerReview(review, store, { fieldValidation })).length).toBeLessThan(300_000)
    }
  })

  test('names the first 100 causes, and how many more there are', async () => {
    const { response } = (await answerReview(
      reviewOf('CREATE', pool({ addresses: wide('zz') })),
      store,
    )) as Answer<'AdmissionReview'>
    const causes = response.status?.details.causes ?? []
    expect(causes).toHaveLength(101)
    expect(causes.at(-1)?.message).toBe('99900 more')
  })

  test('also when it is nested as deep as a parser takes it', async () => {
    let deep: unknown = 'x'
    for (let i = 0; i < 200_000; i++) deep = [deep]
    const object = { ...pool(), metadata: { name: 'blue', namespace: 'lab', deep } } as Meta.KubeObject
    for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const) {
      const { response } = (await answerReview(reviewOf(operation, object), store)) as Answer<'AdmissionReview'>
      expect(response.uid).toBe('u-1')
    }
  })

  /** A review of a kind with rules, of which one part was replaced by any JSON. */
  const hostile = fc
    .record({
      kind: fc.constantFrom(...reviewedKinds),
      operation: fc.constantFrom('CREATE', 'UPDATE', 'DELETE'),
      metadata: fc.oneof(fc.constant({ name: 'blue', namespace: 'lab' }), fc.jsonValue()),
      spec: fc.oneof(
        fc.jsonValue(),
        fc.record(
          {
            poolRef: fc.oneof(fc.constant(claim('blue').spec.poolRef), fc.jsonValue()),
            claimRef: fc.oneof(fc.record({ name: fc.string() }), fc.jsonValue()),
            address: fc.oneof(fc.ipV4(), fc.jsonValue()),
            addresses: fc.oneof(fc.array(fc.oneof(fc.ipV4(), fc.string())), fc.jsonValue()),
            prefixes: fc.oneof(fc.array(fc.oneof(fc.constant('fd00::/64'), fc.string())), fc.jsonValue()),
            prefix: fc.oneof(fc.integer(), fc.jsonValue()),
            domain: fc.oneof(fc.string(), fc.jsonValue()),
            subnets: fc.jsonValue(),
            rows: fc.jsonValue(),
            pools: fc.jsonValue(),
            cidrs: fc.jsonValue(),
            template: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
      old: fc.jsonValue(),
      more: fc.oneof(fc.constant({}), fc.dictionary(fc.constantFrom('uid', 'kind', 'name', 'dryRun'), fc.jsonValue())),
    })
    .map(({ kind: { apiVersion, kind }, operation, metadata, spec, old, more }) => ({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: 'u-1',
        kind: { group: Meta.groupOf(apiVersion), version: versionOf(apiVersion), kind },
        operation,
        object: { apiVersion, kind, metadata, spec },
        oldObject: { apiVersion, kind, metadata, spec: old },
        ...more,
      },
    }))

  property.prop([fc.oneof(hostile, fc.jsonValue(), fc.anything())])('never makes it reject', async (review) => {
    const answer = await answerReview(review, store)
    if (answer.kind !== 'AdmissionReview') return
    const { allowed, status } = answer.response
    expect(allowed || [400, 403, 422].includes(status?.code ?? 0), JSON.stringify(status)).toBe(true)
  })

  test.each([undefined, null, 5, {}, { get: () => {} }])(
    'a reader that is %j is a mistake of the caller',
    async (reader) => {
      await expect(answerReview(reviewOf('CREATE', pool()), reader as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        context: { argument: 'reader' },
      })
    },
  )

  test.each([
    [{ fieldValidation: 'No' }, 'fieldValidation'],
    [{ ipv4Prefixes: 1 }, 'ipv4Prefixes'],
    [{ maxIPv6SubnetBits: 129 }, 'maxIPv6SubnetBits'],
  ])('so is an option that is not one: %j', async (options, argument) => {
    await expect(answerReview(5, store, options as never)).rejects.toMatchObject({
      context: { argument: `options.${argument}` },
    })
  })
})

test('options go to the rules', async () => {
  const store = memoryStore({ now: () => 0, kinds: reviewedKinds })
  const misspelt = reviewOf('CREATE', pool({ excludeAddresses: [] }))
  expect(await said(misspelt, store)).toMatch(/^unknown field/)
  expect(await said(misspelt, store, { fieldValidation: 'Strict' })).toMatch(/^422 Invalid: .*unknown field/)
  const template = (flavor: string) => ({
    apiVersion: OpenStack.OpenStackMachineTemplate.info.apiVersion,
    kind: 'OpenStackMachineTemplate',
    metadata: { name: 'a', namespace: 'lab', annotations: { 'topology.cluster.x-k8s.io/dry-run': '' } },
    spec: { template: { spec: { flavor } } },
  })
  const change = (more: object) => reviewOf('UPDATE', template('small'), template('large'), more)
  expect(await said(change({}), store)).toMatch(/^422 /)
  expect(await said(change({ dryRun: true }), store)).toBe('allowed')
})

describe('a conversion', () => {
  const store = memoryStore({ now: () => 0 })
  const review = (request: object) => ({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request })

  test('is done by the model of the kind', async () => {
    const request = { uid: 'c-1', desiredAPIVersion: `${GROUP}/v1alpha1`, objects: [claim('blue')] }
    const { response } = (await answerReview(review(request), store)) as Answer<'ConversionReview'>
    expect(response).toMatchObject({ uid: 'c-1', result: { status: 'Success' } })
    expect(response.convertedObjects).toMatchObject([{ apiVersion: `${GROUP}/v1alpha1`, kind: 'IPAddressClaim' }])
  })

  test.each([{}, { uid: 'c-1' }, { uid: 'c-1', desiredAPIVersion: 'v1', objects: [5] }, { uid: 5, objects: {} }])(
    'that cannot be done has failed: %j',
    async (request: { uid?: unknown }) => {
      const { response } = (await answerReview(review(request), store)) as Answer<'ConversionReview'>
      expect(response.result).toMatchObject({ status: 'Failed', message: expect.stringMatching(/./) })
      expect(response.uid).toBe(request.uid === 'c-1' ? 'c-1' : '')
      expect(response.convertedObjects).toEqual([])
    },
  )
})
