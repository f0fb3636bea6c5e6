import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { formatRef, type KindInfo, type KubeObject, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import { IPPool, OverlappingRangeIPReservation, type PoolRow } from '../../../crd/whereabouts/index.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery } from '../../../plan/task.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { listStep, poolRef } from '../../blocks/tasks/steps.js'
import { readRowClaim } from '../../whereabouts/tasks/holder.js'
import { ReadObjects } from '../../whereabouts/tasks/read-objects.js'
import { DEFAULT_NAMESPACE } from '../../whereabouts/tasks/request.js'
import { compareRows, type RowDifference } from './compare.js'
import { endLease, holderOf, leaseRef, leaseState } from './lease.js'
import { type OldPool, obstacle, oldPools } from './old-pools.js'
import type { OtherWriter, UpgradeNotReady } from './outcome.js'
import { type Ended, notReady } from './phase.js'
import { claimProblem, ofRow } from './plan-pool.js'
import type { UpgradeOddity } from './report.js'
import type { UpgradeRequest } from './request.js'

/** How often both sides are read before a task ends because they change or differ. */
const MOST_READINGS = 20

type Reading = Extract<Step, { kind: 'get' | 'list' }>

/** The pool and the blocks, as they were at one version of the pool. */
export interface Sides {
  readonly object: KubeObject
  readonly old: OldPool
  readonly rows: readonly PoolRow[]
  readonly known: KnownBlocks
  readonly differences: readonly RowDifference[]
}

/**
 * A task that compares the rows of a pool of whereabouts with the blocks. It reads the pool, all
 * blocks of its domain, and the pool again: the blocks were read at one version of the pool. Each
 * writer of rows writes the pool first. It lists no Pods, so that it ends while rows change.
 */
export abstract class SidesTask<O extends Outcome> implements Task<O> {
  protected readonly request: UpgradeRequest
  #old = new ReadObjects()
  #known = new KnownBlocks()
  /** The kinds that are listed in this reading. */
  readonly #listed = new Set<string>()
  /** The version of the pool when this reading began. */
  #before: string | undefined
  #isConfirmed = false
  #readings = 0
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
    const { apiVersion, kind } = IPBlock.info
    if (formatRef(ref) === formatRef(this.#poolRef)) this.#isConfirmed = this.#listed.has(`${apiVersion} ${kind}`)
  }

  listed({ apiVersion, kind }: TaskQuery): void {
    this.#listed.add(`${apiVersion} ${kind}`)
  }

  /** The pool as it was read last. `null`: it does not exist. `undefined`: it was not read. */
  protected get stored(): KubeObject | null | undefined {
    return this.#old.get(this.#poolRef)
  }

  /** The pool as it was read last, or how the task ends without it. */
  protected pool(): KubeObject | { readonly step: Reading | Ended<UpgradeNotReady> } {
    const object = this.#old.get(this.#poolRef)
    if (object) return object
    const { pool: name } = this.request
    return { step: object === null ? notReady(`there is no IPPool ${name} of whereabouts`) : this.#poolStep() }
  }

  /** The steps that come first, then both sides. */
  protected sides(time: TaskTime): { readonly step: Reading | Ended<UpgradeNotReady> } | Sides {
    this.#nowMs = time.nowMs
    this.#since = this.#known.clock
    const object = this.pool()
    if ('step' in object) return object
    const [old] = oldPools(this.request.networks, [object]) as readonly [OldPool]
    const oddities = odditiesOf(old)
    if (oddities.some(({ isObstacle }) => isObstacle)) {
      return { step: notReady(`IPPool ${object.metadata.name} has obstacles`, oddities) }
    }
    const { resourceVersion } = object.metadata
    this.#before ??= resourceVersion
    const step = this.#step(old)
    if (step !== undefined) return { step }
    if (resourceVersion !== this.#before) {
      return this.again() ? this.sides(time) : { step: notReady(`IPPool ${object.metadata.name} changes too fast`) }
    }
    const rows = old.read?.rows ?? []
    const differences = compareRows(rows, blocksOf(old), this.#known)
    if (typeof differences === 'string') return { step: notReady(differences) }
    return { object, old, rows, known: this.#known, differences }
  }

  /** Begins another reading. @returns false: there were too many */
  protected again(): boolean {
    if (++this.#readings >= MOST_READINGS) return false
    const kept = [this.#poolRef, leaseRef(this.namespace)].map((ref) => this.#old.get(ref))
    this.#old = new ReadObjects()
    for (const object of kept) if (object) this.#old.observe({ kind: 'present', object })
    this.#known = new KnownBlocks()
    this.#since = this.#known.clock
    this.#listed.clear()
    this.#isConfirmed = false
    this.#before = undefined
    return true
  }

  /** Gives the Lease up after the last pool. `undefined`: nothing is left to do. */
  protected endLease({ nowMs }: TaskTime): Step<never> | undefined {
    const list = this.list.bind(this)
    return endLease({ objects: this.#old, namespace: this.namespace, holder: this.#holder, list }, nowMs)
  }

  /** How a task ends that needs the Lease of upstream, and no longer has it. */
  protected lostLease({ nowMs }: TaskTime): Ended<OtherWriter> | undefined {
    const lease = this.#old.get(leaseRef(this.namespace)) ?? null
    const state = leaseState(lease, this.#holder, nowMs)
    if (state.kind === 'ours') return undefined
    const holder = state.kind === 'held' ? state.holder : ''
    const message = 'the upgrade has lost the Lease of whereabouts: a plugin of upstream may write'
    return { kind: 'done', outcome: { kind: 'otherWriter', message, holder } }
  }

  protected get namespace(): string {
    return this.request.namespace || DEFAULT_NAMESPACE
  }

  /** Whether a reading lists the reservations. */
  protected get needsReservations(): boolean {
    return false
  }

  /** The objects of whereabouts that were read. */
  protected get objects(): ReadObjects {
    return this.#old
  }

  /** Lists a kind of whereabouts. `undefined`: it was listed in this reading. */
  protected list({ apiVersion, kind }: KindInfo, why: string): Reading | undefined {
    if (this.#listed.has(`${apiVersion} ${kind}`)) return undefined
    return { kind: 'list', query: { apiVersion, kind, namespace: this.namespace, fields: {} }, why }
  }

  /** Whether the Lease is read with the pool. */
  protected get needsLease(): boolean {
    return true
  }

  get #holder(): string {
    return holderOf(this.request.leaseHolder)
  }

  get #poolRef(): ObjectRef {
    const { apiVersion, kind } = IPPool.info
    return { apiVersion, kind, namespace: this.namespace, name: this.request.pool }
  }

  #poolStep(): Reading {
    const refs = [this.#poolRef, ...(this.needsLease ? [leaseRef(this.namespace)] : [])]
    return { kind: 'get', refs, why: 'the rows of the pool' }
  }

  #step(old: OldPool): Reading | undefined {
    const { domain, targets } = blocksOf(old)
    const unread = targets.filter((name) => this.#known.pool(name) === undefined)
    if (unread.length > 0) return { kind: 'get', refs: unread.map(poolRef), why: 'the pools of the rows' }
    const reservations = this.needsReservations
      ? this.list(OverlappingRangeIPReservation.info, 'the reservations of the rows')
      : undefined
    if (reservations !== undefined) return reservations
    const { apiVersion, kind } = IPBlock.info
    if (!this.#listed.has(`${apiVersion} ${kind}`)) return listStep({ 'spec.domain': domain }, 'the rows')
    return this.#isConfirmed ? undefined : this.#poolStep()
  }
}

/** Where the rows of a pool are in blocks. */
export function blocksOf({ ranges }: OldPool): { readonly domain: string; readonly targets: readonly string[] } {
  return { domain: ranges[0]?.domain ?? '', targets: ranges.map(({ name }) => name) }
}

/** What the pool alone says. */
function odditiesOf({ oddities, read }: OldPool): readonly UpgradeOddity[] {
  const claims = (read?.rows ?? []).flatMap((row) => {
    const claim = readRowClaim(row)
    const { key, address } = row
    return claim === undefined ? [] : [obstacle('claim', claimProblem(claim), { key, address })]
  })
  return [...oddities, ...(read?.oddities ?? []).map(ofRow), ...claims]
}
