import { groupOf, type KindInfo, type KubeObject, type ObjectRef, refOf } from '../crd/meta/object.js'
import { type Failure, IpamError, ipamError } from '../errors/index.js'
import type { Change, EventEffect, Outcome, Planner } from '../plan/index.js'
import type { Store, StoreFailure } from '../store/index.js'
import { runPlan } from './run-plan.js'

export interface Progress {
  /** Plans made so far. */
  readonly planned: number
  /** Objects written so far. */
  readonly written: number
  /** Keys that wait for a plan. */
  readonly waiting: number
}

export interface RunUntilQuietOptions {
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /** Called after each plan that wrote something. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /** How often one key may meet a conflict in a row before it is given up as failed. Default 20. */
  readonly maxConflicts?: number | undefined
  /** How many plans one key may get in a run: a planner that never comes to rest is stopped here. Default 1,000. */
  readonly maxPlansPerKey?: number | undefined
}

/** A plan that could not be carried out: the store refused an effect, or conflicts did not end. The other keys went on. */
export interface RunFailure {
  readonly planner: string
  readonly key: string
  readonly failure: StoreFailure
}

/** What a run came to. */
export interface QuietResult {
  /** The last outcome of every key, in the order in which they were first planned. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  readonly failures: readonly RunFailure[]
  readonly planned: number
  readonly written: number
  /** When the earliest plan wants to be made again, in seconds from now; `undefined` if none does. */
  readonly requeueAfterSeconds?: number | undefined
}

/**
 * Lists what the planners watch and lets them plan and write until nothing is left to do. For tests, demos, one-shot tools and
 * embedded use; a long-running controller feeds its planners from a watch instead.
 *
 * Others may write meanwhile: the run ends when a fresh list shows nothing new. The planners are reset first. Every run begins from
 * what is stored, so one that was cut off at any point is finished by the next.
 *
 * @throws IpamError `RUN_LIMIT_EXCEEDED` if a planner never comes to rest, or the code of the store if it can not be listed
 */
export async function runUntilQuiet(
  store: Store,
  planners: readonly Planner[],
  options: RunUntilQuietOptions,
): Promise<QuietResult> {
  const run = new Run(store, planners, options)
  await run.resync()
  for (;;) {
    await run.drain()
    if (!(await run.resync())) return run.result()
  }
}

interface Job {
  readonly planner: Planner
  readonly key: string
}

class Run {
  readonly #store: Store
  readonly #planners: readonly Planner[]
  readonly #options: RunUntilQuietOptions
  readonly #known = new Map<string, Map<string, KnownObject>>()
  readonly #queue = new Map<string, Job>()
  readonly #summaries = new Map<string, Job>()
  readonly #plans = new Map<string, number>()
  readonly #conflicts = new Map<string, number>()
  readonly #outcomes = new Map<string, Outcome>()
  readonly #failures = new Map<string, RunFailure>()
  readonly #dueMs = new Map<string, number>()
  #planned = 0
  #written = 0

  constructor(store: Store, planners: readonly Planner[], options: RunUntilQuietOptions) {
    this.#store = store
    this.#planners = planners
    this.#options = options
    for (const planner of planners) planner.reset()
  }

  /** Lists every kind and shows the planners what differs from what they know. True if that gave them something to do. */
  async resync(): Promise<boolean> {
    const kinds = new Map<string, KindInfo>()
    for (const planner of this.#planners) {
      for (const kind of planner.watches) kinds.set(kindKey(kind), kind)
    }
    for (const [key, kind] of kinds) await this.#resyncKind(key, kind)
    return this.#queue.size + this.#summaries.size > 0
  }

