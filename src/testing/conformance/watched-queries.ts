import type { Rules } from './case.js'
import { type Bench, expectEqual, expectOk, OTHER_VERSION, PLAIN, POOL, REGION } from './harness.js'
import { following, type ObjectEvent, outline } from './reader.js'

export const watchedQueries: Rules = {
  'watch: is of one kind and one namespace, or all': async (bench) => {
    const resourceVersion = await bench.version()
    // others of the same name
    await bench.create('a', {}, PLAIN)
    await bench.create('a', {}, REGION)
    await bench.delete('a', {}, REGION)
    await bench.create('a', { metadata: { namespace: bench.otherNamespace } })
    await bench.create('a')
    await bench.create('b')
    const added = (namespace: string, name: string) => `ADDED ${POOL.kind} ${namespace}/${name}`
    const here = [added(bench.namespace, 'a'), added(bench.namespace, 'b')]
    await following(bench, { resourceVersion }, async (reader) => {
      expectEqual((await reader.take(2)).map(fullOutline), here, 'one namespace')
      await bench.create('c', {}, PLAIN)
      await bench.create('c')
      expectEqual(fullOutline(await reader.one()), added(bench.namespace, 'c'), 'one namespace, while it is watched')
    })
    const query = { namespace: undefined, apiVersion: OTHER_VERSION }
    await following(bench, { resourceVersion, query }, async (reader) => {
      const events = [await reader.ours(), await reader.ours(), await reader.ours()]
      const expected = [added(bench.otherNamespace, 'a'), ...here]
      expectEqual(events.map(fullOutline), expected, 'all namespaces, under another version')
    })
  },
  'watch: shows objects come and go as they match its labels': async (bench) => {
    const resourceVersion = await bench.version()
    const labels = { l: '1' }
    await bench.create('b', { metadata: { namespace: bench.otherNamespace, labels } })
    await bench.create('a', { metadata: { labels } })
    await bench.create('b')
    await bench.patch('a', { metadata: { labels: { l: '2' } } })
    await bench.patch('b', { metadata: { labels } })
    await bench.patch('a', { spec: { x: 1 } })
    await bench.patch('b', { spec: { x: 1 } })
    await bench.patchStatus('b', { x: 1 })
    await bench.delete('b')
    const endOfB = ['MODIFIED b', 'MODIFIED b', 'DELETED b']
    const isOne = ['ADDED a', 'DELETED a', 'ADDED b', ...endOfB]
    const isThere = ['ADDED a', 'MODIFIED a', 'ADDED b', 'MODIFIED a', ...endOfB]
    const isNotTwo = ['ADDED a', 'ADDED b', 'DELETED a', 'MODIFIED b', ...endOfB]
    await expectOutlines(bench, resourceVersion, [
      [{ labels }, isOne],
      [{ labelExpressions: [{ key: 'l', operator: 'In', values: ['1', '7'] }] }, isOne],
      [{ labelExpressions: [{ key: 'l', operator: 'Exists' }] }, isThere],
      [{ labelExpressions: [{ key: 'l', operator: 'NotIn', values: ['2', '7'] }] }, isNotTwo],
      [{ labelExpressions: [{ key: 'l', operator: 'DoesNotExist' }] }, ['ADDED b', 'DELETED b']],
    ])
  },
  'watch: shows objects come and go as they match its fields': async (bench) => {
    const resourceVersion = await bench.version()
    const [blue, red] = [{ spec: { color: 'blue' } }, { spec: { color: 'red' } }]
    await bench.create('b', { metadata: { namespace: bench.otherNamespace }, ...blue })
    await bench.create('a', blue)
    await bench.create('b', red)
    await bench.patch('a', red)
    await bench.patch('b', blue)
    await bench.patchStatus('b', { x: 1 })
    await bench.delete('a')
    const all = ['ADDED a', 'ADDED b', 'MODIFIED a', 'MODIFIED b', 'MODIFIED b', 'DELETED a']
    const here = { 'metadata.namespace': bench.namespace }
    await expectOutlines(bench, resourceVersion, [
      [{ fields: { 'spec.color': 'blue' } }, ['ADDED a', 'DELETED a', 'ADDED b', 'MODIFIED b']],
      [{ fields: { 'metadata.name': 'b' } }, ['ADDED b', 'MODIFIED b', 'MODIFIED b']],
      [{ fields: { 'metadata.name': 'a', 'spec.color': 'red' } }, ['ADDED a', 'DELETED a']],
      [{ fields: here, namespace: undefined }, all],
      [{ fields: { ...here, 'metadata.name': 'b' }, namespace: undefined }, ['ADDED b', 'MODIFIED b', 'MODIFIED b']],
    ])
  },
  'watch: shows what leaves its selector as it last was in there': async (bench) => {
    const resourceVersion = await bench.version()
    const made = await bench.create('a', { metadata: { labels: { l: '1' } }, spec: { color: 'blue' } })
    const change = { metadata: { labels: { l: '2' } }, spec: { color: 'red' } }
    const changed = await bench.patch('a', change)
    for (const query of [{ labels: { l: '1' } }, { fields: { 'spec.color': 'blue' } }]) {
      await following(bench, { resourceVersion, query }, async (reader) => {
        const [, left] = await reader.take(2)
        const { type, object } = left!
        expectEqual(type, 'DELETED', 'the second event')
        expectEqual([object.metadata.labels, object.spec], [made.metadata.labels, made.spec], 'what is shown')
        const { resourceVersion: version } = object.metadata
        expectEqual(version, changed.metadata.resourceVersion, 'its version is that of the write that took it out')
      })
    }
  },
  'watch: labels, expressions and fields have to hold together': async (bench) => {
    const resourceVersion = await bench.version()
    await bench.create('a', { metadata: { labels: { l: '1', m: '1' } }, spec: { color: 'red' } })
    await bench.create('b', { metadata: { labels: { l: '1' } }, spec: { color: 'blue' } })
    await bench.create('c', { metadata: { labels: { l: '2', m: '1' } }, spec: { color: 'blue' } })
    await bench.create('d', { metadata: { labels: { l: '1', m: '1' } }, spec: { color: 'blue' } })
    const isOne = { key: 'l', operator: 'In', values: ['1'] }
    const hasOther = { key: 'm', operator: 'Exists' }
    const fields = { 'spec.color': 'blue' }
    await expectOutlines(bench, resourceVersion, [
      [{ labels: { l: '1', m: '1' }, fields }, ['ADDED d']],
      [{ labels: { l: '1' }, labelExpressions: [hasOther] }, ['ADDED a', 'ADDED d']],
      [{ labelExpressions: [isOne, hasOther] }, ['ADDED a', 'ADDED d']],
      [{ labelExpressions: [hasOther, isOne] }, ['ADDED a', 'ADDED d']],
      [{ labels: { m: '1' }, labelExpressions: [isOne], fields }, ['ADDED d']],
    ])
  },
  'watch: tells of cluster-scoped objects': async (bench) => {
    const query = { apiVersion: REGION.apiVersion, kind: REGION.kind, namespace: undefined }
    const { resourceVersion } = expectOk(await bench.store.list(query), 'list')
    await bench.create('a')
    const made = await bench.create('a', {}, REGION)
    const changed = await bench.patch('a', { spec: { x: 1 } }, {}, REGION)
    await bench.delete('a', {}, REGION)
    await following(bench, { resourceVersion, query }, async (reader) => {
      const events = [await reader.ours(), await reader.ours(), await reader.ours()]
      const types = events.map(({ type }) => type)
      expectEqual(types, ['ADDED', 'MODIFIED', 'DELETED'], 'the events')
      expectEqual([events[0]!.object, events[1]!.object], [made, changed], 'the objects')
    })
  },
}

/** The first events of watches from one version. */
async function expectOutlines(
  bench: Bench,
  resourceVersion: string,
  watches: readonly (readonly [query: object, events: readonly string[]])[],
): Promise<void> {
  for (const [query, events] of watches) {
    await following(bench, { resourceVersion, query }, async (reader) =>
      expectEqual(outline(await reader.take(events.length)), events, JSON.stringify(query)),
    )
  }
}

/** `TYPE kind namespace/name` */
function fullOutline({ type, object: { kind, metadata } }: ObjectEvent): string {
  return `${type} ${kind} ${metadata.namespace}/${metadata.name}`
}
