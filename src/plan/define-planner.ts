import type { Ledger, LedgerEntry } from '../allocator/index.js'
import { type KubeObject, kindKey, nameKey, type ObjectRef } from '../crd/meta/object.js'
import { check, isObject, type Kind, type KindOf } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'
import type { AnyWatch, CachedObjects, Delta, Parsed, TrimmedWatch, Watch } from './cached-objects.js'
import type { Calls } from './calls.js'
import type { Change } from './change.js'
import type { PatchEffect, Refusal } from './effect.js'
import {
  HOLDING,
  type Holder,
  type Holding,
  type Holdings,
  type Moved,
  NOT_MOVED,
  noHoldings,
  ObservedHoldings,
  type OpenHoldings,
  type PoolUsage,
  returned,
} from './holdings.js'
import { type Applied, ObjectCache } from './object-cache.js'
import type { Outcome, Plan } from './plan.js'
import type { AnyResult, Planner, PlanTime } from './planner.js'
import type { Selection, TrimmedObject } from './selection.js'
import { SentEvents } from './sent-events.js'
import { steadyClock } from './steady-clock.js'

/** The watches of a planner, by the names under which it reads them. */
// biome-ignore lint/suspicious/noExplicitAny: what each watch reads its objects as differs
export type Watches = { readonly [name: string]: AnyWatch<any> }

/** The objects of each watch of a planner. */
export type Cache<W extends Watches> = {
  readonly [name in keyof W]: ObjectsOf<W[name]>
}

export type ObjectsOf<X> =
  X extends TrimmedWatch<infer T>
    ? CachedObjects<T, TrimmedObject>
    : X extends Watch<infer T>
      ? CachedObjects<T>
      : never

/** What every function of a planner reads: the objects of its watches, and its state. */
export interface PlannerContext<W extends Watches, S> {
  readonly cache: Cache<W>
  readonly state: S
  /** The holders of extents, by the objects and by the plans in progress. */
  readonly holdings: Holdings
  /** The Events that were sent. They are remembered through a `reset`. */
  readonly sent: SentEvents
  /**
   * Whether a plan was carried out that has patched an object as it is, and nothing has changed:
   * its CRD lacks the fields, and the same patch would be written without end.
   */
  isUnchanged(ref: ObjectRef): boolean
}

/**
 * The keys to plan again when an object of a watch has changed, the oldest object first. The cache
 * already has the change.
 */
export type Wakes<W extends Watches, S> = {
  readonly [name in keyof W]: (delta: DeltaOf<W[name]>, context: PlannerContext<W, S>) => Iterable<string>
}

/** What the objects of each watch hold: one that cannot be read, as far as its raw form tells. */
export type Holds<W extends Watches, S> = {
  readonly [name in keyof W]?: (entry: ParsedOf<W[name]>, context: PlannerContext<W, S>) => Iterable<Holding>
}

export type ParsedOf<X> =
  X extends TrimmedWatch<infer T> ? Parsed<T, TrimmedObject> : X extends Watch<infer T> ? Parsed<T> : never

export type DeltaOf<X> =
  X extends TrimmedWatch<infer T> ? Delta<T, TrimmedObject> : X extends Watch<infer T> ? Delta<T> : never

/**
 * The definition of a planner, for {@link definePlanner}. All functions are pure, except for
 * changes of the state, and do not throw. What `wakes`, `holds`, `moved` and `ledger` return is
 * checked: `INVALID_ARGUMENT`.
 */