  async #resyncKind(key: string, kind: KindInfo): Promise<void> {
    const listed = await this.#store.list({ apiVersion: kind.apiVersion, kind: kind.kind })
    if (!listed.ok) throw new IpamError(listed.failure as Failure)
    const before = this.#known.get(key) ?? new Map<string, KnownObject>()
    const seen = new Set<string>()
    for (const object of [...listed.value.items].sort(byAge)) {
      const name = objectKey(object.metadata)
      seen.add(name)
      if (before.get(name)?.resourceVersion !== object.metadata.resourceVersion) this.#show({ kind: 'present', object })
    }
    for (const [name, known] of before) if (!seen.has(name)) this.#show({ kind: 'absent', ref: known.ref })
  }

  /** Plans and writes until no key waits. Keys that sum up others come when nothing else is left. */
  async drain(): Promise<void> {
    for (let job = this.#next(); job !== undefined; job = this.#next()) await this.#step(job)
  }

  result(): QuietResult {
    const due = [...this.#dueMs.values()]
    const requeueAfterSeconds =
      due.length === 0 ? undefined : Math.max(0, Math.ceil((Math.min(...due) - this.#options.now()) / 1000))
    return {
      outcomes: this.#outcomes,
      failures: [...this.#failures.values()],
      planned: this.#planned,
      written: this.#written,
      requeueAfterSeconds,
    }
  }

  #next(): Job | undefined {
    const from = this.#queue.size > 0 ? this.#queue : this.#summaries
    for (const [id, job] of from) {
      from.delete(id)
      return job
    }
    return undefined
  }

  async #step(job: Job): Promise<void> {
    const id = jobId(job)
    const plans = (this.#plans.get(id) ?? 0) + 1
    this.#plans.set(id, plans)
    const maxPlans = this.#options.maxPlansPerKey ?? 1000
    if (plans > maxPlans) throw this.#notQuiet('plans of one key', maxPlans, id)

    const nowMs = this.#options.now()
    const plan = job.planner.plan(job.key, { nowMs })
    this.#planned++
    this.#dueMs.delete(id)
    this.#failures.delete(id)
    if (plan === undefined) {
      this.#outcomes.delete(job.key)
      return
    }
    this.#outcomes.set(job.key, plan.outcome)
    if (plan.requeueAfterSeconds !== undefined) this.#dueMs.set(id, nowMs + plan.requeueAfterSeconds * 1000)
    if (plan.effects.length === 0) return

    const ended = await runPlan(plan, this.#store, { onEvent: this.#options.onEvent })
    for (const change of ended.changes) this.#show(change)
    this.#written += ended.changes.length
    if (ended.kind === 'done') this.#conflicts.delete(id)
    else if (ended.kind === 'failed' || !(await this.#replan(job))) {
      this.#failures.set(id, { planner: job.planner.name, key: job.key, failure: ended.failure })
    }
    this.#options.onProgress?.({
      planned: this.#planned,
      written: this.#written,
      waiting: this.#queue.size + this.#summaries.size,
    })
  }

  /** After a conflict: learn what is stored now, then plan the same key again. False if that has been done often enough. */
  async #replan(job: Job): Promise<boolean> {
    const id = jobId(job)
    const conflicts = (this.#conflicts.get(id) ?? 0) + 1
    this.#conflicts.set(id, conflicts)
    if (this.#isGivenUp(id)) return false
    await this.resync()
    this.#enqueue(job)
    return true
  }

  #show(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const kind = kindKey(ref)
    const known = this.#known.get(kind) ?? new Map<string, KnownObject>()
    this.#known.set(kind, known)
    if (change.kind === 'absent') known.delete(objectKey(ref))
    else known.set(objectKey(ref), { ref, resourceVersion: change.object.metadata.resourceVersion })
    for (const planner of this.#planners) {
      if (!planner.watches.some((watched) => kindKey(watched) === kind)) continue
      for (const key of planner.observe(change)) this.#enqueue({ planner, key })
    }
  }

  #enqueue(job: Job): void {
    const id = jobId(job)
    if (this.#isGivenUp(id)) return
    const queue = job.planner.isSummary(job.key) ? this.#summaries : this.#queue
    queue.set(id, job)
  }

  /** A key that met conflict after conflict gets no further plan in this run: its failure is what the run reports of it. */
  #isGivenUp(id: string): boolean {
    return (this.#conflicts.get(id) ?? 0) > (this.#options.maxConflicts ?? 20)
  }

  #notQuiet(limit: string, max: number, id: string) {
    const stillBusy = [id, ...this.#queue.keys(), ...this.#summaries.keys()]
    return ipamError('RUN_LIMIT_EXCEEDED', { limit, max, stillBusy: stillBusy.slice(0, 20) })
  }
}

interface KnownObject {
  readonly ref: ObjectRef
  readonly resourceVersion: string | undefined
}

/** Oldest first; of the same age by namespace and name, as the list has them. */
function byAge(left: KubeObject, right: KubeObject): number {
  const a = left.metadata.creationTimestamp ?? ''
  const b = right.metadata.creationTimestamp ?? ''
  return a < b ? -1 : a > b ? 1 : 0
}

function jobId(job: Job): string {
  return `${job.planner.name} ${job.key}`
}

function kindKey(kind: { readonly apiVersion: string; readonly kind: string }): string {
  return `${groupOf(kind.apiVersion)}/${kind.kind}`
}

function objectKey(object: { readonly namespace?: string | undefined; readonly name: string }): string {
  return object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`
}
