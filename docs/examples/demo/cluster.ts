import type { Meta } from 'ipam-kit/crd'
import { unwrap } from 'ipam-kit/errors'
import { type InClusterOutcome, inCluster, type PoolLedger } from 'ipam-kit/provider/in-cluster'
import { type Progress, type RunFailure, runUntilQuiet } from 'ipam-kit/run'
import type { StoreResult } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

/** When virtual time begins. A fixed date, so that the same manifests give the same output. */
const START_MS = Date.UTC(2026, 0, 1)

/** How often time is moved on to the end of a grace period. Each deletion needs one; more is only possible with many at once. */
const MAX_WAITS = 20
/** The longest grace period that the API allows. */
const MAX_WAIT_SECONDS = 2 ** 31

/** How the provider came to rest. */
export interface Settled {
  readonly failures: readonly RunFailure[]
  /** The grace periods that time was moved on for. */
  readonly waits: readonly Wait[]
}

export interface Wait {
  readonly seconds: number
  /** Why there was something to wait for. */
  readonly reason: string
}

/** A cluster inside this process: the memory store, the in-cluster provider, and a clock that only this program moves. */
export class EmbeddedCluster {
  readonly #provider = inCluster()
  readonly #store = memoryStore({ now: () => this.#nowMs, kinds: this.#provider.watches })
  #nowMs = START_MS

  /** Creates an object a second after the one before: claims are served oldest first, so in the order of their creation. */
  async create(object: Meta.KubeObject): StoreResult<Meta.KubeObject> {
    this.#nowMs += 1000
    return this.#store.create(object)
  }

  async delete(ref: Meta.ObjectRef): StoreResult<Meta.KubeObject> {
    this.#nowMs += 1000
    return this.#store.delete(ref)
  }

  /** The object, or `undefined` if there is none. */
  async find<T extends Meta.KubeObject>(model: Meta.Model<T>, ref: Meta.ObjectRef): Promise<T | undefined> {
    const found = await this.#store.get(ref)
    return found.ok ? model.parse(found.value) : undefined
  }

  /** All objects of a kind, by namespace and name. */
  async list<T extends Meta.KubeObject>(model: Meta.Model<T>): Promise<readonly T[]> {
    const { apiVersion, kind } = model.info
    const { items } = unwrap(await this.#store.list({ apiVersion, kind }))
    return items.map((item) => model.parse(item))
  }

  /** Lets the provider work until nothing is left to do, also after the grace periods that are running now. */
  async settle(onProgress: (progress: Progress) => void): Promise<Settled> {
    const waits: Wait[] = []
    for (;;) {
      const { outcomes, failures } = await runUntilQuiet(this.#store, [this.#provider], {
        now: () => this.#nowMs,
        onProgress,
      })
      const releasing = [...outcomes].filter(([, outcome]) => outcome.kind === 'releasing')
      const wait = this.#nextWait(releasing.map(([key]) => key))
      if (wait === undefined || waits.length >= MAX_WAITS) return { failures, waits }
      waits.push(wait)
      this.#nowMs += wait.seconds * 1000
    }
  }

  /** What the provider makes of a claim or pool as it is now. */
  outcomeOf(key: string): InClusterOutcome | undefined {
    return this.#provider.plan(key, { nowMs: this.#nowMs })?.outcome
  }

  ledgerOf(pool: Meta.ObjectRef): PoolLedger {
    return this.#provider.ledgerOf(pool)
  }

  /** The shortest of the grace periods of these claims. */
  #nextWait(releasing: readonly string[]): Wait | undefined {
    let next: Wait | undefined
    for (const key of releasing) {
      const outcome = this.outcomeOf(key)
      if (outcome?.kind !== 'releasing' || outcome.remainingSeconds > MAX_WAIT_SECONDS) continue
      if (next === undefined || outcome.remainingSeconds < next.seconds) {
        next = { seconds: outcome.remainingSeconds, reason: outcome.message }
      }
    }
    return next
  }
}