export interface PlannerDefinition<O extends Outcome, W extends Watches, S> {
  readonly name: string
  readonly watches: W
  /** {@link Planner.resyncSeconds}. */
  readonly resyncSeconds?: number | undefined
  /**
   * What the planner remembers in addition to the objects, for example the time at which an object
   * was first missing. Called when the planner is made, and at each `reset` and `share`. It lasts
   * from one `runUntilQuiet` to the next.
   *
   * @param objects the cache, for a state that follows some of its objects
   * @param before the state before the reset
   * @param floor the rest of the context
   */
  readonly state?:
    | ((objects: ObjectCache, before: S | undefined, floor: Omit<PlannerContext<W, S>, 'state'>) => S)
    | undefined
  /**
   * What the objects of some watches hold. The floor keeps the ledgers by it, and counts what plans
   * are about to write as pending.
   */
  readonly holds?: Holds<W, S> | undefined
  /**
   * Makes the ledger of a pool, or the only one. With ledgers, or with `calls`, plans are carried
   * out side by side. Left out: there are no ledgers, and `entries` reads the objects.
   */
  readonly ledger?: ((pool: string) => Ledger<Holder>) | undefined
  /** {@link Planner.usage}. Left out: how much of each ledger is in use. */
  readonly usage?: ((context: PlannerContext<W, S>) => readonly PoolUsage[]) | undefined
  readonly wakes: Wakes<W, S>
  /**
   * The keys to plan again when the holders of extents have changed: other holders, what waits for
   * freed extents, and what may end now. Left out: two other holders of each extent.
   */
  readonly moved?: ((moved: Moved, context: PlannerContext<W, S>) => Iterable<string>) | undefined
  /** The plan for a key. `undefined`: there is nothing under the key. */
  readonly plan: (key: string, context: PlannerContext<W, S>, time: PlanTime) => Plan<O> | undefined
  /**
   * The table of its external calls, for a planner with such calls. Each call is registered in the
   * turn in which its plan returns, and its time when it is sent. It requires `onResult`, which
   * passes the results in.
   */
  readonly calls?: Calls | undefined
  /** {@link Planner.onResult}. */
  readonly onResult?: ((answered: AnyResult, context: PlannerContext<W, S>) => readonly string[]) | undefined
  /** {@link Planner.refused}. */
  readonly refused?:
    | ((key: string, refusal: Refusal, context: PlannerContext<W, S>, time: PlanTime) => Plan<O> | undefined)
    | undefined
  /** {@link Planner.isAggregate}. Left out: no key. */
  readonly isAggregate?: ((key: string, context: PlannerContext<W, S>) => boolean) | undefined
  /** {@link Planner.isRepair}. */
  readonly isRepair?: ((key: string, context: PlannerContext<W, S>) => boolean) | undefined
  /** {@link Planner.isServed}. */
  readonly isServed?: ((key: string, context: PlannerContext<W, S>) => boolean) | undefined
  /** {@link Planner.isBegun}. */
  readonly isBegun?: ((key: string, context: PlannerContext<W, S>) => boolean) | undefined
}

const DEFINITION: KindOf<PlannerDefinition<Outcome, Watches, unknown>> = {
  name: 'text',
  watches: ['record', 'object'],
  resyncSeconds: 'number?',
  state: 'function?',
  holds: ['record?', 'function?'],
  ledger: 'function?',
  usage: 'function?',
  wakes: ['record', 'function'],
  moved: 'function?',
  plan: 'function',
  // no instanceof: bundles of planners without calls have no code of the table
  calls: [
    'is?',
    (given) => (isObject(given) && typeof given.answered === 'function' ? undefined : 'a Calls of ipam-kit/plan'),
  ],
  onResult: 'function?',
  refused: 'function?',
  isAggregate: 'function?',
  isRepair: 'function?',
  isServed: 'function?',
  isBegun: 'function?',
}

/** A planner that {@link definePlanner} has made. */
export interface DefinedPlanner<O extends Outcome, W extends Watches, S> extends Planner<O> {
  /** The context of its functions, for other parts of a provider. */
  readonly context: PlannerContext<W, S>
  readonly objects: ObjectCache
  /**
   * The holders of all extents, in the order of their ledgers and extents. O(n log n).
   */
  entries(): readonly LedgerEntry<Holder>[]
  usage(): readonly PoolUsage[]
  share(objects: ObjectCache): void
  wakes(applied: Applied): readonly string[]
  complete(selection: Selection): void
}

/**
 * Makes a planner from its watches, the keys that a change wakes, and the plan for a key. The
 * object cache handles versions, own writes, deleted objects, parsing and indexes. Planners of one
 * host share one cache.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function definePlanner<O extends Outcome, W extends Watches, S = undefined>(
  definition: PlannerDefinition<O, W, S>,
): DefinedPlanner<O, W, S> {
  return new PlannerOf(definition, (watches) => new ObservedHoldings(watches, definition.ledger))
}

/** As {@link definePlanner}, for objects that hold nothing: bundles have no code of ledgers. */
export function defineWithoutHoldings<O extends Outcome, W extends Watches, S = undefined>(
  definition: Omit<PlannerDefinition<O, W, S>, 'holds' | 'ledger' | 'moved'>,
): DefinedPlanner<O, W, S> {
  return new PlannerOf(definition, noHoldings)
}

