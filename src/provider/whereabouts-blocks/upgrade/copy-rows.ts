import { Pod } from '../../../crd/core/pod.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { formatRef, type KindInfo, type KubeObject, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import { IPPool, OverlappingRangeIPReservation, readRows } from '../../../crd/whereabouts/index.js'
import { check, type Kind } from '../../../errors/check.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery } from '../../../plan/task.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { listStep, poolRef } from '../../blocks/tasks/steps.js'
import type { WhereaboutsConfig } from '../../whereabouts/config/types.js'
import { isPaused } from '../../whereabouts/tasks/objects.js'
import { ReadObjects } from '../../whereabouts/tasks/read-objects.js'
import { CONFIG, DEFAULT_NAMESPACE } from '../../whereabouts/tasks/request.js'
import { type Comparison, comparePool, surplus, type UpgradeDifference } from './compare.js'
import { copyEffects } from './copy-effects.js'
import { annotationPatch } from './pause.js'
import { planUpgrade } from './plan-upgrade.js'
import type { UpgradeOddity, UpgradePool } from './report.js'

/** The pool of whereabouts that a task compares with blocks. */
export interface UpgradeRequest {
  /** Its name. */
  readonly pool: string
  /** The namespace of the objects of whereabouts. Empty or left out: `kube-system`. */
  readonly namespace?: string | undefined
  /** As for `planUpgrade`: the networks of all definitions with the IPAM type `whereabouts`. */
  readonly networks: readonly WhereaboutsConfig[]
}

const REQUEST: Kind = ['open', { pool: 'text', namespace: 'text?', networks: ['list', CONFIG] }]

/** The end of `copyRows` and `verifyUpgrade`. */
export type UpgradeOutcome =
  /** Both sides name the same holder of each address. */
  | {
      readonly kind: 'same'
      readonly message: string
      /** The number of rows. */
      readonly rows: number
      /** The `resourceVersion` that the pool of whereabouts had while the blocks were read. */
      readonly version: string
      /** Whether `pausePool` has stopped ADDs: then no later ADD on the pool makes it untrue. */
      readonly isPaused: boolean
    }
  /** They do not. `copyRows` has written what it can. */
  | {
      readonly kind: 'different'
      readonly message: string
      readonly rows: number
      readonly version: string
      readonly isPaused: boolean
      readonly differences: readonly UpgradeDifference[]
    }
  /** The pool is not ready for the upgrade, or the blocks cannot have its rows. */
  | { readonly kind: 'notReady'; readonly message: string; readonly oddities: readonly UpgradeOddity[] }

/**
 * The task that writes the rows of one pool of whereabouts to blocks. Run it by `runTask`, at any
 * time and as often as you like: it writes what is missing, and ends with the statement of
 * {@link verifyUpgrade}.
 *
 * - It changes no object of whereabouts, and never removes a row or gives it to another holder. A
 *   row of the same interface gets the id of its present container.
 * - It needs the IPPools of ipam-kit.dev that `planUpgrade` names, accepted into their domains.
 *   They may be disabled.
 * - It writes nothing while an oddity of the pool is an obstacle.
 * - It lists the pools and reservations of the namespace and all Pods, and then the blocks of the
 *   domain. It writes each block for its version, so that other writers lose nothing.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function copyRows(request: UpgradeRequest): Task<UpgradeOutcome> {
  check<unknown>('copyRows', 'request', request, REQUEST)
  return new CompareTask(request, true)
}

/**
 * The task that states whether one pool of whereabouts and the blocks name the same holder of each
 * address, and lists every address for which they do not. It writes nothing.
 *
 * The statement is about one version of the pool, which was the present one before and after the
 * blocks were read. ADDs and DELs after that are not in it.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function verifyUpgrade(request: UpgradeRequest): Task<UpgradeOutcome> {
  check<unknown>('verifyUpgrade', 'request', request, REQUEST)
  return new CompareTask(request, false)
}

/** The end of `resumePool`. */
export type ResumeOutcome =
  /** The pool gives addresses again. */
  | { readonly kind: 'resumed'; readonly message: string; readonly rows: number; readonly version: string }
  | Extract<UpgradeOutcome, { kind: 'different' | 'notReady' }>

