import { IPAddress, type IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { formatRef, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import type { EventEffect } from 'ipam-kit/plan'
import { type InClusterOutcome, inCluster } from 'ipam-kit/provider/in-cluster'
import { runKey } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import type { KeyResult } from '../../../src/run/plan/run-key.js'
import { kinds, type World } from './world.js'

export const SWEEP_SECONDS = 60

export interface LeaderOptions {
  readonly store: Store
  readonly canWrite: () => boolean
  /** Whether it serves the claim first that was woken last. */
  readonly isReversed?: boolean
}

/**
 * A leader that can be stopped between two plans: it makes as many as it is told to, and sees what
 * others have written when it looks.
 */
export class Leader {
  readonly planner = inCluster({ sweepAfterSeconds: SWEEP_SECONDS })
  readonly events: EventEffect[] = []
  readonly #world: World
  readonly #options: LeaderOptions
  readonly #known = new Map<
    string,
    { readonly ref: ObjectRef; readonly uid: string | undefined; readonly version: string | undefined }
  >()
  readonly #queue = new Set<string>()
  readonly #dueMs = new Map<string, number>()

  constructor(world: World, options: LeaderOptions) {
    this.#world = world
    this.#options = options
  }

  /** Shows what is stored, and what is no longer. */
  async look(): Promise<void> {
    const seen = new Set<string>()
    for (const kind of kinds) {
      const listed = await this.#world.store.list(kind)
      if (!listed.ok) throw new Error(JSON.stringify(listed.failure))
      for (const object of listed.value.items) {
        const ref = refOf(object)
        const { uid, resourceVersion: version } = object.metadata
        const known = this.#known.get(formatRef(ref))
        if (known !== undefined && known.uid !== uid) this.#show({ kind: 'absent', ref, uid: known.uid })
        seen.add(formatRef(ref))
        // what is known wakes nobody
        if (known?.uid !== uid || known?.version !== version) this.#show({ kind: 'present', object })
      }
    }
    for (const [key, { ref, uid }] of [...this.#known]) {
      if (!seen.has(key)) this.#show({ kind: 'absent', ref, uid })
    }
  }

  /**
   * Makes plans until none is left to make, or so many. @returns the end of the first that was not
   * done
   */
  async plan(most = Number.POSITIVE_INFINITY): Promise<KeyResult | undefined> {
    for (let plans = 0; plans < most; plans++) {
      for (const [key, dueMs] of this.#dueMs) if (dueMs <= this.#world.nowMs) this.#queue.add(key)
      const key = this.#next()
      if (key === undefined) return undefined
      if (plans > 500) throw new Error(`never quiet: ${[...this.#queue].join()}`)
      this.#queue.delete(key)
      this.#dueMs.delete(key)
      const ended = await this.#run(key)
      if (ended.kind !== 'done') return ended
    }
    return undefined
  }

  /** Looks and plans until there is nothing new, and waits for what wants to wait. */
  async rest(): Promise<void> {
    for (let round = 0; round < 6; round++) {
      await this.look()
      const ended = await this.plan()
      if (ended !== undefined) throw new Error(JSON.stringify(ended))
      const dueMs = Math.min(...this.#dueMs.values())
      if (Number.isFinite(dueMs)) this.#world.nowMs = Math.max(this.#world.nowMs, dueMs)
    }
  }

  #next(): string | undefined {
    const keys = this.#options.isReversed === true ? [...this.#queue].reverse() : [...this.#queue]
    return keys.find((key) => !this.planner.isAggregate(key)) ?? keys[0]
  }

  async #run(key: string): Promise<KeyResult<InClusterOutcome>> {
    const { store, canWrite } = this.#options
    const ended = await runKey(this.planner, key, store, {
      now: () => this.#world.nowMs,
      show: (change) => this.#show(change),
      onEvent: (event) => this.events.push(event),
      canWrite,
    })
    for (const wanted of ended.wakes) this.#queue.add(wanted)
    if (ended.kind === 'done' && ended.requeueAfterSeconds !== undefined) {
      this.#dueMs.set(key, this.#world.nowMs + ended.requeueAfterSeconds * 1000)
    }
    return ended
  }

  #show(change: Parameters<Leader['planner']['observe']>[0]): void {
    if (change.kind === 'present') {
      const ref = refOf(change.object)
      const { uid, resourceVersion: version } = change.object.metadata
      this.#known.set(formatRef(ref), { ref, uid, version })
    } else this.#known.delete(formatRef(change.ref))
    for (const key of this.planner.observe(change)) this.#queue.add(key)
  }
}

export function isBound({ metadata, status }: IPAddressClaim): boolean {
  return status?.addressRef?.name !== undefined && metadata.deletionTimestamp === undefined
}

/**
 * A store that looks after every write that can do it whether two claims are Bound to one address.
 */
export function watched(world: World, wrong: string[]): Store {
  const check = async <T>(answer: Promise<T>, may: boolean): Promise<T> => {
    const done = await answer
    if (may) wrong.push(...(await boundTwice(world)))
    return done
  }
  const { store } = world
  return storeOver(store, {
    create: (object) => check(store.create(object), IPAddress.is(object)),
    patch: (ref, patch, options) => check(store.patch(ref, patch, options), options?.subresource === 'status'),
  })
}

async function boundTwice(world: World): Promise<string[]> {
  const [claims, addresses] = [await world.claims(), await world.addresses()]
  const holders = new Map<string, string>()
  const twice: string[] = []
  for (const { metadata } of claims.filter(isBound)) {
    const own = addresses.find((one) => one.metadata.name === metadata.name)
    if (own === undefined) continue
    const other = holders.get(own.spec.address)
    if (other !== undefined) twice.push(`${own.spec.address} is that of ${other} and of ${metadata.name}`)
    holders.set(own.spec.address, metadata.name)
  }
  return twice
}
