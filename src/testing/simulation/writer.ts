import { kindKey } from '../../crd/meta/object.js'
import { type Change, type EventEffect, ObjectCache, type Planner, type Selection } from '../../plan/index.js'
import type { Applied, ApplyOptions } from '../../plan/object-cache.js'
import { runKey, settle } from '../../run/index.js'
import type { AnyCaller } from '../../run/plan/run-plan.js'
import type { ListQuery, Store } from '../../store/index.js'
import { SimulatedCrash } from '../crashing-store.js'
import type { Dice } from './dice.js'
import { planTwice } from './plan-twice.js'
import type { Scheduler } from './scheduler.js'
import type { Truth } from './truth.js'

/** What all writers of a simulation share. */
export interface WriterWorld {
  readonly truth: Truth
  readonly scheduler: Scheduler
  readonly dice: Dice
  readonly now: () => number
  /** Whether a writer may write now. */
  readonly mayWrite: (writer: Writer) => boolean
  /**
   * Whether a writer that has begun may still send something: not if another one may write by now.
   */
  readonly canWrite: (writer: Writer) => boolean
  /** Told when a writer begins to write. */
  readonly begins: (writer: Writer) => void
  /** Told when the term of a writer has ended, before the next one begins. */
  readonly ends: (writer: Writer) => Promise<void>
  /** Told when a writer has died, or gives its turn to write away. */
  readonly resigned: (writer: Writer) => void
  /** Whether things go wrong just now: the calm at the end has no faults. */
  readonly isRough: () => boolean
  /** How many plans a writer carries out at a time. */
  readonly concurrency: number
  /** Whether a planner is shown own writes before the watch tells of them. */
  readonly showsOwnWrites: boolean
  /** Told of each Event. */
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /** Told of a mistake of the code under test. */
  readonly failed: (problem: string) => void
}

/** How long a watch may tell nothing: about as long as people need for three steps. */
const MAX_STALL_MS = 4000

/**
 * A controller: lists, follows a watch that lags behind, plans, writes. It dies and begins again
 * with nothing but what is stored.
 *
 * Each watch is one of a selection, and tells in order, as that of an API server does; they lag
 * behind each other, and old events come again.
 */
export class Writer {
  readonly name: string
  readonly #world: WriterWorld
  readonly #store: Store
  readonly #planner: Planner
  readonly #cache = new ObjectCache({ onAnnounced: (applied) => this.#wake(applied) })
  readonly #watches: readonly Selection[]
  readonly #external: AnyCaller | undefined
  readonly #queue = new Set<string>()
  /**
   * How many entries of the log there were when this term had its first lists: an API server tells
   * its client nothing from before a list.
   */
  #began = 0
  /** How many entries of the log were told, by watch. */
  readonly #told = new Map<Selection, number>()
  /** Watches that tell nothing for a while, and until when. */
  readonly #stalled = new Map<Selection, number>()
  /** Keys that want another plan after a while, and when. */
  readonly #timers = new Map<string, number>()
  /** Keys whose plans are being carried out; those that no worker has taken yet. */
  readonly #busy = new Set<string>()
  readonly #jobs: string[] = []
  /**
   * By key whose plan is being carried out, or was when this writer died: how much it had been told
   * when it made the first plan.
   */
  readonly #plannedAt = new Map<string, number>()
  #isDead = false

