import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { AddressPool, type AddressPoolSpec } from 'ipam-kit/allocator'
import { Address } from 'ipam-kit/cidr'
import type { SqliteDatabase } from 'ipam-kit/store/sqlite'
import { describe, expect, it, test } from 'vitest'
import { KeptPool } from '../../docs/examples/keep-a-pool.js'
import { freshFile, nodeSqlite } from '../store/sqlite-fixture.js'
import { SmallDatabase, SmallFile } from './small-sqlite.js'

const spec: AddressPoolSpec = { ranges: ['10.0.0.0/28', 'fd00::/125'], cooldownSeconds: 2, holdSeconds: 5 }

const NO_ANSWER = 'the write has no answer'

/** Each writing statement is a point at which a process may die, or a write may fail. */
const isWrite = (sql: string) => /^(?:begin|insert|delete|update|commit)/.test(sql)

type Cut = { readonly after: number; readonly isDone: boolean; readonly kind: 'kill' | 'failure' }

/**
 * A database whose write number `after` does not answer, done or not. After a `kill` no statement
 * runs, until `restart`, which rolls back as SQLite does. After a `failure` the next ones run.
 */
function cutting(database: SqliteDatabase, { after, isDone, kind }: Cut) {
  let writes = 0
  let isDead = false
  let isOpen = false
  const run = <T>(sql: string, call: () => T): T => {
    if (isDead) throw new Error('the process is dead')
    const isCut = isWrite(sql) && ++writes === after
    // a transaction that did not begin for its caller did not begin
    const isRun = !isCut || (isDone && sql !== 'begin immediate')
    const answer = isRun ? call() : undefined
    if (isRun) isOpen = sql === 'begin immediate' || (isOpen && sql !== 'commit' && sql !== 'rollback')
    if (!isCut) return answer as T
    isDead = kind === 'kill'
    throw new Error(NO_ANSWER)
  }
  const statement = (sql: string) => {
    const inner = database.prepare(sql)
    return {
      run: (...values: unknown[]) => run(sql, () => inner.run(...values)),
      get: (...values: unknown[]) => run(sql, () => inner.get(...values)),
      all: (...values: unknown[]) => run(sql, () => inner.all(...values)),
    }
  }
  const cut: SqliteDatabase = { exec: (sql) => run(sql, () => database.exec(sql)), prepare: statement }
  const restart = () => {
    if (isOpen) database.exec('rollback')
    isOpen = false
    isDead = false
  }
  return { database: cut, restart }
}

type Step =
  | { readonly kind: 'allocate'; readonly machine: number; readonly dualStack: boolean }
  | { readonly kind: 'release'; readonly machine: number }
  | { readonly kind: 'wait'; readonly ms: number }

const machine = fc.integer({ min: 0, max: 7 })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('allocate' as const), machine, dualStack: fc.boolean() }),
    fc.record({ kind: fc.constant('release' as const), machine }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 3000 }) }),
  ),
  { maxLength: 25 },
)
const cuts: fc.Arbitrary<Cut> = fc.record({
  after: fc.integer({ min: 1, max: 60 }),
  isDone: fc.boolean(),
  kind: fc.constantFrom('kill', 'failure'),
})

/** What a caller is told: the addresses that an owner has got, or given back, or the refusal. */
type Answer = string

/** A pool in a file and one in memory take the same steps. */
type Pools = Pick<KeptPool, 'allocate' | 'releaseOwner'>

function answerOf(pool: Pools, step: Exclude<Step, { kind: 'wait' }>): Answer {
  if (step.kind === 'release') {
    pool.releaseOwner(`uid-${step.machine}`)
    return 'released'
  }
  const want = { kind: step.dualStack ? 'dualStack' : 'any' } as const
  const owner = { uid: `uid-${step.machine}`, key: `machine ${step.machine}` }
  const outcome = pool.allocate({ owner, stickyKey: `key-${step.machine}`, want })
  return 'addresses' in outcome ? outcome.addresses.map(Address.format).join(' ') : outcome.kind
}

function holdsIn(pool: Pick<AddressPool, 'entries'>): string[] {
  return pool.entries().map(({ address, holds }) => `${Address.format(address)} ${JSON.stringify(holds[0]?.owner)}`)
}

/**
 * Runs steps on a pool with one cut. Its callers have to be told what an `AddressPool` in memory
 * tells them that is never cut. A caller without an answer asks again.
 */
function surviveACut(inner: SqliteDatabase, steps: readonly Step[], cut: Cut): void {
  let nowMs = 1_000_000
  const { database, restart } = cutting(inner, cut)
  const open = () => new KeptPool(database, spec, { now: () => nowMs })
  const memory = new AddressPool(spec)
  const uncut: Pools = {
    allocate: (request) => memory.allocate(request, { nowMs }),
    releaseOwner: (uid) => memory.releaseOwner(uid, { nowMs }),
  }
  let pool = open()
  for (const step of steps) {
    if (step.kind === 'wait') {
      nowMs += step.ms
      continue
    }
    let answer: Answer
    try {
      answer = answerOf(pool, step)
    } catch (error) {
      if (!(error instanceof Error && error.message === NO_ANSWER)) throw error
      if (cut.kind === 'kill') {
        restart()
        pool = open()
      }
      answer = answerOf(pool, step)
    }
    expect(answer).toBe(answerOf(uncut, step))
    expect(holdsIn(pool)).toEqual(holdsIn(memory))
    expect(pool.counts()).toEqual(memory.counts({ nowMs }))
  }
  expect(holdsIn(open())).toEqual(holdsIn(memory))
}

