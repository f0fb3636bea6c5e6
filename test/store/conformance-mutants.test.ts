import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { conformanceKinds, storeConformance, storeOver } from 'ipam-kit/testing'
import { describe, expect, it } from 'vitest'
import type { ConformanceCase } from '../../src/testing/conformance/store-conformance.js'
import { restlessWatches } from './conformance-restless-watches.js'
import { deaf, ENDS, generated, type Mutant, realSleep, sleep, watchMutants } from './conformance-watch-mutants.js'

const REFUSED_PATCH = 'patch: fails with STORE_CONFLICT if a precondition does not hold'
const REFUSED_DELETE = 'delete: fails with STORE_CONFLICT if a precondition does not hold'
const REFUSED_DELETE_OF_HELD = 'delete: preconditions have to hold for an object with finalizers too'
const OF_ALL_NAMESPACES = 'pages: of all namespaces hold each object once, and no more than the limit'

const mutants: { readonly [fault: string]: Mutant } = {
  'a test in a JSON patch is not looked at': {
    caughtBy: 'JSON patch: a test guards one field, whatever else changes',
    over: (store) => ({
      patch: (ref, patch, options) =>
        store.patch(ref, Array.isArray(patch) ? patch.filter(({ op }) => op !== 'test') : patch, options),
    }),
  },
  'a test in a JSON patch is made on a copy that was read before': {
    caughtBy: 'writers: of many that set a field which is not set exactly one wins',
    over: (store) => ({
      async patch(ref, patch, options) {
        if (!Array.isArray(patch)) return store.patch(ref, patch, options)
        const tested = await store.get(ref)
        const free =
          tested.ok && !Object.hasOwn(tested.value.spec as object, patch[0]?.path.split('/').at(-1) as string)
        return store.patch(ref, free ? patch.slice(1) : patch, options)
      },
    }),
  },
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
  ...watchMutants,
  ...restlessWatches,
}

async function isHeld(store: Store, ref: Parameters<Store['get']>[0]): Promise<boolean> {
  const read = await store.get(ref)
  return read.ok && (read.value.metadata.finalizers ?? []).length > 0
}

async function answering(answer: ReturnType<Store['delete']>, change: (object: KubeObject) => KubeObject) {
  const result = await answer
  return result.ok ? { ok: true as const, value: change(result.value) } : result
}

function casesOver(mutate: (store: Store) => Store, patienceMs: number, isBusy = false): readonly ConformanceCase[] {
  const store = mutate(memoryStore({ now: Date.now, kinds: conformanceKinds }))
  return storeConformance({ open: () => store, sleep: isBusy ? realSleep : sleep, patienceMs })
}

function caseOf(name: string, mutate: (store: Store) => Store, isBusy = false): ConformanceCase {
  const found = casesOver(mutate, 300, isBusy).find((one) => one.name === name)
  if (found === undefined) throw new Error(`no case ${name}`)
  return found
}

describe('a watch that tells nothing', () => {
  it('fails its case in the time that was given', async () => {
    const name = 'watch: continues with later events'
    const silent = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) })
    const message = 'a watch had nothing to tell for 300 ms'
    await expect(caseOf(name, (store) => storeOver(store, { watch: silent })).run()).rejects.toThrow(message)
  })

  it('is not read any more, though it cannot be ended', async () => {
    let asked = 0
    const bookmarks = () => ({
      [Symbol.asyncIterator]: () => ({
        async next() {
          asked++
          await sleep(5)
          return { done: false as const, value: { type: 'BOOKMARK' as const, resourceVersion: '1' } }
        },
      }),
    })
    const name = 'watch: continues with later events'
    const failing = caseOf(name, (store) => storeOver(store, { watch: bookmarks })).run()
    await expect(failing).rejects.toThrow('a watch had nothing to tell for 300 ms')
    await sleep(10)
    const before = asked
    await sleep(50)
    expect(asked).toBe(before)
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

describe('every case ends, whatever the watch does', () => {
  const failuresOver = async (over: Mutant['over'], patienceMs: number) => {
    const cases = casesOver((store) => storeOver(store, over(store)), patienceMs)
    const ended = await Promise.allSettled(cases.map(({ run }) => run()))
    return ended.flatMap((result, index) => {
      return result.status === 'rejected' ? [{ case: cases[index]!.name, error: result.reason as Error }] : []
    })
  }

  it('a generator that cannot be ended while it waits fails one case alone', async () => {
    const failures = await failuresOver(generated, 2000)
    expect(failures.map((failure) => failure.case)).toEqual([ENDS])
    expect(failures[0]?.error.message).toBe('a watch had no answer to return() for 2000 ms')
  })

  it('a generator that tells nothing fails all that wait for it, each by what was missed first', async () => {
    const failures = await failuresOver(deaf, 300)
    expect(failures.length).toBeGreaterThan(18)
    for (const { error } of failures) {
      expect(error).toMatchObject({ name: 'ConformanceError', message: 'a watch had nothing to tell for 300 ms' })
    }
  })
})

const NEVER = new Promise<undefined>(() => {})

describe('every case about watches ends, and ends its watches,', () => {
  /** Over a store that counts the watches that were begun, and not ended. */
  const endedOver = async ({ over, isBusy = false }: Mutant) => {
    let open = 0
    const counting = (store: Store): Partial<Store> => ({
      watch(query, options) {
        const events = store.watch(query, options)[Symbol.asyncIterator]()
        open++
        let end = () => void open--
        return {
          [Symbol.asyncIterator]: () => ({
            next: () => events.next(),
            async return() {
              end()
              end = () => {}
              return (await events.return?.()) ?? { done: true, value: undefined }
            },
          }),
        }
      },
    })
    const mutated = (store: Store) => storeOver(store, over(store))
    const counted = (store: Store) => {
      const wrong = mutated(store)
      return storeOver(wrong, counting(wrong))
    }
    const cases = casesOver(counted, 100, isBusy).filter(({ name }) => /^(watch|pages|list|writers):/.test(name))
    const ended = await Promise.race([
      Promise.allSettled(cases.map(({ run }) => run())),
      isBusy ? NEVER : sleep(5_000).then(() => undefined),
    ])
    return { count: ended?.length ?? 0, of: cases.length, open }
  }

  it.each(Object.entries({ ...watchMutants, ...restlessWatches }))('where %s', async (_, mutant) => {
    const { count, of, open } = await endedOver(mutant)
    expect(of).toBeGreaterThan(30)
    expect([count, open]).toEqual([of, 0])
  })
})

describe('the conformance suite fails a store that', () => {
  it.each(Object.entries(mutants))('%s', async (_, { caughtBy, over, isBusy }) => {
    await caseOf(caughtBy, (store) => store).run()
    const mutated = caseOf(caughtBy, (store) => storeOver(store, over(store)), isBusy)
    await expect(mutated.run()).rejects.toMatchObject({ name: 'ConformanceError' })
  })
})
