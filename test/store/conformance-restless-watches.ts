import type { Store, WatchEvent } from 'ipam-kit/store'
import type { WatchOptions } from '../../src/store/store.js'
import { type Mutant, sleep } from './conformance-watch-mutants.js'

const CONTINUES = 'watch: continues with later events'
const BOOKMARKS = 'watch: a bookmark comes after all events up to it'
const RESUMES = 'watch: resumes from the version of any event'
const IS_CUT = 'watch: continues from the same version after its connection is cut'
const WITH_LIST = 'watch: with the list before it loses and repeats nothing while others write'
const ENDS = 'watch: ends when the consumer ends it, also while it waits'

type Events = AsyncIterator<WatchEvent>

/**
 * Watches that tell without an end, or more than there is. Each of them ends at once when it is to.
 */
export const restlessWatches: { readonly [fault: string]: Mutant } = {
  'a watch that can be ended tells nothing but bookmarks': { caughtBy: BOOKMARKS, over: retelling(bookmarks) },
  'a watch that was cut tells nothing but bookmarks': { caughtBy: IS_CUT, over: retelling(bookmarks) },
  'a watch tells bookmarks without a pause': {
    caughtBy: CONTINUES,
    isBusy: true,
    over: retelling(async function* () {
      for (;;) yield { type: 'BOOKMARK', resourceVersion: '1' }
    }),
  },
  'a watch repeats its last event after a while': {
    caughtBy: CONTINUES,
    over: retelling((events) => repeating(events, ({ type }) => type !== 'BOOKMARK')),
  },
  'a watch repeats its last change after a while': {
    caughtBy: CONTINUES,
    over: retelling((events) => repeating(events, ({ type }) => type === 'MODIFIED')),
  },
  'a watch repeats what was added last after a while': {
    caughtBy: CONTINUES,
    over: retelling((events) => repeating(events, ({ type }) => type === 'ADDED')),
  },
  'a watch tells the change that it begins after once more': {
    caughtBy: RESUMES,
    over: (store) => ({
      watch: (query, options) =>
        endable(store.watch(query, options), async function* (events) {
          const before = await eventOf(store, query, options)
          if (before?.type === 'MODIFIED') yield before
          yield* all(events)
        }),
    }),
  },
  'a watch tells each change twice': {
    caughtBy: WITH_LIST,
    over: retelling(async function* (events) {
      for await (const event of all(events)) {
        yield event
        if (event.type === 'MODIFIED') yield event
      }
    }),
  },
  'a watch that is ended tells the call that waits its last event again': {
    caughtBy: ENDS,
    over: (store) => ({ watch: (query, options) => answeringOnceMore(store.watch(query, options)) }),
  },
}

function retelling(tell: (events: Events) => AsyncGenerator<WatchEvent>): Mutant['over'] {
  return (store) => ({ watch: (query, options) => endable(store.watch(query, options), tell) })
}

function endable(
  watch: AsyncIterable<WatchEvent>,
  tell: (events: Events) => AsyncGenerator<WatchEvent>,
): AsyncIterable<WatchEvent> {
  const below = watch[Symbol.asyncIterator]()
  const told = tell(below)
  const over = { done: true as const, value: undefined }
  let end = () => {}
  const ended = new Promise<typeof over>((resolve) => {
    end = () => resolve(over)
  })
  let isEnded = false
  const events: Events = {
    next: async () => (isEnded ? over : Promise.race([told.next(), ended])),
    async return() {
      isEnded = true
      end()
      await below.return?.()
      return over
    },
  }
  return { [Symbol.asyncIterator]: () => events }
}

async function* bookmarks(): AsyncGenerator<WatchEvent> {
  for (;;) {
    yield { type: 'BOOKMARK', resourceVersion: '1' }
    await sleep(20)
  }
}

async function* all(events: Events): AsyncGenerator<WatchEvent> {
  for (let step = await events.next(); step.done !== true; step = await events.next()) yield step.value
}

/** Tells the last one of some events again whenever there has been nothing for 20 ms. */
async function* repeating(events: Events, isRepeated: (event: WatchEvent) => boolean): AsyncGenerator<WatchEvent> {
  let last: WatchEvent | undefined
  let next = events.next()
  for (;;) {
    const step = await Promise.race([next, sleep(20).then(() => undefined)])
    if (step?.done === true) return
    if (step !== undefined) {
      if (isRepeated(step.value)) last = step.value
      yield step.value
      next = events.next()
    } else if (last !== undefined) yield last
  }
}

/** The event of the very version that a watch begins after. */
async function eventOf(
  store: Store,
  query: Parameters<Store['watch']>[0],
  { resourceVersion }: WatchOptions = {},
): Promise<WatchEvent | undefined> {
  if (resourceVersion === undefined || !/^[1-9]\d*$/.test(resourceVersion)) return undefined
  const before = String(BigInt(resourceVersion) - 1n)
  const events = store.watch(query, { resourceVersion: before })[Symbol.asyncIterator]()
  const { value: event } = await Promise.race([events.next(), sleep(20).then(() => ({ value: undefined }))])
  await events.return?.()
  return event !== undefined && 'object' in event && event.object.metadata.resourceVersion === resourceVersion
    ? event
    : undefined
}

function answeringOnceMore(watch: AsyncIterable<WatchEvent>): AsyncIterable<WatchEvent> {
  const below = watch[Symbol.asyncIterator]()
  let last: WatchEvent | undefined
  const events: Events = {
    async next() {
      const step = await below.next()
      const again = last
      last = step.done !== true && 'object' in step.value ? step.value : undefined
      return step.done === true && again !== undefined ? { done: false, value: again } : step
    },
    return: async () => below.return!(),
  }
  return { [Symbol.asyncIterator]: () => events }
}