  constructor(
    name: string,
    world: WriterWorld,
    parts: { readonly store: Store; readonly planner: Planner; readonly external: AnyCaller | undefined },
  ) {
    this.name = name
    this.#world = world
    this.#store = parts.store
    this.#planner = planTwice(parts.planner, world.failed)
    const watches = parts.planner.watches.map((watch) => [this.#cache.selectionKey(watch), watch] as const)
    this.#watches = [...new Map(watches).values()]
    parts.planner.share?.(this.#cache)
    this.#external = parts.external
  }

  /** Runs until the simulation ends. */
  async live(): Promise<void> {
    const { scheduler, mayWrite, begins, ends, resigned, failed } = this.#world
    for (;;) {
      await scheduler.turn(this.name, 'begins', () => mayWrite(this))
      begins(this)
      try {
        await this.#rule()
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) {
          failed(`${this.name} has thrown ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
          return
        }
      }
      // a writer that resigns ends its plans; plans of a dead writer do not continue
      if (this.#busy.size > 0) await scheduler.turn(this.name, 'ends', () => this.#busy.size === 0)
      this.#forget()
      await ends(this)
      resigned(this)
    }
  }

  /** One of several workers that carry plans out concurrently. Runs until the simulation ends. */
  async work(name: string): Promise<void> {
    const { scheduler, failed } = this.#world
    for (;;) {
      await scheduler.turn(name, 'takes a key', () => this.#jobs.length > 0)
      const key = this.#jobs.shift()!
      try {
        await this.#carryOut(key)
      } catch (error) {
        this.#isDead = true
        if (!(error instanceof SimulatedCrash)) {
          failed(`${name} has thrown ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
        }
      }
      this.#busy.delete(key)
    }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** One term: from a fresh list to its end. */
  async #rule(): Promise<void> {
    const { scheduler, dice, canWrite, isRough } = this.#world
    await this.#listAll()
    for (;;) {
      await scheduler.turn(this.name, 'continues', () => this.#isDead || !canWrite(this) || this.#hasWork())
      if (this.#isDead || !canWrite(this) || (isRough() && dice.chance(0.01))) return
      this.#ring()
      this.#stall()
      const news = this.#watches.filter((watch) => this.#hasNews(watch))
      if (isRough() && dice.chance(0.02)) await this.#listAgain()
      else if (news.length > 0 && (!this.#isFree() || dice.chance(0.4))) this.#tell(dice.pick(news))
      else await this.#planNext()
    }
  }

  /**
   * The first list has to be of now: a writer that begins with an old one does not know what was
   * given away before its time.
   */
  async #listAll(): Promise<void> {
    const { truth } = this.#world
    this.#began = truth.log.length
    // what the last term had under way has arrived by now, or never will
    this.#plannedAt.clear()
    for (const selection of this.#watches) {
      for (;;) {
        const listed = await this.#store.list(queryOf(selection))
        if (!listed.ok) continue
        this.#told.set(selection, truth.lengthAt(Number(listed.value.resourceVersion)))
        for (const object of listed.value.items) this.#show({ kind: 'present', object }, { selection })
        this.#cache.complete(selection, listed.value.resourceVersion)
        break
      }
    }
    this.#began = Math.max(...this.#told.values())
  }

  /**
   * Shows a list once more, which may be an old one: no harm is in that, but what is told twice.
   */
  async #listAgain(): Promise<void> {
    const selection = this.#world.dice.pick(this.#watches)
    const listed = await this.#store.list(queryOf(selection))
    if (!listed.ok) return
    for (const object of listed.value.items) this.#show({ kind: 'present', object }, { selection })
  }

  /** Tells what a watch has next, or something old once more. */
  #tell(selection: Selection): void {
    const { truth, dice, isRough } = this.#world
    const kind = kindKey(selection)
    const told = this.#told.get(selection) ?? 0
    const isAgain = isRough() && told > this.#began && dice.chance(0.1)
    const at = isAgain ? this.#began + dice.below(told - this.#began) : truth.next(kind, told)
    const entry = truth.log[at]
    if (!isAgain && entry !== undefined) this.#told.set(selection, at + 1)
    const change = entry?.kind === kind ? truth.toldTo(selection, entry) : undefined
    // a watch that repeats how an object left its selection repeats what came after that as well
    const hasLeft = change?.kind === 'absent' && entry?.change.kind === 'present'
    if (change !== undefined && !(isAgain && hasLeft)) this.#show(change, { selection })
  }

  /** Lets a watch fall behind all others. */
  #stall(): void {
    const { dice, now, isRough } = this.#world
    if (!isRough() || !dice.chance(0.1)) return
    this.#stalled.set(dice.pick(this.#watches), now() + dice.below(MAX_STALL_MS))
  }

  async #planNext(): Promise<void> {
    const key = this.#next()
    if (key === undefined) return
    this.#queue.delete(key)
    if (this.#world.concurrency === 1) return this.#carryOut(key)
    this.#busy.add(key)
    this.#jobs.push(key)
  }

  async #carryOut(key: string): Promise<void> {
    const { now, scheduler, showsOwnWrites, onEvent } = this.#world
    const canWrite = () => this.#world.canWrite(this)
    const ended = await runKey(this.#planner, key, this.#store, {
      now,
      external: this.#external,
      canWrite,
      clock: () => this.#cache.clock,
      show: (change, source, since) => {
        if (showsOwnWrites || source === 'read') this.#show(change, { since })
      },
      onEvent,
      onPlan: (plan) => {
        if (!this.#plannedAt.has(key)) this.#plannedAt.set(key, this.#toldOfAll())
        const shown = plan === undefined ? 'nothing' : `${plan.outcome.kind}, ${plan.effects.length} effects`
        scheduler.note(this.name, `  plans ${key}: ${shown}`)
      },
    })
    for (const other of ended.wakes) this.#queue.add(other)
    if (ended.kind !== 'unsettled') this.#plannedAt.delete(key)
    if (ended.kind === 'done') {
      const { requeueAfterSeconds } = ended
      if (requeueAfterSeconds !== undefined) this.#timers.set(key, now() + requeueAfterSeconds * 1000)
      return
    }
    if (ended.kind === 'unsettled') {
      for (;;) {
        const settled = await settle(this.#store, ended.unsettled, { canWrite })
        if (!canWrite()) return
        if (!settled.ok) continue
        this.#show(settled.value.change)
        break
      }
      this.#plannedAt.delete(key)
      for (const other of ended.release()) this.#queue.add(other)
    }
    this.#queue.add(key)
  }

  /** Whether there is a key to plan and an idle worker. */
  #isFree(): boolean {
    if (this.#busy.size >= this.#world.concurrency) return false
    for (const key of this.#queue) if (!this.#busy.has(key)) return true
    return false
  }

  /**
   * A key to plan that no worker has. Aggregates come last. `undefined` also
   * if all have their hands full.
   */
  #next(): string | undefined {
    if (this.#busy.size >= this.#world.concurrency) return undefined
    const keys = [...this.#queue].filter((key) => !this.#busy.has(key))
    const others = keys.filter((key) => !this.#planner.isAggregate(key))
    const candidates = others.length > 0 ? others : keys
    return candidates.length === 0 ? undefined : this.#world.dice.pick(candidates)
  }

  #show(change: Change, options: ApplyOptions = {}): void {
    this.#wake(this.#cache.apply(change, options))
  }

  #wake(applied: Applied): void {
    for (const key of this.#planner.wakes?.(applied) ?? this.#planner.observe(applied.change)) this.#queue.add(key)
  }

  #ring(): void {
    const nowMs = this.#world.now()
    for (const [key, dueMs] of this.#timers) {
      if (dueMs > nowMs) continue
      this.#timers.delete(key)
      this.#queue.add(key)
    }
  }

  #hasWork(): boolean {
    if (this.#isFree()) return true
    const nowMs = this.#world.now()
    for (const dueMs of this.#timers.values()) if (dueMs <= nowMs) return true
    return this.#watches.some((watch) => this.#hasNews(watch))
  }

  #hasNews(watch: Selection): boolean {
    const { truth, isRough, now } = this.#world
    if (truth.next(kindKey(watch), this.#told.get(watch) ?? 0) < 0) return false
    return !isRough() || (this.#stalled.get(watch) ?? 0) <= now()
  }

  /** How much of the log it has seen, of any kind. */
  get seen(): number {
    return this.#began
  }

  /** {@link ObservedWriter.knows}. */
  get knows(): number {
    return Math.min(...this.#plannedAt.values(), this.#toldOfAll())
  }

  /** How many entries of the log were told by every watch that has them. */
  #toldOfAll(): number {
    const { truth } = this.#world
    const untold = this.#watches.map((watch) => truth.next(kindKey(watch), this.#told.get(watch) ?? 0))
    return Math.min(truth.log.length, ...untold.filter((at) => at >= 0))
  }

  /** When the first of the keys that wait is due. */
  get dueMs(): number {
    return Math.min(...this.#timers.values())
  }

  #forget(): void {
    this.#cache.clear()
    this.#planner.reset()
    this.#planner.share?.(this.#cache)
    this.#isDead = false
    this.#queue.clear()
    this.#told.clear()
    this.#timers.clear()
    this.#stalled.clear()
  }
}

/** What a store is asked for. */
function queryOf({ apiVersion, kind, namespace, labels, labelExpressions, fields }: Selection): ListQuery {
  return { apiVersion, kind, namespace, labels, labelExpressions, fields }
}
