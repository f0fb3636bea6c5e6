import { STORE_VERSION_GONE } from '../../errors/definitions.js'
import { failure } from '../../errors/failure.js'
import { END, eventOf, type Matcher, type Step } from '../rules/selectors.js'
import type { StoreFailure, WatchEvent } from '../store.js'
import { decodeDocument } from './document.js'
import type { EngineEvent, Stop } from './engine.js'

/** Ends when the consumer does, also in the midst of waiting. */
class Stopper implements Stop {
  #stopped = false
  #callbacks: (() => void)[] = []
  #problems: unknown[] = []

  get isStopped(): boolean {
    return this.#stopped
  }

  onStop(callback: () => void): void {
    this.#callbacks.push(callback)
    if (this.#stopped) this.stop()
  }

  /** Calls all callbacks, also if one throws; the error is thrown after the last one. */
  stop(): void {
    this.#stopped = true
    for (const callback of this.#callbacks.splice(0)) {
      try {
        callback()
      } catch (error) {
        this.#problems.push(error)
      }
    }
  }

  /** @throws what a callback has thrown, once */
  assertEnded(): void {
    const problems = this.#problems.splice(0)
    if (problems.length > 0) throw problems[0]
  }
}

export interface WatchSource {
  readonly follow: (stop: Stop) => AsyncIterable<EngineEvent>
  readonly matches: Matcher
  /** All that the engine tells matches. */
  readonly isWhole: boolean
  /** The failure that an error of the engine is shown as. */
  readonly failureOf: (error: unknown) => StoreFailure
  /** The version that was asked for. */
  readonly resourceVersion: string | undefined
}

/**
 * The changes of an engine as the events of a watch. Begins with the first `next`; ends at once
 * with `return`, whatever the engine does. If a callback of the engine throws when the watch ends,
 * `return` rejects with it: what `next` has to tell comes first.
 */
export class EngineWatch implements AsyncIterableIterator<WatchEvent, undefined> {
  readonly #source: WatchSource
  readonly #stopper = new Stopper()
  #events: AsyncIterator<EngineEvent> | undefined
  /** The last call of `next`: they are served one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #endWaiting: (() => void) | undefined

  constructor(source: WatchSource) {
    this.#source = source
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    const step = this.#last.then(() => this.#step())
    this.#last = step
    return step
  }

  async return(): Promise<Step> {
    this.#endWaiting?.()
    this.#stopper.stop()
    this.#stopper.assertEnded()
    return END
  }

  async #step(): Promise<Step> {
    try {
      while (!this.#stopper.isStopped) {
        this.#events ??= this.#source.follow(this.#stopper)[Symbol.asyncIterator]()
        const next = await this.#wait(this.#events)
        if (next === undefined || next.done === true) break
        const event = this.#shown(next.value)
        if (event === undefined) continue
        if (event.type === 'ERROR') this.#stopper.stop()
        return { done: false, value: event }
      }
    } catch (error) {
      if (!this.#stopper.isStopped) {
        this.#stopper.stop()
        return { done: false, value: { type: 'ERROR', failure: this.#source.failureOf(error) } }
      }
    }
    this.#stopper.stop()
    return END
  }

  /** The next event of the engine, or `undefined` as soon as the consumer has stopped. */
  #wait(events: AsyncIterator<EngineEvent>): Promise<IteratorResult<EngineEvent> | undefined> {
    return new Promise((resolve, reject) => {
      this.#endWaiting = () => resolve(undefined)
      events.next().then(resolve, reject)
    })
  }

  #shown(event: EngineEvent): WatchEvent | undefined {
    switch (event.kind) {
      case 'at':
        return { type: 'BOOKMARK', resourceVersion: event.revision }
      case 'gone': {
        const { resourceVersion = '0' } = this.#source
        return { type: 'ERROR', failure: failure(STORE_VERSION_GONE, { resourceVersion, oldest: event.oldest }) }
      }
      case 'change': {
        const { revision, before, after } = event
        const { matches, isWhole } = this.#source
        const read = (text: string | undefined) => (text === undefined ? undefined : decodeDocument({ text, revision }))
        if (isWhole && after !== undefined) {
          // of what was before only matters whether it was there
          return {
            type: before === undefined ? 'ADDED' : 'MODIFIED',
            object: decodeDocument({ text: after, revision }),
          }
        }
        return eventOf({ version: revision, before: read(before), after: read(after) }, matches)
      }
    }
  }
}
