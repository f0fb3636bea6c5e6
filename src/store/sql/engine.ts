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
} from '../engine/engine.js'
import { type ChangeLog, type ChangePage, type PollingOptions, pollChanges, type Wake } from '../engine/polling.js'
import { Reads } from './reads.js'
import type { ParameterStyle, SqlRow, SqlValue } from './statement.js'
import type { Tables } from './tables.js'

/** What a database does in its own way. */
export interface SqlDatabase {
  readonly name: string
  readonly tables: Tables
  readonly style: ParameterStyle
  /** All rows that one statement gives, of one moment. */
  all(text: string, values: SqlValue[]): Promise<readonly SqlRow[]>
  /** As in {@link StoreEngine}. */
  commit(write: DocumentWrite): Promise<Commit>
}

/** The engine of a database with the tables of {@link migrations}. */
export class SqlEngine implements StoreEngine, ChangeLog {
  readonly name: string
  readonly #database: SqlDatabase
  readonly #polling: PollingOptions
  readonly #reads: Reads
  readonly #followers = new Set<Follower>()

  constructor(database: SqlDatabase, polling: PollingOptions) {
    this.name = database.name
    this.#database = database
    this.#polling = polling
    this.#reads = new Reads(database)
  }

  read(key: DocumentKey): Promise<StoredDocument | undefined> {
    return this.#reads.read(key)
  }

  scan(scope: DocumentScope, part: ScanPart): Promise<DocumentPage> {
    return this.#reads.scan(scope, part)
  }

  changes(scope: DocumentScope, after: string | undefined, limit: number): Promise<ChangePage> {
    return this.#reads.changes(scope, after, limit)
  }

  async commit(write: DocumentWrite): Promise<Commit> {
    const commit = await this.#database.commit(write)
    if (commit.kind === 'done') this.#tell(write.key, commit.revision)
    return commit
  }

  follow(scope: DocumentScope, after: string | undefined, stop: Stop): AsyncIterable<EngineEvent> {
    const subscribe = (wake: Wake) => this.#subscribe(scope, wake)
    return pollChanges(this, { scope, after, stop }, { ...this.#polling, subscribe })
  }

  #subscribe(scope: DocumentScope, wake: Wake): () => void {
    // what may throw comes before what would be left behind
    const unsubscribe = this.#polling.subscribe?.(wake)
    const follower = { scope, wake }
    this.#followers.add(follower)
    return () => {
      this.#followers.delete(follower)
      unsubscribe?.()
    }
  }

  /** Watches of this very store need not wait for what it has written itself. */
  #tell({ group, kind, namespace }: DocumentKey, revision: string): void {
    for (const { scope, wake } of this.#followers) {
      const isIn = scope.group === group && scope.kind === kind && (scope.namespace ?? namespace) === namespace
      if (isIn) wake(revision)
    }
  }
}

interface Follower {
  readonly scope: DocumentScope
  readonly wake: Wake
}
