import type { Rules } from './case.js'
import { type Bench, expectEqual, expectFailure, expectOk, expectTrue, OTHER_VERSION, REGION } from './harness.js'
import { following, outline } from './reader.js'

/** Seven pools to choose from. */
const COLORS = ['blue', 'red', 'blue', 'green', 'red', 'blue', 'none']

export async function colorful(bench: Bench): Promise<void> {
  for (const [index, color] of COLORS.entries()) {
    const labels = color === 'none' ? undefined : { color, 'example.com/even': index % 2 === 0 ? 'yes' : '' }
    await bench.create(`p${index}`, { metadata: { labels }, spec: color === 'none' ? {} : { color } })
  }
}

export const lists: Rules = {
  'list: is empty, with a version, where nothing is': async (bench) => {
    const { items, resourceVersion } = expectOk(await bench.store.list(bench.pools), 'list')
    expectEqual(items, [], 'the items')
    expectTrue(/^\d+$/.test(resourceVersion), `the version ${resourceVersion} is a whole number`)
  },
  'list: gives what get gives, by namespace and name': async (bench) => {
    for (const name of ['b', 'a.b', 'a-b', 'c0', 'a', 'c', 'a0']) await bench.create(name, { spec: { name } })
    await bench.create('a', { metadata: { namespace: bench.otherNamespace } })
    const { items } = expectOk(await bench.store.list(bench.pools), 'list')
    const names = ['a', 'a-b', 'a.b', 'a0', 'b', 'c', 'c0']
    expectEqual(await bench.names(), names, 'the names')
    for (const object of items) expectEqual(object, await bench.get(object.metadata.name), object.metadata.name)

    const { namespace: _, ...everywhere } = bench.pools
    const all = expectOk(await bench.store.list(everywhere), 'list of all namespaces').items
    const ours = all.filter(({ metadata }) => [bench.namespace, bench.otherNamespace].includes(metadata.namespace!))
    const places = ours.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    const expected = [...names.map((name) => `${bench.namespace}/${name}`), `${bench.otherNamespace}/a`]
    expectEqual(places, expected, 'all namespaces, in order')
  },
  'list: shows cluster-scoped objects': async (bench) => {
    const made = await bench.create('a', {}, REGION)
    const { items } = expectOk(await bench.store.list({ apiVersion: REGION.apiVersion, kind: REGION.kind }), 'list')
    const found = items.filter(({ metadata }) => metadata.name === made.metadata.name)
    expectEqual(found, [made], 'the region')
    await bench.delete('a', {}, REGION)
  },
  'list: shows objects under all versions of the group': async (bench) => {
    await bench.create('a')
    expectEqual(await bench.names({ apiVersion: OTHER_VERSION }), ['a'], 'the names')
  },
  'list: its version is at least that of every object in it': async (bench) => {
    for (let i = 0; i < 5; i++) await bench.create(`a${i}`)
    const { items, resourceVersion } = expectOk(await bench.store.list(bench.pools), 'list')
    for (const { metadata } of items) {
      expectTrue(BigInt(metadata.resourceVersion!) <= BigInt(resourceVersion), 'no object is newer than the list')
    }
  },
  'list: a watch from its version tells what comes after, and nothing that was before': async (bench) => {
    await bench.create('a')
    await bench.create('b')
    await bench.delete('b')
    const resourceVersion = await bench.version()
    await bench.create('c')
    await following(bench, { resourceVersion }, async (reader) => {
      expectEqual(outline(await reader.take(1)), ['ADDED c'], 'the first event')
    })
  },
  'labels: every one that is named has to be there with its value': async (bench) => {
    await colorful(bench)
    expectEqual(await bench.names({ labels: { color: 'blue' } }), ['p0', 'p2', 'p5'], 'one label')
    const two = { color: 'blue', 'example.com/even': 'yes' }
    expectEqual(await bench.names({ labels: two }), ['p0', 'p2'], 'two labels')
    expectEqual(await bench.names({ labels: { 'example.com/even': '' } }), ['p1', 'p3', 'p5'], 'an empty value')
    expectEqual(await bench.names({ labels: { color: 'black' } }), [], 'a value that nothing has')
    expectEqual(await bench.names({ labels: {} }), await bench.names(), 'no label')
  },
  'labels: In, NotIn, Exists and DoesNotExist': async (bench) => {
    await colorful(bench)
    const chosen = (operator: string, values?: readonly string[], key = 'color') =>
      bench.names({ labelExpressions: [{ key, operator, values }] })
    expectEqual(await chosen('In', ['red', 'green', 'black']), ['p1', 'p3', 'p4'], 'In')
    expectEqual(await chosen('NotIn', ['red', 'green']), ['p0', 'p2', 'p5', 'p6'], 'NotIn, also without the label')
    expectEqual(await chosen('Exists'), ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'], 'Exists')
    expectEqual(await chosen('DoesNotExist'), ['p6'], 'DoesNotExist')
    expectEqual(await chosen('In', [''], 'example.com/even'), ['p1', 'p3', 'p5'], 'In with an empty value')
    const both = [
      { key: 'color', operator: 'In', values: ['red', 'blue'] },
      { key: 'color', operator: 'NotIn', values: ['red'] },
    ]
    expectEqual(await bench.names({ labelExpressions: both }), ['p0', 'p2', 'p5'], 'two expressions')
    const mixed = {
      labels: { color: 'red' },
      labelExpressions: [{ key: 'example.com/even', operator: 'In', values: ['yes'] }],
    }
    expectEqual(await bench.names(mixed), ['p4'], 'labels and expressions')
  },
  'labels: a selector that Kubernetes refuses is refused': async (bench) => {
    expectFailure(await bench.store.list({ ...bench.pools, labels: { 'a b': 'x' } }), 'STORE_INVALID', 'a bad key')
    expectFailure(await bench.store.list({ ...bench.pools, labels: { a: 'x y' } }), 'STORE_INVALID', 'a bad value')
  },
  'fields: name, namespace and the selectable fields of the kind': async (bench) => {
    await colorful(bench)
    expectEqual(await bench.names({ fields: { 'metadata.name': 'p3' } }), ['p3'], 'a name')
    expectEqual(await bench.names({ fields: { 'spec.color': 'blue' } }), ['p0', 'p2', 'p5'], 'a field of the spec')
    expectEqual(await bench.names({ fields: { 'spec.color': '' } }), ['p6'], 'a field that is not there')
    const both = { fields: { 'spec.color': 'red', 'metadata.name': 'p4' } }
    expectEqual(await bench.names(both), ['p4'], 'two fields')
    const place = { fields: { 'metadata.namespace': bench.namespace }, labels: { color: 'green' } }
    expectEqual(await bench.names(place), ['p3'], 'a field and a label')
  },
  'fields: any other is refused': async (bench) => {
    expectFailure(await bench.store.list({ ...bench.pools, fields: { 'spec.other': 'x' } }), 'STORE_INVALID', 'list')
  },
}
