import { Pod } from '../../../crd/core/pod.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { formatRef, type KindInfo, type KubeObject, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import { IPPool, OverlappingRangeIPReservation } from '../../../crd/whereabouts/index.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery } from '../../../plan/task.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { listStep, poolRef } from '../../blocks/tasks/steps.js'
import { ReadObjects } from '../../whereabouts/tasks/read-objects.js'
import { DEFAULT_NAMESPACE } from '../../whereabouts/tasks/request.js'
import { compareRows } from './compare.js'
import { holderOf, leaseRef, leaseState, markOf } from './lease.js'
import { type OldPool, oldPools } from './old-pools.js'
import type { OtherWriter, UpgradeNotReady } from './outcome.js'
import { type Ended, leaseMarkOf, notReady } from './phase.js'
import { planUpgrade } from './plan-upgrade.js'
import type { UpgradePool } from './report.js'
import type { UpgradeRequest } from './request.js'
import { blocksOf, odditiesOf, type Sides } from './sides.js'

/** How often both sides are read before a task ends because they change or differ. */
const MOST_READINGS = 20
const ROWS = 'the rows of the pool'

type Reading = Extract<Step, { kind: 'get' | 'list' }>

/** What has to be done before. */
interface First {
  readonly step: Reading | Ended<UpgradeNotReady>
}

/**
 * What the tasks of one pool have in common: the objects that they read, and in which order. The
 * Lease is read again for each version of the pool, so that it is never older than the rows.
 */
export abstract class PoolTask<O extends Outcome, R extends UpgradeRequest = UpgradeRequest> implements Task<O> {
  protected readonly request: R
  #objects = new ReadObjects()
  #known = new KnownBlocks()
  /** The kinds that are listed in this reading. */
  readonly #listed = new Set<string>()
  #plan: UpgradePool | undefined
  /** The version of the pool when this reading began. */
  #before: string | undefined
  #isConfirmed = false
  #readings = 0
  #nowMs = 0
  #since = 0

  constructor(request: R) {
    this.request = request
  }

  abstract next(time: TaskTime): Step<O>

