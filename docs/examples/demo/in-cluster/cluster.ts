import { Meta } from 'ipam-kit/crd'
import { unwrap } from 'ipam-kit/errors'
import { type InClusterOutcome, inCluster } from 'ipam-kit/provider/in-cluster'
import { type Progress, type RunFailure, runUntilQuiet } from 'ipam-kit/run'
import type { StoreResult } from 'ipam-kit/store'
import type { AdmittedStore } from '../admitted-store.js'
import type { Clock } from '../clock.js'

/**
 * How often time is moved on to the end of a grace period. Each deletion needs one; more is only
 * possible with many at once.
 */
const MAX_WAITS = 20
/** The longest grace period that the API allows. */
const MAX_WAIT_SECONDS = 2 ** 31

/** How the provider came to rest. */
export interface Settled {
  readonly failures: readonly RunFailure[]
  /** The objects that it has written. */
  readonly written: number
  /** The grace periods that time was moved on for. */
  readonly waits: readonly Wait[]
  /** When the first of the grace periods ends that are not waited for, in seconds from now. */
  readonly releasesInSeconds?: number | undefined
}

export interface Wait {
  readonly seconds: number
  /** Why there was something to wait for. */
  readonly reason: string
}

/** A store, the in-cluster provider, and a clock. */
export class Cluster {
  readonly #provider = inCluster()
  readonly #store: AdmittedStore
  /** The store as the user of the program has it, who reads warnings: components do not. */
  readonly #client: AdmittedStore
  readonly #warnings = new Set<string>()
  readonly #clock: Clock
  readonly #unfit = new Map<string, string>()

  constructor(store: AdmittedStore, clock: Clock) {
    this.#store = store
    this.#client = store.withWarnings((warning) => this.#warnings.add(warning))
    this.#clock = clock
  }

  /** What could not be read of the objects in the store, by `Kind namespace/name`. */
  get unfit(): ReadonlyMap<string, string> {
    return this.#unfit
  }

  /** Claims are served oldest first: in virtual time that is the order of their creation. */
  async create(object: Meta.KubeObject): StoreResult<Meta.KubeObject> {
    this.#clock.tick()
    return this.#client.create(object)
  }

  /** The object as it is stored. */
  async get(ref: Meta.ObjectRef): StoreResult<Meta.KubeObject> {
    return this.#store.get(ref)
  }

  async update(object: Meta.KubeObject): StoreResult<Meta.KubeObject> {
    this.#clock.tick()
    return this.#client.update(object)
  }

  async delete(ref: Meta.ObjectRef): StoreResult<Meta.KubeObject> {
    this.#clock.tick()
    return this.#client.delete(ref)
  }

  /** What `create`, `update` and `delete` were warned of since this was last asked, each once. */
  takeWarnings(): readonly string[] {
    const warnings = [...this.#warnings]
    this.#warnings.clear()
    return warnings
  }

  /** The object, or `undefined` if there is none. */
  async find<T extends Meta.KubeObject>(model: Meta.Model<T>, ref: Meta.ObjectRef): Promise<T | undefined> {
    const found = await this.#store.get(ref)
    if (!found.ok && found.failure.code !== 'STORE_NOT_FOUND') return unwrap(found)
    return found.ok ? this.#read(model, found.value) : undefined
  }

  /** All objects of a kind that can be read, by namespace and name. */
  async list<T extends Meta.KubeObject>(model: Meta.Model<T>): Promise<readonly T[]> {
    const { apiVersion, kind } = model.info
    const { items } = unwrap(await this.#store.list({ apiVersion, kind }))
    return items.map((item) => this.#read(model, item)).filter((item) => item !== undefined)
  }

  /**
   * Lets the provider work until nothing is left to do; in virtual time also after the grace
   * periods that are running now.
   */
  async settle(onProgress: (progress: Progress) => void): Promise<Settled> {
    const waits: Wait[] = []
    let written = 0
    for (;;) {
      const ended = await runUntilQuiet(this.#store, [this.#provider], { now: () => this.#clock.nowMs, onProgress })
      written += ended.written
      const { failures } = ended
      const releasing = [...ended.outcomes].filter(([, outcome]) => outcome.kind === 'releasing')
      const wait = this.#nextWait(releasing.map(([key]) => key))
      if (wait === undefined || waits.length >= MAX_WAITS) return { failures, written, waits }
      if (!this.#clock.pass(wait.seconds)) return { failures, written, waits, releasesInSeconds: wait.seconds }
      waits.push(wait)
    }
  }

  /** What the provider makes of a claim or pool as it is now. */
  outcomeOf(key: string): InClusterOutcome | undefined {
    return this.#provider.plan(key, { nowMs: this.#clock.nowMs })?.outcome
  }

  /** The holders of addresses of a pool, those about to be written as well. */
  entriesOf(pool: Meta.ObjectRef) {
    return this.#provider.entries().filter(({ holder }) => holder.pool === Meta.formatRef(pool))
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

  #read<T extends Meta.KubeObject>(model: Meta.Model<T>, object: Meta.KubeObject): T | undefined {
    const read = model.safeParse(object)
    if (read.ok) return read.value
    this.#unfit.set(Meta.formatRef(Meta.refOf(object)), read.failure.message)
    return undefined
  }
}
