import type { ListQuery, StoreFailure, WatchEvent } from '../store.js'
import type { StoredObject } from './draft.js'
import type { Chain, Change, Link } from './history.js'
import { withVersion } from './writes.js'

type Step = IteratorResult<WatchEvent, undefined>

/**
 * A watch from one place in the changes of a kind. Its place is fixed when it is made, so that nothing between the call of `watch`
 * and the first `next` is lost.
 */
export class Watcher implements AsyncIterableIterator<WatchEvent, undefined> {
  readonly #chain: Chain
  readonly #query: ListQuery
  #place: Link
  /** The version to announce when the changes up to it have been shown. */
  #bookmark: number | undefined
  #ended = false
  /** The calls of `next` that have no event yet. The chain knows of this watcher only while there are any. */
  #calls: ((step: Step) => void)[] = []
  readonly #wake = () => this.#serve()

  constructor(chain: Chain, query: ListQuery, from: { readonly place: Link; readonly bookmark: number | undefined }) {
    this.#chain = chain
    this.#query = query
    this.#place = from.place
    this.#bookmark = from.bookmark
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    if (this.#ended) return Promise.resolve(end())
    return new Promise((resolve) => {
      this.#calls.push(resolve)
      this.#serve()
    })
  }

  return(): Promise<Step> {
    this.#ended = true
    this.#chain.unlisten(this.#wake)
    for (const resolve of this.#calls.splice(0)) resolve(end())
    return Promise.resolve(end())
  }

  #serve(): void {
    while (this.#calls.length > 0) {
      const event = this.#take()
      if (event === undefined) {
        this.#chain.listen(this.#wake)
        return
      }
      this.#calls.shift()!({ done: false, value: event })
    }
    this.#chain.unlisten(this.#wake)
  }

  /** The next event of this watch; changes of no interest are passed over. */
  #take(): WatchEvent | undefined {
    for (;;) {
      const change = this.#place.next
      if (this.#bookmark !== undefined && (change === undefined || change.version > this.#bookmark)) {
        const resourceVersion = String(this.#bookmark)
        this.#bookmark = undefined
        return { type: 'BOOKMARK', resourceVersion }
      }
      if (change === undefined) return undefined
      this.#place = change
      const event = eventOf(change, this.#query)
      if (event !== undefined) return event
    }
  }
}

/** A watch that can not begin. */
export async function* failedWatch(failure: StoreFailure): AsyncGenerator<WatchEvent, undefined> {
  yield { type: 'ERROR', failure }
}

/** Whether an object is of a namespace and has the labels. */
export function matches({ metadata }: StoredObject, { namespace, labels }: ListQuery): boolean {
  if (namespace !== undefined && namespace !== '' && metadata.namespace !== namespace) return false
  if (labels === undefined) return true
  return Object.keys(labels).every((key) => metadata.labels?.[key] === labels[key])
}

/** How a change looks to who sees only what matches: an object that stops matching is gone, as it was when it still matched. */
function eventOf({ version, before, after }: Change, query: ListQuery): WatchEvent | undefined {
  const was = before !== undefined && matches(before, query)
  const is = after !== undefined && matches(after, query)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object: after }
  return was ? { type: 'DELETED', object: withVersion(before, String(version)) } : undefined
}

function end(): Step {
  return { done: true, value: undefined }
}
