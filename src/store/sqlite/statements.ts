import { IS_KEY } from '../sql/engine.js'
import { type History, newOldest } from '../sql/history.js'
import { compile, integer } from '../sql/statement.js'
import type { Tables } from '../sql/tables.js'

export type Writes = ReturnType<typeof writesOf>

/**
 * What a write consists of, in one transaction: `create`, `replace` or `remove`, which give a row
 * if the document was what it had to be; then `move`, which gives the new revision, and whether
 * there is something to forget; then the rest.
 */
export function writesOf({ documents, changes, head }: Tables, history: History) {
  const next = `(select revision + 1 from ${head} where id = 1)`
  const asItWas = `${IS_KEY} and revision = ${integer(':revision')}`
  const compiled = (sql: string) => compile(sql, 'anonymous')
  return {
    create: compiled(`insert into ${documents} (api_group, kind, namespace, name, revision, document)
values (:group, :kind, :namespace, :name, ${next}, :document)
on conflict (api_group, kind, namespace, name) do nothing returning name`),
    replace: compiled(
      `update ${documents} set revision = ${next}, document = :document where ${asItWas} returning name`,
    ),
    remove: compiled(`delete from ${documents} where ${asItWas} returning name`),
    move: compiled(`update ${head} set revision = revision + 1, oldest = ${newOldest('(revision + 1)', 'oldest', history)}
where id = 1 returning cast(revision as text) as revision, cast(oldest = revision - ${history.kept} as text) as forgets`),
    record: compiled(`insert into ${changes} (revision, api_group, kind, namespace, old_document, new_document)
values (${integer(':revision')}, :group, :kind, :namespace, :before, :document)`),
    forget: compiled(`delete from ${changes} where revision <= (select oldest from ${head} where id = 1)`),
  }
}
