import { Pod } from '../../../crd/core/pod.js'
import type { KubeObject, ObjectRef } from '../../../crd/meta/object.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import { isBound, isPlaced } from '../../blocks/block/parsed-block.js'
import { PoolView } from '../../blocks/pool/pool-view.js'
import type { KnownBlocks, PlacedRow } from '../../blocks/tasks/known-blocks.js'
import { blockRef, listStep, poolRef } from '../../blocks/tasks/steps.js'
import { ReadObjects } from '../../whereabouts/tasks/read-objects.js'
import type { Place } from './places.js'

const DOMAIN_FIELD = 'spec.domain'
/** Means all domains, as a key of the listed domains. */
const EVERYWHERE = ''
/** As tasks of blocks do, a pool that was read longer ago than this is read again. */
const MOST_POOL_AGE_MS = 30_000
const WHY_POOLS = 'the pools of the network'

function refOfPool({ pool }: Place): ObjectRef {
  return poolRef(pool)
}

type Reading = Extract<Step, { kind: 'get' | 'list' }>

/**
 * What the tasks of a network have in common: which objects they were shown, and a task of blocks
 * that does a part of the work.
 */
export abstract class NetworkTask<O extends Outcome> implements Task<O> {
  readonly known: KnownBlocks
  readonly #shown = new ReadObjects()
  readonly #listed = new Set<string>()
  #inner: Task | undefined
  #nowMs = 0
  #since = 0

  constructor(known: KnownBlocks) {
    this.known = known
  }

  abstract step(time: TaskTime): Step<O>

  next(time: TaskTime): Step<O> {
    this.#nowMs = time.nowMs
    this.#since = this.known.clock
    return this.step(time)
  }

  observe(change: Change): void {
    this.#shown.observe(change)
    if (this.#inner === undefined) this.known.observe(change, { nowMs: this.#nowMs, since: this.#since })
    else this.#inner.observe(change)
  }

  listed(query: TaskQuery): void {
    this.#listed.add(query.fields[DOMAIN_FIELD] ?? EVERYWHERE)
    this.#inner?.listed?.(query)
  }

  refused(refusal: TaskRefusal): boolean {
    return this.#inner?.refused?.(refusal) === true
  }

  /** Continues the part of the work that `start` begins. Its outcome ends it. */
  protected delegate<I extends Outcome>(start: () => Task<I>, time: TaskTime): Step<I> {
    this.#inner ??= start()
    const step = (this.#inner as Task<I>).next(time)
    if (step.kind === 'done') this.#inner = undefined
    return step
  }

  /** Leaves the part of the work that is not done. */
  protected leave(): boolean {
    const was = this.#inner !== undefined
    this.#inner = undefined
    return was
  }

  /** Reads the pools that are not known; what is known to be absent may be there since. */
  protected readPools(places: readonly Place[], others: readonly ObjectRef[] = []): Reading | undefined {
    const isOld = (pool: string) => this.known.poolAgeMs(pool, this.#nowMs) > MOST_POOL_AGE_MS
    const unknown = places.filter(({ pool }) => !(this.known.pool(pool) instanceof PoolView) || isOld(pool))
    return this.read([...(this.known.isComplete ? [] : unknown.map(refOfPool)), ...others], WHY_POOLS)
  }

  /** Reads a pool that was known before this task, and cannot be used as it was. */
  protected readAgain(place: Place): Reading | undefined {
    return this.known.isComplete ? undefined : this.read([refOfPool(place)], WHY_POOLS)
  }

  /** Reads objects that the task was not shown. */
  protected read(refs: readonly ObjectRef[], why: string): Reading | undefined {
    return this.#shown.read(refs, why)
  }

  /** An object that was read; `undefined`: it does not exist. */
  protected object(ref: ObjectRef): KubeObject | undefined {
    return this.#shown.get(ref) ?? undefined
  }

  protected readBlocks(names: readonly string[], why: string): Reading | undefined {
    return this.known.isComplete ? undefined : this.read(names.map(blockRef), why)
  }

  /** Lists the blocks in the domains of the pools. */
  protected listBlocks(places: readonly Place[], why: string): Reading | undefined {
    if (this.known.isComplete) return undefined
    if (this.#listed.has(EVERYWHERE)) return undefined
    const domain = this.#domains(places).find((name) => !this.#listed.has(name))
    return domain === undefined ? undefined : listStep({ [DOMAIN_FIELD]: domain }, why)
  }

  /** Why rows may be missing: a block, or a row of a block, cannot be read. */
  protected obstacle(places: readonly Place[]): string | undefined {
    const domains = this.#domains(places)
    const unreadable = this.known.unreadableBlocks().find(({ domain }) => domains.includes(domain))
    if (unreadable !== undefined) return unreadable.message
    for (const { object, entries, name, problems } of this.known.blocks()) {
      if (domains.includes(object.spec.domain) && !entries.every(isPlaced)) return `block ${name}: ${problems[0]}`
    }
    return undefined
  }

  /** The rows of Pods in the pools of these places. O(rows). */
  protected *rows(places: readonly Place[]): IterableIterator<PlacedRow & { readonly pool: string }> {
    const pools = new Set(places.map(({ pool }) => pool))
    for (const parsed of this.known.blocks()) {
      for (const entry of parsed.entries) {
        const pool = entry.row.pool ?? parsed.object.spec.pool
        const isOfPod = (entry.row.kind ?? Pod.info.kind) === Pod.info.kind
        if (pools.has(pool) && isBound(entry) && isPlaced(entry) && isOfPod) yield { parsed, entry, pool }
      }
    }
  }

  /** The domain of a pool follows from its range, also if there is no pool any more. */
  #domains(places: readonly Place[]): readonly string[] {
    return [
      ...new Set(
        places.flatMap(({ pool, range }) => {
          const view = this.known.pool(pool)
          return range?.domain ?? (view instanceof PoolView ? view.object.spec.domain : [])
        }),
      ),
    ]
  }
}

/** The reference to the Pod of a request. */
export function podRef({ podNamespace: namespace, podName: name }: { podNamespace: string; podName: string }) {
  const { apiVersion, kind } = Pod.info
  return { apiVersion, kind, namespace, name }
}
