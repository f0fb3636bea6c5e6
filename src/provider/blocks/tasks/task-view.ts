import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { formatRef, type KindInfo, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import type { Change, TaskTime } from '../../../plan/index.js'
import { PoolView } from '../pool/pool-view.js'
import type { KnownBlocks } from './known-blocks.js'
import { poolRef } from './steps.js'

/** A task without a watch reads a pool again that was read longer ago than this. */
const MOST_POOL_AGE_MS = 30_000

/**
 * The pools and blocks that one task relies on, and which of them it was shown itself. The others
 * are known from earlier tasks, and may be old.
 */
export class TaskView {
  /** What the tasks of this process know together. */
  readonly common: KnownBlocks
  /** What this task relies on: the same, or only what it was shown itself. */
  known: KnownBlocks
  readonly #shown = new Set<string>()
  #hasLookedAgain = false
  /** When the last step began. */
  nowMs = 0
  /** The clock of the known blocks when the last step began. */
  #since = 0

  constructor(common: KnownBlocks) {
    this.common = common
    this.known = common
  }

  /** What the process knows, and what this task relies on. */
  get both(): ReadonlySet<KnownBlocks> {
    return new Set([this.common, this.known])
  }

  /** Called when a step begins. */
  begin({ nowMs }: TaskTime): void {
    this.nowMs = nowMs
    this.#since = this.common.clock
  }

  /** @returns false: another task of this process has written the block since */
  observe(change: Change): boolean {
    if (!this.common.observe(change, { nowMs: this.nowMs, since: this.#since })) return false
    this.#shown.add(formatRef(change.kind === 'present' ? refOf(change.object) : change.ref))
    if (this.known !== this.common) this.known.observe(change, { nowMs: this.nowMs })
    return true
  }

  /** The references to objects that the task was not shown itself. */
  unseen({ apiVersion, kind }: KindInfo, names: Iterable<string>): readonly ObjectRef[] {
    const refs = [...new Set(names)].map((name) => ({ apiVersion, kind, name }))
    return refs.filter((ref) => !this.#shown.has(formatRef(ref)))
  }

  /** The pools of these names that can be read. */
  pools(names: readonly string[]): readonly PoolView[] {
    return names.map((name) => this.known.pool(name)).filter((pool) => pool instanceof PoolView)
  }

  /** The references to pools that are not known, or were read too long ago. */
  oldPools(names: readonly string[]): readonly ObjectRef[] {
    const isOld = (name: string) => this.known.poolAgeMs(name, this.nowMs) > MOST_POOL_AGE_MS
    const isRead = (name: string) => this.known.isComplete || this.#has(IPPool.info, name) || !isOld(name)
    return names.filter((name) => this.known.pool(name) === undefined || !isRead(name)).map(poolRef)
  }

  /**
   * Relies only on what the task was shown itself, from now on.
   *
   * @returns false: it has done so before, or was shown all objects in the domains of these pools
   */
  lookAgain(pools: readonly string[]): boolean {
    const fresh = this.#hasLookedAgain ? undefined : this.known.fresh(pools, (kind, name) => this.#has(kind, name))
    this.#hasLookedAgain = true
    if (fresh !== undefined) this.known = fresh
    return fresh !== undefined
  }

  #has({ kind }: Pick<KindInfo, 'kind'>, name: string): boolean {
    return this.#shown.has(formatRef({ kind, name }))
  }
}
