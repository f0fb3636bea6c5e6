import type { HoldReason, Ledger, LedgerEntry, LedgerHolder, LedgerUsage } from '../allocator/index.js'
import type { Prefix } from '../cidr/index.js'
import { compare, contains, equals } from '../cidr/nouns/prefix.js'
import { type Json, type KubeObject, kindKey, nameKey, type ObjectRef, refOf } from '../crd/meta/object.js'
import { sameJson } from '../crd/meta/patch.js'
import { check, type Kind, type KindOf } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'
import { type CachedObjects, compareText, type Parsed, type Watch } from './cached-objects.js'
import type { Effect } from './effect.js'
import { patched } from './patched.js'
import type { Selection } from './selection.js'

/** What an object holds: one extent, and the holder of it. */
export interface Holding {
  /** The ledger that records it, such as the key of a pool. Default: the only one, `''`. */
  readonly pool?: string | undefined
  /** The extent, host bits cleared. An address is a /32 or a /128. */
  readonly prefix: Prefix
  /** `foreign` in the ledger of a pool that may not give what another pool has. Default `held`. */
  readonly reason?: Exclude<HoldReason, 'pending' | 'kept'> | undefined
  /**
   * The holder, as a key of the planner. Objects with one key are one holder: a Service and its
   * IPAddress.
   */
  readonly key: string
  /** What the object holds the extent for, such as the claim of an IPAddress. */
  readonly owner?: string | undefined
  readonly ownerUid?: string | undefined
  /** The network of the extent, where several networks have the same addresses. */
  readonly domain?: string | undefined
  /** The field that it was read from: `spec.address`. */
  readonly field: string
  /** When the holder got the extent, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** When a `cooldown` ends, in milliseconds since 1970. */
  readonly untilMs?: number | undefined
}

/**
 * The holder of an extent: a {@link Holding}, and the object that it was read from. What a planner
 * remembers beyond objects, such as an address that is kept for a claim, may have no object.
 */
export interface Holder
  extends LedgerHolder,
    Partial<Omit<Holding, 'key' | 'prefix' | 'reason' | 'sinceMs' | 'untilMs'>> {
  readonly object?: ObjectRef | undefined
  readonly uid?: string | undefined
}

/** How much of a pool is in use, of one family. */
export interface PoolUsage extends LedgerUsage {
  /** The name of the pool: `InClusterIPPool default/lab`, or that of a network. */
  readonly pool: string
}

/** An extent of a ledger. */
export interface Extent {
  readonly pool: string
  readonly prefix: Prefix
}

/** How the holders of extents have changed. */
export interface Moved {
  /** The extents that have a holder more, or less, than before. */
  readonly touched: readonly Extent[]
  /**
   * Those of them that an object or a plan does not hold any more, and of which an address is free:
   * no other object holds it, and no running plan is about to write it.
   */
  readonly freed: readonly Extent[]
  /** The first two other holders of each touched extent. */
  readonly others: ReadonlySet<string>
}

/** What is checked of a holding. The ledger checks the rest. */
export const HOLDING = [
  'open',
  {
    pool: 'text?',
    prefix: 'object',
    // plans in progress are pending, and the state keeps addresses
    reason: ['one?', { held: 1, cooldown: 1, former: 1, foreign: 1 }],
    key: 'text',
    field: 'text',
  },
] satisfies KindOf<Holding> as Kind

/**
 * What a function of a definition has returned, as a list.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function returned<T>(by: string, given: Iterable<T>, kind: Kind): readonly T[] {
  // each object that is observed comes here
  if (Array.isArray(given) && given.every(kind === 'text' ? isText : isHolding)) return given
  const list = Symbol.iterator in Object(given) ? [...given] : given
  check<unknown>('definePlanner', `${by}()`, list, ['list', kind])
  return list as readonly T[]
}

function isText(each: unknown): boolean {
  return typeof each === 'string'
}

/** Whether a holding of the common form is right: {@link HOLDING} decides on the others. */
function isHolding(each: Partial<Holding> | undefined): boolean {
  const { pool = '', prefix, key, field, reason = 'held' } = each ?? {}
  const areTexts = typeof pool === 'string' && typeof key === 'string' && typeof field === 'string'
  return areTexts && typeof prefix === 'object' && prefix !== null && (reason === 'held' || reason === 'foreign')
}

export const NOT_MOVED: Moved = { touched: [], freed: [], others: new Set() }

/** Makes the holdings of a planner. */
export type OpenHoldings = (watches: ReadonlyMap<string, HeldObjects>) => Pick<ObservedHoldings, keyof ObservedHoldings>

