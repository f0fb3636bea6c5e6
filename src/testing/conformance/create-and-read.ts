import type { KindInfo } from '../../crd/meta/object.js'
import type { Body, Rules } from './case.js'
import { expectEqual, expectFailure, expectOk, expectTrue, OTHER_VERSION, PLAIN, POOL, REGION } from './harness.js'

/** Metadata that no object may be created with, by the rule that it breaks. */
const REFUSED: { readonly [rule: string]: readonly [kind: KindInfo, ...metadata: object[]] } = {
  'a resourceVersion': [POOL, { resourceVersion: '5' }],
  'a namespaced object without a namespace': [POOL, { namespace: undefined }],
  'a cluster-scoped object with a namespace': [REGION, { namespace: 'default' }],
  'names that are no DNS subdomain': [
    POOL,
    ...['A', 'a_b', '-a', 'a-', 'a..b', 'a/b', 'ä', ' ', 'a'.repeat(254)].map((name) => ({ name })),
  ],
  'labels and annotations that Kubernetes refuses': [
    POOL,
    ...[{ 'a b': 'x' }, { a: 'x'.repeat(64) }, { a: 'x:y' }].map((labels) => ({ labels })),
    ...[{ 'a b': 'x' }, { a: 'x'.repeat(262_145) }].map((annotations) => ({ annotations })),
  ],
}

const refusals = Object.entries(REFUSED).map(([rule, [kind, ...all]]): [string, Body] => [
  `create: refuses ${rule}`,
  async (bench) => {
    for (const metadata of all) {
      const made = await bench.store.create(bench.pool('a', { metadata }, kind))
      expectFailure(made, 'STORE_INVALID', JSON.stringify(metadata).slice(0, 60))
    }
    await bench.expectGone('a', kind)
  },
])

