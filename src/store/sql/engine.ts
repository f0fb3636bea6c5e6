import type {
  Commit,
  DocumentKey,
  DocumentPage,
  DocumentScope,
  DocumentWrite,
  ScanPart,
  StoredDocument,
} from '../engine/engine.js'
import { PolledEngine } from '../engine/followers.js'
import type { ChangePage, PollingOptions } from '../engine/polling.js'
import {
  compile,
  integer,
  optionalTextOf,
  type ParameterStyle,
  type SqlParameters,
  type SqlRow,
  type SqlValue,
  type Statement,
  textOf,
} from './statement.js'
import { type Tables, withoutHead } from './tables.js'

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

/** The key of one document, in SQL. */
export const IS_KEY = 'api_group = :group and kind = :kind and namespace = :namespace and name = :name'

/** How much of the change log is read at once, if it is more than one change. */
const MAX_BYTES = 16 * 1024 * 1024

const MAX_REVISION = 2n ** 63n - 1n

/**
 * The engine of a database with the tables of {@link migrations}. Each answer comes from one
 * statement, and with it from one moment.
 *
 * Where the head is needed with rows that may be none, it is joined to them from the left: to the
 * rows of a query that has its own order and limit, so that the database can take them from an
 * index; by its key, so that the database knows that it is one row. PostgreSQL sorts the result
 * once more nevertheless, documents and all: so a list is asked for without the join first, and
 * with it only if that gives no row.
 */
export class SqlEngine extends PolledEngine {
  readonly name: string
  readonly #database: SqlDatabase
  readonly #read: Statement
  readonly #revision: Statement
  readonly #scans: ByScope<Scan>
  readonly #limitedScans: ByScope<Scan>
  /**
   * The next change, and as many as are wanted and not too much together, which takes about twice
   * as long to find out.
   */
  readonly #changes: ByScope<{ readonly one: Statement; readonly many: Statement }>

