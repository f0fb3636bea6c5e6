import type { KubeObject } from '../../crd/meta/object.js'
import type { ListQuery, Store, WatchEvent } from '../../store/index.js'
import type { WatchOptions } from '../../store/store.js'
import { type Bench, ConformanceError } from './harness.js'

/** What became of an object. */
export type ObjectEvent = Extract<WatchEvent, { object: KubeObject }>

/** Reads a watch, and gives up when an event takes too long. */
export class Reader {
  readonly events: AsyncIterator<WatchEvent>
  readonly #bench: Bench

  constructor(bench: Bench, query: ListQuery, options: WatchOptions, store: Store = bench.store) {
    this.#bench = bench
    this.events = store.watch(query, options)[Symbol.asyncIterator]()
  }

  async next(): Promise<WatchEvent> {
    return inTime(this.#bench, this.#step(), NOTHING_TOLD)
  }

  /** The next events that are no bookmarks. */
  async take(count: number): Promise<ObjectEvent[]> {
    const seen: ObjectEvent[] = []
    while (seen.length < count) seen.push(await this.one())
    return seen
  }

  /**
   * Reads until something comes of an event. All of them together have the time that one has: a
   * watch that tells without an end of what is not asked for does not make it wait any longer.
   *
   * @param pick what comes of an event; `undefined`: nothing, and the next one is read
   */
  async until<T>(pick: (event: WatchEvent) => T | undefined): Promise<T> {
    let isOver = false
    const found = async () => {
      for (let read = 1; !isOver; read++) {
        const picked = pick(await this.#step())
        if (picked !== undefined) return picked
        // events that are there at once leave no timer a turn
        if (read % TURN === 0) await this.#bench.wait(1)
      }
      throw new ConformanceError(NOTHING_TOLD)
    }
    try {
      return await inTime(this.#bench, found(), NOTHING_TOLD)
    } finally {
      isOver = true
    }
  }

  /** The next event that is no bookmark. */
  async one(): Promise<ObjectEvent> {
    return this.until(objectEvent)
  }

  /** The next event of this case: others may be at work on the same kind. */
  async ours(): Promise<ObjectEvent> {
    const { namespace, otherNamespace } = this.#bench
    return this.until((told) => {
      const event = objectEvent(told)
      if (event === undefined) return undefined
      const { metadata } = event.object
      if (metadata.namespace === namespace || metadata.namespace === otherNamespace) return event
      return metadata.namespace === undefined && metadata.name.startsWith(`${namespace}-`) ? event : undefined
    })
  }

  async bookmark(): Promise<string> {
    return this.until((event) => {
      if (event.type === 'ERROR') throw failedWatch(event)
      return event.type === 'BOOKMARK' ? event.resourceVersion : undefined
    })
  }

  /**
   * Ends the watch after what is done with it. If that fails, it is what is told, and not that the
   * watch does not end either.
   */
  async during(body: () => Promise<void>): Promise<void> {
    try {
      await body()
    } catch (failure) {
      await this.end().catch(() => undefined)
      throw failure
    }
    await this.end()
  }

  async end(): Promise<void> {
    await inTime(this.#bench, Promise.resolve(this.events.return?.()), NOT_ENDED)
  }

  async #step(): Promise<WatchEvent> {
    const step = await this.events.next()
    if (step.done === true) throw new ConformanceError('a watch has ended without being asked to')
    return step.value
  }
}

/** How many events are read in one turn. */
const TURN = 500

/** What an event is, if it is no bookmark. */
export function objectEvent(event: WatchEvent): ObjectEvent | undefined {
  if (event.type === 'ERROR') throw failedWatch(event)
  return event.type === 'BOOKMARK' ? undefined : event
}

function failedWatch({ failure }: Extract<WatchEvent, { type: 'ERROR' }>): ConformanceError {
  return new ConformanceError(`a watch has failed: ${failure.code}`)
}

/** What is missed of a watch that tells nothing. */
const NOTHING_TOLD = 'a watch had nothing to tell'

/**
 * What is missed of a watch that does not end. An async generator is one: it ends no sooner than it
 * has something to tell.
 */
export const NOT_ENDED = 'a watch had no answer to return()'

/** `TYPE name`, one an event. */
export function outline(events: readonly WatchEvent[]): string[] {
  return events.map((event) => ('object' in event ? `${event.type} ${event.object.metadata.name}` : event.type))
}

export async function following(
  bench: Bench,
  { query, ...options }: WatchOptions & { readonly query?: object },
  body: (reader: Reader) => Promise<void>,
): Promise<void> {
  const reader = new Reader(bench, { ...bench.pools, ...query }, options)
  await reader.during(() => body(reader))
}

/**
 * What comes of a promise.
 *
 * @throws ConformanceError `WHAT for N ms` if it takes longer than the options allow
 */
export async function inTime<T>(bench: Bench, promise: Promise<T>, what: string): Promise<T> {
  const { patienceMs } = bench
  let isOver = false
  const patience = async (): Promise<never> => {
    await bench.wait(patienceMs, () => isOver)
    throw new ConformanceError(`${what} for ${patienceMs} ms`)
  }
  try {
    return await Promise.race([promise, patience()])
  } finally {
    isOver = true
  }
}
