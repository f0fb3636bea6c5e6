import { IS_KEY } from '../sql/engine.js'
import { type History, newOldest } from '../sql/history.js'
import { compile, integer } from '../sql/statement.js'
import type { Tables } from '../sql/tables.js'

/**
 * How many changes one write removes at most, so that it stays a short one when a smaller history
 * is asked for.
 */
const MAX_PRUNED = 1000

/**
 * The writes, and `head`, which gives a row if there is a head. Each is one statement, and with it
 * one transaction, that gives the revision of the write, or no row if it lost a race.
 *
 * All writes have the same shape: see whether the document is still what it was, and lock the head
 * if so; write the document, if that still holds; from then on take everything from what was
 * written, so that it happens to all of them or to none.
 *
 * The lock on the head makes the writes wait for each other until they are committed: revisions
 * become visible in their order. It is the only lock that is waited for, so that there is no
 * deadlock.
 *
 * A statement that has waited still sees the tables as they were when it began. What it locks,
 * updates or deletes is checked anew as it is by then (READ COMMITTED; at higher levels that is an
 * error), and a row that another has inserted is a conflict: so the condition of `written` decides,
 * and that of `place` only keeps those from the lock who have lost already.
 */
export function writesOf(tables: Tables, history: History, channel: string) {
  const { documents, head } = tables
  const asItWas = `d.api_group = :group and d.kind = :kind and d.namespace = :namespace and d.name = :name
    and d.revision = ${integer(':revision')}`
  const found = `place as (
  select h.revision, d.document from ${head} h, ${documents} d
  where h.id = 1 and ${asItWas}
  for no key update of h
)`
  const create = `place as (
  select h.revision, cast(null as text) as document from ${head} h
  where h.id = 1 and not exists (select from ${documents} where ${IS_KEY})
  for no key update
), written as (
  insert into ${documents} (api_group, kind, namespace, name, revision, document)
  select :group, :kind, :namespace, :name, place.revision + 1, :document from place
  on conflict (api_group, kind, namespace, name) do nothing
  returning revision, document
)`
  const replace = `${found}, written as (
  update ${documents} d set revision = place.revision + 1, document = :document from place
  where ${asItWas}
  returning d.revision, d.document
)`
  const remove = `${found}, written as (
  delete from ${documents} d using place
  where ${asItWas}
  returning place.revision + 1 as revision, cast(null as text) as document
)`
  const whole = (first: string) =>
    compile(`with ${first}, ${recorded(tables, history)}\n${answer(channel)}`, 'numbered')
  return {
    create: whole(create),
    replace: whole(replace),
    remove: whole(remove),
    head: compile(`select id from ${head} where id = 1`, 'numbered'),
  }
}

/**
 * Moves the head, notes the change, and forgets what is too old. A plan is made when the tables are
 * nearly empty, and kept until they are analyzed: so what is forgotten is a range with two ends,
 * which is always looked up in the index, and if there is nothing, no row is looked at.
 */
function recorded({ changes, head }: Tables, history: History): string {
  return `moved as (
  update ${head} h set revision = written.revision, oldest = ${newOldest('written.revision', 'h.oldest', history)}
  from written where h.id = 1
  returning h.revision, h.oldest
), recorded as (
  insert into ${changes} (revision, api_group, kind, namespace, old_document, new_document)
  select moved.revision, :group, :kind, :namespace, place.document, written.document from moved, place, written
), outdated as (
  select (select min(revision) from ${changes}) as first, moved.oldest as last from moved
  where moved.oldest = moved.revision - ${history.kept}
), forgotten as (
  delete from ${changes}
  where revision >= (select first from outdated) and revision <= (select least(last, first + ${MAX_PRUNED - 1}) from outdated)
)`
}

/**
 * The notification and the setting belong to the transaction. A session whose commits do not wait
 * for the disk would lose writes that were answered when the server crashes: this commit waits.
 */
function answer(channel: string): string {
  return `select cast(moved.revision as text) as revision, pg_notify('${channel}', ''),
  case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', true) end
from moved`
}
