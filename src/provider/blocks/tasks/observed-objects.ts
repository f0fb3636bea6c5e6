import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { type KindInfo, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import type { Change } from '../../../plan/index.js'
import type { KnownBlocks } from './known-blocks.js'

/** A task without a watch reads a pool again that was read longer ago than this. */
const MOST_POOL_AGE_MS = 30_000

/**
 * The objects that one task was shown itself. Other objects are known from earlier tasks, and may
 * be old.
 */
export class ObservedObjects {
  readonly #keys = new Set<string>()

  note(change: Change): void {
    this.#keys.add(keyOf(change.kind === 'present' ? refOf(change.object) : change.ref))
  }

  has({ kind }: Pick<KindInfo, 'kind'>, name: string): boolean {
    return this.#keys.has(keyOf({ kind, name }))
  }
}

/** Whether a pool is not known to a task, or was read too long ago. */
export function isOldPool(name: string, known: KnownBlocks, observed: ObservedObjects, nowMs: number): boolean {
  if (known.pool(name) === undefined) return true
  if (known.isComplete || observed.has(IPPool.info, name)) return false
  return known.poolAgeMs(name, nowMs) > MOST_POOL_AGE_MS
}

/** All kinds that tasks of blocks read are of one API group and cluster-scoped. */
function keyOf({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}
