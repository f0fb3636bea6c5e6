import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { formatRef, refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { Dice } from 'ipam-kit/testing'
import { inClusterSystem } from '../../../src/testing/simulation/in-cluster-system.js'
import { bundle } from '../bundle.js'
import { paced } from '../pace.js'
import type { Part, Report } from '../report.js'
import { startEtcd } from '../servers/etcd.js'
import { importClient, installSqlite } from '../servers/install.js'
import { startPostgres } from '../servers/postgres.js'
import { startRedis } from '../servers/redis.js'
import type { RealServer } from '../servers/server.js'
import { type Engine, openStore } from './open.js'
import { type Expected, lostIn, type Told, takeIn } from './told.js'

const ROUNDS = { full: 200, short: 16 }
/**
 * After how many lines at most a process is killed, and how long after the last of them at most:
 * somewhere on the way of a write.
 */
const MAX_LINES = 40
const MAX_DELAY_MS = 4
const RECONNECT_MS = paced(20_000)

/** In one of so many rounds the server is killed too, with the write of the process in flight. */
const SERVER_EVERY = 8

interface Ground {
  readonly engine: Engine
  readonly url: string
  /** What is behind it, unless that is the process itself. */
  readonly server?: RealServer
  stop(): Promise<void>
}

/**
 * A process is killed in the midst of its work, over and over; what it was told is done has to be
 * there.
 */
export const kill: Part = {
  name: 'kill',
  about: 'kill -9 of a process in mid-run, and of its server, loses no acknowledged write, and the next run ends right',
  place: 'alone',
  async run(report, depth) {
    const rounds = Number(process.env.KILL_ROUNDS ?? ROUNDS[depth])
    await installSqlite()
    const program = await bundle(fileURLToPath(new URL('writer.ts', import.meta.url)), 'writer')
    const on = async (starting: Promise<Ground>) => killOn(report, await starting, { program, rounds })
    // two at a time: most of a round is waiting
    await Promise.all([
      on(serverOf('postgres', startPostgres())).then(() => on(sqliteFile())),
      on(serverOf('redis', startRedis())).then(() => on(serverOf('etcd', startEtcd()))),
    ])
  },
}

async function serverOf(engine: Engine, starting: Promise<RealServer>): Promise<Ground> {
  const server = await starting
  return { engine, url: server.url, server, stop: server.stop }
}

async function sqliteFile(): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-kill-'))
  const stop = async () => rmSync(folder, { recursive: true })
  return { engine: 'sqlite', url: join(folder, 'ipam.db'), stop }
}

async function killOn(
  report: Report,
  ground: Ground,
  { program, rounds }: Pick<Rounds, 'program' | 'rounds'>,
): Promise<void> {
  const { engine, url, stop } = ground
  const { store, close } = await openStore(engine, url, importClient)
  try {
    const dice = new Dice(20_260_101)
    await inClusterSystem().prepare(store, dice)
    await report.test(`${engine}: killed ${rounds} times`, () => killOften({ ground, store, dice, program, rounds }))
  } finally {
    await close()
    await stop()
  }
}

interface Rounds {
  readonly ground: Ground
  readonly store: Store
  readonly dice: Dice
  readonly program: string
  readonly rounds: number
}