/** @throws IpamError `INVALID_ARGUMENT` for a definition of which a part would never be called */
function assertWhole(
  definition: {
    readonly [member in 'watches' | 'wakes' | 'holds' | 'ledger' | 'moved' | 'calls' | 'onResult']?: unknown
  },
): void {
  const { watches, wakes } = definition
  const missing = Object.keys(watches as object).find((name) => !Object.hasOwn(wakes as object, name))
  if (missing !== undefined) refuse('definePlanner', 'wakes', `a function for ${missing}`, 'nothing')
  for (const [member, needed] of NEEDS) {
    if (definition[member] === undefined || definition[needed] !== undefined) continue
    refuse('definePlanner', needed, `a function, with \`${member}\``, 'nothing')
  }
}

/** Members of a definition, each with another that it needs. */
const NEEDS = [
  ['ledger', 'holds'],
  ['moved', 'ledger'],
  ['calls', 'onResult'],
] as const

type HoldsOf<W extends Watches, S> = (entry: Parsed<unknown>, context: PlannerContext<W, S>) => Iterable<Holding>
type WakesOf<W extends Watches, S> = (delta: Delta<unknown>, context: PlannerContext<W, S>) => Iterable<string>

class PlannerOf<O extends Outcome, W extends Watches, S> implements DefinedPlanner<O, W, S> {
  readonly name: string
  readonly watches: readonly Selection[]
  readonly resyncSeconds: number | undefined
  readonly onSend?: NonNullable<Planner<O>['onSend']>
  readonly onResult?: NonNullable<Planner<O>['onResult']>
  readonly refused?: NonNullable<Planner<O>['refused']>
  readonly begin?: NonNullable<Planner<O>['begin']>
  readonly isAggregate: Planner<O>['isAggregate']
  isRepair?: NonNullable<Planner<O>['isRepair']>
  isServed?: NonNullable<Planner<O>['isServed']>
  isBegun?: NonNullable<Planner<O>['isBegun']>
  readonly #definition: PlannerDefinition<O, W, S>
  readonly #openHoldings: OpenHoldings
  #timeOf = (nowMs: number) => nowMs
  readonly #sent = new SentEvents()
  /** The objects of the cache that a plan has patched without a change. */
  readonly #unchanged = new WeakSet<KubeObject>()
  #objects = new ObjectCache()
  #holdings!: ReturnType<OpenHoldings>
  context: PlannerContext<W, S>

