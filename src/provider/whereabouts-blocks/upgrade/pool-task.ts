import { Pod } from '../../../crd/core/pod.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { type KubeObject, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import { IPPool, OverlappingRangeIPReservation } from '../../../crd/whereabouts/index.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery } from '../../../plan/task.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { listStep, poolRef } from '../../blocks/tasks/steps.js'
import { ReadObjects } from '../../whereabouts/tasks/read-objects.js'
import { DEFAULT_NAMESPACE } from '../../whereabouts/tasks/request.js'
import { holderOf, leaseRef } from './lease.js'
import type { UpgradeNotReady } from './outcome.js'
import { type Ended, notReady } from './phase.js'
import { planUpgrade } from './plan-upgrade.js'
import type { UpgradePool } from './report.js'
import type { UpgradeRequest } from './request.js'

const OLD_KINDS = [IPPool.info, OverlappingRangeIPReservation.info, Pod.info] as const

type Reading = Extract<Step, { kind: 'get' | 'list' }>

type NotReady = Ended<UpgradeNotReady>

interface ReadPool {
  readonly plan: UpgradePool
  readonly object: KubeObject
  readonly known: KnownBlocks
}

/** What the tasks of one pool have in common: the objects that they read, and in which order. */
export abstract class PoolTask<O extends Outcome> implements Task<O> {
  protected readonly request: UpgradeRequest
  readonly #old = new ReadObjects()
  /** The kinds that are listed. */
  readonly #listed = new Set<string>()
  readonly #known = new KnownBlocks()
  #plan: UpgradePool | undefined
  #nowMs = 0
  #since = 0

  constructor(request: UpgradeRequest) {
    this.request = request
  }

  abstract next(time: TaskTime): Step<O>

  observe(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (ref.apiVersion === IPBlock.info.apiVersion) {
      this.#known.observe(change, { nowMs: this.#nowMs, since: this.#since })
      return
    }
    this.#old.observe(change)
  }

  listed({ apiVersion, kind }: TaskQuery): void {
    this.#listed.add(`${apiVersion} ${kind}`)
  }

  /** The steps that come first, then the pool with all blocks of its domain. */
  protected read({ nowMs }: TaskTime): { readonly step: Reading | NotReady } | ReadPool {
    this.#nowMs = nowMs
    this.#since = this.#known.clock
    const list = this.#listStep()
    if (list !== undefined) return { step: list }
    const plan = this.#planned()
    const { pool: name } = this.request
    if (plan === undefined) return { step: notReady(`there is no IPPool ${name} of whereabouts`) }
    const step = this.#blockStep(plan)
    const object = this.#old.get(this.#poolRef)
    if (step !== undefined || !object) return { step: step ?? notReady(`IPPool ${name} was deleted`) }
    return { plan, object, known: this.#known }
  }

  /** The Lease of upstream. `null`: it does not exist. */
  protected lease(): Reading | { readonly object: KubeObject | null } {
    const ref = leaseRef(this.namespace)
    return this.#old.read([ref], 'whether a plugin of upstream writes') ?? { object: this.#old.get(ref) ?? null }
  }

  protected forgetLease(): void {
    this.#old.forget(leaseRef(this.namespace))
  }

  protected get holder(): string {
    return holderOf(this.request.leaseHolder)
  }

  protected get namespace(): string {
    return this.request.namespace || DEFAULT_NAMESPACE
  }

  get #poolRef(): ObjectRef {
    const { apiVersion, kind } = IPPool.info
    return { apiVersion, kind, namespace: this.namespace, name: this.request.pool }
  }

  /**
   * Lists the objects of whereabouts, and then the Pods: a row is older than the state of its Pod.
   */
  #listStep(): Extract<Step, { kind: 'list' }> | undefined {
    for (const { apiVersion, kind } of OLD_KINDS) {
      if (this.#listed.has(`${apiVersion} ${kind}`)) continue
      const namespace = kind === Pod.info.kind ? undefined : this.namespace
      return { kind: 'list', query: { apiVersion, kind, namespace, fields: {} }, why: 'the rows and their Pods' }
    }
    return undefined
  }

  #planned(): UpgradePool | undefined {
    if (this.#plan !== undefined) return this.#plan
    const { pools } = planUpgrade({
      networks: this.request.networks,
      pools: [...this.#old.ofKind(IPPool.info)],
      reservations: [...this.#old.ofKind(OverlappingRangeIPReservation.info)],
      pods: [...this.#old.ofKind(Pod.info)],
    })
    this.#plan = pools.find(({ name }) => name === this.request.pool)
    return this.#plan
  }

  /** Reads the pools of blocks, and then all blocks of their domain. */
  #blockStep({ domain, targets }: UpgradePool): Extract<Step, { kind: 'get' | 'list' }> | undefined {
    const unread = targets.filter((name) => this.#known.pool(name) === undefined)
    if (unread.length > 0) return { kind: 'get', refs: unread.map(poolRef), why: 'the pools of the rows' }
    const { apiVersion, kind } = IPBlock.info
    return this.#listed.has(`${apiVersion} ${kind}`) ? undefined : listStep({ 'spec.domain': domain }, 'the rows')
  }
}
