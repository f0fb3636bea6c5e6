import type {
  Commit,
  DocumentKey,
  DocumentPage,
  DocumentScope,
  DocumentWrite,
  EngineEvent,
  ScanPart,
  Stop,
  StoredDocument,
  StoreEngine,
} from './engine.js'
import { type ChangeLog, type ChangePage, type PollingOptions, pollChanges } from './polling.js'

/** How the watches of an engine learn of a write. */
export interface FollowersOptions extends PollingOptions {
  /** Subscribers are told of every write, also of writes of this store. */
  readonly announcesWrites: boolean
}

/**
 * An engine that has to be asked for changes. Its watches need not wait for what it has written
 * itself: it tells them, unless they are told of every write anyway. Told twice they would look
 * twice.
 */
export abstract class PolledEngine implements StoreEngine, ChangeLog {
  abstract readonly name: string
  readonly #options: FollowersOptions
  readonly #followers = new Set<{ readonly scope: DocumentScope; readonly wake: () => void }>()

  constructor(options: FollowersOptions) {
    this.#options = options
  }

  abstract read(key: DocumentKey): Promise<StoredDocument | undefined>
  abstract scan(scope: DocumentScope, part: ScanPart): Promise<DocumentPage>
  abstract changes(scope: DocumentScope, after: string | undefined, limit: number): Promise<ChangePage>
  /** As `commit` of an engine. */
  protected abstract write(write: DocumentWrite): Promise<Commit>

  async commit(write: DocumentWrite): Promise<Commit> {
    const commit = await this.write(write)
    if (commit.kind === 'done') this.#tell(write.key)
    return commit
  }

  follow(scope: DocumentScope, after: string | undefined, stop: Stop): AsyncIterable<EngineEvent> {
    const subscribe = (wake: () => void) => this.#subscribe(scope, wake)
    const { sleep, pollMs } = this.#options
    return pollChanges(this, { scope, after, stop }, { sleep, pollMs, subscribe })
  }

  /** Wakes the watches that a write may be of interest to. O(watches). */
  #tell({ group, kind, namespace }: DocumentKey): void {
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
