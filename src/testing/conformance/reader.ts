import type { KubeObject } from '../../crd/meta/object.js'
import type { ListQuery, Store, WatchEvent, WatchOptions } from '../../store/index.js'
import { type Bench, ConformanceError, type ConformanceOptions } from './harness.js'

/** What became of an object. */
export type ObjectEvent = Extract<WatchEvent, { object: KubeObject }>

/** Reads a watch, and gives up when an event takes too long. */
export class Reader {
  readonly #events: AsyncIterator<WatchEvent>
  readonly #bench: Bench

  constructor(bench: Bench, query: ListQuery, options: WatchOptions, store: Store = bench.store) {
    this.#bench = bench
    this.#events = store.watch(query, options)[Symbol.asyncIterator]()
  }

  async next(): Promise<WatchEvent> {
    const { sleep, patienceMs = 10_000 } = this.#bench.options
    const step = await inTime(this.#events.next(), patienceMs, sleep)
    if (step === undefined) throw new ConformanceError(`a watch had nothing to tell for ${patienceMs} ms`)
    if (step.done === true) throw new ConformanceError('a watch has ended without being asked to')
    return step.value
  }

  /** The next events that are no bookmarks. */
  async take(count: number): Promise<ObjectEvent[]> {
    const seen: ObjectEvent[] = []
    while (seen.length < count) {
      const event = await this.next()
      if (event.type === 'BOOKMARK') continue
      if (event.type === 'ERROR') throw new ConformanceError(`a watch has failed: ${event.failure.code}`)
      seen.push(event)
    }
    return seen
  }

  async one(): Promise<ObjectEvent> {
    return (await this.take(1))[0]!
  }

  /** The next event of this case: others may be at work on the same kind. */
  async ours(): Promise<ObjectEvent> {
    const { namespace, otherNamespace } = this.#bench
    for (;;) {
      const event = await this.one()
      const { metadata } = event.object
      if (metadata.namespace === namespace || metadata.namespace === otherNamespace) return event
      if (metadata.namespace === undefined && metadata.name.startsWith(`${namespace}-`)) return event
    }
  }

  async bookmark(): Promise<string> {
    for (;;) {
      const event = await this.next()
      if (event.type === 'BOOKMARK') return event.resourceVersion
    }
  }

  async end(): Promise<void> {
    await this.#events.return?.()
  }
}

/** `TYPE name`, one an event. */
export function outline(events: readonly WatchEvent[]): string[] {
  return events.map((event) => ('object' in event ? `${event.type} ${event.object.metadata.name}` : event.type))
}

export async function following(
  bench: Bench,
  options: WatchOptions,
  body: (reader: Reader) => Promise<void>,
  query: object = {},
): Promise<void> {
  const reader = new Reader(bench, { ...bench.pools, ...query }, options)
  try {
    await body(reader)
  } finally {
    await reader.end()
  }
}

/** How long it is waited at once: a pause can not be ended, and one that is left behind keeps a process alive. */
const PAUSE_MS = 100

/** What comes of a promise, or `undefined` if it takes too long. */
async function inTime<T>(promise: Promise<T>, ms: number, sleep: ConformanceOptions['sleep']): Promise<T | undefined> {
  let isOver = false
  const patience = async () => {
    for (let left = ms; left > 0 && !isOver; left -= PAUSE_MS) await sleep(Math.min(left, PAUSE_MS))
    return undefined
  }
  try {
    return await Promise.race([promise, patience()])
  } finally {
    isOver = true
  }
}
