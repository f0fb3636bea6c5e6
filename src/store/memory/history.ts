import type { StoredObject } from '../rules/draft.js'

/**
 * One write: an object before and after it. Created, changed and removed objects lack one side or
 * none.
 */
export interface Change extends Link {
  readonly version: number
  readonly before: StoredObject | undefined
  readonly after: StoredObject | undefined
}

/**
 * A place in the changes of one kind: what comes next, once it is there.
 *
 * ```
 *                 start             end
 *                   v                v
 *  ... dropped ... [ ]-->[ ]-->[ ]-->[ ]--> nothing yet
 *                         ^
 *                       a watcher, on the last change it has seen
 * ```
 * A watcher holds its place and nothing else: what it has not seen yet hangs on that place, shared
 * with all other watchers, for as long as it takes. A watcher that drops its watch drops the
 * changes with it. The store never holds a watcher that is not waiting.
 */
export interface Link {
  next: Change | undefined
}

/** The changes of one kind, and who waits for the next. */
export class Chain {
  #start: Link = { next: undefined }
  #end: Link = this.#start
  #endVersion = 0
  readonly #waiting = new Set<() => void>()

  /** The place after `version`. What came later must not have been dropped. */
  after(version: number): Link {
    if (version >= this.#endVersion) return this.#end
    let link = this.#start
    while (link.next !== undefined && link.next.version <= version) link = link.next
    return link
  }

  append(change: Change): void {
    this.#end.next = change
    this.#end = change
    this.#endVersion = change.version
    for (const wake of this.#waiting) wake()
  }

  /** Forgets the oldest change. */
  dropFirst(): void {
    this.#start = this.#start.next ?? this.#start
  }

  /** Calls `wake` after every change until {@link unlisten}. */
  listen(wake: () => void): void {
    this.#waiting.add(wake)
  }

  unlisten(wake: () => void): void {
    this.#waiting.delete(wake)
  }
}

/** How far back the changes of all kinds go together. */
export class History {
  readonly #limit: number
  /** The chains of the kept changes, oldest first from `#first` on. */
  #chains: Chain[] = []
  #first = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  append(chain: Chain, change: Change): void {
    chain.append(change)
    this.#chains.push(chain)
    if (this.#chains.length - this.#first <= this.#limit) return
    this.#chains[this.#first++]!.dropFirst()
    // cut off the used part when it is as long as the rest: a constant share of a write
    if (this.#first > this.#limit) {
      this.#chains = this.#chains.slice(this.#first)
      this.#first = 0
    }
  }
}
