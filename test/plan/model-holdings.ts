import { Ledger, type LedgerEntry } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import {
  type DefinedPlanner,
  definePlanner,
  type Holder,
  type Moved,
  type Outcome,
  type Parsed,
  type TrimmedWatch,
  type Watch,
} from 'ipam-kit/plan'

/** What a test writes into an object. `isBroken`: it cannot be read, and `rescue` is its raw form. */
export interface ThingSpec {
  readonly extents?: readonly string[] | undefined
  readonly rescue?: readonly string[] | undefined
  readonly holder: string
  readonly pool?: string | undefined
  readonly domain?: string | undefined
  readonly isBroken?: boolean | undefined
  /** What the watch of links does not keep. */
  readonly noise?: { readonly deep: number } | undefined
}

export type Thing = KubeObject & { readonly spec: ThingSpec }
export type ThingKind = 'Seat' | 'Link'

const parse = (object: KubeObject) => {
  const thing = object as Thing
  // a watch with `keep` never has the whole object
  if (thing.kind === 'Link' && thing.spec.noise !== undefined) throw new Error('a link is read whole')
  return thing.spec.isBroken ? ({ ok: false, problem: 'it is broken' } as const) : ({ ok: true, value: thing } as const)
}

function keepLink(object: KubeObject): KubeObject {
  const { noise: _, ...spec } = (object as Thing).spec
  return { ...object, spec } as KubeObject
}

const info = { apiVersion: 'test.dev/v1', namespaced: false, statusSubresource: false } as const
const watches = {
  seats: { ...info, kind: 'Seat', plural: 'seats', parse } as Watch<Thing>,
  links: { ...info, kind: 'Link', plural: 'links', parse, keep: keepLink } as TrimmedWatch<Thing>,
}

/** What an object holds, by its content alone. */
export function heldBy({ spec }: Thing) {
  // a copy of a field that does not exist is null
  const { extents, rescue, isBroken, holder: key, pool, domain } = spec
  return ((isBroken ? rescue : extents) ?? []).map((text) => {
    const prefix = Prefix.masked(Prefix.parse(text))
    return { prefix, pool, key, domain, field: isBroken ? 'spec.rescue' : 'spec.extents' }
  })
}

const SPACE = RangeSet.parse(['10.0.0.0/28'])

export type ThingPlanner = DefinedPlanner<Outcome, typeof watches, undefined>

/** A planner of things: a key is a holder. `moves` gets each call of `moved`. */
export function thingPlanner(moves: Moved[], hasLedger = true): ThingPlanner {
  const holds = ({ object }: Parsed<KubeObject>) => heldBy(object as Thing)
  return definePlanner<Outcome, typeof watches>({
    name: 'things',
    watches,
    holds: { seats: holds, links: holds },
    ...(hasLedger && {
      ledger: () => new Ledger({ space: SPACE }),
      moved(moved) {
        moves.push(moved)
        return moved.freed.length > 0 ? [...moved.others, 'waiting'] : moved.others
      },
    }),
    wakes: { seats: () => [], links: () => [] },
    plan(key, { holdings }) {
      const next = holdings.ledger().next()
      if (next === undefined) return { outcome: { kind: 'full', message: 'no free address' }, effects: [] }
      const object = thing('Seat', key, { extents: [Prefix.format(next)], holder: key })
      return { outcome: { kind: 'given', message: '' }, effects: [{ kind: 'create', object, why: 'it waits' }] }
    },
  })
}

export function thing(kind: ThingKind, name: string, spec: ThingSpec, metadata: object = {}): Thing {
  return { apiVersion: 'test.dev/v1', kind, metadata: { name, ...metadata }, spec }
}

/** One extent that is held or pending, by a `for` loop. */
export interface ModelEntry extends Pick<LedgerEntry, 'prefix' | 'reason'> {
  readonly pool: string
  readonly key: string
  readonly domain: string | undefined
  readonly object: string
  readonly uid: string | undefined
}