  constructor(definition: PlannerDefinition<O, W, S>, openHoldings: OpenHoldings) {
    check<unknown>('definePlanner', 'definition', definition, DEFINITION as Kind)

    const { name, watches, resyncSeconds, ledger, calls, onResult, refused } = definition
    if (resyncSeconds !== undefined && !(resyncSeconds >= 1 && resyncSeconds <= 86_400)) {
      refuse('definePlanner', 'resyncSeconds', 'seconds, 1 to 86400', resyncSeconds)
    }
    assertWhole(definition)
    this.#definition = definition
    this.#openHoldings = openHoldings
    this.name = name
    this.watches = Object.values(watches)
    this.resyncSeconds = resyncSeconds
    this.context = this.#open(undefined)
    // the times of calls and those of plans are compared
    if (calls !== undefined) this.#timeOf = steadyClock()
    if (calls !== undefined) this.onSend = (call, { nowMs }) => calls.sent(call, this.#timeOf(nowMs))
    if (onResult !== undefined) {
      this.onResult = (answered) => {
        const result = calls === undefined ? answered : { ...answered, atMs: this.#timeOf(answered.atMs) }
        return [...onResult(result, this.context), ...this.#moved(NOT_MOVED)]
      }
    }
    if (refused !== undefined) {
      this.refused = (key, refusal, time) => refused(key, refusal, this.context, this.#planTimeOf(time))
    }
    if (ledger !== undefined || calls !== undefined) this.begin = (plan) => this.#begin(plan)
    this.isAggregate = (key) => definition.isAggregate?.(key, this.context) ?? false
    for (const is of ['isRepair', 'isServed', 'isBegun'] as const) {
      const own = definition[is]
      // a host tells a planner that answers no from one that does not say
      if (own !== undefined) this[is] = (key) => own(key, this.context)
    }
  }

  get objects(): ObjectCache {
    return this.#objects
  }

  complete(selection: Selection): void {
    this.#objects.complete(selection)
  }

  share(objects: ObjectCache): void {
    if (!objects.isEmpty)
      refuse(
        'definePlanner',
        'objects',
        'a cache without objects: the planner has to be told of each',
        'one with objects',
      )
    this.#objects = objects
    this.context = this.#open(this.context.state)
  }

  observe(change: Change): readonly string[] {
    return this.wakes(this.#objects.apply(change))
  }

  wakes(applied: Applied): readonly string[] {
    const { watches, wakes } = this.#definition
    const keys = new Set<string>()
    for (const name of Object.keys(watches)) {
      const delta = applied.deltaFor(watches[name]!)
      if (delta === undefined) continue
      const moved = this.#holdings.take(name, nameKey(delta.ref), delta.now)
      const woken = (wakes[name] as WakesOf<W, S>)(delta, this.context)
      for (const key of returned(`wakes.${name}`, woken, 'text')) keys.add(key)
      for (const key of this.#moved(moved)) keys.add(key)
    }
    return [...keys]
  }

  entries(): readonly LedgerEntry<Holder>[] {
    return this.#holdings.entries()
  }

  usage(): readonly PoolUsage[] {
    return this.#definition.usage?.(this.context) ?? this.#holdings.usage()
  }

  plan(key: string, time: PlanTime): Plan<O> | undefined {
    return this.#definition.plan(key, this.context, this.#planTimeOf(time))
  }

  #planTimeOf(time: PlanTime): PlanTime {
    return { ...time, nowMs: this.#timeOf(time.nowMs) }
  }

  reset(): void {
    // a cache that is shared is cleared by its host
    this.#objects = new ObjectCache()
    this.context = this.#open(this.context.state)
  }

  /**
   * Counts what a plan is about to write as pending, and registers its call, in the turn in which
   * the plan was made.
   */
  #begin(plan: Plan): (isDone?: boolean) => readonly string[] {
    const { calls } = this.#definition
    const sent = plan.effects.filter((effect) => effect.kind === 'external')
    const ends = sent.map((effect) => calls?.begin(effect))
    const holdings = this.#holdings
    const end = holdings.begin(plan.effects)
    return (isDone = true) => {
      if (isDone) this.#note(plan)
      for (const endCall of ends) endCall?.()
      // what was pending before a reset says nothing of what is free now
      return holdings === this.#holdings ? [...this.#moved(end())] : []
    }
  }

  /** Notes that a plan was carried out. */
  #note(plan: Plan): void {
    this.#sent.sendAll(plan)
    for (const effect of plan.effects) {
      if (effect.kind !== 'patch' || effect.if.resourceVersion === undefined || isGuard(effect)) continue
      const object = this.#objectOf(effect.ref)
      if (object?.metadata.resourceVersion === effect.if.resourceVersion) this.#unchanged.add(object)
    }
  }

  /** The object of the cache, in any of the watches of its kind. */
  #objectOf(ref: ObjectRef): KubeObject | undefined {
    for (const [name, watch] of Object.entries(this.#definition.watches)) {
      if (kindKey(watch) === kindKey(ref)) return this.context.cache[name]?.entry(ref)?.object
    }
    return undefined
  }

  /** The keys to plan again after a move, and after those that were found by reading again. */
  *#moved(first: Moved): Iterable<string> {
    const { moved } = this.#definition
    const all = [first]
    for (const each of all) {
      if (each.touched.length > 0) {
        yield* moved === undefined ? each.others : returned('moved', moved(each, this.context), 'text')
      }
      all.push(...this.#holdings.refreshed())
    }
  }

  #open(before: S | undefined): PlannerContext<W, S> {
    const { watches, state } = this.#definition
    const holds: Holds<W, S> = this.#definition.holds ?? {}
    const opened = Object.entries(watches).map(([name, watch]) => [name, this.#objects.open(watch)] as const)
    const cache = Object.fromEntries(opened)
    const held = new Map(
      opened.flatMap(([name, objects]) => {
        const holdsOf = holds[name] as HoldsOf<W, S> | undefined
        const watch = watches[name] as Watch<unknown>
        if (holdsOf === undefined) return []
        const read = (entry: Parsed<unknown>) => returned(`holds.${name}`, holdsOf(entry, this.context), HOLDING)
        return [[name, { watch, objects, holds: read }] as const]
      }),
    )
    const holdings = this.#openHoldings(held)
    this.#holdings = holdings
    const isUnchanged = (ref: ObjectRef) => {
      const object = this.#objectOf(ref)
      return object !== undefined && this.#unchanged.has(object)
    }
    const floor = { cache: cache as Cache<W>, holdings, sent: this.#sent, isUnchanged }
    return { ...floor, state: state?.(this.#objects, before, floor) as S }
  }
}

/** Whether an effect changes nothing, and only stops a plan. */
function isGuard({ patch }: PatchEffect): boolean {
  return Array.isArray(patch) ? patch.every(({ op }) => op === 'test') : Object.keys(patch).length === 0
}
