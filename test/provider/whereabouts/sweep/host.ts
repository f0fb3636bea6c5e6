import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Change, Planner } from 'ipam-kit/plan'
import { whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { runKey } from 'ipam-kit/run'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { expect } from 'vitest'
import { Pod } from '../../../../src/crd/core/pod.js'
import { type Rules, type Seen, Truth } from './truth.js'

/** What the sweep watches. */
export const KINDS = [IPPool.info, OverlappingRangeIPReservation.info, Pod.info, IPAMClaim.info] as const
const [POOLS, RESERVATIONS, CLAIMS] = [0, 1, 3]
const GRACE_S = 60

/**
 * A sweep whose watches are as late as a test says, each for itself. Before each of its writes, the
 * objects of the store say what it may free.
 */
export class Host {
  readonly planner: Planner
  nowMs: number
  readonly #below: Store
  readonly #store: Store
  readonly #rules: Rules
  readonly #watches: AsyncIterator<WatchEvent>[]
  readonly #next: (Promise<IteratorResult<WatchEvent>> | undefined)[] = []
  /** When a key is planned. */
  readonly #due = new Map<string, number>()

  constructor(below: Store, rules: Rules, nowMs: number) {
    this.#below = below
    this.#rules = rules
    this.nowMs = nowMs
    this.planner = whereaboutsSweep({ graceSeconds: GRACE_S, ...rules })
    this.#watches = KINDS.map((kind) => below.watch(kind, { resourceVersion: '1' })[Symbol.asyncIterator]())
    this.#store = storeOver(below, {
      create: () => expect.fail('the sweep creates nothing'),
      update: () => expect.fail('the sweep updates nothing'),
      patch: (ref, patch, options) => this.#judged(() => below.patch(ref, patch, options)),
      delete: (ref, options) => this.#judged(() => below.delete(ref, options)),
    })
  }

  async truth(): Promise<Truth> {
    return new Truth(await objectsOf(this.#below), this.#rules)
  }

  /** Carries a write out, and looks at what it has freed. */
  async #judged<T>(write: () => Promise<T>): Promise<T> {
    const [before, odd] = [await this.truth(), await oddRows(this.#below)]
    const isBehind = await Promise.all(KINDS.map((_, kind) => this.#hasNext(kind)))
    const seen: Seen = { claims: !isBehind[CLAIMS], rows: !isBehind[POOLS] && !isBehind[RESERVATIONS] }
    const result = await write()
    const after = await this.truth()
    const freed = before.rows.filter(({ name }) => !after.names.includes(name))
    expect(freed.filter((row) => before.isLive(row, seen))).toEqual([])
    const deleted = before.reservations.filter(({ name }) => !after.names.includes(name))
    expect(deleted.filter((one) => before.isUsed(one))).toEqual([])
    expect(await oddRows(this.#below), 'rows that are not understood').toEqual(odd)
    return result
  }

  /** Shows the planner the next event of a watch, if there is one. */
  async see(kind: number): Promise<boolean> {
    if (!(await this.#hasNext(kind))) return false
    const event = (await this.#next[kind])?.value as WatchEvent
    this.#next[kind] = undefined
    if (event.type === 'BOOKMARK' || event.type === 'ERROR') return true
    const { object } = event
    this.#show(
      event.type === 'DELETED'
        ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
        : { kind: 'present', object },
    )
    return true
  }

  async seeAll(kinds: readonly number[] = [...KINDS.keys()]): Promise<void> {
    for (const kind of kinds) while (await this.see(kind));
  }

  seeClaims(): Promise<void> {
    return this.seeAll([CLAIMS])
  }

  async #hasNext(kind: number): Promise<boolean> {
    this.#next[kind] ??= this.#watches[kind]!.next()
    const nothing = Symbol('nothing')
    // an event that is there resolves within a few turns
    const turns = (async () => {
      for (let turn = 0; turn < 30; turn++) await undefined
      return nothing
    })()
    return (await Promise.race([this.#next[kind], turns])) !== nothing
  }

  #show(change: Change): void {
    for (const key of this.planner.observe(change)) this.#due.set(key, this.nowMs)
  }

  /** Plans one of the keys that are due, and writes. False if there was none. */
  async plan(which: number): Promise<boolean> {
    const keys = [...this.#due].flatMap(([key, dueMs]) => (dueMs <= this.nowMs ? [key] : []))
    const key = keys[which % Math.max(1, keys.length)]
    if (key === undefined) return false
    this.#due.delete(key)
    const ended = await runKey(this.planner, key, this.#store, {
      now: () => this.nowMs,
      show: (change) => this.#show(change),
      maxConflicts: 3,
    })
    for (const other of ended.wakes) this.#due.set(other, this.nowMs)
    if (ended.kind === 'failed') this.#due.set(key, this.nowMs)
    else if (ended.kind === 'done' && ended.requeueAfterSeconds !== undefined)
      this.#due.set(key, this.nowMs + ended.requeueAfterSeconds * 1000)
    return true
  }

  /** Sees all there is to see, and plans until no key waits, also not for the grace period. */
  async rest(picks: readonly number[] = []): Promise<void> {
    const orders = [...picks]
    for (let left = 2000; left > 0; left--) {
      await this.seeAll()
      if (await this.plan(orders.shift() ?? 0)) continue
      if (this.#due.size === 0) return
      this.nowMs = Math.min(...this.#due.values())
    }
    expect.fail(`still busy with ${[...this.#due.keys()]}`)
  }
}

export async function objectsOf(store: Store): Promise<readonly KubeObject[]> {
  const lists = await Promise.all(KINDS.map((kind) => store.list(kind)))
  return lists.flatMap((list) => unwrap(list).items)
}

/** The keys and texts of rows that are not understood. */
async function oddRows(store: Store): Promise<readonly string[]> {
  return (await objectsOf(store)).flatMap(({ kind, metadata, spec }) => {
    if (kind !== IPPool.info.kind) return []
    const { allocations } = spec as { readonly allocations: { readonly [key: string]: unknown } }
    const odd = Object.entries(allocations).filter(([key, row]) => !isPlain(key, row))
    return odd.map(([key, row]) => `${metadata.name} ${key} ${JSON.stringify(row)}`)
  })
}

function isPlain(key: string, row: unknown): boolean {
  const { id, podref } = row as { readonly id?: unknown; readonly podref?: unknown }
  return /^[0-9]{1,2}$/u.test(key) && typeof id === 'string' && typeof podref === 'string'
}
