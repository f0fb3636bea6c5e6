import { IPBlock } from '../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../crd/ipam-kit/ip-pool.js'
import { kindKey } from '../../crd/meta/object.js'
import type { Change, Task } from '../../plan/index.js'
import { KnownBlocks } from '../../provider/blocks/index.js'
import { objectLocks, runTask } from '../../run/index.js'
import type { ObjectLocks } from '../../run/task/object-locks.js'
import type { Store } from '../../store/index.js'
import { SimulatedCrash } from '../crashing-store.js'
import type { Dice } from './dice.js'
import type { Scheduler } from './scheduler.js'
import { simulatedLocks } from './simulated-locks.js'
import type { Truth } from './truth.js'

/** What a writer of blocks has to do, one owner at a time. */
export interface BlockJob {
  readonly label: string
  task(known: KnownBlocks): Task
  /** Told how it ended. Not called if the writer has died, or has to try again. */
  done(outcome: { readonly kind: string }): void
}

export interface BlockWriterWorld {
  readonly truth: Truth
  readonly scheduler: Scheduler
  readonly dice: Dice
  readonly now: () => number
  readonly isRough: () => boolean
  /** Told when a writer has died, before it begins again. */
  readonly ends: (writer: string) => Promise<void>
  readonly failed: (problem: string) => void
}

const KINDS = [IPPool.info, IPBlock.info]
const KIND_KEYS = KINDS.map(kindKey)

/**
 * What a writer knows. `all`: by lists and a watch that lags behind. `asked`: what each task asks
 * for, anew. `remembered`: what its tasks have asked for since it began, which grows old.
 */
export type Knowledge = 'all' | 'asked' | 'remembered'

/**
 * An agent that gives addresses to its owners: several tasks at a time, over what it knows. It dies
 * and begins again with nothing but what is stored.
 */
export class BlockWriter {
  readonly name: string
  readonly #world: BlockWriterWorld
  readonly #store: Store
  readonly #knows: Knowledge
  readonly #beginsAnew: boolean
  /** How its tasks wait for each other, if they do. */
  readonly #locks: ObjectLocks | undefined
  readonly #next: () => BlockJob | undefined
  /** How many entries of the log were told, by kind. */
  readonly #told = new Map<string, number>()
  readonly #jobs: BlockJob[] = []
  #known: KnownBlocks
  #busy = 0
  #isDead = false
  #began = 0

  constructor(
    name: string,
    world: BlockWriterWorld,
    parts: {
      readonly store: Store
      readonly knows: Knowledge
      /** Whether what has failed may be begun anew by another task. */
      readonly beginsAnew: boolean
      /** Whether its tasks wait for each other. */
      readonly usesLocks: boolean
      readonly workers: number
      /** Takes the next job, if there is one. */
      readonly next: () => BlockJob | undefined
    },
  ) {
    this.name = name
    this.#world = world
    this.#store = parts.store
    this.#knows = parts.knows
    this.#beginsAnew = parts.beginsAnew
    this.#locks = parts.usesLocks ? objectLocks() : undefined
    this.#next = parts.next
    this.workers = parts.workers
    this.#known = this.#fresh()
  }

  readonly workers: number

  get isDead(): boolean {
    return this.#isDead
  }

  get seen(): number {
    return this.#began
  }

  /** Runs until the simulation ends. */
  async live(): Promise<void> {
    const { scheduler, ends, failed } = this.#world
    for (;;) {
      await scheduler.turn(this.name, 'begins')
      try {
        await this.#rule()
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) return failed(`${this.name} has thrown ${textOf(error)}`)
        this.#isDead = true
      }
      // of a dead one nothing begins any more
      this.#waiting = undefined
      this.#busy -= this.#jobs.length
      this.#jobs.length = 0
      if (this.#busy > 0) await scheduler.turn(this.name, 'ends', () => this.#busy === 0)
      this.#told.clear()
      await ends(this.name)
      this.#isDead = false
    }
  }

