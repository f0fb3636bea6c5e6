import { END, eventOf, type Matcher, type Step } from '../rules/selectors.js'
import type { WatchEvent } from '../store.js'
import type { Chain, Link } from './history.js'

export interface WatchBeginning {
  readonly place: Link
  /** The version to announce when the changes up to it have been shown. */
  readonly bookmark: number
}

/**
 * A watch from one place in the changes of a kind, or from the one that is found out with the first
 * `next`.
 */
export class Watcher implements AsyncIterableIterator<WatchEvent, undefined> {
  readonly #chain: Chain
  readonly #matches: Matcher
  readonly #findBeginning: () => WatchBeginning
  #place: Link | undefined
  #bookmark: number | undefined
  #ended = false
  /**
   * The calls of `next` that have no event yet. The chain knows of this watcher only while there
   * are any.
   */
  #calls: ((step: Step) => void)[] = []
  readonly #wake = () => this.#serve()

  constructor(
    chain: Chain,
    matches: Matcher,
    from: { readonly now: () => WatchBeginning; readonly at?: WatchBeginning },
  ) {
    this.#chain = chain
    this.#matches = matches
    this.#findBeginning = from.now
    // where it began is not kept: all that came after hangs on it
    if (from.at !== undefined) this.#begin(from.at)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    if (this.#ended) return Promise.resolve(END)
    return new Promise((resolve) => {
      this.#calls.push(resolve)
      this.#serve()
    })
  }

  return(): Promise<Step> {
    this.#ended = true
    this.#chain.unlisten(this.#wake)
    for (const resolve of this.#calls.splice(0)) resolve(END)
    return Promise.resolve(END)
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

  #begin({ place, bookmark }: WatchBeginning): Link {
    this.#place = place
    this.#bookmark = bookmark
    return place
  }

  /** The next event of this watch; changes of no interest are passed over. */
  #take(): WatchEvent | undefined {
    let place = this.#place ?? this.#begin(this.#findBeginning())
    for (;;) {
      const change = place.next
      if (this.#bookmark !== undefined && (change === undefined || change.version > this.#bookmark)) {
        const resourceVersion = String(this.#bookmark)
        this.#bookmark = undefined
        return { type: 'BOOKMARK', resourceVersion }
      }
      if (change === undefined) return undefined
      this.#place = place = change
      const event = eventOf({ ...change, version: String(change.version) }, this.#matches)
      if (event !== undefined) return event
    }
  }
}
