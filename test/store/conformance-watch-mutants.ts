import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { ListQuery, Store, WatchEvent } from 'ipam-kit/store'
import { conformanceKinds } from 'ipam-kit/testing'
import type { LabelRequirement, WatchOptions } from '../../src/store/store.js'
import { virtualSleep } from './virtual-sleep.js'

/** Time of the mutants and of the cases over them, which passes when nothing else happens. */
export const sleep = virtualSleep()

/** Time for mutants that are busy. */
export const realSleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

/** A way to break the contract, over a store that keeps it, and the case that says so. */
export interface Mutant {
  readonly caughtBy: string
  readonly over: (store: Store) => Partial<Store>
  /** It never waits for anything, so that time has to pass by itself. */
  readonly isBusy?: boolean
}

const HOLD_TOGETHER = 'watch: labels, expressions and fields have to hold together'
const OF_ONE_KIND = 'watch: is of one kind and one namespace, or all'
const MATCH_LABELS = 'watch: shows objects come and go as they match its labels'
const MATCH_FIELDS = 'watch: shows objects come and go as they match its fields'
const OF_CLUSTER_SCOPED = 'watch: tells of cluster-scoped objects'
export const ENDS = 'watch: ends when the consumer ends it, also while it waits'

export const watchMutants: { readonly [fault: string]: Mutant } = {
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
  'a watch is a generator, which cannot be ended while it waits': { caughtBy: ENDS, over: generated },
  'a watch is a generator that tells nothing': { caughtBy: ENDS, over: deaf },
  'a watch that is ended leaves the call that waits': {
    caughtBy: ENDS,
    over: (store) => ({ watch: (query, options) => leavingTheCall(store.watch(query, options)) }),
  },
  'a watch that is ended answers no later call': {
    caughtBy: ENDS,
    over: (store) => ({ watch: (query, options) => answeringNothingLater(store.watch(query, options)) }),
  },
  'a watch tells nothing but bookmarks': {
    caughtBy: 'watch: continues with later events',
    over: () => ({
      async *watch() {
        for (;;) {
          yield { type: 'BOOKMARK', resourceVersion: '1' }
          await sleep(20)
        }
      },
    }),
  },
  'a watch tells of all kinds': {
    caughtBy: OF_ONE_KIND,
    over: (store) => ({ watch: (query, options) => ofAllKinds(store, query, options) }),
  },
  'a watch of a cluster-scoped kind tells of all kinds': {
    caughtBy: OF_CLUSTER_SCOPED,
    over: (store) => ({
      watch: (query, options) =>
        query.kind === 'ConformanceRegion' ? ofAllKinds(store, query, options) : store.watch(query, options),
    }),
  },
  'a watch forgets the namespace where there are labels': {
    caughtBy: MATCH_LABELS,
    over: without('namespace', 'labels'),
  },
  'a watch forgets the namespace where there are label expressions': {
    caughtBy: MATCH_LABELS,
    over: without('namespace', 'labelExpressions'),
  },
  'a watch forgets the namespace where there are fields': {
    caughtBy: MATCH_FIELDS,
    over: without('namespace', 'fields'),
  },
  'a watch forgets the namespace where there is a name': {
    caughtBy: MATCH_FIELDS,
    over: watching((query) =>
      query.fields?.['metadata.name'] === undefined ? query : { ...query, namespace: undefined },
    ),
  },
  'a watch forgets the field metadata.name': { caughtBy: MATCH_FIELDS, over: withoutField('metadata.name') },
  'a watch forgets the field metadata.namespace': { caughtBy: MATCH_FIELDS, over: withoutField('metadata.namespace') },
  'a watch forgets all fields but the first': {
    caughtBy: MATCH_FIELDS,
    over: watching(({ fields = {}, ...query }) => ({
      ...query,
      fields: Object.fromEntries(Object.entries(fields).slice(0, 1)),
    })),
  },
  'a watch forgets all fields but the last': {
    caughtBy: MATCH_FIELDS,
    over: watching(({ fields = {}, ...query }) => ({
      ...query,
      fields: Object.fromEntries(Object.entries(fields).slice(-1)),
    })),
  },
  'a watch forgets In': { caughtBy: MATCH_LABELS, over: withoutOperator('In') },
  'a watch forgets NotIn': { caughtBy: MATCH_LABELS, over: withoutOperator('NotIn') },
  'a watch forgets Exists': { caughtBy: MATCH_LABELS, over: withoutOperator('Exists') },
  'a watch forgets DoesNotExist': { caughtBy: MATCH_LABELS, over: withoutOperator('DoesNotExist') },
  'a watch with labels does not tell changes of status': {
    caughtBy: MATCH_LABELS,
    over: withoutStatusWhere(({ labels }) => labels !== undefined),
  },
  'a watch with label expressions does not tell changes of status': {
    caughtBy: MATCH_LABELS,
    over: withoutStatusWhere(({ labelExpressions }) => labelExpressions !== undefined),
  },
  'a watch with fields does not tell changes of status': {
    caughtBy: MATCH_FIELDS,
    over: withoutStatusWhere(({ fields }) => fields !== undefined),
  },
  'a watch forgets the fields where there are labels': {
    caughtBy: HOLD_TOGETHER,
    over: without('fields', 'labels'),
  },
  'a watch forgets the fields where there are label expressions': {
    caughtBy: HOLD_TOGETHER,
    over: without('fields', 'labelExpressions'),
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
    over: without('labelExpressions', 'labels'),
  },
  'a watch of a cluster-scoped kind tells nothing': {
    caughtBy: OF_CLUSTER_SCOPED,
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

function watching(change: (query: ListQuery) => ListQuery): Mutant['over'] {
  return (store) => ({ watch: (query: ListQuery, options?: WatchOptions) => store.watch(change(query), options) })
}

/** Forgets a part of the query where there is another. */
function without(part: keyof ListQuery, where: keyof ListQuery) {
  return watching((query) => (query[where] === undefined ? query : { ...query, [part]: undefined }))
}

function withoutField(path: string): Mutant['over'] {
  return watching(({ fields = {}, ...query }) => {
    const { [path]: _, ...others } = fields
    return { ...query, fields: others }
  })
}

function withoutOperator(forgotten: LabelRequirement['operator']): Mutant['over'] {
  return watching((query) => ({
    ...query,
    labelExpressions: query.labelExpressions?.filter(({ operator }) => operator !== forgotten),
  }))
}

function withoutStatusWhere(isBlind: (query: ListQuery) => boolean): Mutant['over'] {
  return (store) => ({
    async *watch(query, options) {
      for await (const event of store.watch(query, options)) {
        if (event.type === 'MODIFIED' && event.object.status !== undefined && isBlind(query)) continue
        yield event
      }
    },
  })
}

/**
 * Right in all but that it cannot be ended while it waits: what ends a generator comes after the
 * event that it waits for.
 */
export function generated(store: Store): Partial<Store> {
  return {
    async *watch(query, options) {
      yield* store.watch(query, options)
    },
  }
}

/** Tells nothing. */
export function deaf(): Partial<Store> {
  return {
    async *watch() {
      yield await new Promise<never>(() => {})
    },
  }
}

const NEVER = new Promise<never>(() => {})

function leavingTheCall(watch: AsyncIterable<WatchEvent>): AsyncIterable<WatchEvent> {
  const events = watch[Symbol.asyncIterator]()
  let isEnded = false
  return iterable({
    async next() {
      const wasEnded = isEnded
      const step = await events.next()
      return step.done === true && !wasEnded ? NEVER : step
    },
    async return() {
      isEnded = true
      return events.return!()
    },
  })
}

function answeringNothingLater(watch: AsyncIterable<WatchEvent>): AsyncIterable<WatchEvent> {
  const events = watch[Symbol.asyncIterator]()
  let isEnded = false
  return iterable({
    next: () => (isEnded ? NEVER : events.next()),
    async return() {
      isEnded = true
      return events.return!()
    },
  })
}

function iterable(events: AsyncIterator<WatchEvent>): AsyncIterable<WatchEvent> {
  return { [Symbol.asyncIterator]: () => events }
}

/** The events of one watch for each kind, by turns. */
async function* ofAllKinds(store: Store, query: ListQuery, options?: WatchOptions): AsyncGenerator<WatchEvent> {
  const watches = conformanceKinds.map(({ apiVersion, kind, namespaced }) => {
    const namespace = namespaced ? query.namespace : undefined
    return store.watch({ apiVersion, kind, namespace }, options)[Symbol.asyncIterator]()
  })
  const next = async (watch: AsyncIterator<WatchEvent>) => ({ watch, step: await watch.next() })
  const waiting = new Map(watches.map((watch) => [watch, next(watch)]))
  try {
    for (;;) {
      const { watch, step } = await Promise.race(waiting.values())
      waiting.delete(watch)
      waiting.set(watch, next(watch))
      yield step.value
    }
  } finally {
    for (const watch of watches) await watch.return?.()
  }
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
