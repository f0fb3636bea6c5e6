import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { settle } from 'ipam-kit/run'
import type { Store, StoreErrorCode, StoreFailure, StoreResult } from 'ipam-kit/store'
import { migratePostgres, type PostgresClient, postgresStore } from 'ipam-kit/store/postgres'
import { Dice } from 'ipam-kit/testing'
import type { PostgresValue } from '../../../src/store/postgres/client.js'
import { pause } from '../pace.js'
import type { Report } from '../report.js'
import type { RealServer } from '../servers/server.js'
import { type Connect, type Connections, setting } from './connections.js'

/** What a store answers when the server says no, and when it says nothing any more. */
export async function failures(report: Report, connect: Connect, server: RealServer): Promise<void> {
  await connect(({ pool }) => migratePostgres(pool(1), { schema: SCHEMA }))
  const tests: Readonly<Record<string, (connections: Connections) => Promise<string | undefined>>> = {
    'a write that waits too long for another is refused, and not done': waitTooLong,
    'a write in a session that may not write is refused': readOnly,
    'a write that waits when its connection dies may have been done': dieWaiting,
    'a write that is done after it was given up is found by writing again, and not by reading': doneLate,
    'a commit waits for the disk in a session that would not': waitForTheDisk,
    'of writes whose connections die none that was answered is lost, and none that was refused is done': dieAtAnyTime,
    'a server that is killed loses no write that was answered': (connections) => killServer(connections, server),
  }
  for (const [name, test] of Object.entries(tests)) await report.test(name, () => connect(test))
}

const SCHEMA = 'failures'

function open(client: PostgresClient): Store {
  return postgresStore(client, { schema: SCHEMA, now: Date.now, uid: randomUUID, sleep })
}

const POOL = { apiVersion: 'ipam.example.com/v1', kind: 'Pool' }
const pool = (name: string): KubeObject => ({ ...POOL, metadata: { namespace: 'ns', name } })

async function failureOf(result: StoreResult<unknown>): Promise<StoreFailure> {
  const answer = await result
  assert(!answer.ok, 'no failure')
  return answer.failure
}

async function namesIn(store: Store): Promise<Set<string>> {
  return new Set(unwrap(await store.list(POOL)).items.map(({ metadata }) => metadata.name))
}

/** Holds the lock that all writes want, while `body` runs. */
async function holding({ client }: Connections, body: () => Promise<void>): Promise<void> {
  const holder = await client()
  await holder.query('begin')
  await holder.query('select from failures.ipam_kit_head for update')
  await body()
  await holder.query('rollback')
}

async function waitTooLong(connections: Connections): Promise<undefined> {
  const reader = open(connections.pool(1))
  for (const [timeout, code] of [
    ['lock_timeout', '55P03'],
    ['statement_timeout', '57014'],
  ] as const) {
    const name = timeout.replace('_', '-')
    const store = open(connections.pool(1, setting(timeout, '50ms')))
    await holding(connections, async () => {
      const failure = await failureOf(store.create(pool(name)))
      assert.deepEqual([failure.code, (failure.cause as { code: string }).code], ['STORE_IO', code])
    })
    assert(!(await namesIn(reader)).has(name))
    unwrap(await store.create(pool(name)))
  }
  return undefined
}

async function readOnly(connections: Connections): Promise<undefined> {
  const store = open(connections.pool(1, setting('default_transaction_read_only', 'on')))
  const failure = await failureOf(store.create(pool('read-only')))
  assert.deepEqual([failure.code, (failure.cause as { code: string }).code], ['STORE_IO', '25006'])
  assert.equal((await failureOf(store.get({ ...POOL, namespace: 'ns', name: 'read-only' }))).code, 'STORE_NOT_FOUND')
  return undefined
}

const OTHERS = 'select pg_terminate_backend(pid) from pg_stat_activity where application_name ='

async function dieWaiting(connections: Connections): Promise<undefined> {
  const store = open(connections.pool(1, setting('application_name', 'waiting')))
  await holding(connections, async () => {
    const write = failureOf(store.create(pool('waiting')))
    const waiting = "select from pg_stat_activity where application_name = 'waiting' and wait_event_type = 'Lock'"
    while ((await connections.rows(waiting)).length === 0) await sleep(5)
    await connections.rows(`${OTHERS} 'waiting'`)
    assert.equal((await write).code, 'STORE_OUTCOME_UNKNOWN')
  })
  // the pool gets another connection
  unwrap(await store.create(pool('waiting')))
  return undefined
}

/**
 * The server goes on with a statement whose client does not wait any more, as after the
 * `query_timeout` of pg or a cut cable.
 */
