import assert from 'node:assert/strict'
import { migratePostgres, namedStatements } from 'ipam-kit/store/postgres'
import type { SqlEngine } from '../../../src/store/sql/engine.js'
import type { Report } from '../report.js'
import type { Connect, Connections } from './connections.js'
import { engineOn } from './races.js'

const SCHEMA = 'plans'
const SCOPE = { group: 'g', kind: 'K' }
const DOCUMENTS = 40
/** A plan is kept from the sixth call of a statement on. */
const CALLS = 10

/**
 * Plans are made when the tables are nearly empty, and kept until they are analyzed, however large
 * they are by then.
 */
export async function plans(report: Report, connect: Connect): Promise<void> {
  await report.test('no statement reads a whole table, with the plan that is made when it is nearly empty', () =>
    connect(everyPlan),
  )
}

async function everyPlan({ pool }: Connections): Promise<string> {
  const only = pool(1)
  await migratePostgres(only, { schema: SCHEMA })
  const engine = engineOn(namedStatements(only), SCHEMA)
  await write(engine, 0, 2)
  for (let i = 0; i < CALLS; i++) await read(engine)
  await write(engine, 2, DOCUMENTS)
  return looked(only)
}

async function write(engine: SqlEngine, first: number, end: number): Promise<void> {
  for (let i = first; i < end; i++) {
    const key = { ...SCOPE, namespace: 'a', name: `n${i}` }
    await engine.commit({ key, before: undefined, after: 'text' })
    await engine.commit({ key, before: await engine.read(key), after: 'other' })
    if (i % 2 === 0) await engine.commit({ key, before: await engine.read(key), after: undefined })
  }
  const { documents } = await engine.scan(SCOPE, {})
  assert.equal(documents.length, end / 2)
}

async function read(engine: SqlEngine): Promise<void> {
  for (const scope of [SCOPE, { ...SCOPE, namespace: 'a' }]) {
    for (const after of [undefined, '0', '3']) await engine.changes(scope, after, 500)
    await engine.scan(scope, {})
    await engine.scan(scope, { limit: 3, after: { namespace: 'a', name: 'n0' } })
    await engine.scan({ ...scope, kind: 'None' }, {})
    await engine.scan({ ...scope, kind: 'None' }, { limit: 3 })
  }
}

async function looked(client: {
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>
}): Promise<string> {
  const prepared = (await client.query(
    `select name, statement, cardinality(parameter_types) as count from pg_prepared_statements where statement like '%${SCHEMA}%'`,
  )) as { readonly rows: readonly { readonly name: string; readonly statement: string; readonly count: number }[] }
  // 3 writes, one reading, the head; and for a kind, with a namespace and without: 4 lists and 2
  // looks at the changes
  assert.equal(prepared.rows.length, 17)
  await client.query('set plan_cache_mode = force_generic_plan')
  for (const { name, statement, count } of prepared.rows) {
    const nulls = count === 0 ? '' : `(${Array.from({ length: count }, () => 'null').join()})`
    const { rows } = (await client.query(`explain execute "${name}"${nulls}`)) as {
      readonly rows: readonly { readonly 'QUERY PLAN': string }[]
    }
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert(!/Seq Scan on ipam_kit_(changes|documents)/.test(plan), `${statement}\n${plan}`)
  }
  return `${prepared.rows.length} statements`
}
