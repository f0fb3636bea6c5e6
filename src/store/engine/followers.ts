import type { DocumentKey, DocumentScope, EngineEvent, Stop } from './engine.js'
import { type ChangeLog, type PollingOptions, pollChanges } from './polling.js'

/** How the watches of an engine learn of a write. */
export interface FollowersOptions extends PollingOptions {
  /** Whoever subscribes is told of every write, also of those of this very store. */
  readonly announcesWrites: boolean
}

/**
 * The watches of one engine that has to be asked for changes. They need not wait for what the engine itself has written: it tells them, unless they
 * are told of every write anyway. Told twice they would look twice.
 */
export class Followers {
  readonly #options: FollowersOptions
  readonly #followers = new Set<Follower>()

  constructor(options: FollowersOptions) {
    this.#options = options
  }

  /** `follow` of an engine over its changes. */
  follow(log: ChangeLog, scope: DocumentScope, after: string | undefined, stop: Stop): AsyncIterable<EngineEvent> {
    const subscribe = (wake: () => void) => this.#subscribe(scope, wake)
    return pollChanges(log, { scope, after, stop }, { ...this.#options, subscribe })
  }

  /** Wakes the watches that a write may be of interest to. O(watches). */
  tell({ group, kind, namespace }: DocumentKey): void {
    for (const { scope, wake } of this.#followers) {
      const isIn = scope.group === group && scope.kind === kind && (scope.namespace ?? namespace) === namespace
      if (isIn) wake()
    }
  }

  #subscribe(scope: DocumentScope, wake: () => void): () => void {
    const { subscribe, announcesWrites } = this.#options
    // what may throw comes before what would be left behind
    const unsubscribe = subscribe?.(wake)
    if (unsubscribe !== undefined && announcesWrites) return unsubscribe
    const follower = { scope, wake }
    this.#followers.add(follower)
    return () => {
      this.#followers.delete(follower)
      unsubscribe?.()
    }
  }
}

interface Follower {
  readonly scope: DocumentScope
  readonly wake: () => void
}