/**
 * Who holds what, told from all objects anew after each step: the cache of the planner, the last
 * version of each object that could be read, and the plans in progress.
 */
export class ModelHoldings {
  readonly #readable = new Map<string, Thing>()
  readonly plans = new Map<number, readonly Thing[]>()

  /** Forgets what a reset of the planner forgets. */
  reset(): void {
    this.#readable.clear()
    this.plans.clear()
  }

  entriesOf({ context: { cache } }: ThingPlanner, without: 'nothing' | 'memory' = 'nothing'): ModelEntry[] {
    const all: ModelEntry[] = []
    for (const objects of [cache.seats, cache.links]) {
      for (const name of objects.names()) {
        const entry = objects.entry(name)
        if (entry === undefined) continue
        const now = entry.object as Thing
        const id = `${now.kind} ${name}`
        const last = this.#readable.get(id)
        const isSameObject = last?.metadata.uid === now.metadata.uid
        if (entry.ok) this.#readable.set(id, now)
        else if (!isSameObject) this.#readable.delete(id)
        const held = heldBy(now)
        const memory = entry.ok || !isSameObject || without === 'memory' ? [] : heldBy(last as Thing)
        const isNew = (one: (typeof held)[number]) => !held.some((other) => sameExtent(one, other))
        all.push(...[...held, ...memory.filter(isNew)].map((one) => modelEntry(one, now, 'held')))
      }
    }
    for (const id of [...this.#readable.keys()]) {
      const [kind, name] = id.split(' ') as [ThingKind, string]
      const objects = kind === 'Seat' ? cache.seats : cache.links
      if (objects.entry(name) === undefined) this.#readable.delete(id)
    }
    for (const written of this.plans.values()) {
      for (const object of written) all.push(...heldBy(object).map((one) => modelEntry(one, object, 'pending')))
    }
    return all
  }
}

type HeldThing = ReturnType<typeof heldBy>[number]

function sameExtent(left: HeldThing, right: HeldThing): boolean {
  const isSamePool = (left.pool ?? '') === (right.pool ?? '')
  return isSamePool && left.key === right.key && Prefix.equals(left.prefix, right.prefix)
}

function modelEntry({ prefix, pool = '', key, domain }: HeldThing, object: Thing, reason: 'held' | 'pending') {
  const { kind, metadata } = object
  return {
    prefix,
    reason,
    pool,
    key,
    domain,
    object: `${kind} ${metadata.name}`,
    uid: metadata.uid,
  } as const
}

/** An entry of a planner as an entry of the model. */
export function asModelEntry({ prefix, reason, holder }: LedgerEntry<Holder>): ModelEntry {
  const { pool = '', key, domain, object, uid } = holder
  return { prefix, reason, pool, key, domain, object: `${object?.kind} ${object?.name}`, uid }
}

/** Entries in one order, as texts. */
export function listed(entries: readonly ModelEntry[]): readonly string[] {
  const textOf = (one: ModelEntry) =>
    [one.pool, Prefix.format(one.prefix), one.reason, one.key, one.domain ?? '-', one.object, one.uid ?? '-'].join(' ')
  return entries.map(textOf).sort()
}

/** The addresses of each pool that an entry has: `pool address`. */
export function inUse(entries: readonly ModelEntry[]): ReadonlySet<string> {
  const used = new Set<string>()
  for (const { pool, prefix } of entries) for (const address of addressesOf(prefix)) used.add(`${pool} ${address}`)
  return used
}

export function addressesOf(prefix: Prefix): readonly string[] {
  const texts: string[] = []
  const last = Prefix.last(prefix)
  for (let at: Address | undefined = Prefix.first(prefix); at !== undefined; at = Address.next(at)) {
    texts.push(Address.format(at))
    if (Address.compare(at, last) === 0) break
  }
  return texts
}

export function overlaps(left: Prefix, right: Prefix): boolean {
  return RangeSet.overlaps(RangeSet.fromPrefixes([left]), right)
}
