import type { Commit, DocumentWrite } from '../engine/engine.js'
import type { ParameterStyle, SqlRow, SqlValue } from './statement.js'
import type { Tables } from './tables.js'

/** What a database does in its own way. */
export interface SqlDatabase {
  readonly name: string
  readonly tables: Tables
  readonly style: ParameterStyle
  /** Each write is announced to all subscribers. */
  readonly announcesWrites: boolean
  /** All rows that one statement gives, of one moment. */
  all(text: string, values: SqlValue[]): Promise<readonly SqlRow[]>
  /** As in `StoreEngine`. */
  commit(write: DocumentWrite): Promise<Commit>
}