const engines: [string, () => SqliteDatabase & { close?(): void }][] = [
  ['rows in memory', () => new SmallDatabase(new SmallFile())],
]
if (nodeSqlite !== undefined) engines.push(['node:sqlite', () => new nodeSqlite!.DatabaseSync(':memory:')])

describe.each(engines)('a pool in a file (docs/examples/keep-a-pool.ts), %s', (_, open) => {
  it('tells its callers the same as a pool without cuts, wherever a write is cut', () => {
    fc.assert(
      fc.property(steps, cuts, (steps, cut) => {
        const database = open()
        surviveACut(database, steps, cut)
        database.close?.()
      }),
    )
  })

  it('is the same after a cut at each write of one history', () => {
    const give = (machine: number): Step => ({ kind: 'allocate', machine, dualStack: machine % 2 === 0 })
    const release = (machine: number): Step => ({ kind: 'release', machine })
    const wait: Step = { kind: 'wait', ms: 2500 }
    const history = [give(0), give(1), release(0), give(2), wait, give(3), give(0), release(1), wait, wait, give(4)]
    for (let after = 1; after <= 40; after++) {
      for (const isDone of [true, false]) {
        for (const kind of ['kill', 'failure'] as const) {
          const database = open()
          surviveACut(database, history, { after, isDone, kind })
          database.close?.()
        }
      }
    }
  })
})

test('two processes that overlap give no address twice', () => {
  const file = new SmallFile()
  const [old, next] = [0, 1].map(() => new KeptPool(new SmallDatabase(file), spec, { now: () => 0 }))
  const give = (pool: KeptPool | undefined, uid: string) => pool!.allocate({ owner: { uid } })
  expect(give(old, 'a')).toMatchObject({ kind: 'allocated', address: Address.parse('10.0.0.1') })
  expect(give(next, 'b')).toMatchObject({ kind: 'allocated', address: Address.parse('10.0.0.2') })
  expect(give(old, 'b')).toMatchObject({ kind: 'already', address: Address.parse('10.0.0.2') })
  old!.releaseOwner('b')
  expect(give(next, 'c')).toMatchObject({ kind: 'allocated', address: Address.parse('10.0.0.3') })
})

/** The program, with a function that asks it for a line. */
function startProgram(file: string) {
  const program = fileURLToPath(new URL('../../docs/examples/keep-a-pool-main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', program, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, lines }
}

/**
 * Asks for 60 addresses, kills the program at an answer, and adds what it was told. `first` is the
 * number of the first machine.
 */
async function askUntilKilled(
  file: string,
  told: Map<string, string>,
  { first, killAt }: { readonly first: number; readonly killAt: number },
): Promise<void> {
  const { child, lines } = startProgram(file)
  const ended = new Promise((done) => child.on('close', done))
  child.stdin.on('error', () => {})
  child.stdin.write(Array.from({ length: 60 }, (_, nth) => `allocate m-${first + nth}\n`).join(''))
  for (let answers = 1; ; answers++) {
    const { value, done } = await lines.next()
    if (done) break
    if (answers === killAt) child.kill('SIGKILL')
    const [, machine, address] = String(value).split(' ') as [string, string, string]
    if (told.has(machine)) expect(told.get(machine)).toBe(address)
    told.set(machine, address)
  }
  await ended
}

async function checkKills(): Promise<void> {
  const { file, remove } = freshFile()
  const told = new Map<string, string>()
  for (const killAt of [1, 8, 20, 33]) await askUntilKilled(file, told, { first: killAt * 4, killAt })
  expect(told.size).toBeGreaterThan(33)
  expect(new Set(told.values()).size).toBe(told.size)
  // after the last kill each machine has what it was told
  const { child, lines } = startProgram(file)
  for (const [machine, address] of told) {
    child.stdin.write(`allocate ${machine}\n`)
    expect((await lines.next()).value).toBe(`allocate ${machine} ${address}`)
  }
  child.kill('SIGKILL')
  await new Promise((done) => child.on('close', done))
  remove()
}

/** The session of the guide is what the program answers. */
async function checkSession(): Promise<void> {
  const guide = readFileSync(new URL('../../docs/guides/keep-a-pool.md', import.meta.url), 'utf8')
  const session = /^```text\n([\s\S]*?)^```$/m.exec(guide)![1]!.trimEnd().split('\n')
  const { file, remove } = freshFile()
  const { child, lines } = startProgram(file)
  child.stdin.end(session.map((line) => `${line.replace(/ [\d.]+$/, '')}\n`).join(''))
  for (const line of session) expect((await lines.next()).value).toBe(line)
  await new Promise((done) => child.on('close', done))
  remove()
}

// Node 20 has no SQLite: there the cuts above are all
if (nodeSqlite !== undefined) {
  it('the program loses nothing in kills with SIGKILL', checkKills, 60_000)
  it('the program answers as its guide says', checkSession, 60_000)
}
