import assert from 'node:assert/strict'
import type { Engine } from './ground.js'
import type { Told } from './told.js'
import { WriterProcess } from './writer-process.js'

const WRITERS = 4
/** Tasks of one process. */
const AT_ONCE = 8

export interface Work {
  readonly program: string
  readonly engine: Engine
  readonly place: string
  /** How many owners each process serves. */
  readonly owners: number
}

type Has = Extract<Told, { kind: 'has' }>

/** Processes that serve owners of their own side by side, and what they have told. */
export class Writers {
  readonly #work: Work
  readonly #processes: WriterProcess[] = []
  /** What owners were told that they have. */
  readonly told = new Map<string, readonly string[]>()
  readonly #gone = new Set<string>()
  /** What was told of allocations, without those that were there already. */
  readonly #has: Has[] = []
  /** Told to after each allocation of the process that is to die. */
  #onHas: () => void = () => {}
  /** Of the process that was begun again: what was there, told before or not. */
  #found = 0

  constructor(work: Work) {
    this.#work = work
  }

  async start(): Promise<void> {
    for (let nth = 0; nth < WRITERS; nth++) this.#processes.push(this.#begin(nth))
    await Promise.all(this.#processes.map(({ isReady }) => isReady))
  }

  /**
   * Gives to all, and kills the first process after so many allocations of its own. @returns what
   * was seen, and how long it took
   */
  async give(killedAfter: number): Promise<string> {
    const start = performance.now()
    const [first, ...others] = this.#processes
    const rest = Promise.all(others.map((process) => process.obey('give')))
    // it is waited for at the end
    rest.catch(() => {})
    const dying = new Promise<void>((resolve) => {
      this.#onHas = () => {
        if (this.#has.filter(({ owner }) => this.#writerOf(owner) === 0).length === killedAfter) resolve()
      }
    })
    const last = first!.obey('give')
    await Promise.race([dying, last])
    await first!.kill()
    await last
    const again = this.#begin(0)
    this.#processes[0] = again
    await again.isReady
    await Promise.all([rest, again.obey('give')])
    assert(this.#found >= killedAfter, `it had told of ${killedAfter}, and found ${this.#found}`)
    return `killed after ${killedAfter} of ${this.#work.owners} and found ${this.#found}; ${this.#summary(start)}`
  }

  /** Takes back from all. */
  async take(): Promise<string> {
    const start = performance.now()
    await Promise.all(this.#processes.map((process) => process.obey('take')))
    assert.equal(this.#gone.size, this.told.size)
    return `${Math.round(this.told.size / ((performance.now() - start) / 1000))} a second`
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()))
  }

  #begin(nth: number): WriterProcess {
    const { program, engine, place, owners } = this.#work
    const range = [nth * owners, (nth + 1) * owners]
    return new WriterProcess(program, [engine, place, ...range, AT_ONCE].map(String), (line) => this.#hear(line))
  }

  #hear(line: Told): void {
    if (line.kind === 'gone') {
      assert.equal(line.count, 2, `${line.owner} gave back ${line.count}`)
      this.#gone.add(line.owner)
    }
    if (line.kind !== 'has') return
    const addresses = [...line.addresses].sort()
    const before = this.told.get(line.owner)
    // what was acknowledged is found again
    if (before !== undefined) assert.deepEqual([line.isNew, addresses], [false, before], line.owner)
    this.told.set(line.owner, addresses)
    if (!line.isNew) this.#found++
    else {
      this.#has.push(line)
      if (this.#writerOf(line.owner) === 0) this.#onHas()
    }
  }

  #writerOf(owner: string): number {
    return Math.floor(Number(owner.slice('owner-'.length)) / this.#work.owners)
  }

  #summary(start: number): string {
    const seconds = (performance.now() - start) / 1000
    const times = this.#has.map(({ ms }) => ms).sort((left, right) => left - right)
    const at = (part: number) => `${times[Math.floor(times.length * part)]!.toFixed(0)} ms`
    const mean = (field: 'requests' | 'conflicts') =>
      (this.#has.reduce((sum, has) => sum + has[field], 0) / this.#has.length).toFixed(2)
    const rate = Math.round(this.#has.length / seconds)
    const most = Math.max(...this.#has.map(({ conflicts }) => conflicts))
    const conflicts = `${mean('conflicts')} conflicts each, ${most} at most`
    return `${rate} a second, p50 ${at(0.5)}, p99 ${at(0.99)}, ${mean('requests')} requests and ${conflicts}`
  }
}
