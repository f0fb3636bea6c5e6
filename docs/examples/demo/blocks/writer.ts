import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { type Allocation, allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import type { RunTaskOptions } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { finish } from '../../blocks/agent.js'
import { type Cast, domains, type Pod } from './cast.js'
import { CountedStore } from './counted-store.js'

/** What a Pod was told that it has. */
export interface Told {
  readonly pod: Pod
  readonly allocations: readonly Allocation[]
}

/** The agent of a node. It knows what the store has told it, and of no other writer. */
export class Writer {
  readonly cast: Cast
  readonly store: CountedStore
  readonly #known = new KnownBlocks()
  readonly #options: RunTaskOptions
  readonly #told: Told[] = []
  readonly #surprises: string[] = []
  #adds = 0
  #dels = 0

  constructor(cast: Cast, store: Store, options: RunTaskOptions) {
    this.cast = cast
    this.store = new CountedStore(store)
    this.#options = options
  }

  get adds(): number {
    return this.#adds
  }

  get dels(): number {
    return this.#dels
  }

  get told(): readonly Told[] {
    return this.#told
  }

  /** The answers that are none of those that were to be expected. */
  get surprises(): readonly string[] {
    return this.#surprises
  }

  /**
   * Each Pod comes, and when the next one is there it is made anew. One that was made anew in an
   * earlier run asks for what it has, and then comes, late, the release of the one that was there
   * before.
   */
  async work(onDone: () => void): Promise<void> {
    const found = await this.#look()
    let before: Pod | undefined
    for (const pod of this.cast.pods) {
      const isBack = found.has(pod.uid)
      if (isBack) {
        await this.#tell(pod)
        await this.#del(pod)
      } else await this.#add(pod, pod.former)
      if (before !== undefined) await this.#makeAnew(before)
      before = isBack ? undefined : pod
      onDone()
    }
    if (before !== undefined) await this.#makeAnew(before)
  }

  /**
   * Reads the rows of an earlier run of this process, so that no owner gets a second row.
   *
   * @returns the uids of all owners
   */
  async #look(): Promise<ReadonlySet<string>> {
    const { apiVersion, kind } = IPBlock.info
    const uids = new Set<string>()
    for (const domain of domains) {
      const { items } = unwrap(await this.store.list({ apiVersion, kind, fields: { 'spec.domain': domain } }))
      for (const object of items) {
        this.#known.observe({ kind: 'present', object }, { nowMs: this.#options.now() })
        const block = IPBlock.safeParse(object)
        for (const { uid } of block.ok ? Object.values(block.value.spec.rows) : []) uids.add(uid)
      }
    }
    return uids
  }

  async #makeAnew(pod: Pod): Promise<void> {
    await this.#del(pod)
    await this.#tell(pod)
  }

  async #tell(pod: Pod): Promise<void> {
    const allocations = await this.#add(pod, pod.uid)
    if (allocations !== undefined) this.#told.push({ pod, allocations })
  }

  async #add({ name, pool }: Pod, uid: string): Promise<readonly Allocation[] | undefined> {
    this.#adds++
    const families = [4, 6] as const
    const request = { owner: { uid, name }, interface: 'eth0', container: `c-${uid}`, pools: [pool], families }
    const outcome = await finish(allocate(request, this.#known), this.store, this.#options)
    if (outcome.kind === 'allocated' || outcome.kind === 'already') return outcome.allocations
    this.#surprises.push(`ADD of ${name}: ${outcome.kind}: ${outcome.message}`)
    return undefined
  }

  async #del({ name, pool, former }: Pod): Promise<void> {
    this.#dels++
    const request = { owner: { uid: former }, interface: 'eth0', pools: [pool] }
    const outcome = await finish(release(request, this.#known), this.store, this.#options)
    if (outcome.kind === 'notYours') this.#surprises.push(`DEL of ${name}: ${outcome.kind}: ${outcome.message}`)
  }
}