/** The holdings of a planner whose objects hold nothing. */
export const noHoldings: OpenHoldings = () => ({
  ledger: noLedger,
  entries: () => [],
  usage: () => [],
  forget: () => undefined,
  pending: () => 0,
  refresh: () => undefined,
  refreshed: () => [],
  take: () => NOT_MOVED,
  begin: () => () => NOT_MOVED,
})

/** @throws IpamError `INVALID_ARGUMENT` */
function noLedger(): never {
  return refuse('Holdings.ledger', 'ledger', '`ledger` in the definition of the planner', 'nothing')
}

/** A plan that is being carried out. */
interface RunningPlan {
  readonly id: string
  readonly effects: readonly Effect[]
  /** What is about to be written. */
  pending: readonly Holding[]
}

/** What an object holds, and what its last version held that could be read. */
interface Held {
  readonly uid: string | undefined
  readonly holdings: readonly Holding[]
  readonly readable: readonly Holding[]
}

/** How many other holders of an extent are planned again after it was touched. */
const MOST_WOKEN = 2

/** What the objects of one watch hold. */
export interface HeldObjects {
  readonly watch: Watch<unknown>
  readonly objects: CachedObjects<unknown>
  holds(entry: Parsed<unknown>): Iterable<Holding>
}

/** The holders of extents, by the objects of a planner and by the plans in progress. */
export interface Holdings {
  /**
   * The ledger of a pool, or the only one. It is made when it is asked for first.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a planner whose definition has no `ledger`
   */
  ledger(pool?: string): Ledger<Holder>
  /** All holders but `foreign` ones, by ledger, then as {@link Ledger.entries}. O(n log n). */
  entries(): readonly LedgerEntry<Holder>[]
  /** How much of each ledger is in use. O(ledgers): no entry is read. */
  usage(): readonly PoolUsage[]
  /** Forgets the ledger of a pool that does not exist, if it has no entries. O(entries). */
  forget(pool: string): void
  /** How many extents of a pool running plans are about to write for it. O(running plans). */
  pending(pool?: string): number
  /**
   * Reads again what objects of a watch hold, by `namespace/name`: where that depends on another
   * object, which has changed. Plans in progress are read again as well. What has moved is passed
   * on as after a change of these objects. Call it in `wakes`, `moved` or `onResult`. The name of a
   * cluster-scoped object has no namespace.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a watch whose objects hold nothing
   */
  refresh(watch: string, names: Iterable<string>): void
}

/**
 * Keeps the ledgers of a planner by the objects of its watches, which are the only record of what
 * they hold.
 *
 * - An object that changes replaces its extents.
 * - One that cannot be read any more holds what its last readable version held, and what the
 *   planner reads of it.
 * - A plan that is being carried out holds what its objects hold once they are written. It frees
 *   nothing before that is observed.
 *
 * A change costs O(extents of the object x length of a prefix).
 */
export class ObservedHoldings implements Holdings {
  readonly #watches: ReadonlyMap<string, HeldObjects>
  readonly #newLedger: ((pool: string) => Ledger<Holder>) | undefined
  readonly #ledgers = new Map<string, Ledger<Holder>>()
  /** What each object holds, by watch and `namespace/name`. */
  readonly #held = new Map<string, Held>()
  /** All ledgers that were made. */
  readonly #made = new WeakSet<object>()
  readonly #refreshed: Moved[] = []
  readonly #running = new Set<RunningPlan>()
  #plans = 0

  /**
   * @param newLedger makes the ledger of a pool. Left out: there are no ledgers, and
   *   {@link entries} reads the objects
   */
  constructor(watches: ReadonlyMap<string, HeldObjects>, newLedger: ((pool: string) => Ledger<Holder>) | undefined) {
    this.#watches = watches
    this.#newLedger = newLedger
  }

