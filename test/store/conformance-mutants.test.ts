import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { ListQuery, Store, WatchEvent, WatchOptions } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { type ConformanceCase, conformanceKinds, storeConformance, storeOver } from 'ipam-kit/testing'
import { describe, expect, it } from 'vitest'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

/** A way to break the contract, over a store that keeps it, and the case that says so. */
interface Mutant {
  readonly caughtBy: string
  readonly over: (store: Store) => Partial<Store>
}

const REFUSED_PATCH = 'patch: fails with STORE_CONFLICT if a precondition does not hold'
const REFUSED_DELETE = 'delete: fails with STORE_CONFLICT if a precondition does not hold'
const REFUSED_DELETE_OF_HELD = 'delete: preconditions have to hold for an object with finalizers too'
const HOLD_TOGETHER = 'watch: labels, expressions and fields have to hold together'
const OF_ALL_NAMESPACES = 'pages: of all namespaces hold each object once, and no more than the limit'

const mutants: { readonly [fault: string]: Mutant } = {
  'a page says the version of now': {
    caughtBy: 'pages: all have the version of the first, and a watch from there loses nothing',
    over: (store) => ({
      async list(query, options = {}) {
        const page = await store.list(query, options)
        if (!page.ok || options.continue === undefined) return page
        const { resourceVersion } = unwrap(await store.list(query))
        return { ok: true, value: { ...page.value, resourceVersion } }
      },
    }),
  },
  'pages are counted, not kept by name': {
    caughtBy: 'pages: what comes and goes between them moves nothing else',
    over: (store) => ({
      async list(query, { limit, continue: token } = {}) {
        const { items, resourceVersion } = unwrap(await store.list(query))
        const [begin, version] = token === undefined ? ['0', resourceVersion] : (token.split(' ') as [string, string])
        const end = limit === undefined ? items.length : Number(begin) + limit
        const page = { items: items.slice(Number(begin), end), resourceVersion: version }
        return { ok: true, value: end < items.length ? { ...page, continue: `${end} ${version}` } : page }
      },
    }),
  },
  'the limit is not looked at with labels': {
    caughtBy: 'pages: hold what the selectors choose',
    over: (store) => ({ list: (query, options) => store.list(query, query.labels ? {} : options) }),
  },
  'the limit is not looked at with label expressions': {
    caughtBy: 'pages: hold what the selectors choose',
    over: (store) => ({ list: (query, options) => store.list(query, query.labelExpressions ? {} : options) }),
  },
  'the limit is not looked at with fields': {
    caughtBy: 'pages: hold what the selectors choose',
    over: (store) => ({ list: (query, options) => store.list(query, query.fields ? {} : options) }),
  },
  'the limit is not looked at over all namespaces': {
    caughtBy: OF_ALL_NAMESPACES,
    over: (store) => ({ list: (query, options) => store.list(query, query.namespace ? options : {}) }),
  },
  'the limit is not looked at over all namespaces without a selector': {
    caughtBy: OF_ALL_NAMESPACES,
    over: (store) => ({
      list: (query, options) => store.list(query, query.namespace || query.labels ? options : {}),
    }),
  },
  'the version of a list is that of its newest object': {
    caughtBy: 'list: a watch from its version tells what comes after, and nothing that was before',
    over: (store) => ({
      async list(query, options) {
        const listed = await store.list(query, options)
        if (!listed.ok || listed.value.items.length === 0) return listed
        const versions = listed.value.items.map(({ metadata }) => Number(metadata.resourceVersion))
        return { ok: true, value: { ...listed.value, resourceVersion: String(Math.max(...versions)) } }
      },
    }),
  },
  'patch looks at the version only without a uid': {
    caughtBy: REFUSED_PATCH,
    over: (store) => ({
      patch: (ref, patch, options = {}) =>
        store.patch(ref, patch, options.uid === undefined ? options : { ...options, resourceVersion: undefined }),
    }),
  },
  'patch looks at the uid only without a version': {
    caughtBy: REFUSED_PATCH,
    over: (store) => ({
      patch: (ref, patch, options = {}) =>
        store.patch(ref, patch, options.resourceVersion === undefined ? options : { ...options, uid: undefined }),
    }),
  },
  'delete looks at the version only without a uid': {
    caughtBy: REFUSED_DELETE,
    over: (store) => ({
      delete: (ref, options = {}) =>
        store.delete(ref, options.uid === undefined ? options : { ...options, resourceVersion: undefined }),
    }),
  },
  'delete looks at the uid only without a version': {
    caughtBy: REFUSED_DELETE,
    over: (store) => ({
      delete: (ref, options = {}) =>
        store.delete(ref, options.resourceVersion === undefined ? options : { ...options, uid: undefined }),
    }),
  },
  'delete does not look at the version where finalizers hold': {
    caughtBy: REFUSED_DELETE_OF_HELD,
    over: (store) => ({
      delete: async (ref, options = {}) =>
        store.delete(ref, (await isHeld(store, ref)) ? { ...options, resourceVersion: undefined } : options),
    }),
  },
  'delete does not look at the uid where finalizers hold': {
    caughtBy: REFUSED_DELETE_OF_HELD,
    over: (store) => ({
      delete: async (ref, options = {}) =>
        store.delete(ref, (await isHeld(store, ref)) ? { ...options, uid: undefined } : options),
    }),
  },
  'delete looks at nothing when the object is being deleted already': {
    caughtBy: REFUSED_DELETE_OF_HELD,
    over: (store) => ({
      async delete(ref, options) {
        const read = await store.get(ref)
        return store.delete(ref, read.ok && read.value.metadata.deletionTimestamp !== undefined ? {} : options)
      },
    }),
  },
  'delete answers without the spec': {
    caughtBy: 'delete: removes an object that nothing holds',
    over: (store) => ({ delete: (...given) => answering(store.delete(...given), ({ spec: _, ...rest }) => rest) }),
  },
  'delete answers without the labels': {
    caughtBy: 'delete: removes an object that nothing holds',
    over: (store) => ({
      delete: (...given) =>
        answering(store.delete(...given), ({ metadata: { labels: _, ...metadata }, ...rest }) => ({
          ...rest,
          metadata,
        })),
    }),
  },
  'Orphan is Background where finalizers hold': {
    caughtBy: 'delete: Foreground and Orphan hold the object for the collector',
    over: (store) => ({
      async delete(ref, options = {}) {
        const isOrphan = options.propagation === 'Orphan' && (await isHeld(store, ref))
        return store.delete(ref, isOrphan ? { ...options, propagation: 'Background' } : options)
      },
    }),
  },
  'a watch begins with a bookmark of now, whatever is still to be told': {
    caughtBy: 'watch: a bookmark comes after all events up to it',
    over: (store) => ({
      async *watch(query, options) {
        const { resourceVersion } = unwrap(await store.list({ apiVersion: query.apiVersion, kind: query.kind }))
        yield { type: 'BOOKMARK', resourceVersion }
        yield* store.watch(query, options)
      },
    }),
  },
  'a watch from now on is from when it was called': {
    caughtBy: 'watch: without a version begins with the first next',
    over: (store) => ({
      watch(query, options) {
        const events = store.watch(query, options)[Symbol.asyncIterator]()
        const first = events.next()
        return (async function* () {
          yield (await first).value
          yield* { [Symbol.asyncIterator]: () => events }
        })()
      },
    }),
  },
  'a watch forgets the fields where there are labels': {
    caughtBy: HOLD_TOGETHER,
    over: watching((query) => (query.labels === undefined ? query : { ...query, fields: undefined })),
  },
  'a watch forgets the fields where there are label expressions': {
    caughtBy: HOLD_TOGETHER,
    over: watching((query) => (query.labelExpressions === undefined ? query : { ...query, fields: undefined })),
  },
  'a watch forgets all label expressions but the first': {
    caughtBy: HOLD_TOGETHER,
    over: watching((query) => ({ ...query, labelExpressions: query.labelExpressions?.slice(0, 1) })),
  },
  'a watch forgets all label expressions but the last': {
    caughtBy: HOLD_TOGETHER,
    over: watching((query) => ({ ...query, labelExpressions: query.labelExpressions?.slice(-1) })),
  },
  'a watch forgets the label expressions where there are labels': {
    caughtBy: HOLD_TOGETHER,
    over: watching((query) => (query.labels === undefined ? query : { ...query, labelExpressions: undefined })),
  },
  'a watch of a cluster-scoped kind tells nothing': {
    caughtBy: 'watch: tells of cluster-scoped objects',
    over: watching((query) => (query.kind === 'ConformanceRegion' ? { ...query, labels: { never: 'x' } } : query)),
  },
  'a watch shows what leaves its selector as it is now': {
    caughtBy: 'watch: shows what leaves its selector as it last was in there',
    over: (store) => ({
      async *watch(query, options) {
        for await (const event of store.watch(query, options)) yield await shownAsNow(store, event)
      },
    }),
  },
  'a watch shows what leaves its selector with the version that it had in there': {
    caughtBy: 'watch: shows what leaves its selector as it last was in there',
    over: (store) => ({
      async *watch(query, options) {
        let last: KubeObject | undefined
        for await (const event of store.watch(query, options)) {
          yield event.type === 'DELETED' && last !== undefined ? { type: 'DELETED', object: last } : event
          if ('object' in event) last = event.object
        }
      },
    }),
  },
}