export const createAndRead: Rules = {
  'create: gives uid, resourceVersion, creationTimestamp and generation 1': async (bench) => {
    const { metadata, spec, apiVersion, kind } = await bench.create('a', { spec: { color: 'blue' } })
    expectEqual([apiVersion, kind, spec], [POOL.apiVersion, POOL.kind, { color: 'blue' }], 'what was written')
    expectEqual([metadata.namespace, metadata.name], [bench.namespace, 'a'], 'the name')
    expectTrue(typeof metadata.uid === 'string' && metadata.uid !== '', 'metadata.uid is a text')
    const { resourceVersion = '', creationTimestamp = '' } = metadata
    expectTrue(/^[1-9]\d*$/.test(resourceVersion), `the version ${resourceVersion} is a whole number in decimal`)
    const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(creationTimestamp)
    expectTrue(isTime, `${creationTimestamp} is RFC 3339 to the second`)
    expectEqual(metadata.generation, 1, 'metadata.generation')
  },
  'create: gives every object another uid, also if an object of the same name was deleted': async (bench) => {
    const first = await bench.create('a')
    await bench.delete('a')
    const second = await bench.create('a')
    const other = await bench.create('b')
    expectEqual(new Set([first, second, other].map(({ metadata }) => metadata.uid)).size, 3, 'different uids')
  },
  'create: ignores what only the server may set': async (bench) => {
    const given = { uid: 'mine', generation: 7, creationTimestamp: '1999-01-01T00:00:00Z' }
    const { metadata } = await bench.create('a', { metadata: { ...given, deletionTimestamp: '1999-01-01T00:00:00Z' } })
    expectTrue(metadata.uid !== 'mine', 'the uid is not the one that was given')
    expectEqual(metadata.generation, 1, 'metadata.generation')
    expectTrue(metadata.creationTimestamp !== given.creationTimestamp, 'the time is not the one that was given')
    expectEqual(metadata.deletionTimestamp, undefined, 'metadata.deletionTimestamp')
  },
  'create: refuses a name that is taken, and leaves the object as it is': async (bench) => {
    const first = await bench.create('a', { spec: { color: 'blue' } })
    const again = await bench.store.create(bench.pool('a', { spec: { color: 'red' } }))
    expectFailure(again, 'STORE_ALREADY_EXISTS', 'create again')
    await bench.expectStored(first)
  },
  'create: refuses a name that is taken under another version of the group': async (bench) => {
    await bench.create('a')
    const again = await bench.store.create({ ...bench.pool('a'), apiVersion: OTHER_VERSION })
    expectFailure(again, 'STORE_ALREADY_EXISTS', 'create again')
  },
  'create: tells kinds and namespaces apart': async (bench) => {
    await bench.create('a')
    await bench.create('a', {}, PLAIN)
    await bench.create('a', { metadata: { namespace: bench.otherNamespace } })
    expectEqual(await bench.names(), ['a'], 'the pools of one namespace')
  },
  'create: drops the status of a kind that has it as a subresource': async (bench) => {
    const made = await bench.create('a', { status: { used: 1 } })
    expectEqual(made.status, undefined, 'the status')
    expectEqual((await bench.get('a')).status, undefined, 'the stored status')
  },
  'create: keeps the status of a kind that has not': async (bench) => {
    await bench.create('a', { status: { used: 1 } }, PLAIN)
    expectEqual((await bench.get('a', PLAIN)).status, { used: 1 }, 'the stored status')
  },
  'create: keeps a cluster-scoped object without a namespace': async (bench) => {
    const made = await bench.create('a', { spec: { x: 1 } }, REGION)
    expectEqual(made.metadata.namespace, undefined, 'the namespace')
    expectEqual(await bench.get('a', REGION), made, 'the stored object')
  },
  'create: keeps owner references, finalizers, labels and annotations': async (bench) => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'b2a0c7a5-27b1-4a2a-8b54-0d1f4b0e4f3c' }
    const metadata = {
      labels: { 'example.com/tier': 'front', plain: '' },
      annotations: { 'example.com/note': 'a text\nof two lines: ünï ✓ 🚀' },
      finalizers: ['example.com/first', 'example.com/second'],
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: false }],
    }
    await bench.create('a', { metadata })
    const kept = (await bench.get('a')).metadata
    for (const field of Object.keys(metadata) as (keyof typeof metadata)[]) {
      expectEqual(kept[field], metadata[field], `metadata.${field}`)
    }
    await bench.patch('a', { metadata: { finalizers: null } })
  },
  ...Object.fromEntries(refusals),
  'get: fails with STORE_NOT_FOUND for what is not there': async (bench) => {
    await bench.expectGone('nothing')
    await bench.create('a')
    const elsewhere = { ...bench.ref('a'), namespace: bench.otherNamespace }
    expectFailure(await bench.store.get(elsewhere), 'STORE_NOT_FOUND', 'get from another namespace')
  },
  'get: reads own writes at once': async (bench) => {
    for (let i = 0; i < 5; i++) {
      const made = await bench.create(`a${i}`)
      expectEqual(await bench.get(`a${i}`), made, 'the object')
      const changed = await bench.patch(`a${i}`, { spec: { i } })
      expectEqual(await bench.get(`a${i}`), changed, 'the changed object')
      await bench.delete(`a${i}`)
      await bench.expectGone(`a${i}`)
    }
  },
  'get: another client reads what was answered to the first': async (bench) => {
    const other = await bench.open()
    for (let i = 0; i < 10; i++) {
      const made = await bench.create(`a${i}`, { spec: { i } })
      expectEqual(expectOk(await other.get(bench.ref(`a${i}`)), 'get'), made, 'the object')
    }
  },
  'get: reads one object under all versions of its group': async (bench) => {
    const made = await bench.create('a', { spec: { color: 'blue' } })
    const read = expectOk(await bench.store.get({ ...bench.ref('a'), apiVersion: OTHER_VERSION }), 'get')
    expectEqual([read.metadata, read.spec], [made.metadata, made.spec], 'the object')
  },
  'text: keeps any JSON': async (bench) => {
    const spec = {
      nothing: null,
      empty: {},
      list: [],
      nested: [[1], [[2]], [null, { a: [] }]],
      numbers: [0, -1, 1.5, 1e-7, 9_007_199_254_740_991, -9_007_199_254_740_991],
      flags: [true, false],
      blank: '',
      'a key with / ~ " and ü': 'x',
    }
    await bench.create('a', { spec })
    expectEqual((await bench.get('a')).spec, spec, 'the spec')
  },
  'text: keeps any text': async (bench) => {
    const spec = {
      ascii: 'a\tb\nc\r\n"quoted" \\ \u007f $1 %s {} $x -- ; \' `',
      zero: 'before\u0000after',
      controls: '\u0001\u001f\u0085\u2028\u2029\ufeff',
      planes: 'é ß Ω 漢字 한글 🚀 👩‍👩‍👧‍👦 𝔘 \u{10ffff}',
      direction: '\u202eabc\u202c',
      combined: 'e\u0301 is not \u00e9',
    }
    await bench.create('a', { spec })
    expectEqual((await bench.get('a')).spec, spec, 'the spec')
    const other = await (await bench.open()).get(bench.ref('a'))
    expectEqual(expectOk(other, 'get').spec, spec, 'the spec from another client')
  },
  'text: keeps names as long as they may be': async (bench) => {
    const name = `${`${'a'.repeat(62)}.`.repeat(4)}b`
    expectEqual(name.length, 253, 'the length')
    const made = await bench.create(name, {
      metadata: { labels: { [`${'p'.repeat(63)}.example/${'n'.repeat(63)}`]: 'v'.repeat(63) } },
    })
    expectEqual(await bench.get(name), made, 'the object')
    expectEqual(await bench.names(), [name], 'the list')
    await bench.delete(name)
  },
  'text: tells names apart that differ little': async (bench) => {
    const names = ['a', 'a-b', 'a.b', 'aa', 'a0']
    for (const name of names) await bench.create(name, { spec: { name } })
    for (const name of names) expectEqual((await bench.get(name)).spec, { name }, name)
  },
  'size: keeps an object of a megabyte': async (bench) => {
    const spec = { text: 'ü'.repeat(400_000), list: Array.from({ length: 20_000 }, (_, i) => i) }
    await bench.create('a', { spec })
    expectEqual((await bench.get('a')).spec, spec, 'the spec')
    const patched = await bench.patch('a', { spec: { more: 1 } })
    expectEqual(patched.spec, { ...spec, more: 1 }, 'the patched spec')
  },
  'size: refuses an object that is too large, and leaves what is there': async (bench) => {
    const huge = { spec: { text: 'x'.repeat(4 * 1024 * 1024) } }
    expectFailure(await bench.store.create(bench.pool('a', huge)), 'STORE_OBJECT_TOO_LARGE', 'create')
    await bench.expectGone('a')
    const small = await bench.create('b')
    expectFailure(await bench.store.update({ ...small, ...huge }), 'STORE_OBJECT_TOO_LARGE', 'update')
    expectFailure(await bench.store.patch(bench.ref('b'), huge), 'STORE_OBJECT_TOO_LARGE', 'patch')
    await bench.expectStored(small)
  },
}