  ledger(pool = ''): Ledger<Holder> {
    const known = this.#ledgers.get(pool)
    if (known !== undefined) return known
    if (this.#newLedger === undefined) return noLedger()
    const ledger = this.#newLedger(pool)
    check<unknown>('definePlanner', 'ledger()', ledger, ['open', { set: 'function' }])
    if (this.#made.has(ledger)) refuse('definePlanner', 'ledger()', 'a new ledger', 'that of another pool')
    this.#made.add(ledger)
    this.#ledgers.set(pool, ledger)
    return ledger
  }

  entries(): readonly LedgerEntry<Holder>[] {
    if (this.#newLedger !== undefined) {
      const pools = [...this.#ledgers.keys()].sort()
      const running = [...this.#running].flatMap(({ pending }) => pending)
      const foreign = new Set(running.filter(({ reason }) => reason === 'foreign').map(idOf))
      const isAbout = ({ prefix, reason, holder }: LedgerEntry<Holder>, pool: string) =>
        reason === 'pending' ? !foreign.has(idOf({ ...holder, pool, prefix })) : reason !== 'foreign'
      return pools.flatMap((pool) =>
        this.ledger(pool)
          .entries()
          .filter((entry) => isAbout(entry, pool)),
      )
    }
    const entries = [...this.#watches.values()].flatMap(({ objects, holds }) =>
      Array.from(objects.names()).flatMap((name) => {
        const entry = objects.entry(name)
        return entry === undefined ? [] : Array.from(holds(entry), (one) => entryOf(one, entry.object))
      }),
    )
    return entries.filter(({ reason }) => reason !== 'foreign').sort(inOrder)
  }

  usage(): readonly PoolUsage[] {
    return [...this.#ledgers].flatMap(([pool, ledger]) => ledger.usage().map((usage) => ({ ...usage, pool })))
  }

  forget(pool: string): void {
    if (this.#ledgers.get(pool)?.entries().length === 0) this.#ledgers.delete(pool)
  }

  pending(pool = ''): number {
    let count = 0
    for (const { pending } of this.#running) {
      for (const one of pending) {
        if ((one.pool ?? '') === pool && one.reason !== 'foreign' && !this.#isWritten(one)) count++
      }
    }
    return count
  }

  refresh(watch: string, names: Iterable<string>): void {
    const { objects } = this.#watches.get(watch) ?? refuse('Holdings.refresh', 'watch', 'a watch of `holds`', watch)
    for (const name of names) this.#refreshed.push(this.take(watch, name, objects.entry(name)))
    for (const plan of this.#running) {
      const before = plan.pending
      this.#clearPending(plan)
      this.#setPending(plan)
      this.#refreshed.push(this.#moved(without(before, plan.pending), without(plan.pending, before)))
    }
  }

  /** What {@link refresh} has moved since the last call. */
  refreshed(): readonly Moved[] {
    return this.#refreshed.splice(0)
  }

  /** Takes in what an object of a watch holds now; `undefined`: it does not exist any more. */
  take(watch: string, name: string, entry: Parsed<unknown> | undefined): Moved {
    const objects = this.#watches.get(watch)
    if (objects === undefined || this.#newLedger === undefined) return NOT_MOVED
    const id = `${watch} ${name}`
    const before = this.#held.get(id)
    const uid = entry?.object.metadata.uid
    const read = entry === undefined ? [] : [...objects.holds(entry)]
    const isKept = entry?.ok === false && before?.uid === uid
    const kept = isKept ? (before?.readable ?? []) : []
    const holdings = kept.length === 0 ? read : [...read, ...without(kept, read)]
    const had = before?.holdings ?? []
    const isSameAsBefore = before?.uid === uid && sameJson(had as unknown as Json, holdings as unknown as Json)
    // a readable version may hold the same as an unreadable one before it
    if (holdings.length === 0) this.#held.delete(id)
    else this.#held.set(id, { uid, holdings, readable: entry?.ok === true ? read : kept })
    if (isSameAsBefore) return NOT_MOVED
    for (const [index, { pool }] of had.entries()) this.ledger(pool).delete(`${id} ${index}`)
    for (const [index, one] of holdings.entries()) {
      this.ledger(one.pool).set(`${id} ${index}`, entryOf(one, entry!.object))
    }
    return this.#moved(without(had, holdings), without(holdings, had))
  }

  /**
   * Counts what the effects of a plan are about to write as pending, until the plan has ended.
   *
   * @returns ends that. It returns what has moved: the extents that were not written. A second call
   * has no effect
   */
  begin(effects: readonly Effect[]): () => Moved {
    if (this.#newLedger === undefined) return () => NOT_MOVED
    const plan: RunningPlan = { id: String(++this.#plans), effects, pending: [] }
    this.#running.add(plan)
    this.#setPending(plan)
    return () => {
      if (!this.#running.delete(plan)) return NOT_MOVED
      this.#clearPending(plan)
      return this.#moved(
        plan.pending.filter((one) => !this.#isWritten(one)),
        [],
      )
    }
  }

  #setPending(plan: RunningPlan): void {
    const after = new Map<string, KubeObject>()
    const written = plan.effects.flatMap((effect) => this.#writtenBy(effect, after))
    plan.pending = written.map(({ one }) => one)
    for (const [index, { one, object }] of written.entries()) {
      // an id of an object has a blank
      this.ledger(one.pool).set(`${plan.id}.${index}`, { ...entryOf(one, object), reason: 'pending' })
    }
  }

  #clearPending({ id, pending }: RunningPlan): void {
    for (const [index, { pool }] of pending.entries()) this.ledger(pool).delete(`${id}.${index}`)
  }

  /** Whether an object holds what was pending. */
  #isWritten({ pool, prefix, key, reason = 'held' }: Holding): boolean {
    for (const entry of this.ledger(pool).overlapping(prefix)) {
      if (entry.reason === reason && entry.holder.key === key && equals(entry.prefix, prefix)) return true
    }
    return false
  }

  #moved(left: readonly Holding[], taken: readonly Holding[]): Moved {
    const touched = [...left, ...taken].map(extentOf)
    const own = new Set([...left, ...taken].map(({ key }) => key))
    const freed = left.map(extentOf).filter((extent) => !this.#isInUse(extent))
    return new LazyMoved(touched, freed, () => this.#othersAt(touched, own))
  }

  #othersAt(extents: readonly Extent[], own: ReadonlySet<string>): ReadonlySet<string> {
    const all = new Set<string>()
    for (const { pool, prefix } of extents) {
      const keys = new Set<string>()
      for (const { reason, holder } of this.ledger(pool).overlapping(prefix)) {
        if (reason !== 'held' && reason !== 'pending') continue
        if (!own.has(holder.key) && keys.add(holder.key).size === MOST_WOKEN) break
      }
      for (const key of keys) all.add(key)
    }
    return all
  }

  /**
   * What an object holds after an effect.
   *
   * @param written the objects after the effects before it, by watch and name
   */
  #writtenBy(
    effect: Effect,
    written: Map<string, KubeObject>,
  ): readonly { readonly one: Holding; readonly object: KubeObject }[] {
    const created = effect.kind === 'create' ? effect.object : effect.kind === 'external' ? effect.pending : undefined
    const ref = effect.kind === 'patch' ? effect.ref : created && refOf(created)
    if (ref === undefined) return []
    return [...this.#watches].flatMap(([name, held]) => {
      const { watch, objects } = held
      if (kindKey(watch) !== kindKey(ref)) return []
      const id = `${name} ${nameKey(ref)}`
      const now = written.get(id) ?? objects.entry(ref)?.object
      const kept = created && ((watch as Selection).keep?.(created) ?? created)
      const object = effect.kind === 'patch' ? now && patched(now, effect.patch) : kept
      if (object === undefined) return []
      written.set(id, object)
      const entry = { ...watch.parse(object, undefined), object } as Parsed<unknown>
      return Array.from(held.holds(entry), (one) => ({ one, object }))
    })
  }

  /** Whether each address of an extent is in use. O(entries in it). */
  #isInUse({ pool, prefix }: Extent): boolean {
    let left = 1n << 128n
    let last: Prefix | undefined
    // the widest come first, then those in it, in order
    for (const { reason, prefix: used } of this.ledger(pool).overlapping(prefix)) {
      if (!IN_USE.includes(reason) || (last !== undefined && contains(last, used))) continue
      if (used.length <= prefix.length) return true
      left -= 1n << BigInt(128 + prefix.length - used.length)
      last = used
    }
    return left === 0n
  }
}

/** Other holders are searched for when they are read. */
class LazyMoved implements Moved {
  readonly #others: () => ReadonlySet<string>

  constructor(
    readonly touched: readonly Extent[],
    readonly freed: readonly Extent[],
    others: () => ReadonlySet<string>,
  ) {
    this.#others = others
  }

  get others(): ReadonlySet<string> {
    return this.#others()
  }
}

const IN_USE: readonly string[] = ['held', 'pending', 'foreign', 'cooldown']

function extentOf({ pool = '', prefix }: Holding): Extent {
  return { pool, prefix }
}

/** Each member is named, and the ledger makes no copy: a spread takes twice the memory. */
function entryOf(
  { pool, prefix, key, reason = 'held', owner, ownerUid, domain, field, sinceMs, untilMs }: Holding,
  object: KubeObject,
): LedgerEntry<Holder> {
  const { uid } = object.metadata
  const holder = Object.freeze({ pool, key, owner, ownerUid, domain, field, object: refOf(object), uid })
  return { prefix, reason, sinceMs, untilMs, holder }
}

/** The order of {@link Holdings.entries}. */
function inOrder(left: LedgerEntry<Holder>, right: LedgerEntry<Holder>): number {
  const [{ pool = '', key }, { pool: otherPool = '', key: otherKey }] = [left.holder, right.holder]
  return compareText(pool, otherPool) || compare(left.prefix, right.prefix) || compareText(key, otherKey)
}

/** Those that are not among others. O(n). */
function without(holdings: readonly Holding[], others: readonly Holding[]): readonly Holding[] {
  if (others.length === 0) return holdings
  const ids = new Set(others.map(idOf))
  return holdings.filter((one) => !ids.has(idOf(one)))
}

/** A text that two holdings of one pool, key and extent have. */
function idOf({ pool = '', key, prefix: { address, length } }: Pick<Holding, 'pool' | 'key' | 'prefix'>): string {
  const place = address.family === 4 ? address.value : [address.w0, address.w1, address.w2, address.w3].join('.')
  return `${place}/${length} ${pool}\n${key}`
}
