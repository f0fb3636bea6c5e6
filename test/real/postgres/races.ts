import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreEngine } from 'ipam-kit/store/engine'
import { migratePostgres, namedStatements, type PostgresClient } from 'ipam-kit/store/postgres'
import { Dice } from 'ipam-kit/testing'
import { postgresEngine } from '../../../src/store/postgres/engine.js'
import { tablesIn } from '../../../src/store/postgres/tables.js'
import type { SqlEngine } from '../../../src/store/sql/engine.js'
import { historyOf } from '../../../src/store/sql/history.js'
import type { Depth, Report } from '../report.js'
import { type Connect, type Connections, setting } from './connections.js'

const WRITERS = 16
/** Of each writer. */
const WRITES = { full: 50, short: 12 }
const KEYS = 3
const WATCHERS = 3
const SCOPE = { group: 'g', kind: 'K' }

/** What only shows with many connections: each writer has one of its own. */
export async function races(report: Report, connect: Connect, depth: Depth): Promise<void> {
  const isolation = (level: string) => setting('default_transaction_isolation', level)
  const kinds: readonly (readonly [name: string, Race])[] = [
    ['read committed', { options: isolation('read committed') }],
    ['named statements', { options: isolation('read committed'), isNamed: true }],
    ['generic plans', { options: setting('plan_cache_mode', 'force_generic_plan') }],
    ['a history of one', { history: 1 }],
    ['repeatable read', { options: isolation('repeatable read'), isNamed: true }],
    ['serializable', { options: isolation('serializable') }],
  ]
  for (const [index, [name, race]] of kinds.entries()) {
    await report.test(`${WRITERS} writers on ${KEYS} documents: ${name}`, () =>
      connect((connections) => raceFor(connections, `race${index}`, { ...race, writes: WRITES[depth] })),
    )
  }
  await report.test('a write that is not committed yet holds up the later ones, and none shows before it', () =>
    connect(holdUp),
  )
  await report.test('tables are made once by many that start at once', () => connect(migrateAtOnce))
}

interface Race {
  readonly options?: string
  readonly isNamed?: boolean
  readonly history?: number
}

export function engineOn(client: PostgresClient, schema: string, history?: number): SqlEngine {
  const parts = { tables: tablesIn({ schema }), history: historyOf({ history }), channel: 'c', polling: { sleep } }
  return postgresEngine(client, parts)
}

/** A document is the text of what it is called and who has written it. */
async function raceFor(
  connections: Connections,
  schema: string,
  { options, isNamed = false, history, writes }: Race & { readonly writes: number },
): Promise<string> {
  await migratePostgres(connections.pool(1), { schema })
  const clients = Array.from({ length: WRITERS }, () => connections.pool(1, options))
  const engines = clients.map((client) => engineOn(isNamed ? namedStatements(client) : client, schema, history))
  const done = new Map<string, string>()
  let stale = 0
  let isOver = false
  const watchers = Array.from({ length: history === undefined ? WATCHERS : 0 }, () =>
    watch(engineOn(connections.pool(1), schema), () => isOver),
  )
  const writers = engines.map(async (engine, writer) => {
    const dice = new Dice(writer + 1)
    for (let i = 0; i < writes; i++) {
      const written = await writeOnce(engine, dice, `${writer}-${i}`)
      if (written === undefined) stale++
      else {
        assert(!done.has(written.revision), `revision ${written.revision} twice`)
        done.set(written.revision, written.change)
      }
    }
  })
  // also when one has failed nobody is left behind on connections that are closed then
  await Promise.allSettled(writers)
  isOver = true
  await Promise.allSettled(watchers)
  await Promise.all(writers)
  for (const seen of await Promise.all(watchers)) assert.deepEqual(seen, sorted(done), 'what a watch was told')
  await checkTables(connections, schema, { done, history })
  assert(stale > 0 && done.size > 0, 'no race at all')
  return `${done.size} written, ${stale} too late`
}

async function writeOnce(
  engine: StoreEngine,
  dice: Dice,
  mark: string,
): Promise<{ readonly revision: string; readonly change: string } | undefined> {
  const key = { ...SCOPE, namespace: 'ns', name: `k${dice.below(KEYS)}` }
  const found = await engine.read(key)
  // one in four wants to create, whatever is there
  const before = dice.below(4) === 0 ? undefined : found
  const after = before !== undefined && dice.below(3) === 0 ? undefined : `${key.name} by ${mark}`
  const commit = await engine.commit({ key, before, after })
  if (commit.kind === 'stale') return undefined
  assert(commit.kind === 'done', JSON.stringify(commit))
  return { revision: commit.revision, change: JSON.stringify([before?.text ?? null, after ?? null]) }
}

