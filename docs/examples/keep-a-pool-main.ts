// A program that gives addresses to machines, and may be killed at any time:
//
//   npx tsx keep-a-pool-main.ts pool.db
//
// It reads lines such as `allocate web-0` and `release web-0`, and answers each with a line.
import { createInterface } from 'node:readline'
import { explainRefusal } from 'ipam-kit/allocator'
import { Address } from 'ipam-kit/cidr'
import { now } from 'ipam-kit/node'
import type { SqliteDatabase } from 'ipam-kit/store/sqlite'
import { KeptPool } from './keep-a-pool.js'

type DatabaseClass = new (file: string) => SqliteDatabase

// Node has SQLite from 22.13 on; better-sqlite3 is a package with the same methods
const inNode = process.getBuiltinModule('node:sqlite') as { readonly DatabaseSync: DatabaseClass } | undefined
const client = 'better-sqlite3'
const Database = inNode?.DatabaseSync ?? ((await import(client)) as { readonly default: DatabaseClass }).default

const database = new Database(process.argv[2] ?? 'pool.db')
const pool = new KeptPool(database, { ranges: ['10.20.0.0/24'], cooldownSeconds: 60 }, { now })

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, machine = ''] = line.split(' ')
  if (verb === 'release') {
    const { holds } = pool.releaseOwner(machine)
    console.log(line, holds.map(({ address }) => Address.format(address)).join(' ') || 'nothing')
    continue
  }
  const outcome = pool.allocate({ owner: { uid: machine }, stickyKey: machine })
  const isGiven = outcome.kind === 'allocated' || outcome.kind === 'already'
  console.log(line, isGiven ? Address.format(outcome.address) : explainRefusal(outcome))
}
