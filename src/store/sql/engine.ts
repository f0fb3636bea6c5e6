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
import { Followers } from '../engine/followers.js'
import type { ChangeLog, ChangePage, PollingOptions } from '../engine/polling.js'
import type { SqlDatabase } from './database.js'
import { Reads } from './reads.js'

/** The engine of a database with the tables of {@link migrations}. */
export class SqlEngine implements StoreEngine, ChangeLog {
  readonly name: string
  readonly #database: SqlDatabase
  readonly #reads: Reads
  readonly #followers: Followers

  constructor(database: SqlDatabase, polling: PollingOptions) {
    this.name = database.name
    this.#database = database
    this.#followers = new Followers({ ...polling, announcesWrites: database.announcesWrites })
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
    if (commit.kind === 'done') this.#followers.tell(write.key)
    return commit
  }

  follow(scope: DocumentScope, after: string | undefined, stop: Stop): AsyncIterable<EngineEvent> {
    return this.#followers.follow(this, scope, after, stop)
  }
}