  observe(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (ref.apiVersion === IPBlock.info.apiVersion) {
      this.#known.observe(change, { nowMs: this.#nowMs, since: this.#since })
      return
    }
    if (formatRef(ref) === formatRef(this.#poolRef)) {
      const version = change.kind === 'present' ? change.object.metadata.resourceVersion : undefined
      if (version !== this.stored?.metadata.resourceVersion) this.#objects.forget(leaseRef(this.namespace))
      this.#isConfirmed = this.#isListed(IPBlock.info)
    }
    this.#objects.observe(change)
  }

  listed(query: TaskQuery): void {
    this.#listed.add(`${query.apiVersion} ${query.kind}`)
  }

  protected get namespace(): string {
    return this.request.namespace || DEFAULT_NAMESPACE
  }

  protected get holder(): string {
    return holderOf(this.request.leaseHolder)
  }

  /** The objects of whereabouts that were read. */
  protected get objects(): ReadObjects {
    return this.#objects
  }

  /** The pool as it was read last. `null`: it does not exist. `undefined`: it was not read. */
  protected get stored(): KubeObject | null | undefined {
    return this.#objects.get(this.#poolRef)
  }

  /** The pool as it was read last, or how the task ends without it. */
  protected pool(): KubeObject | First {
    const object = this.stored
    if (object) return object
    const { pool: name } = this.request
    return { step: object === null ? notReady(`there is no IPPool ${name} of whereabouts`) : this.#poolStep() }
  }

  /** The Lease of upstream. `null`: it does not exist. */
  protected lease(): { readonly step: Reading } | { readonly object: KubeObject | null } {
    const ref = leaseRef(this.namespace)
    const step = this.#objects.read([ref], 'whether a plugin of upstream writes')
    return step === undefined ? { object: this.#objects.get(ref) ?? null } : { step }
  }

  /** How a task ends that needs the Lease of upstream, as the pool has had it since its start. */
  protected lostLease(pool: KubeObject, { nowMs }: TaskTime): Reading | Ended<OtherWriter> | undefined {
    const lease = this.lease()
    if ('step' in lease) return lease.step
    const state = leaseState(lease.object, this.holder, nowMs)
    if (state.kind === 'ours' && markOf(lease.object) === leaseMarkOf(pool)) return undefined
    const holder = state.kind === 'free' ? '' : state.holder
    const { name } = pool.metadata
    const message = `the upgrade of IPPool ${name} has lost the Lease of whereabouts: a plugin of upstream may have written rows`
    return { kind: 'done', outcome: { kind: 'otherWriter', message, holder } }
  }

  /** Lists a kind of whereabouts, or Pods. `undefined`: it was listed in this reading. */
  protected list({ apiVersion, kind }: KindInfo, why: string): Reading | undefined {
    if (this.#isListed({ apiVersion, kind })) return undefined
    const namespace = kind === Pod.info.kind ? undefined : this.namespace
    return { kind: 'list', query: { apiVersion, kind, namespace, fields: {} }, why }
  }

  /**
   * The plan of the pool, with all blocks of its domain. It lists the objects of whereabouts, and
   * then the Pods: a row is older than the state of its Pod.
   */
  protected planned(time: TaskTime): First | { readonly plan: UpgradePool; readonly known: KnownBlocks } {
    this.#begin(time)
    for (const { info } of [IPPool, OverlappingRangeIPReservation, Pod]) {
      const step = this.list(info, 'the rows and their Pods')
      if (step !== undefined) return { step }
    }
    this.#plan ??= planUpgrade({
      networks: this.request.networks,
      pools: [...this.#objects.ofKind(IPPool.info)],
      reservations: [...this.#objects.ofKind(OverlappingRangeIPReservation.info)],
      pods: [...this.#objects.ofKind(Pod.info)],
    }).pools.find(({ name }) => name === this.request.pool)
    if (this.#plan === undefined) return { step: notReady(`IPPool ${this.request.pool} was deleted`) }
    const step = this.#blockStep(this.#plan)
    return step === undefined ? { plan: this.#plan, known: this.#known } : { step }
  }

  /**
   * The rows of the pool and of the blocks. It reads the pool, all blocks of its domain, and the
   * pool again: the blocks were read at one version of the pool. Each writer of rows writes the
   * pool first. It lists no Pods, so that it ends while rows change.
   */
  protected sides(time: TaskTime): First | Sides {
    this.#begin(time)
    const object = this.pool()
    if ('step' in object) return object
    const { name, resourceVersion } = object.metadata
    const [old] = oldPools(this.request.networks, [object]) as readonly [OldPool]
    const oddities = odditiesOf(old)
    if (oddities.some(({ isObstacle }) => isObstacle)) {
      return { step: notReady(`IPPool ${name} has obstacles`, oddities) }
    }
    this.#before ??= resourceVersion
    const step = this.#blockStep(blocksOf(old)) ?? (this.#isConfirmed ? undefined : this.#poolStep())
    if (step !== undefined) return { step }
    if (resourceVersion !== this.#before) {
      return this.again() ? this.sides(time) : { step: notReady(`IPPool ${name} changes too fast`) }
    }
    const rows = old.read?.rows ?? []
    const differences = compareRows(rows, blocksOf(old), this.#known)
    if (typeof differences === 'string') return { step: notReady(differences) }
    return { object, old, rows, known: this.#known, differences }
  }

  /** Begins another reading. @returns false: there were too many */
  protected again(): boolean {
    if (++this.#readings >= MOST_READINGS) return false
    this.restart()
    return true
  }

  /** Forgets what was read, but not the pool and the Lease. */
  protected restart(): void {
    const kept = [this.#poolRef, leaseRef(this.namespace)].map((ref) => this.#objects.get(ref))
    this.#objects = new ReadObjects()
    for (const object of kept) if (object) this.#objects.observe({ kind: 'present', object })
    this.#known = new KnownBlocks()
    this.#since = this.#known.clock
    this.#listed.clear()
    this.#plan = undefined
    this.#isConfirmed = false
    this.#before = undefined
  }

  #begin({ nowMs }: TaskTime): void {
    this.#nowMs = nowMs
    this.#since = this.#known.clock
  }

  #isListed({ apiVersion, kind }: Pick<KindInfo, 'apiVersion' | 'kind'>): boolean {
    return this.#listed.has(`${apiVersion} ${kind}`)
  }

  get #poolRef(): ObjectRef {
    const { apiVersion, kind } = IPPool.info
    return { apiVersion, kind, namespace: this.namespace, name: this.request.pool }
  }

  #poolStep(): Reading {
    return { kind: 'get', refs: [this.#poolRef], why: ROWS }
  }

  /** Reads the pools of blocks, and then all blocks of their domain. */
  #blockStep({ domain, targets }: Pick<UpgradePool, 'domain' | 'targets'>): Reading | undefined {
    const unread = targets.filter((name) => this.#known.pool(name) === undefined)
    if (unread.length > 0) return { kind: 'get', refs: unread.map(poolRef), why: 'the pools of the rows' }
    return this.#isListed(IPBlock.info) ? undefined : listStep({ 'spec.domain': domain }, 'the rows')
  }
}