async function isHeld(store: Store, ref: Parameters<Store['get']>[0]): Promise<boolean> {
  const read = await store.get(ref)
  return read.ok && (read.value.metadata.finalizers ?? []).length > 0
}

async function answering(answer: ReturnType<Store['delete']>, change: (object: KubeObject) => KubeObject) {
  const result = await answer
  return result.ok ? { ok: true as const, value: change(result.value) } : result
}

function watching(change: (query: ListQuery) => ListQuery): Mutant['over'] {
  return (store) => ({ watch: (query: ListQuery, options?: WatchOptions) => store.watch(change(query), options) })
}

async function shownAsNow(store: Store, event: WatchEvent): Promise<WatchEvent> {
  if (event.type !== 'DELETED') return event
  const { apiVersion, kind, metadata } = event.object
  const { namespace, name } = metadata
  const read = await store.get({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) })
  if (!read.ok) return event
  const { resourceVersion } = metadata
  return { type: 'DELETED', object: { ...read.value, metadata: { ...read.value.metadata, resourceVersion } } }
}

function caseOf(name: string, mutate: (store: Store) => Store): ConformanceCase {
  const store = mutate(memoryStore({ now: Date.now, kinds: conformanceKinds }))
  const found = storeConformance({ open: () => store, sleep, patienceMs: 300 }).find((one) => one.name === name)
  if (found === undefined) throw new Error(`no case ${name}`)
  return found
}