/**
 * The task that ends the pause of a pool of whereabouts: it removes the annotation.
 *
 * Before that, give all definitions of the range the type `whereabouts` again, and wait until the
 * ADDs on blocks have ended. The task does nothing if a block has a row whose address has no row in
 * the pool (`different`): the pool could give the address to another Pod.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function resumePool(request: UpgradeRequest): Task<ResumeOutcome> {
  check<unknown>('resumePool', 'request', request, REQUEST)
  return new ResumeTask(request)
}

/** How often all objects are read before the task ends because the pool changes too fast. */
const MOST_READINGS = 5
const OLD_KINDS = [IPPool.info, OverlappingRangeIPReservation.info, Pod.info] as const

type Reading = Extract<Step, { kind: 'get' | 'list' }>

interface NotReady {
  readonly kind: 'done'
  readonly outcome: Extract<UpgradeOutcome, { kind: 'notReady' }>
}

interface ReadPool {
  readonly plan: UpgradePool
  readonly object: KubeObject
  readonly known: KnownBlocks
}

/** What the tasks of one pool have in common: the objects that they read, and in which order. */
abstract class PoolTask<O extends Outcome> implements Task<O> {
  readonly #request: UpgradeRequest
  #old = new ReadObjects()
  /** The kinds that are listed. */
  readonly #listed = new Set<string>()
  #known = new KnownBlocks()
  #readings = 0
  #plan: UpgradePool | undefined
  /** The version of the pool that the plan was made from. */
  #version: string | undefined
  #confirms: 'not yet' | 'reads' | 'done' = 'not yet'
  #nowMs = 0
  #since = 0

  constructor(request: UpgradeRequest) {
    this.#request = request
  }

  abstract next(time: TaskTime): Step<O>

