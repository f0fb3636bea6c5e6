import type { Rules } from './case.js'
import { expectEqual, expectOk, OTHER_VERSION, REGION } from './harness.js'
import { following, outline } from './reader.js'

export const watchedQueries: Rules = {
  'watch: is of one kind and one namespace, or all': async (bench) => {
    const resourceVersion = await bench.version()
    const elsewhere = bench.pool('b', { metadata: { namespace: bench.otherNamespace } })
    expectOk(await bench.store.create(elsewhere), 'create')
    await bench.create('a')
    await following(bench, { resourceVersion }, async (reader) => {
      expectEqual(outline(await reader.take(1)), ['ADDED a'], 'one namespace')
    })
    const query = { namespace: undefined, apiVersion: OTHER_VERSION }
    await following(
      bench,
      { resourceVersion },
      async (reader) => {
        const events = [await reader.ours(), await reader.ours()]
        expectEqual(outline(events), ['ADDED b', 'ADDED a'], 'all namespaces, under another version')
      },
      query,
    )
  },
  'watch: shows objects come and go as they match its labels': async (bench) => {
    const resourceVersion = await bench.version()
    await bench.create('a', { metadata: { labels: { l: '1' } } })
    await bench.create('b')
    expectOk(await bench.store.patch(bench.ref('a'), { metadata: { labels: { l: '2' } } }), 'a goes')
    expectOk(await bench.store.patch(bench.ref('b'), { metadata: { labels: { l: '1' } } }), 'b comes')
    expectOk(await bench.store.patch(bench.ref('a'), { spec: { x: 1 } }), 'a changes unseen')
    expectOk(await bench.store.patch(bench.ref('b'), { spec: { x: 1 } }), 'b changes')
    expectOk(await bench.store.delete(bench.ref('b')), 'b goes')
    const expected = ['ADDED a', 'DELETED a', 'ADDED b', 'MODIFIED b', 'DELETED b']
    for (const query of [
      { labels: { l: '1' } },
      { labelExpressions: [{ key: 'l', operator: 'In', values: ['1', '7'] }] },
    ]) {
      await following(
        bench,
        { resourceVersion },
        async (reader) => expectEqual(outline(await reader.take(5)), expected, JSON.stringify(query)),
        query,
      )
    }
  },
  'watch: shows objects come and go as they match its fields': async (bench) => {
    const resourceVersion = await bench.version()
    await bench.create('a', { spec: { color: 'blue' } })
    await bench.create('b', { spec: { color: 'red' } })
    expectOk(await bench.store.patch(bench.ref('a'), { spec: { color: 'red' } }), 'patch')
    expectOk(await bench.store.patch(bench.ref('b'), { spec: { color: 'blue' } }), 'patch')
    await following(
      bench,
      { resourceVersion },
      async (reader) => expectEqual(outline(await reader.take(3)), ['ADDED a', 'DELETED a', 'ADDED b'], 'the events'),
      { fields: { 'spec.color': 'blue' } },
    )
  },
  'watch: shows what leaves its selector as it last was in there': async (bench) => {
    const resourceVersion = await bench.version()
    const made = await bench.create('a', { metadata: { labels: { l: '1' } }, spec: { color: 'blue' } })
    const change = { metadata: { labels: { l: '2' } }, spec: { color: 'red' } }
    const changed = expectOk(await bench.store.patch(bench.ref('a'), change), 'patch')
    for (const query of [{ labels: { l: '1' } }, { fields: { 'spec.color': 'blue' } }]) {
      await following(
        bench,
        { resourceVersion },
        async (reader) => {
          const [, left] = await reader.take(2)
          const { type, object } = left!
          expectEqual(type, 'DELETED', 'the second event')
          expectEqual([object.metadata.labels, object.spec], [made.metadata.labels, made.spec], 'what is shown')
          const { resourceVersion: version } = object.metadata
          expectEqual(version, changed.metadata.resourceVersion, 'its version is that of the write that took it out')
        },
        query,
      )
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
    for (const [query, names] of [
      [{ labels: { l: '1', m: '1' }, fields }, ['d']],
      [{ labels: { l: '1' }, labelExpressions: [hasOther] }, ['a', 'd']],
      [{ labelExpressions: [isOne, hasOther] }, ['a', 'd']],
      [{ labelExpressions: [hasOther, isOne] }, ['a', 'd']],
      [{ labels: { m: '1' }, labelExpressions: [isOne], fields }, ['d']],
    ] as const) {
      const expected = names.map((name) => `ADDED ${name}`)
      await following(
        bench,
        { resourceVersion },
        async (reader) => expectEqual(outline(await reader.take(names.length)), expected, JSON.stringify(query)),
        query,
      )
    }
  },
  'watch: tells of cluster-scoped objects': async (bench) => {
    const query = { apiVersion: REGION.apiVersion, kind: REGION.kind, namespace: undefined }
    const { resourceVersion } = expectOk(await bench.store.list(query), 'list')
    const made = await bench.create('a', {}, REGION)
    const changed = expectOk(await bench.store.patch(bench.ref('a', REGION), { spec: { x: 1 } }), 'patch')
    expectOk(await bench.store.delete(bench.ref('a', REGION)), 'delete')
    await following(
      bench,
      { resourceVersion },
      async (reader) => {
        const events = [await reader.ours(), await reader.ours(), await reader.ours()]
        const types = events.map(({ type }) => type)
        expectEqual(types, ['ADDED', 'MODIFIED', 'DELETED'], 'the events')
        expectEqual([events[0]!.object, events[1]!.object], [made, changed], 'the objects')
      },
      query,
    )
  },
}
