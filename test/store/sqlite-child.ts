// A process of its own at work on a file: node --import tsx test/store/sqlite-child.ts JOB FILE
// CLIENT
//
//   count N    adds one to `spec.count` of the object `shared`, N times, by compare and swap
//   create P   creates P-0, P-1 and so on until it is killed, and prints the name of each that was acknowledged
//   hold MS    prints `held` as soon as it has the lock for writing, and holds it for MS after FILE.release exists
//
// CLIENT is `node:sqlite`, or the URL of a module whose default export is the class.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'

type DatabaseClass = new (file: string) => SqliteDatabase & { close(): void }

const [job, file, client, argument] = process.argv.slice(2) as [string, string, string, string]
const database = new (await databaseClass(client))(file)

async function databaseClass(name: string): Promise<DatabaseClass> {
  if (name !== 'node:sqlite') return (await import(name)).default
  return (process.getBuiltinModule(name) as { DatabaseSync: DatabaseClass }).DatabaseSync
}

function open() {
  const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))
  return sqliteStore(database, { now: Date.now, uid: randomUUID, sleep })
}

const POOL = { apiVersion: 'ipam.example.com/v1', kind: 'Pool' }

async function count(times: number): Promise<void> {
  const store = open()
  let conflicts = 0
  for (let done = 0; done < times; ) {
    const read = await store.get({ ...POOL, namespace: 'ns', name: 'shared' })
    if (!read.ok) throw new Error(read.failure.code)
    const { count } = read.value.spec as { count: number }
    const written = await store.update({ ...read.value, spec: { count: count + 1 } })
    if (written.ok) done++
    else if (written.failure.code === 'STORE_CONFLICT') conflicts++
    else throw new Error(`${written.failure.code}: ${JSON.stringify(written.failure.context)}`)
  }
  console.log(`${conflicts} conflicts`)
}

async function create(prefix: string): Promise<void> {
  const store = open()
  for (let i = 0; ; i++) {
    const name = `${prefix}-${i}`
    const made = await store.create({ ...POOL, metadata: { namespace: 'ns', name }, spec: { text: 'x'.repeat(2_000) } })
    if (!made.ok) throw new Error(made.failure.code)
    process.stdout.write(`${name}\n`)
    // so that what was printed gets out
    await new Promise((done) => setImmediate(done))
  }
}

async function hold(ms: number): Promise<void> {
  const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))
  database.exec('pragma busy_timeout = 5000')
  database.exec('begin immediate')
  process.stdout.write('held\n')
  while (!existsSync(`${file}.release`)) await sleep(5)
  await sleep(ms)
  database.exec('commit')
}

if (job === 'count') await count(Number(argument))
else if (job === 'create') await create(argument)
else await hold(Number(argument))
database.close()