  observe(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (!OLD_KINDS.some((kind) => isOf(ref, kind))) {
      this.#known.observe(change, { nowMs: this.#nowMs, since: this.#since })
      return
    }
    this.#old.observe(change)
    if (this.#confirms === 'reads' && formatRef(ref) === formatRef(this.#poolRef)) this.#confirms = 'done'
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
    const { pool: name } = this.#request
    if (plan === undefined) return { step: notReady(`there is no IPPool ${name} of whereabouts`) }
    const step = this.#blockStep(plan)
    const object = this.#old.get(this.#poolRef)
    if (step !== undefined || !object) return { step: step ?? notReady(`IPPool ${name} was deleted`) }
    return { plan, object, known: this.#known }
  }

  /**
   * Reads the pool once more; `undefined`: it has not changed since all else was read. If it has,
   * all is read again.
   */
  protected confirm(time: TaskTime): { readonly step: Reading | NotReady } | undefined {
    if (this.#confirms !== 'done') {
      this.#confirms = 'reads'
      return { step: { kind: 'get', refs: [this.#poolRef], why: 'whether the pool has changed meanwhile' } }
    }
    if (this.#old.get(this.#poolRef)?.metadata.resourceVersion === this.#version) return undefined
    if (++this.#readings >= MOST_READINGS) return { step: notReady(`IPPool ${this.#request.pool} changes too fast`) }
    this.#readAgain()
    const read = this.read(time)
    return 'step' in read ? read : undefined
  }

  get #namespace(): string {
    return this.#request.namespace || DEFAULT_NAMESPACE
  }

  get #poolRef(): ObjectRef {
    const { apiVersion, kind } = IPPool.info
    return { apiVersion, kind, namespace: this.#namespace, name: this.#request.pool }
  }

  /**
   * Lists the objects of whereabouts, and then the Pods: a row is older than the state of its Pod.
   */
  #listStep(): Extract<Step, { kind: 'list' }> | undefined {
    for (const { apiVersion, kind } of OLD_KINDS) {
      if (this.#listed.has(`${apiVersion} ${kind}`)) continue
      const namespace = kind === Pod.info.kind ? undefined : this.#namespace
      return { kind: 'list', query: { apiVersion, kind, namespace, fields: {} }, why: 'the rows and their Pods' }
    }
    return undefined
  }

  #planned(): UpgradePool | undefined {
    if (this.#plan !== undefined) return this.#plan
    const { pools } = planUpgrade({
      networks: this.#request.networks,
      pools: [...this.#old.ofKind(IPPool.info)],
      reservations: [...this.#old.ofKind(OverlappingRangeIPReservation.info)],
      pods: [...this.#old.ofKind(Pod.info)],
    })
    this.#plan = pools.find(({ name }) => name === this.#request.pool)
    this.#version = this.#old.get(this.#poolRef)?.metadata.resourceVersion
    return this.#plan
  }

  /** Reads the pools of blocks, and then all blocks of their domain. */
  #blockStep({ domain, targets }: UpgradePool): Extract<Step, { kind: 'get' | 'list' }> | undefined {
    const unread = targets.filter((name) => this.#known.pool(name) === undefined)
    if (unread.length > 0) return { kind: 'get', refs: unread.map(poolRef), why: 'the pools of the rows' }
    const { apiVersion, kind } = IPBlock.info
    return this.#listed.has(`${apiVersion} ${kind}`) ? undefined : listStep({ 'spec.domain': domain }, 'the rows')
  }

  #readAgain(): void {
    this.#old = new ReadObjects()
    this.#listed.clear()
    this.#known = new KnownBlocks()
    this.#since = this.#known.clock
    this.#plan = undefined
    this.#confirms = 'not yet'
  }
}

class CompareTask extends PoolTask<UpgradeOutcome> {
  readonly #writes: boolean

  constructor(request: UpgradeRequest, writes: boolean) {
    super(request)
    this.#writes = writes
  }

  next(time: TaskTime): Step<UpgradeOutcome> {
    const read = this.read(time)
    if ('step' in read) return read.step
    const { plan, object, known } = read
    if (!plan.isReady) return notReady(`IPPool ${plan.name} has obstacles`, plan.oddities)
    const compared = comparePool(plan, known)
    if (typeof compared === 'string') return notReady(compared, plan.oddities)
    const { writable } = compared
    if (this.#writes && writable.length > 0) {
      const outcome = { kind: 'writes', message: `copy ${writable.length} rows of ${plan.name}` }
      return { kind: 'write', plan: { outcome, effects: copyEffects(writable, time.nowMs) } }
    }
    const changed = this.confirm(time)
    if (changed !== undefined) return changed.step
    return { kind: 'done', outcome: statement(plan, compared, object) }
  }
}

class ResumeTask extends PoolTask<ResumeOutcome> {
  next(time: TaskTime): Step<ResumeOutcome> {
    const read = this.read(time)
    if ('step' in read) return read.step
    const { plan, object, known } = read
    const { name, targets, oddities } = plan
    if (targets.length === 0) return notReady(`no network has the range of IPPool ${name}`, oddities)
    const rows = readRows(IPPool.parse(object)).rows.map(({ address }) => ({ address }))
    const version = object.metadata.resourceVersion ?? ''
    const differences = surplus({ ...plan, rows }, known)
    if (differences.length > 0) {
      const message = `the blocks have ${differences.length} rows that IPPool ${name} does not have`
      return {
        kind: 'done',
        outcome: { kind: 'different', message, rows: rows.length, version, isPaused: isPaused(object), differences },
      }
    }
    if (!isPaused(object)) {
      return {
        kind: 'done',
        outcome: { kind: 'resumed', message: `IPPool ${name} gives addresses`, rows: rows.length, version },
      }
    }
    const effect = annotationPatch(object, null, 'the pool gives addresses again')
    return { kind: 'write', plan: { outcome: { kind: 'writes', message: `resume ${name}` }, effects: [effect] } }
  }
}

function isOf(ref: { readonly apiVersion: string; readonly kind: string }, { apiVersion, kind }: KindInfo): boolean {
  return ref.apiVersion === apiVersion && ref.kind === kind
}

function notReady(message: string, oddities: readonly UpgradeOddity[] = []): NotReady {
  return { kind: 'done', outcome: { kind: 'notReady', message, oddities } }
}

function statement({ name, rows }: UpgradePool, { differences }: Comparison, object: KubeObject): UpgradeOutcome {
  const { resourceVersion: version = '' } = object.metadata
  const of = { rows: rows.length, version, isPaused: isPaused(object) }
  if (differences.length === 0) {
    return { kind: 'same', message: `IPPool ${name} and the blocks have the same ${rows.length} rows`, ...of }
  }
  const message = `IPPool ${name} and the blocks differ in ${differences.length} addresses`
  return { kind: 'different', message, ...of, differences }
}