async function killOften({ ground, store, dice, program, rounds }: Rounds): Promise<string> {
  const { engine, url, server } = ground
  let [answered, open, done, servers] = [0, 0, 0, 0]
  const begin = () => new Victim(program, [engine, url, String(dice.below(2 ** 30))])
  let next = begin()
  try {
    for (let round = 0; round < rounds; round++) {
      const victim = next
      await victim.isReady
      const expected = await storedIn(store)
      const killsServer = server !== undefined && round % SERVER_EVERY === SERVER_EVERY - 1
      const lines = await victim.workAndDie({
        lines: 1 + dice.below(MAX_LINES),
        delayMs: dice.next() * MAX_DELAY_MS,
        before: async () => (killsServer ? server.kill() : undefined),
      })
      if (killsServer) {
        await server.restart()
        await answersAgain(store)
        servers++
      }
      if (round < rounds - 1) next = begin()
      const underWay = takeIn(lines, expected)
      const stored = await storedIn(store)
      assert.deepEqual(lostIn(expected, stored, underWay), [], `round ${round + 1}`)
      answered += lines.filter(({ kind }) => kind === 'done').length
      open += underWay.size
      done += [...underWay].filter((object) => expected.get(object) !== stored.get(object)).length
      await checkRerun(store)
    }
  } finally {
    next.die()
  }
  assert(answered > rounds, `only ${answered} writes were answered`)
  const killed = server === undefined ? '' : `, ${servers} times with the server`
  return `${answered} answered writes are there${killed}; of ${open} under way ${done} were done`
}

/** Clients connect again by themselves, after a while. */
async function answersAgain(store: Store): Promise<void> {
  const start = performance.now()
  for (;;) {
    const answer = await store.list({ ...inClusterSystem().kinds[0]!, namespace: undefined })
    if (answer.ok) return
    if (performance.now() - start > RECONNECT_MS) throw new Error(`no connection again: ${answer.failure.code}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A fresh provider finishes what the dead one has left. */
async function checkRerun(store: Store): Promise<void> {
  const system = inClusterSystem()
  const ended = await runUntilQuiet(store, [inCluster()], { now: Date.now })
  assert.deepEqual(ended.failures, [], 'failures of the run after the kill')
  const rules = system.rules()
  for (const { apiVersion, kind } of system.kinds) {
    for (const object of unwrap(await store.list({ apiVersion, kind })).items) {
      assert.equal(rules.observe({ kind: 'present', object }, { isHeldBack: false }), undefined)
    }
  }
  assert.equal(await rules.atRest(store), undefined)
}

async function storedIn(store: Store): Promise<Expected> {
  const stored: Expected = new Map()
  for (const { apiVersion, kind } of inClusterSystem().kinds) {
    for (const object of unwrap(await store.list({ apiVersion, kind })).items) {
      stored.set(formatRef(refOf(object)), `${object.metadata.uid} ${object.metadata.resourceVersion}`)
    }
  }
  return stored
}

interface Death {
  readonly lines: number
  readonly delayMs: number
  /** What is done right before it dies. */
  before(): Promise<void>
}

/** A process of writer.ts. */
class Victim {
  readonly #process: ChildProcess
  readonly #lines: Told[] = []
  readonly #ended: Promise<unknown>
  readonly isReady: Promise<void>
  #heard: () => void = () => {}
  /** What it has to say when it ends by itself. */
  #words = ''

  constructor(program: string, args: readonly string[]) {
    this.#process = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#words += text
    })
    const lines = createInterface({ input: this.#process.stdout! })
    this.#ended = once(lines, 'close')
    this.isReady = new Promise((resolve, reject) => {
      this.#process.once('exit', (code) =>
        reject(new Error(`the writer has ended by itself with code ${code}\n${this.#words}`)),
      )
      lines.on('line', (text) => {
        const line = JSON.parse(text) as Told
        this.#lines.push(line)
        if (line.kind === 'ready') resolve()
        else this.#heard()
      })
    })
  }

  /**
   * Lets it work until it has told so many lines and a little longer, kills it, and gives what it
   * has told.
   */
  async workAndDie({ lines, delayMs, before }: Death): Promise<readonly Told[]> {
    const heard = new Promise<void>((resolve, reject) => {
      let left = lines
      this.#heard = () => {
        if (--left === 0) resolve()
      }
      this.#process.once('exit', (code) => reject(new Error(`the writer has given up: ${code}\n${this.#words}`)))
    })
    this.#process.stdin!.write('go\n')
    await heard
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    await before()
    this.die()
    await this.#ended
    return this.#lines
  }

  die(): void {
    this.isReady.catch(() => {})
    this.#process.kill('SIGKILL')
  }
}
