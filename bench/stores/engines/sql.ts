import type { KubeObject } from 'ipam-kit/crd/meta'
import { tablesOf } from '../../../src/store/sql/tables.js'
import { type Calls, GROUP, KIND, type Listed, NAMESPACES } from '../calls.js'
import { firstOf, nextOf, type RawDocument, read, serially, withVersion } from '../raw.js'

export type Row = { readonly [column: string]: string | null }

/** A statement as a client takes it, with `?` or `$1`. */
export interface RawSql {
  readonly all: (text: string, values: (string | null)[]) => Promise<readonly Row[]> | readonly Row[]
  readonly parameter: (index: number) => string
  /**
   * Writes a document and its change. @returns the revision, or nothing if the document was not
   * what it had to be
   */
  commit(name: string, text: string, before: RawDocument | undefined): Promise<string | undefined> | string | undefined
  /** Calls back when something may have changed. @returns ends it */
  subscribe(wake: () => void): Promise<() => Promise<void>>
}

export const TABLES = tablesOf({})
const { documents, changes, head } = TABLES
const IN_KIND = [GROUP, KIND.kind] as const
export const RAW_KEY = { group: GROUP, kind: KIND.kind, namespace: NAMESPACES.raw } as const

/** By hand, over the tables of the store. */
export function sqlCalls({ all, parameter, commit, subscribe }: RawSql): Calls {
  const namespace = NAMESPACES.raw
  const inNamespace = `api_group = ${parameter(1)} and kind = ${parameter(2)} and namespace = ${parameter(3)}`
  const readSql = `select cast(revision as text) as revision, document from ${documents} where ${inNamespace} and name = ${parameter(4)}`
  const listSql = `select (select cast(revision as text) from ${head} where id = 1) as head, cast(revision as text) as revision, document
from ${documents} where ${inNamespace} order by name`
  const headSql = `select cast(revision as text) as revision from ${head} where id = 1`
  const changesSql = `select cast(revision as text) as revision, new_document as document, (select cast(oldest as text) from ${head} where id = 1) as oldest
from ${changes} where ${inNamespace} and revision > cast(cast(${parameter(4)} as text) as bigint) order by revision limit 500`

  const written = async (object: KubeObject, before?: RawDocument): Promise<KubeObject> => {
    const revision = await commit(object.metadata.name, JSON.stringify(object), before)
    if (revision === undefined) throw new Error('conflict')
    return withVersion(object, revision)
  }
  return {
    namespace,
    create: (object) => written(firstOf(object)),
    async update(object) {
      const [row] = await all(readSql, [...IN_KIND, namespace, object.metadata.name])
      const before = row === undefined ? undefined : documentOf(row)
      return written(nextOf(before, object), before)
    },
    async list(from): Promise<Listed> {
      const rows = await all(listSql, [...IN_KIND, from])
      return { items: rows.map((row) => read(documentOf(row))), resourceVersion: rows[0]!.head! }
    },
    async watch(told) {
      let after = (await all(headSql, []))[0]!.revision!
      const look = async () => {
        for (const row of await all(changesSql, [...IN_KIND, namespace, after])) {
          if (BigInt(row.oldest!) > BigInt(after)) throw new Error('gone')
          after = row.revision!
          if (row.document !== null) told(read(documentOf(row)))
        }
      }
      return subscribe(serially(look))
    },
  }
}

function documentOf({ revision, document }: Row): RawDocument {
  return { revision: revision!, text: document! }
}
