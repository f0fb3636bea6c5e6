import { errorText } from '../../errors/cause.js'
import { STORE_IO } from '../../errors/definitions.js'
import { failure } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import { END, type Step } from '../rules/selectors.js'
import type { StoreErrorCode, StoreFailure, WatchEvent } from '../store.js'
import type { KubernetesClient, KubernetesWatchConnection } from './client.js'
import { isAfter, isVersion } from './conditions.js'
import { gone } from './failures.js'
import type { Selection } from './selection.js'
import { type End, endOf, readEvent } from './watch-events.js'

export interface WatchSource {
  readonly client: Pick<KubernetesClient, 'watch'>
  readonly sleep: (milliseconds: number) => Promise<unknown>
  /** The version that was asked for. */
  readonly resourceVersion: string | undefined
  readonly select: () => Promise<Result<Selection, StoreErrorCode>>
  /** The version that the server is at. */
  readonly version: (selection: Selection) => Promise<Result<string, StoreErrorCode>>
}

/**
 * How long the server is to let a connection stand. Two seconds before the end it tells the version
 * that it is at. Clients may end connections on which they have heard nothing for 30 s, and the
 * server by itself says nothing for about a minute.
 */
const CONNECTION_SECONDS = 25

/**
 * How many events wait for the consumer at most. Beyond it the connection is ended, and made again
 * when they have been taken.
 */
const MAX_WAITING = 1000

/**
 * A connection that has stood for a second may end without a word: it was made, and nothing has
 * happened. Any other end is a failure.
 */
const SECOND_MS = 1000

/**
 * After how much silence a connection is closed: it should have ended by itself.
 */
const LONGEST_SILENCE_SECONDS = 40

/** After each failure twice as long as after the one before. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
const MAX_FAILURES = 10

const SILENT = `nothing was heard of the server for ${LONGEST_SILENCE_SECONDS} s`

/** A watch that continues by itself when its connection ends. Begins with the first `next`. */
export class KubernetesWatch implements AsyncIterableIterator<WatchEvent, undefined> {
  readonly #source: WatchSource
  /** Events that the consumer has not read yet. */
  #events: WatchEvent[] = []
  #taken = 0
  /** Calls of `next` that have no event yet. */
  #calls: ((step: Step) => void)[] = []
  #isBegun = false
  #isEnded = false
  /** Ends the connection. */
  #cut: () => void = () => {}
  #wake: () => void = () => {}
  /** The last reported version, from which the watch continues. */
  #version = ''
  #failures = 0

