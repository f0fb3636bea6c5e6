import { formatRef, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import type { EventEffect } from 'ipam-kit/plan'
import { type InClusterOptions, type InClusterOutcome, inCluster } from 'ipam-kit/provider/in-cluster'
import { runKey } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import type { InClusterPlanner } from '../../../src/provider/in-cluster/planner.js'
import { kinds, type World } from './world.js'

/**
 * A provider that lives on while the world changes, as in a controller: each run shows it what has
 * changed since the last one.
 */
export class Host {
  readonly planner: InClusterPlanner
  readonly events: EventEffect[] = []
  readonly outcomes = new Map<string, InClusterOutcome>()
  writes = 0
  readonly #world: World
  readonly #known = new Map<
    string,
    { readonly ref: ObjectRef; readonly uid: string | undefined; readonly version: string | undefined }
  >()
  readonly #dueMs = new Map<string, number>()
  readonly #queue = new Set<string>()

  constructor(world: World, options: InClusterOptions = {}) {
    this.#world = world
    this.planner = inCluster(options)
  }

  /** Waits a while, and then runs until nothing is left to do. */
  async run({ after = 0, store = this.#world.store }: { readonly after?: number; readonly store?: Store } = {}) {
    this.#world.nowMs += after * 1000
    await this.#look()
    for (const [key, dueMs] of this.#dueMs) if (dueMs <= this.#world.nowMs) this.#queue.add(key)
    for (let plans = 0; this.#queue.size > 0; plans++) {
      if (plans > 1000) throw new Error(`never quiet: ${[...this.#queue].join()}`)
      await this.#plan(store)
    }
  }

  /** When the host wants to run again, in seconds from now. */
  get dueSeconds(): number | undefined {
    const next = Math.min(...this.#dueMs.values())
    return Number.isFinite(next) ? (next - this.#world.nowMs) / 1000 : undefined
  }

  async #plan(store: Store): Promise<void> {
    const keys = [...this.#queue]
    const key = keys.find((candidate) => !this.planner.isAggregate(candidate)) ?? (keys[0] as string)
    this.#queue.delete(key)
    this.#dueMs.delete(key)
    const ended = await runKey(this.planner, key, store, {
      now: () => this.#world.nowMs,
      show: (change, source) => {
        if (source === 'written') this.writes++
        if (change.kind === 'present') {
          const ref = refOf(change.object)
          const { uid, resourceVersion: version } = change.object.metadata
          this.#known.set(formatRef(ref), { ref, uid, version })
        } else this.#known.delete(formatRef(change.ref))
        for (const wanted of this.planner.observe(change)) this.#queue.add(wanted)
      },
      onEvent: (event) => this.events.push(event),
    })
    for (const wanted of ended.wakes) this.#queue.add(wanted)
    if (ended.kind !== 'done') throw new Error(`${key}: ${JSON.stringify(ended.failure)}`)
    if (ended.outcome !== undefined) this.outcomes.set(key, ended.outcome)
    else this.outcomes.delete(key)
    const { requeueAfterSeconds: seconds } = ended
    if (seconds !== undefined) this.#dueMs.set(key, this.#world.nowMs + seconds * 1000)
  }

  /** Shows what is stored, and what is no longer. */
  async #look(): Promise<void> {
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
        this.#known.set(formatRef(ref), { ref, uid, version })
        // what is known wakes nobody
        if (known?.uid !== uid || known?.version !== version) this.#show({ kind: 'present', object })
      }
    }
    for (const [key, { ref, uid }] of [...this.#known]) {
      if (seen.has(key)) continue
      this.#known.delete(key)
      this.#show({ kind: 'absent', ref, uid })
    }
  }

  #show(change: Parameters<InClusterPlanner['observe']>[0]): void {
    for (const key of this.planner.observe(change)) this.#queue.add(key)
  }

  outcomeOf(claim: string): InClusterOutcome | undefined {
    return this.outcomes.get(formatRef({ kind: 'IPAddressClaim', namespace: 'default', name: claim }))
  }
}