  constructor(database: SqlDatabase, polling: PollingOptions) {
    const { name, tables, style, announcesWrites } = database
    super({ ...polling, announcesWrites })
    this.name = name
    const compiled = (sql: string) => compile(sql, style)
    this.#database = database
    this.#read = compiled(`select ${asText('revision')} as revision, document from ${tables.documents} where ${IS_KEY}`)
    this.#revision = compiled(`select ${asText('revision')} as head from ${tables.head} where id = 1`)
    const scans = (limit: string) =>
      byScope((inScope) => ({
        some: compiled(scanSql(tables, inScope, limit)),
        orNone: compiled(scanOrNoneSql(tables, inScope, limit)),
      }))
    this.#scans = scans('')
    this.#limitedScans = scans(`limit ${integer(':limit')}`)
    this.#changes = byScope((inScope) => ({
      one: compiled(nextChangeSql(tables, inScope)),
      many: compiled(changesSql(tables, inScope)),
    }))
  }

  async read({ group, kind, namespace, name }: DocumentKey): Promise<StoredDocument | undefined> {
    const [row] = await this.#all(this.#read, { group, kind, namespace, name })
    return row === undefined ? undefined : documentOf(row)
  }

  async scan(scope: DocumentScope, { after, limit }: ScanPart): Promise<DocumentPage> {
    const { group, kind, namespace = null } = scope
    const place = { afterNamespace: after?.namespace ?? '', afterName: after?.name ?? '' }
    const { some, orNone } = ofScope(limit === undefined ? this.#scans : this.#limitedScans, scope)
    // one more shows whether there are more
    const most = limit === undefined ? {} : { limit: String(limit + 1) }
    const parameters = { group, kind, namespace, ...place, ...most }
    const found = await this.#all(some, parameters)
    const rows = found.length > 0 ? this.#headed(found) : await this.#withHead(orNone, parameters)
    const documents: StoredDocument[] = []
    for (const row of rows) {
      if (row.revision === null || documents.length === limit) break
      documents.push(documentOf(row))
    }
    return { documents, revision: textOf(rows[0], 'head'), hasMore: limit !== undefined && rows.length > limit }
  }

  async changes(scope: DocumentScope, after: string | undefined, limit: number): Promise<ChangePage> {
    if (after === undefined) {
      const [row] = await this.#withHead(this.#revision, {})
      return { kind: 'page', changes: [], revision: textOf(row, 'head'), hasMore: false }
    }
    const { group, kind, namespace = null } = scope
    const asked = BigInt(after)
    const parameters = { group, kind, namespace, after: String(asked < MAX_REVISION ? asked : MAX_REVISION) }
    const { one, many } = ofScope(this.#changes, scope)
    // a watch is seldom more than one change behind
    const rows = await this.#withHead(one, parameters)
    const { head, revision } = rows[0]!
    if (revision === null || revision === head) return changesPage(rows, asked, limit)
    return changesPage(await this.#withHead(many, { ...parameters, limit: String(limit + 1) }), asked, limit)
  }

  protected write(write: DocumentWrite): Promise<Commit> {
    return this.#database.commit(write)
  }

  async #withHead(statement: Statement, parameters: SqlParameters): Promise<readonly SqlRow[]> {
    return this.#headed(await this.#all(statement, parameters))
  }

  /** Rows that have the head in them. */
  #headed(rows: readonly SqlRow[]): readonly SqlRow[] {
    if (rows.length === 0 || rows[0]!.head === null) throw new Error(withoutHead(this.#database.tables))
    return rows
  }

  #all(statement: Statement, parameters: SqlParameters): Promise<readonly SqlRow[]> {
    return this.#database.all(statement.text, statement.values(parameters))
  }
}

function documentOf(row: SqlRow): StoredDocument {
  return { text: textOf(row, 'document'), revision: textOf(row, 'revision') }
}

/** @param rows one more than the limit shows that there are more */
function changesPage(rows: readonly SqlRow[], asked: bigint, limit: number): ChangePage {
  const [head, oldest] = [textOf(rows[0], 'head'), textOf(rows[0], 'oldest')]
  if (asked < BigInt(oldest) || asked > BigInt(head)) return { kind: 'gone', oldest }
  const given = rows.filter(({ revision, later }) => revision !== null && later !== 'later')
  const changes = given.slice(0, limit).map((row) => ({
    revision: textOf(row, 'revision'),
    before: optionalTextOf(row, 'before'),
    after: optionalTextOf(row, 'after'),
  }))
  const hasMore = rows.length > changes.length && rows[changes.length]!.revision !== null
  return { kind: 'page', changes, revision: hasMore ? changes.at(-1)!.revision : head, hasMore }
}

/** The same documents twice: without a row if there is none, and with one that has the head. */
interface Scan {
  readonly some: Statement
  readonly orNone: Statement
}

/** A query for all namespaces, and one for a single one. */
interface ByScope<T> {
  readonly everywhere: T
  readonly inNamespace: T
}

function byScope<T>(make: (inScope: string) => T): ByScope<T> {
  const inKind = 'api_group = :group and kind = :kind'
  return { everywhere: make(inKind), inNamespace: make(`${inKind} and namespace = :namespace`) }
}

function ofScope<T>(both: ByScope<T>, { namespace }: DocumentScope): T {
  return namespace === undefined ? both.everywhere : both.inNamespace
}

function scanSql({ documents, head }: Tables, inScope: string, limit: string): string {
  return `select (select ${asText('revision')} from ${head} where id = 1) as head, ${asText('revision')} as revision, document
from ${documents}
where ${inScope} and (namespace, name) > (:afterNamespace, :afterName)
order by namespace, name ${limit}`
}

function scanOrNoneSql({ documents, head }: Tables, inScope: string, limit: string): string {
  return `select ${asText('h.revision')} as head, ${asText('d.revision')} as revision, d.document
from ${head} h left join (
  select namespace, name, revision, document from ${documents}
  where ${inScope} and (namespace, name) > (:afterNamespace, :afterName)
  order by namespace, name ${limit}
) d on true
where h.id = 1
order by d.namespace, d.name`
}

function nextChangeSql({ changes, head }: Tables, inScope: string): string {
  return `select ${asText('h.revision')} as head, ${asText('h.oldest')} as oldest, ${asText('c.revision')} as revision,
  c.old_document as before, c.new_document as after
from ${head} h left join ${changes} c on c.revision = (
  select revision from ${changes} where revision > ${integer(':after')} and ${inScope} order by revision limit 1
)
where h.id = 1`
}

/**
 * Of changes that would be too much together only the revision is given, and that they are left for
 * the next part.
 */
function changesSql({ changes, head }: Tables, inScope: string): string {
  const size = 'coalesce(octet_length(old_document), 0) + coalesce(octet_length(new_document), 0)'
  return `select ${asText('h.revision')} as head, ${asText('h.oldest')} as oldest, ${asText('c.revision')} as revision,
  case when c.ahead > ${MAX_BYTES} then 'later' end as later,
  case when c.ahead > ${MAX_BYTES} then null else c.old_document end as before,
  case when c.ahead > ${MAX_BYTES} then null else c.new_document end as after
from ${head} h left join (
  select revision, old_document, new_document,
    coalesce(sum(${size}) over (order by revision rows between unbounded preceding and 1 preceding), 0) as ahead
  from (
    select revision, old_document, new_document from ${changes}
    where revision > ${integer(':after')} and ${inScope}
    order by revision limit ${integer(':limit')}
  ) page
) c on true
where h.id = 1
order by c.revision`
}

function asText(column: string): string {
  return `cast(${column} as text)`
}