  constructor(source: WatchSource) {
    this.#source = source
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    if (!this.#isBegun) {
      this.#isBegun = true
      if (!this.#isEnded) this.#run().catch((error) => this.#fail(brokenFailure(errorText(error))))
    }
    const event = this.#events[this.#taken]
    if (event !== undefined) {
      if (++this.#taken === this.#events.length) this.#emptied()
      return Promise.resolve({ done: false, value: event })
    }
    if (this.#isEnded) return Promise.resolve(END)
    return new Promise((resolve) => this.#calls.push(resolve))
  }

  return(): Promise<Step> {
    this.#end()
    this.#events = []
    this.#taken = 0
    return Promise.resolve(END)
  }

  async #run(): Promise<void> {
    const begun = await this.#begin()
    if (!begun.ok) return this.#fail(begun.failure)
    const selection = begun.value
    while (!this.#isEnded) {
      const begin = this.#version
      const how = await this.#connect(selection)
      // to hear over and over what was known is no progress
      if (this.#version !== begin || how.kind === 'over') this.#failures = 0
      if (how.kind === 'refused') return this.#fail(how.failure)
      if (how.kind === 'full') await this.#untilTaken()
      if (how.kind !== 'broken') continue
      const failed = await this.#recover(selection, how.error)
      if (failed !== undefined) return this.#fail(failed)
    }
  }

  /**
   * Finds out where to begin. For a version that lies in the future the server would wait, without
   * a word.
   */
  async #begin(): Promise<Result<Selection, StoreErrorCode>> {
    const selected = await this.#source.select()
    if (!selected.ok) return selected
    const { resourceVersion } = this.#source
    if (resourceVersion !== undefined && !isVersion(resourceVersion))
      return { ok: false, failure: gone(resourceVersion) }
    const now = await this.#source.version(selected.value)
    if (!now.ok) return now
    this.#version = resourceVersion ?? now.value
    if (isAfter(this.#version, now.value)) return { ok: false, failure: gone(this.#version) }
    if (resourceVersion === undefined) this.#tell({ type: 'BOOKMARK', resourceVersion: this.#version })
    return selected
  }

  /**
   * Waits until the server is there again, and looks whether it is behind us: it may have been set
   * up from a copy of its data.
   */
  async #recover(selection: Selection, error: unknown): Promise<StoreFailure | undefined> {
    let problem = errorText(error)
    while (this.#failures < MAX_FAILURES) {
      await this.#source.sleep(Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS))
      this.#failures++
      if (this.#isEnded) return undefined
      const now = await this.#source.version(selection)
      if (now.ok) return isAfter(this.#version, now.value) ? gone(this.#version) : undefined
      problem = now.failure.message
    }
    return brokenFailure(`${MAX_FAILURES} failures in a row, the last: ${problem}`)
  }

  /** Watches until the connection ends, however it does. */
  #connect(selection: Selection): Promise<End> {
    const { path, parameters, shown } = selection
    return new Promise((resolve) => {
      const begin = this.#version
      let isOpen = true
      let hasStood = false
      let silentSeconds = 0
      let connection: KubernetesWatchConnection | undefined
      const finish = (how: End) => {
        if (!isOpen) return
        isOpen = false
        connection?.abort()
        resolve(how)
      }
      this.#cut = () => finish({ kind: 'over' })
      const onEvent = (type: string, object: unknown) => {
        const read = isOpen ? readEvent(type, object, { shown, version: this.#version }) : undefined
        if (read === undefined) return
        if ('kind' in read) return finish(read)
        silentSeconds = 0
        this.#tell(read.event)
        if (this.#events.length - this.#taken >= MAX_WAITING) finish({ kind: 'full' })
      }
      const onDone = (error: unknown) => {
        const isSound = hasStood || this.#version !== begin
        finish(endOf(error, isSound, { shown, version: this.#version }))
      }
      const look = async () => {
        while (isOpen) {
          await this.#source.sleep(SECOND_MS)
          if (connection !== undefined) hasStood = true
          if (++silentSeconds > LONGEST_SILENCE_SECONDS) finish({ kind: 'broken', error: new Error(SILENT) })
        }
      }
      look().catch((error) => finish({ kind: 'broken', error }))
      const version = { resourceVersion: this.#version, allowWatchBookmarks: true, timeoutSeconds: CONNECTION_SECONDS }
      const connecting = async () => this.#source.client.watch(path, { ...parameters, ...version }, onEvent, onDone)
      connecting().then((made) => {
        connection = made
        if (!isOpen) made.abort()
      }, onDone)
    })
  }

  #tell(event: WatchEvent): void {
    if (event.type === 'BOOKMARK') this.#version = event.resourceVersion
    else if (event.type !== 'ERROR') this.#version = event.object.metadata.resourceVersion ?? this.#version
    const call = this.#calls.shift()
    if (call === undefined) this.#events.push(event)
    else call({ done: false, value: event })
  }

  #fail(problem: StoreFailure): void {
    if (!this.#isEnded) this.#tell({ type: 'ERROR', failure: problem })
    this.#end()
  }

  /** Nothing more will come. What has come can still be taken. */
  #end(): void {
    this.#isEnded = true
    this.#cut()
    this.#wake()
    for (const call of this.#calls.splice(0)) call(END)
  }

  #emptied(): void {
    this.#events = []
    this.#taken = 0
    this.#wake()
  }

  async #untilTaken(): Promise<void> {
    if (this.#events.length === 0 || this.#isEnded) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }
}

function brokenFailure(problem: string): StoreFailure {
  return failure(STORE_IO, { operation: 'watch (kubernetes)', problem })
}