/**
 * Follows from the first change on, as fast as it can, in parts that are smaller than what comes.
 */
async function watch(engine: SqlEngine, isOver: () => boolean): Promise<[string, string][]> {
  const seen: [string, string][] = []
  for (let after = '0'; ; ) {
    const wasOver = isOver()
    const page = await engine.changes(SCOPE, after, 7)
    assert(page.kind === 'page', JSON.stringify(page))
    for (const change of page.changes) {
      seen.push([change.revision, JSON.stringify([change.before ?? null, change.after ?? null])])
    }
    after = page.revision
    if (wasOver && !page.hasMore) return seen
  }
}

function sorted(done: ReadonlyMap<string, string>): [string, string][] {
  return [...done].sort(([left], [right]) => Number(left) - Number(right))
}

interface Outcome {
  readonly done: ReadonlyMap<string, string>
  readonly history: number | undefined
}

/** The log is what was answered, without a gap, and the documents are what it says. */
async function checkTables({ rows }: Connections, schema: string, { done, history }: Outcome): Promise<void> {
  const [head] = await rows(`select revision, oldest from "${schema}".ipam_kit_head`)
  assert.equal(head!.revision, String(done.size), 'the head: who lost a race must not move it')
  const log = await rows(`select * from "${schema}".ipam_kit_changes order by revision`)
  if (history !== undefined) {
    return assert(log.length >= history && log.length < WRITERS, `${log.length} changes are still there`)
  }
  const told = log.map((row) => [row.revision, JSON.stringify([row.old_document, row.new_document])])
  assert.deepEqual(told, sorted(done), 'the log')
  assert.deepEqual(
    log.map(({ revision }) => Number(revision)),
    log.map((_, index) => index + 1),
  )
  const expected = new Map<string, unknown>()
  for (const { revision, old_document, new_document } of log) {
    const name = String(new_document ?? old_document).split(' ')[0]!
    if (new_document === null) expected.delete(name)
    else expected.set(name, [new_document, revision])
  }
  const documents = await rows(`select name, document, revision from "${schema}".ipam_kit_documents`)
  assert.deepEqual(new Map(documents.map((row) => [row.name, [row.document, row.revision]])), expected, 'the documents')
}

async function holdUp({ pool, client, rows }: Connections): Promise<undefined> {
  const schema = 'held'
  await migratePostgres(pool(1), { schema })
  const slow = await client()
  const [reader, ...others] = Array.from({ length: 4 }, () => engineOn(pool(1), schema)) as [SqlEngine, ...SqlEngine[]]
  for (const end of ['commit', 'rollback']) {
    const { revision: before } = await reader.scan(SCOPE, {})
    await slow.query('begin')
    const key = (name: string) => ({ ...SCOPE, namespace: 'ns', name: `${end}-${name}` })
    const first = await engineOn(slow, schema).commit({ key: key('slow'), before: undefined, after: 'slow' })
    let answered = 0
    const later = others.map(async (engine, index) => {
      const commit = await engine.commit({ key: key(`${index}`), before: undefined, after: 'late' })
      answered++
      return commit
    })
    while (Number((await rows(`select count(*) from pg_locks where not granted`))[0]!.count) < others.length) {
      await sleep(5)
    }
    assert.equal(answered, 0, 'writes that did not wait')
    assert.deepEqual(await reader.changes(SCOPE, before, 10), {
      kind: 'page',
      changes: [],
      revision: before,
      hasMore: false,
    })
    assert.equal((await reader.scan(SCOPE, {})).revision, before)
    await slow.query(end)
    const revisions = [first, ...(await Promise.all(later))].map((commit) => commit.kind === 'done' && commit.revision)
    const told = await reader.changes(SCOPE, before, 10)
    assert(told.kind === 'page')
    const expected = end === 'commit' ? revisions : revisions.slice(1)
    assert.deepEqual(told.changes.map(({ revision }) => revision).sort(), expected.sort())
  }
  return undefined
}

async function migrateAtOnce({ pool, rows }: Connections): Promise<undefined> {
  for (const level of ['read committed', 'serializable']) {
    const schema = `fresh ${level}`.replaceAll(' ', '_')
    const clients = Array.from({ length: 8 }, () => pool(1, setting('default_transaction_isolation', level)))
    await Promise.all(clients.map((client) => client.query('select 1')))
    await Promise.all(clients.map((client) => migratePostgres(client, { schema })))
    assert.deepEqual(await rows(`select version from ${schema}.ipam_kit_migrations`), [{ version: '1' }])
    assert.deepEqual(await rows(`select revision from ${schema}.ipam_kit_head`), [{ revision: '0' }])
  }
  return undefined
}