  /** One of several workers that carry tasks out concurrently. Runs until the simulation ends. */
  async work(name: string): Promise<void> {
    const { scheduler, failed } = this.#world
    for (;;) {
      await scheduler.turn(name, 'takes a job', () => this.#jobs.length > 0 && !this.#isDead)
      const job = this.#jobs.shift() as BlockJob
      try {
        await this.#carryOut(job, name)
      } catch (error) {
        this.#isDead = true
        if (!(error instanceof SimulatedCrash)) failed(`${name} has thrown ${textOf(error)}`)
      }
      this.#busy--
    }
  }

  async #carryOut(job: BlockJob, worker: string): Promise<void> {
    const { now, scheduler, dice } = this.#world
    const known = this.#knows === 'asked' ? this.#fresh() : this.#known
    let task = job.task(known)
    const locks = this.#locks && simulatedLocks(this.#locks, scheduler, worker)
    let before: Parameters<typeof runTask>[3]
    for (;;) {
      const onStep = (step: { readonly kind: string }) => scheduler.note(this.name, `  ${job.label}: ${step.kind}`)
      const ended = await runTask(task, this.#store, { now, onStep, locks }, before)
      before = undefined
      if (ended.kind === 'done') return job.done(ended.outcome)
      // the same task continues, because it knows what it has sent; or another one, if that is
      // known without it
      if (ended.kind === 'unsettled') before = ended.unsettled
      else if (this.#beginsAnew && dice.chance(0.5)) task = job.task(known)
    }
  }

  async #rule(): Promise<void> {
    const { scheduler, dice, isRough } = this.#world
    this.#known = this.#fresh()
    if (this.#knows === 'all') await this.#listAll()
    for (;;) {
      const isFree = () => this.#busy < this.workers
      let job: BlockJob | undefined
      await scheduler.turn(this.name, 'continues', () => {
        if (this.#isDead || this.#hasNews()) return true
        return isFree() && this.#peek() !== undefined
      })
      if (this.#isDead || (isRough() && dice.chance(0.005))) {
        this.#isDead = true
        return
      }
      if (this.#hasNews() && (dice.chance(0.5) || !isFree())) {
        this.#tell()
        continue
      }
      if (isFree()) job = this.#take()
      if (job === undefined) continue
      this.#busy++
      this.#jobs.push(job)
    }
  }

  /** A job that was looked at, and not begun. */
  #waiting: BlockJob | undefined

  #peek(): BlockJob | undefined {
    this.#waiting ??= this.#next()
    return this.#waiting
  }

  #take(): BlockJob | undefined {
    const job = this.#peek()
    this.#waiting = undefined
    return job
  }

  async #listAll(): Promise<void> {
    const { truth } = this.#world
    this.#began = truth.log.length
    for (const kind of KINDS) {
      for (;;) {
        const listed = await this.#store.list({ apiVersion: kind.apiVersion, kind: kind.kind })
        if (!listed.ok) continue
        this.#told.set(kindKey(kind), truth.lengthAt(Number(listed.value.resourceVersion)))
        for (const object of listed.value.items) this.#show({ kind: 'present', object })
        break
      }
    }
  }

  /** Tells what a watch has next, or something old once more. */
  #tell(): void {
    const { truth, dice, isRough } = this.#world
    const kinds = KIND_KEYS.filter((kind) => this.#newsOf(kind) >= 0)
    const kind = dice.pick(kinds)
    const at = this.#newsOf(kind)
    if (isRough() && at > this.#began && dice.chance(0.1)) {
      const old = truth.log[this.#began + dice.below(at - this.#began)]
      if (old !== undefined) this.#show(old.change)
      return
    }
    this.#told.set(kind, at + 1)
    const entry = truth.log[at]
    if (entry !== undefined) this.#show(entry.change)
  }

  #hasNews(): boolean {
    if (this.#knows !== 'all') return false
    for (const kind of KIND_KEYS) if (this.#newsOf(kind) >= 0) return true
    return false
  }

  /** Where the log has something of a kind that was not told; -1: nowhere. */
  #newsOf(kind: string): number {
    const told = this.#told.get(kind)
    return told === undefined ? -1 : this.#world.truth.next(kind, told)
  }

  #show(change: Change): void {
    this.#known.observe(change, { nowMs: this.#world.now() })
  }

  #fresh(): KnownBlocks {
    return new KnownBlocks({ isComplete: this.#knows === 'all' })
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
