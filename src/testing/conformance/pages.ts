import type { ListQuery } from '../../store/index.js'
import type { ObjectList } from '../../store/store.js'
import type { Rules } from './case.js'
import { type Bench, ConformanceError, expectEqual, expectFailure, expectOk, expectTrue } from './harness.js'
import { colorful } from './lists.js'
import { following, outline } from './reader.js'

/** Asks page by page. `between` is done before every page but the first. */
async function readPages(
  { store }: Bench,
  query: ListQuery,
  limit: number,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<ObjectList[]> {
  const read: ObjectList[] = []
  for (let token: string | undefined; read.length < MAX_PAGES; ) {
    const page = expectOk(await store.list(query, { limit, continue: token }), 'page')
    expectTrue(page.items.length <= limit, `a page has at most ${limit}, got ${page.items.length}`)
    read.push(page)
    token = page.continue
    if (!token) return read
    await between(read.length)
  }
  throw new ConformanceError(`there is no end after ${MAX_PAGES} pages`)
}

const MAX_PAGES = 200

function namesOf(pages: readonly ObjectList[]): string[] {
  return pages.flatMap(({ items }) => items.map(({ metadata }) => metadata.name))
}

export const pages: Rules = {
  'pages: together are the list, each once, in order': async (bench) => {
    const names = Array.from({ length: 23 }, (_, index) => `p${String(index).padStart(2, '0')}`)
    for (const name of [...names].reverse()) await bench.create(name)
    for (const limit of [1, 7, 22, 23, 24]) {
      const read = await readPages(bench, bench.pools, limit)
      expectEqual(namesOf(read), names, `pages of ${limit}`)
      const versions = new Set(read.map(({ resourceVersion }) => resourceVersion))
      expectEqual(versions.size, 1, `versions of the pages of ${limit}`)
    }
  },
  'pages: hold what the selectors choose': async (bench) => {
    await colorful(bench)
    for (const [query, names] of [
      [{ labels: { color: 'blue' } }, ['p0', 'p2', 'p5']],
      [{ labelExpressions: [{ key: 'color', operator: 'NotIn', values: ['red', 'green'] }] }, ['p0', 'p2', 'p5', 'p6']],
      [{ fields: { 'spec.color': 'red' } }, ['p1', 'p4']],
    ] as const) {
      const read = await readPages(bench, { ...bench.pools, ...query }, 1)
      expectEqual(namesOf(read), names, JSON.stringify(query))
    }
  },
  'pages: of all namespaces hold each object once, and no more than the limit': async (bench) => {
    const labels = { 'example.com/run': bench.namespace }
    for (const namespace of [bench.namespace, bench.otherNamespace]) {
      for (const name of ['a', 'b', 'c']) {
        await bench.create(name, { metadata: { namespace, labels } })
      }
    }
    const { namespace: _, ...everywhere } = bench.pools
    const read = await readPages(bench, { ...everywhere, labels }, 2)
    const places = read.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))
    const expected = [bench.namespace, bench.otherNamespace].flatMap((namespace) =>
      ['a', 'b', 'c'].map((name) => `${namespace}/${name}`),
    )
    expectEqual([...places].sort(), expected.sort(), 'what was made')
    // whatever else there is
    const { items } = expectOk(await bench.store.list(everywhere, { limit: 2 }), 'page')
    expectTrue(items.length <= 2, `a page has at most 2, got ${items.length}`)
  },
  'pages: what comes and goes between them moves nothing else': async (bench) => {
    const names = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']
    for (const name of names) await bench.create(name)
    const gone = await readPages(bench, bench.pools, 2, async (page) => {
      if (page === 1) await bench.delete('p0')
    })
    expectEqual(namesOf(gone), names, 'the names, where the first one went after its page')
    const come = await readPages(bench, bench.pools, 2, (page) => bench.create(`a${page}`))
    expectEqual(namesOf(come), names.slice(1), 'the names, where others came before them')
  },
  'pages: all have the version of the first, and a watch from there loses nothing': async (bench) => {
    for (const name of ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']) await bench.create(name)
    const read = await readPages(bench, bench.pools, 2, async (page) => {
      if (page !== 1) return
      await bench.create('a')
      await bench.patch('p0', { spec: { x: 1 } })
      await bench.delete('p1')
    })
    const { resourceVersion } = read[0]!
    for (const page of read) expectEqual(page.resourceVersion, resourceVersion, 'the version of a page')
    await following(bench, { resourceVersion }, async (reader) => {
      expectEqual(outline(await reader.take(3)), ['ADDED a', 'MODIFIED p0', 'DELETED p1'], 'what changed since')
    })
  },
  'pages: a token that is none is refused': async (bench) => {
    const listed = await bench.store.list(bench.pools, { limit: 1, continue: 'not a token' })
    expectFailure(listed, ['STORE_INVALID', 'STORE_VERSION_GONE'], 'list')
  },
}