describe('a watch that tells nothing', () => {
  it('fails its case in the time that was given', async () => {
    const name = 'watch: goes on with what is still to come'
    const silent = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) })
    const message = 'a watch had nothing to tell for 300 ms'
    await expect(caseOf(name, (store) => storeOver(store, { watch: silent })).run()).rejects.toThrow(message)
  })

  it('is waited for in short pauses, so that none is left behind that keeps a process alive', async () => {
    const pauses: number[] = []
    const recording = (ms: number) => {
      pauses.push(ms)
      return sleep(ms)
    }
    const store = memoryStore({ now: Date.now, kinds: conformanceKinds })
    for (const { name, run } of storeConformance({ open: () => store, sleep: recording })) {
      if (name.startsWith('watch:')) await run()
    }
    expect(Math.max(...pauses)).toBe(100)
    const { length } = pauses
    await sleep(300)
    expect(pauses).toHaveLength(length)
  })
})

describe('the conformance suite fails a store that', () => {
  it.each(Object.entries(mutants))('%s', async (_, { caughtBy, over }) => {
    await caseOf(caughtBy, (store) => store).run()
    const mutated = caseOf(caughtBy, (store) => storeOver(store, over(store)))
    await expect(mutated.run()).rejects.toMatchObject({ name: 'ConformanceError' })
  })
})