async function doneLate(connections: Connections): Promise<undefined> {
  const patient = connections.pool(2)
  const impatient: PostgresClient = {
    query: (text: string, values?: PostgresValue[]) => {
      const late = pause(300).then(() => {
        throw new Error('timed out')
      })
      return Promise.race([patient.query(text, values), late])
    },
  }
  const object = pool('late')
  const store = open(connections.pool(1))
  let settling: Promise<unknown> = Promise.resolve()
  await holding(connections, async () => {
    const failure = await failureOf(open(impatient).create(object))
    assert.equal(failure.code, 'STORE_OUTCOME_UNKNOWN')
    const reading = await failureOf(store.get({ ...POOL, namespace: 'ns', name: 'late' }))
    assert.equal(reading.code, 'STORE_NOT_FOUND', 'a read says that it was not done')
    const effect = { kind: 'create', object, why: 'a test' } as const
    settling = settle(store, { effect, failure }).then((settled) => {
      const { change, source } = unwrap(settled)
      assert(change.kind === 'present')
      return { uid: change.object.metadata.uid, source }
    })
    await pause(100)
  })
  const { uid } = unwrap(await store.get({ ...POOL, namespace: 'ns', name: 'late' })).metadata
  assert.deepEqual(await settling, { uid, source: 'read' }, 'the first write is found, which was done by then')
  return undefined
}

/** Without the walwriter, which writes it soon anyway: what is on disk, and what is not. */
async function waitForTheDisk(connections: Connections): Promise<undefined> {
  const { rows, client } = connections
  await rows("alter system set wal_writer_delay = '10s'")
  await rows('select pg_reload_conf()')
  const off = await client(setting('synchronous_commit', 'off'))
  const ahead = async () => {
    const [row] = (
      await off.query('select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn()) as n')
    ).rows
    return Number(row!.n)
  }
  const store = open(off)
  await off.query('create table failures.other (x int)')
  const left: number[] = []
  for (let i = 0; i < 3; i++) {
    await off.query('insert into failures.other values (1)')
    assert((await ahead()) > 0, 'the session itself does not wait')
    unwrap(await store.create(pool(`disk-${i}`)))
    left.push(await ahead())
  }
  // the server itself may log something in between
  assert(left.includes(0), `bytes of the log that are not on disk: ${left}`)
  await rows('alter system reset wal_writer_delay')
  await rows('select pg_reload_conf()')
  return undefined
}

async function dieAtAnyTime(connections: Connections): Promise<string> {
  const store = open(connections.pool(4, setting('application_name', 'victim')))
  const answers = new Map<string, StoreErrorCode | 'done'>()
  let isOver = false
  const dice = new Dice(7)
  const killing = (async () => {
    for (let round = 0; round < 60; round++) {
      await sleep(dice.below(25))
      await connections.rows(`${OTHERS} 'victim'`)
    }
    isOver = true
  })()
  const writers = [0, 1, 2, 3].map(async (writer) => {
    for (let i = 0; !isOver; i++) {
      const name = `victim-${writer}-${i}`
      const made = await store.create(pool(name))
      answers.set(name, made.ok ? 'done' : made.failure.code)
    }
  })
  await Promise.all([killing, ...writers])
  return compare(answers, await namesIn(open(connections.pool(1))))
}

async function killServer(connections: Connections, server: RealServer): Promise<string> {
  const store = open(connections.pool(4))
  const answers = new Map<string, StoreErrorCode | 'done'>()
  for (let round = 0; round < 3; round++) {
    let isDown = false
    const writers = [0, 1, 2, 3].map(async (writer) => {
      for (let i = 0; !isDown; i++) {
        const name = `kill-${round}-${writer}-${i}`
        const made = await store.create(pool(name))
        answers.set(name, made.ok ? 'done' : made.failure.code)
      }
    })
    await pause(150)
    await server.kill()
    isDown = true
    await Promise.all(writers)
    const failure = await failureOf(store.create(pool('down')))
    assert.equal(failure.code, 'STORE_IO', 'nobody has heard of it')
    await server.restart()
  }
  return compare(answers, await namesIn(open(connections.pool(1))))
}

/** What was answered against what is there. */
function compare(answers: ReadonlyMap<string, StoreErrorCode | 'done'>, names: ReadonlySet<string>): string {
  const counts = new Map<string, number>()
  for (const [name, answer] of answers) {
    const isThere = names.has(name)
    if (answer === 'done') assert(isThere, `${name} was answered and is not there`)
    else if (answer !== 'STORE_OUTCOME_UNKNOWN') {
      assert.equal(answer, 'STORE_IO')
      assert(!isThere, `${name} was refused and is there`)
    }
    const what = answer === 'STORE_OUTCOME_UNKNOWN' ? `unknown and ${isThere ? '' : 'not '}done` : answer
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  assert((counts.get('done') ?? 0) > 0, 'nothing was answered')
  return [...counts].map(([what, count]) => `${count} ${what}`).join(', ')
}
